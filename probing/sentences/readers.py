"""A user's own labelled sentences: a table with ``sentence`` and ``label`` in any form that ``tables`` reads.

``pair`` (a second sentence), ``part`` (train, dev or test) and ``group`` (what has to stay in one part) are optional,
headings of other data sets are known, and so are SentEval's three columns without a header.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from probing.kernel.errors import SentenceDataError
from probing.kernel.text import refuse_label
from probing.kernel.user_tables import SUFFIXES as SUFFIXES
from probing.kernel.user_tables import Kind, Table, read_table
from probing.sentences.examples import PARTS, Example
from probing.sentences.examples_labelled_sentence import Labelled
from probing.sentences.readers_probing_files import PART_NAMES

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
