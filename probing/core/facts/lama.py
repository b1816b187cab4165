"""Readers of LAMA's own files (Petroni et al. 2019); any part of the folder may be missing."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from probing.core.characters import refuse_half_characters
from probing.core.errors import FactsError
from probing.core.facts.fact import JUDGED_WRONG, PROBE_SETS, Fact, FactSet, fill, select
from probing.core.facts.templates import Relation, read_lama_relations
from probing.core.files.tables import json_objects

#: LAMA spells its folders in several ways; the first that exists is read.
FOLDERS = {
    "trex": ("TREx", "T-REx"),
    "google_re": ("Google_RE", "Google-RE"),
    "conceptnet": ("ConceptNet", "Conceptnet"),
    "squad": ("Squad", "SQuAD"),
}


def json_lines(path: Path) -> Iterator[tuple[int, dict]]:
    """Line number and object of every non-empty line.

    Raises:
        FactsError: naming file and line, if the file cannot be read or a line is not a JSON object.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise FactsError(f"cannot read {path}: {error}; expected UTF-8 text with one JSON object per line") from error
    halves = "\\ud" in text.lower()
    for number, row in json_objects(text, str(path), FactsError):
        if halves:
            refuse_half_characters(json.dumps(row, ensure_ascii=False), f"{path}, line {number}", FactsError)
        yield number, row


def _need(row: dict, key: str, path: Path, number: int) -> str:
    value = row.get(key)
    if not isinstance(value, str) or not value.strip():
        raise FactsError(f"{path}, line {number}: {key!r} is {value!r}, expected text; keys are {sorted(row)}")
    return value.strip()


def subfolder(root: Path, probe_set: str) -> Path | None:
    """The folder of one probe set inside a LAMA folder, or None if that part is missing."""
    return next((root / name for name in FOLDERS[probe_set] if (root / name).is_dir()), None)


def read_lama(root: Path, ours: dict[str, Relation], template_set: str | None = None) -> list[FactSet]:
    """Reads every part that a LAMA folder has.

    Args:
        root: folder in LAMA's layout: ``TREx/P*.jsonl``, ``Google_RE/*.jsonl``, ``ConceptNet/*.jsonl``,
            ``Squad/*.jsonl`` and ``relations.jsonl``.
        ours: the project's own relations, for the template sets that the folder does not have itself.
        template_set: name of a template set; None takes the folder's own templates (``lama``) if it has them,
            else ``default``.

    Raises:
        FactsError: if there is no part, or a file is malformed.
    """
    if not root.is_dir():
        raise FactsError(f"no folder {root}; expected a folder in LAMA's layout")
    theirs = read_lama_relations(root / "relations.jsonl") if (root / "relations.jsonl").is_file() else {}
    found = []
    if folder := subfolder(root, "trex"):
        found.append(_read_trex(folder, theirs, ours, template_set))
    if folder := subfolder(root, "google_re"):
        found.append(_read_google_re(folder, ours, template_set))
    for name in ("conceptnet", "squad"):
        if folder := subfolder(root, name):
            found.append(_read_masked_sentences(folder, name))
    if not found:
        raise FactsError(f"{root} holds none of LAMA's parts; expected one of {', '.join(n for n, *_ in FOLDERS.values())}")
    if not any(part.n_read for part in found):
        raise FactsError(f"{root} has LAMA's folders but no fact in them; was a copy interrupted?")
    return found


def _template(name: str, theirs: dict[str, Relation], ours: dict[str, Relation], wanted: str | None) -> tuple[str, str]:
    """Template and the name of its set for one relation."""
    available = {**(ours[name].templates if name in ours else {}), **(theirs[name].templates if name in theirs else {})}
    for choice in (wanted,) if wanted else ("lama", "default"):
        if choice in available:
            return available[choice], choice
    raise FactsError(f"relation {name} has no template in set {wanted or 'lama or default'!r}; it has {sorted(available)}")


def _read_trex(folder: Path, theirs: dict, ours: dict, wanted: str | None) -> FactSet:
    facts, sets = [], set()
    for path in sorted(folder.glob("*.jsonl")):
        template, chosen = _template(path.stem, theirs, ours, wanted)
        sets.add(chosen)
        for number, row in json_lines(path):
            subject, answer = _need(row, "sub_label", path, number), _need(row, "obj_label", path, number)
            facts.append(Fact("trex", path.stem, subject, answer, template, fill(template, subject)))
    return select("trex", facts, template_set=_one_set(sets))


def _one_set(sets: set[str]) -> str:
    return sets.pop() if len(sets) == 1 else "+".join(sorted(sets)) or "default"


def _read_google_re(folder: Path, ours: dict[str, Relation], wanted: str | None) -> FactSet:
    # LAMA's relations.jsonl has no Google-RE, so a folder's own set means our default here.
    wanted = None if wanted == "lama" else wanted
    facts, sets = [], set()
    left_out: Counter = Counter()
    for path in sorted(folder.glob("*.jsonl")):
        relation = path.stem.removesuffix("_test")
        template, chosen = _template(relation, {}, ours, wanted)
        sets.add(chosen)
        for number, row in json_lines(path):
            votes = _votes(row, path, number)
            if votes["no"] > votes["yes"]:
                left_out[JUDGED_WRONG] += 1
                continue
            subject, answer = _need(row, "sub_label", path, number), _need(row, "obj_label", path, number)
            facts.append(Fact("google_re", relation, subject, answer, template, fill(template, subject)))
    return select("google_re", facts, left_out, _one_set(sets))


def _votes(row: dict, path: Path, number: int) -> Counter:
    votes = row.get("judgments") or []
    if not isinstance(votes, list) or not all(isinstance(vote, dict) for vote in votes):
        raise FactsError(f"{path}, line {number}: judgments is {votes!r}, expected a list of objects with judgment")
    return Counter(str(vote.get("judgment")) for vote in votes)


def _read_masked_sentences(folder: Path, probe_set: str) -> FactSet:
    facts = []
    for path in sorted(folder.glob("*.jsonl")):
        for number, row in json_lines(path):
            sentences = row.get("masked_sentences")
            if not isinstance(sentences, list) or not all(isinstance(text, str) for text in sentences):
                raise FactsError(f"{path}, line {number}: masked_sentences is {sentences!r}, expected a list of texts")
            answer = _need(row, "obj_label", path, number)
            subject = str(row.get("sub_label") or row.get("sub") or "").strip()
            # LAMA's SQuAD writes the set's own name for every subject, so its facts have none.
            subject = "" if subject.casefold() == probe_set else subject
            # A row of several sentences is one text: the mask may be in any of them.
            prompt = " ".join(text.strip() for text in sentences)
            facts.append(Fact(probe_set, probe_set, subject, answer, prompt, prompt, str(row.get("pred") or "")))
    return select(probe_set, facts)


def known_probe_sets() -> list[str]:
    """Names of the probe sets that this module reads."""
    return [name for name in PROBE_SETS if name in FOLDERS]
