"""Readers of sentence tasks: CoLA, SST-2 and RTE (tested on the development file), SentEval, X-Probe, own tables."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from probing.finetuning.tasks.glue import LabelledText, cola_parts, rte_parts, sst2_parts
from probing.kernel.errors import FactsError, SentenceDataError
from probing.kernel.text import numbered_lines, refuse_label
from probing.kernel.user_tables import SUFFIXES, Kind, Table, read_table
from probing.sentences.examples import PARTS, Example, Labelled

GLUE: Mapping[str, Callable[[Path], tuple[Sequence[LabelledText], Sequence[LabelledText]]]] = {
    "cola": cola_parts,
    "sst-2": sst2_parts,
    "rte": rte_parts,
}


def read_glue(task: str, folder: Path) -> list[Labelled]:
    """Rows of a task of GLUE: those of the training file, then those of the development file as the test part."""
    try:
        train, test = GLUE[task](folder)
    except FactsError as error:
        raise SentenceDataError(str(error)) from error
    return [
        Labelled(Example(row.text, row.label, row.pair), part)
        for part, rows in (("train", train), ("test", test))
        for row in rows
    ]


#: What both data sets call the parts.
PART_NAMES: Mapping[str, str] = {"tr": "train", "va": "dev", "te": "test"}


def read_probing_file(path: Path, labels: Mapping[str, str]) -> Iterator[Labelled]:
    """Rows of a file in either layout; the first column of its first line decides which.

    SentEval's lines have a part, a label and, in the last column, the sentence. X-Probe's have a sentence and, after
    the last tab, a label; the part is in the file's name (``bigram_shift.va.txt``).
    """
    senteval: bool | None = None
    of_file = PART_NAMES.get(path.name.split(".")[-2], "") if path.name.count(".") > 1 else ""
    for number, line in numbered_lines(path, SentenceDataError):
        if senteval is None:
            senteval = is_senteval(line)
        if senteval:
            part, label, text = _three(path, number, line)
        else:
            text, _, label = line.rpartition("\t")
            part = of_file
        if not text.strip():
            raise SentenceDataError(
                f"{path}, line {number}: got {line!r}, expected a sentence and its label, separated by a tab"
            )
        if label not in labels:
            raise SentenceDataError(
                f"{path}, line {number}: got the label {label!r}, expected one of {', '.join(labels)}"
            )
        yield Labelled(Example(text.strip(), labels[label]), part)


def is_senteval(line: str) -> bool:
    """Whether a line is SentEval's: at least three columns, the first of which is ``tr``, ``va`` or ``te``."""
    first, *others = line.split("\t")
    return first in PART_NAMES and len(others) > 1


def _three(path: Path, number: int, line: str) -> tuple[str, str, str]:
    cells = line.split("\t")
    if not is_senteval(line):
        expected = "tr, va or te, a label and a sentence, separated by tabs"
        raise SentenceDataError(f"{path}, line {number}: got {line[:80]!r}, expected {expected}")
    return PART_NAMES[cells[0]], cells[1], cells[-1]


#: Columns without which a row is left out.
NEEDED = ("sentence", "label")
#: How many classes a task may have, and how many examples each of them needs.
FEWEST_CLASSES, MAX_CLASSES, FEWEST_EXAMPLES = 2, 50, 40
#: Why a row is left out.
INCOMPLETE, MALFORMED_ROWS = "without sentence or label", "malformed rows"
#: What data sets call the parts, in lower case.
_PARTS = {
    **PART_NAMES,
    "training": "train",
    "valid": "dev",
    "val": "dev",
    "validation": "dev",
    **{part: part for part in PARTS},
}


def _unnamed(cells: Sequence[str]) -> dict[str, int]:
    return {"part": 0, "label": 1, "sentence": 2} if len(cells) == 3 and cells[0] in PART_NAMES else {}


KIND = Kind(
    SentenceDataError,
    "sentences",
    {
        "sentence": ("sentence", "text", "sentence1", "premise"),
        "label": ("label", "gold_label", "class"),
        "pair": ("pair", "sentence2", "hypothesis"),
        "part": ("part", "split", "set", "fold"),
        "group": ("group",),
    },
    _unnamed,
)


def read_own_file(path: Path) -> tuple[list[Labelled], dict[str, int], str]:
    """Rows of a file, as ``parse_own_file`` gives them."""
    try:
        return parse_own_file(path.read_bytes(), str(path))
    except OSError as error:
        raise SentenceDataError(
            f"cannot read {path}: {error.strerror or error}; expected a file of sentences and labels,"
            f" {', '.join(SUFFIXES)}"
        ) from error


def parse_own_file(content: bytes, name: str) -> tuple[list[Labelled], dict[str, int], str]:
    """Rows of a file's content, how many were left out for what reason, and how the table was read, in words."""
    table = read_table(content, name, KIND)
    columns = table.unnamed or (_columns(table) if table.heads else {})
    if not table.rows:
        raise SentenceDataError(f"{name} holds no sentences; expected lines with {' and '.join(NEEDED)}")
    read, malformed, note = table.made(columns, _labelled)
    rows = [row for row in read if row]
    if 0 < sum(not row.part for row in rows) < len(rows):
        raise SentenceDataError(
            f"{name}: some rows name a part and others do not; give all of them one of {', '.join(PARTS)}, or none"
        )
    left_out = {INCOMPLETE: len(read) - len(rows), MALFORMED_ROWS: malformed}
    return rows, {reason: n for reason, n in left_out.items() if n}, note


def check_classes(rows: Iterable[Labelled], name: str, dropped: Mapping[str, int]) -> None:
    """Refuses rows that no probe can learn: fewer than 2 or more than 50 classes, or fewer than 40 examples of one.

    The rows are without repeats and contradictions; ``dropped`` is reason -> number left out for it.
    """
    counts: dict[str, int] = {}
    for row in rows:
        counts[row.example.label] = counts.get(row.example.label, 0) + 1
    left_out = ", ".join(f"{number:,} {reason}" for reason, number in dropped.items() if number)
    advice = f" (left out before: {left_out})" if left_out else ""
    if not FEWEST_CLASSES <= len(counts) <= MAX_CLASSES:
        labels = ", ".join(map(repr, sorted(counts)[:5]))
        raise SentenceDataError(
            f"{name}: got {len(counts)} classes{f' ({labels})' if labels else ''}, expected {FEWEST_CLASSES} to"
            f" {MAX_CLASSES}{advice}"
        )
    label = min(counts, key=lambda candidate: (counts[candidate], candidate))
    if counts[label] < FEWEST_EXAMPLES:
        raise SentenceDataError(
            f"{name}: the label {label!r} has {counts[label]} different examples, expected at least {FEWEST_EXAMPLES}"
            f" for each label{advice}"
        )


def _columns(table: Table) -> dict[str, int]:
    """Our column -> its number; a column of parts under another name than ours has no other values than parts."""
    candidates = table.kind.columns(table.heads, table.name)
    if missing := [column for column in NEEDED if column not in candidates]:
        raise SentenceDataError(
            f"{table.name}: got the columns {', '.join(map(repr, table.heads))[:120]}; expected one called"
            f" {' and one called '.join(missing)} (or"
            f" {', '.join(name for column in missing for name in KIND.names[column][1:])}): name the columns in the"
            " first line, or give SentEval's three (tr, va or te; label; sentence) with tabs between them"
        )
    candidates["part"] = [
        place
        for place in candidates.get("part", [])
        if table.heads[place].strip().lower() == "part"
        or {str(cells[place] or "").strip().lower() for _, cells in table.rows} <= {*_PARTS, ""}
    ]
    return {ours: places[0] for ours, places in candidates.items() if places}


def _labelled(row: Mapping[str, str]) -> Labelled | None:
    """A row; None if it lacks its sentence or label. Raises a ``ProbingError`` if it is malformed."""
    cells = {column: " ".join(row.get(column, "").split()) for column in KIND.names}
    if not all(cells[column] for column in NEEDED):
        return None
    refuse_label(cells["label"], "'label'", SentenceDataError)
    part = _PARTS.get(cells["part"].lower(), cells["part"])
    if part not in ("", *PARTS):
        raise SentenceDataError(f"got the part {part!r}, expected {', '.join(PARTS)}, or nothing")
    return Labelled(Example(cells["sentence"], cells["label"], cells["pair"]), part, cells["group"])
