"""The configuration whose fingerprint names a run of edge probing."""

import hashlib
import json

from probing.edges.targets import Part, TaskData
from probing.kernel.provenance import Provenance


class EdgeRunConfig(Provenance):
    """All that decides the numbers of a run."""

    task: str
    data: str
    #: ``cumulative``, ``at`` or ``full``.
    kind: str
    #: ``task`` or ``control``.
    labels: str
    #: ``trained``, ``random`` or ``random-body``.
    encoder: str
    codes: bool = False


def part_sha256(part: Part) -> str:
    """sha256 over the words, spans and labels of a part."""
    digest = hashlib.sha256()
    for record in part.records:
        targets = [[target.span1, target.span2, target.labels] for target in record.targets]
        digest.update((json.dumps([record.words, targets], ensure_ascii=False) + "\n").encode())
    return digest.hexdigest()


def data_sha256(data: TaskData) -> str:
    """sha256 over all parts of a task."""
    return hashlib.sha256(
        json.dumps({name: part_sha256(part) for name, part in data.parts().items()}).encode()
    ).hexdigest()
