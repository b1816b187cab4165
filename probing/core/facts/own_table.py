"""The table of a user's own facts as it was written: what separates its cells, and which column is which.

Names of columns are guessed, because tables of questions and answers rarely have ours: ``question;answer`` is read as prompt and object.
"""

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from probing.core.errors import FactsError
from probing.core.facts.fact import MASK
from probing.core.facts.lama import parse_json_lines
from probing.core.questions import with_masks

COLUMNS = ("subject", "relation", "object", "prompt")
#: Without them there is no fact; the others may be missing.
NEEDED = ("object", "prompt")
#: Column -> the names that are taken for it, the first one that a table has.
NAMES: dict[str, tuple[str, ...]] = {
    "subject": ("subject", "sub_label", "entity", "topic", "head"),
    "relation": ("relation", "predicate", "property", "category"),
    "object": ("object", "answer", "obj_label", "gold", "target", "label", "tail"),
    "prompt": ("prompt", "question", "sentence", "masked_sentence", "cloze", "statement", "text"),
}
#: Columns of a table without headings, by their number.
_UNNAMED = {4: COLUMNS}
JSONL = "JSONL"
#: Separator -> what it is called. Of those that fit alike the first is taken: sentences have commas more often than semicolons.
SEPARATORS = {"\t": "tabs", ";": "semicolons", ",": "commas"}
#: Endings of files; ``.txt`` is any of the formats.
SUFFIXES = (".jsonl", ".csv", ".tsv", ".txt")


@dataclass(frozen=True)
class OwnTable:
    """A table as it was read.

    Attributes:
        form: ``JSONL``, or what separates the cells.
        columns: our column -> the table's, or its number if the table has no headings; without those that it lacks.
        rows: number of the line, and the cells by our columns.
    """

    form: str
    columns: Mapping[str, str]
    rows: tuple[tuple[int, Mapping[str, Any]], ...]

    @property
    def said(self) -> str:
        """How it was read, in words: "separated by semicolons; prompt = question, object = answer; no subject, relation"."""
        how = self.form if self.form == JSONL else f"separated by {self.form}"
        found = ", ".join(f"{ours} = {theirs}" for ours, theirs in self.columns.items())
        lacking = ", ".join(one for one in COLUMNS if one not in self.columns)
        return f"{how}; {found}" + (f"; no {lacking}" if lacking else "")

    @property
    def guessed(self) -> bool:
        """Whether its columns have other names than ours."""
        return dict(self.columns) != {name: name for name in COLUMNS}


def read_table_of_facts(text: str, name: str) -> OwnTable:
    """Reads the table.

    Args:
        text: the content of the file.
        name: of the file; its ending decides the format, and errors name it.

    Raises:
        FactsError: naming file and line, if the text is no table or lacks a column that is needed.
    """
    suffix = Path(name).suffix.lower()
    if suffix not in SUFFIXES:
        raise FactsError(f"{name} ends in {suffix!r}, expected {' or '.join(SUFFIXES)}")
    if suffix == ".jsonl" or (suffix == ".txt" and text.lstrip().startswith("{")):
        return named_columns(parse_json_lines(text, name), name)
    return _separated(text, name)


def named_columns(rows: Iterable[tuple[int, Mapping[str, Any]]], name: str) -> OwnTable:
    """A table of rows that name their cells; the first row decides which column is which.

    Args:
        rows: number of the line, and the cells.
        name: what errors call the table.
    """
    listed, columns = [], dict[str, str]()
    for number, row in rows:
        columns = columns or guessed_columns(list(map(str, row)))
        # A missing cell keeps what the row has, for the error.
        cells = {ours: row[theirs] if theirs in row else _Missing(row) for ours, theirs in _needed(columns).items()}
        listed.append((number, cells))
    return OwnTable(JSONL, columns, tuple(listed))


class _Missing:
    """A cell that its row does not have."""

    def __init__(self, row: Mapping[str, Any]):
        self.got = sorted(map(str, row))


def refused(cell: Any) -> str:
    """Why a cell is no text, for an error."""
    return f"is missing, got {cell.got}" if isinstance(cell, _Missing) else f"is {cell!r}"


def guessed_columns(names: Sequence[str]) -> dict[str, str]:
    """Our column -> the table's name of it; without those that it lacks."""
    there = {name.strip().lower(): name for name in reversed(names)}
    return {ours: there[one] for ours, known in NAMES.items() for one in [next((one for one in known if one in there), None)] if one}


def _needed(columns: Mapping[str, str]) -> dict[str, str]:
    """The columns, and those that are needed under our names if they are missing."""
    return {**columns, **{name: name for name in NEEDED if name not in columns}}


def _separated(text: str, name: str) -> OwnTable:
    """A table whose cells a sign separates, with headings or without."""
    separator = max(SEPARATORS, key=lambda sign: _fit(_first(text, sign)))
    rows = _cells(text, name, separator)
    number, first = next(rows, (0, []))
    if not first:
        return OwnTable(SEPARATORS[separator], {}, ())
    where = f"{name}, line {number}"
    columns = guessed_columns(first)
    if not set(NEEDED) <= set(columns) and (unnamed := _unnamed(first)):
        places, kept = unnamed, [(number, first), *rows]
        shown = {ours: f"column {place + 1}" for ours, place in places.items()}
    else:
        heads = [cell.strip().lower() for cell in first]
        places, kept, shown = _places(columns, first, heads, where), list(rows), {k: v.strip() for k, v in columns.items()}
    for number, cells in kept:
        if len(cells) != len(first):
            raise FactsError(
                f"{name}, line {number}: got {len(cells)} cells, expected {len(first)} ({', '.join(cell.strip() for cell in first)}); "
                f"put a cell that holds one of the {SEPARATORS[separator]} in double quotes"
            )
    return OwnTable(
        SEPARATORS[separator],
        shown,
        tuple((number, {ours: cells[place] for ours, place in places.items()}) for number, cells in kept),
    )


def _places(columns: Mapping[str, str], first: Sequence[str], heads: Sequence[str], where: str) -> dict[str, int]:
    """Our column -> its number, from 0.

    Raises:
        FactsError: if a column that is needed is missing, or a heading occurs twice.
    """
    twice = [theirs for theirs in columns.values() if heads.count(theirs.strip().lower()) > 1]
    if twice or not set(NEEDED) <= set(columns):
        wanted = " and ".join(f"{name} (or {', '.join(NAMES[name][1:3])})" for name in NEEDED)
        raise FactsError(
            f"{where}: the columns are {list(heads)}, expected each of {wanted} once, with commas, semicolons or tabs between; "
            f"subject and relation are read if they are there"
        )
    return {ours: list(first).index(theirs) for ours, theirs in columns.items()}


def _unnamed(cells: Sequence[str]) -> dict[str, int] | None:
    """Our column -> its number in a table without headings, by its first row; None if that is no fact."""
    gaps = [place for place, cell in enumerate(cells) if with_masks(cell).count(MASK) == 1]
    if len(gaps) != 1:
        return None
    if len(cells) == 2:
        return {"prompt": gaps[0], "object": 1 - gaps[0]}
    names = _UNNAMED.get(len(cells))
    return {ours: place for place, ours in enumerate(names)} if names and names[gaps[0]] == "prompt" else None


def _first(text: str, separator: str) -> list[str]:
    """The cells of the first row that is not blank, if this separates them; empty if it does not."""
    try:
        rows = csv.reader(io.StringIO(text, newline=""), strict=True, delimiter=separator)
        return next((cells for cells in rows if any(cell.strip() for cell in cells)), [])
    except csv.Error:
        return []


def _fit(cells: Sequence[str]) -> tuple[int, bool, int]:
    """How well a separator fits, by the first row: columns that are found, a fact without headings, number of cells."""
    unnamed = _unnamed(cells) is not None
    return len(guessed_columns(cells)), unnamed, 0 if unnamed else len(cells)


def _cells(text: str, name: str, separator: str) -> Iterator[tuple[int, list[str]]]:
    """Number of the first line and cells of every row that is not blank."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True, delimiter=separator)
    while True:
        number = reader.line_num + 1
        try:
            cells = next(reader, None)
        except csv.Error as error:
            raise FactsError(f"{name}, line {number}: not CSV ({error}); expected cells separated by {SEPARATORS[separator]}") from error
        if cells is None:
            return
        if any(cell.strip() for cell in cells):
            yield number, cells
