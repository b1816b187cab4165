"""The facts that ship with the project: triples as labels, in LAMA's layout, without sentences or judgements."""

import json
from collections.abc import Iterable
from pathlib import Path

from probing.facts.fact import Fact, Relation
from probing.facts.lama import json_lines, read_lama
from probing.kernel.errors import FactsError
from probing.kernel.files import atomic_text


def read_triples(folder: Path) -> dict[str, list[tuple[str, str]]]:
    """Triples of a folder with one ``RELATION.jsonl`` per relation and ``sub_label``, ``obj_label`` in every line."""
    return {
        path.stem: [
            (_label(row, "sub_label", path, number), _label(row, "obj_label", path, number))
            for number, row in json_lines(path)
        ]
        for path in sorted(folder.glob("*.jsonl"))
    }


def _label(row: dict, key: str, path: Path, number: int) -> str:
    value = row.get(key)
    if not isinstance(value, str):
        raise FactsError(f"{path}, line {number}: {key!r} is {value!r}, expected text; keys are {sorted(row)}")
    return value.strip()


def write_shipped_triples(
    lama: Path, more_triples: Path | None, ours: dict[str, Relation], target: Path
) -> dict[str, int]:
    """Writes the distinct triples of LAMA's T-REx and Google-RE as labels only, and counts them by relation.

    LAMA's own files come first; a folder of further T-REx triples fills relations and facts that they lack.
    """
    triples: dict[tuple[str, str], dict[tuple[str, str], None]] = {}
    for facts in read_lama(lama, ours):
        if facts.probe_set in ("trex", "google_re"):
            _add(triples, facts.facts)
    for relation, pairs in (read_triples(more_triples) if more_triples else {}).items():
        triples.setdefault(("trex", relation), {}).update(dict.fromkeys(pairs))
    written = {}
    for (probe_set, relation), found in sorted(triples.items()):
        if relation not in ours:
            continue
        name = f"TREx/{relation}.jsonl" if probe_set == "trex" else f"Google_RE/{relation}_test.jsonl"
        lines = [json.dumps({"sub_label": s, "obj_label": o}, ensure_ascii=False) + "\n" for s, o in found]
        atomic_text(target / name, "".join(lines))
        written[relation] = len(lines)
    return written


def _add(triples: dict, facts: Iterable[Fact]) -> None:
    for fact in facts:
        triples.setdefault((fact.probe_set, fact.relation), {})[(fact.subject, fact.object)] = None
