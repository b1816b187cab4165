"""Reader of a user's own facts: JSONL, or a table with subject, relation, object and prompt.

One fact per line is all that is needed::

    {"subject": "Germany", "relation": "capital", "object": "Berlin", "prompt": "The capital of Germany is [MASK]."}

A table has the same columns, named in its first line; ``own_table`` guesses other names. Subject and relation may be missing. Further
columns are ignored. A gap may be written ``<mask>`` or ``___`` too.
"""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from probing.core.characters import refuse_half_characters
from probing.core.errors import FactsError
from probing.core.facts.fact import PROBE_SETS, Fact, FactSet, select
from probing.core.facts.lama import known_probe_sets
from probing.core.facts.own_table import COLUMNS as COLUMNS
from probing.core.facts.own_table import NEEDED, OwnTable, named_columns, read_table_of_facts, refused
from probing.core.facts.own_table import SUFFIXES as SUFFIXES
from probing.core.questions import with_masks

#: The relation of facts whose table names none.
NO_RELATION = "facts"
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
        path: a file that ends in one of ``SUFFIXES``.
        probe_set: name the facts are shown under.

    Returns:
        The facts; one without an answer, a prompt without exactly one ``[MASK]`` and a duplicate are left out and counted.

    Raises:
        FactsError: naming file and line, if the file cannot be read, or a cell is missing or no text.
    """
    return parse_own_facts(_content(path), str(path), probe_set)


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise FactsError(f"cannot read {path}: {error}; expected a file of facts, {' or '.join(SUFFIXES)}") from error


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
    return facts_of_table(own_table(content, name), name, probe_set)


def facts_of_table(table: OwnTable, name: str, probe_set: str = "own") -> FactSet:
    """The facts of a table that was read; ``name`` and ``probe_set`` as for ``parse_own_facts``.

    Raises:
        FactsError: as ``parse_own_facts``.
    """
    refuse_known_set(probe_set)
    return _read_rows(((f"{name}, line {number}", row) for number, row in table.rows), name, probe_set, table.columns)


def own_table(content: str | bytes, name: str) -> OwnTable:
    """How the content of a file of facts is read: what separates its cells, and which column is which.

    Args:
        content, name: as for ``parse_own_facts``.

    Raises:
        FactsError: as ``parse_own_facts``.
    """
    return read_table_of_facts(_decoded(content, name), name)


def said_of_table(path: Path) -> str:
    """How a file of facts is read, in words, if its columns are not called as ours; else nothing.

    Raises:
        FactsError: as ``read_own_facts``.
    """
    table = own_table(_content(path), str(path))
    return table.said if table.guessed else ""


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
    table = named_columns(enumerate(rows, 1), name)
    return _read_rows(((f"{name}, row {number}", row) for number, row in table.rows), name, probe_set, table.columns)


def refuse_known_set(probe_set: str) -> None:
    """Raises a ``FactsError`` if own facts have the name of LAMA's: they would be compared with the papers' numbers."""
    if not probe_set.strip() or probe_set in known_probe_sets():
        raise FactsError(f"own facts cannot be called {probe_set!r}; expected a name other than {known_probe_sets()}")


def _read_rows(rows: Iterable[tuple[str, Mapping[str, Any]]], name: str, probe_set: str, theirs: Mapping[str, str]) -> FactSet:
    """The facts of rows, each of which comes with its name in errors; these call the columns as the table does."""
    facts = [_fact(row, where, probe_set, theirs) for where, row in rows]
    if not facts:
        raise FactsError(f"{name} holds no facts; expected lines with {' and '.join(NEEDED)}, or all of {', '.join(COLUMNS)}")
    return select(probe_set, facts)


def _decoded(content: str | bytes, name: str) -> str:
    try:
        text = content.decode("utf-8") if isinstance(content, bytes) else content
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise FactsError(f"{name}, line {line}: byte {error.object[error.start]:#04x} is not UTF-8; save it as UTF-8") from None
    # Spreadsheets write a byte order mark before the first column's name.
    return text.removeprefix("\ufeff")


def _fact(row: Mapping[str, Any], where: str, probe_set: str, theirs: Mapping[str, str]) -> Fact:
    cells = {"subject": "", "relation": NO_RELATION}
    for column in COLUMNS:
        if column not in row:
            continue
        value = row[column]
        if value is not None and not isinstance(value, str):
            wanted = ", ".join(theirs.get(one, one) for one in row)
            raise FactsError(f"{where}: {theirs.get(column, column)!r} {refused(value)}; expected text in each of {wanted}")
        refuse_half_characters(value or "", f"{where}: {theirs.get(column, column)!r}", FactsError)
        cells[column] = (value or "").strip()
    prompt = with_masks(cells["prompt"])
    return Fact(probe_set, cells["relation"] or NO_RELATION, cells["subject"], cells["object"], prompt, prompt)
