"""Reader of a user's own facts: JSONL or CSV with subject, relation, object and prompt.

One fact per line is all that is needed::

    {"subject": "Germany", "relation": "capital", "object": "Berlin", "prompt": "The capital of Germany is [MASK]."}

A CSV file has the same four columns, named in its first line. Further columns are ignored. A gap may be written ``<mask>`` or ``___`` too.
"""

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from probing.core.characters import refuse_half_characters
from probing.core.errors import FactsError
from probing.core.facts.fact import PROBE_SETS, Fact, FactSet, select
from probing.core.facts.lama import known_probe_sets, parse_json_lines
from probing.core.questions import with_masks

COLUMNS = ("subject", "relation", "object", "prompt")
SUFFIXES = (".jsonl", ".csv")
_LONGEST_NAME = 60


def own_probe_set(path: Path, name: str | None = None) -> str:
    """The name of the probe set of a file of own facts: the user's choice, else after the file.

    Args:
        path: the file.
        name: the user's choice; None takes the file's stem, with ``own-`` in front if other facts have that name.

    Raises:
        FactsError: if other facts have the user's name, or it has other characters than letters, digits and ``._-``.
    """
    taken = (*PROBE_SETS, "all")
    stem = re.sub(r"[^\w.-]+", "-", path.stem)[:_LONGEST_NAME].strip("-.") or "facts"
    if name is None:
        return f"own-{stem}" if stem.lower() in taken else stem
    if name.lower() in taken or not re.fullmatch(rf"\w[\w.-]{{0,{_LONGEST_NAME - 1}}}", name):
        raise FactsError(
            f"own facts cannot be called {name!r}; expected up to {_LONGEST_NAME} letters, digits and ._- "
            f"in a name other than {', '.join(taken)}"
        )
    return name


def is_own(probe_set: str) -> bool:
    """Whether a probe set is called after a file of own facts."""
    return probe_set not in PROBE_SETS


def read_own_facts(path: Path, probe_set: str = "own") -> FactSet:
    """Reads a file of facts.

    Args:
        path: a ``.jsonl`` or ``.csv`` file.
        probe_set: name the facts are shown under.

    Returns:
        The facts; a prompt without exactly one ``[MASK]`` and a duplicate are left out and counted.

    Raises:
        FactsError: naming file and line, if the file cannot be read, a column is missing or a cell is empty.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise FactsError(f"cannot read {path}: {error}; expected a file of facts, {' or '.join(SUFFIXES)}") from error
    return parse_own_facts(content, str(path), probe_set)


def parse_own_facts(content: str | bytes, name: str, probe_set: str = "own") -> FactSet:
    """Reads facts from the content of a file, such as an upload.

    Args:
        content: text, or bytes in UTF-8.
        name: the file's name; its ending decides the format, and errors name it.
        probe_set: name the facts are shown under.

    Returns:
        As ``read_own_facts``.

    Raises:
        FactsError: as ``read_own_facts``, or if the probe set has the name of one of LAMA's.
    """
    refuse_known_set(probe_set)
    suffix = Path(name).suffix.lower()
    if suffix not in SUFFIXES:
        raise FactsError(f"{name} ends in {suffix!r}, expected {' or '.join(SUFFIXES)}")
    text = _decoded(content, name)
    rows = parse_json_lines(text, name) if suffix == ".jsonl" else _csv_rows(text, name)
    return _read_rows(((f"{name}, line {number}", row) for number, row in rows), name, probe_set)


def own_facts(rows: Iterable[Mapping[str, Any]], name: str, probe_set: str = "own") -> FactSet:
    """Reads facts from rows, such as those of a table.

    Args:
        rows: the cells of each by column; further columns are ignored.
        name: what errors call the rows; they are counted from 1.
        probe_set: name the facts are shown under.

    Returns:
        As ``read_own_facts``.

    Raises:
        FactsError: as ``parse_own_facts``.
    """
    refuse_known_set(probe_set)
    return _read_rows(((f"{name}, row {number}", row) for number, row in enumerate(rows, 1)), name, probe_set)


def refuse_known_set(probe_set: str) -> None:
    """Raises a ``FactsError`` if own facts have the name of LAMA's: they would be compared with the papers' numbers."""
    if not probe_set.strip() or probe_set in known_probe_sets():
        raise FactsError(f"own facts cannot be called {probe_set!r}; expected a name other than {known_probe_sets()}")


def _read_rows(rows: Iterable[tuple[str, Mapping[str, Any]]], name: str, probe_set: str) -> FactSet:
    """The facts of rows, each of which comes with its name in errors."""
    facts = [_fact(row, where, probe_set) for where, row in rows]
    if not facts:
        raise FactsError(f"{name} holds no facts; expected lines with {', '.join(COLUMNS)}")
    return select(probe_set, facts)


def _decoded(content: str | bytes, name: str) -> str:
    try:
        text = content.decode("utf-8") if isinstance(content, bytes) else content
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise FactsError(f"{name}, line {line}: byte {error.object[error.start]:#04x} is not UTF-8; save it as UTF-8") from None
    # Spreadsheets write a byte order mark before the first column's name.
    return text.removeprefix("\ufeff")


def _fact(row: Mapping[str, Any], where: str, probe_set: str) -> Fact:
    cells = {}
    for column in COLUMNS:
        value = row.get(column)
        if not isinstance(value, str) or not value.strip():
            got = f"is {value!r}" if column in row else f"is missing, got {sorted(map(str, row))}"
            raise FactsError(f"{where}: {column!r} {got}; expected text in each of {', '.join(COLUMNS)}")
        refuse_half_characters(value, f"{where}: {column!r}", FactsError)
        cells[column] = value.strip()
    prompt = with_masks(cells["prompt"])
    return Fact(probe_set, cells["relation"], cells["subject"], cells["object"], prompt, prompt)


def _csv_rows(text: str, name: str) -> Iterator[tuple[int, dict]]:
    """Number of the first line and cells by column of every row that is not blank."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    header: list[str] | None = None
    while True:
        number = reader.line_num + 1
        try:
            cells = next(reader, None)
        except csv.Error as error:
            raise FactsError(f"{name}, line {number}: not CSV ({error}); expected comma-separated cells") from error
        if cells is None:
            return
        if not any(cell.strip() for cell in cells):
            continue
        if header is None:
            header = _header(cells, f"{name}, line {number}")
        elif len(cells) != len(header):
            raise FactsError(
                f"{name}, line {number}: got {len(cells)} cells, expected {len(header)} ({', '.join(header)}); "
                "put a cell that holds a comma in double quotes"
            )
        else:
            yield number, dict(zip(header, cells, strict=True))


def _header(cells: list[str], where: str) -> list[str]:
    header = [cell.strip().lower() for cell in cells]
    if any(header.count(column) != 1 for column in COLUMNS):
        raise FactsError(f"{where}: the columns are {header}, expected each of {', '.join(COLUMNS)} once, with commas between")
    return header
