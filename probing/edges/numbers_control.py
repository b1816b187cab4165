"""Control labels (Hewitt and Liang 2019): one label per span text, which only memory can provide."""

import hashlib
import json
from dataclasses import replace

from probing.edges.numbers_baselines import span_text, targets_of
from probing.edges.targets import Part, TaskData


def with_control_labels(data: TaskData, seed: int) -> TaskData:
    """The same data with control labels: of a target those of training target number ``h mod n``.

    ``h`` is sha256 of the JSON list of the seed, the task and the lower-cased text of each span, ``n`` the number of
    training targets. So equal texts have equal labels in all parts, and labels are about as common as in training.
    """
    drawn_from = [target.labels for _, target in targets_of(data.train)]

    def controlled(part: Part) -> Part:
        return replace(
            part,
            records=tuple(
                replace(record, targets=tuple(map(target_of(record), record.targets))) for record in part.records
            ),
        )

    def target_of(record):
        return lambda target: replace(
            target, labels=drawn_from[_draw(seed, data.task, span_text(record, target)) % len(drawn_from)]
        )

    return replace(
        data, train=controlled(data.train), dev=controlled(data.dev), test=controlled(data.test) if data.test else None
    )


def _draw(seed: int, task: str, texts: tuple[str, ...]) -> int:
    return int.from_bytes(hashlib.sha256(json.dumps([seed, task, *texts]).encode()).digest())
