"""A user's own labelled sentences: a TSV, CSV or JSONL file with ``sentence`` and ``label``.

A pair has its second sentence in ``pair``. ``part`` (train, dev or test) and ``group`` (what has to stay in one part) are optional.
SentEval's three columns without a header (``tr|va|te``, label, sentence) are accepted, too. Further columns, such as ``id``, are ignored.
"""

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from probing.core.characters import refuse_label, refuse_signs
from probing.core.errors import SentenceDataError
from probing.core.files.data_lines import numbered
from probing.core.sentences.example import PARTS, Example
from probing.core.sentences.readers.labelled_sentence import Labelled
from probing.core.sentences.readers.probing_files import PART_NAMES, is_senteval

#: Endings of files; text files have tabs between their columns.
SUFFIXES = (".tsv", ".txt", ".csv", ".jsonl")
#: Required columns, and optional ones.
NEEDED, OPTIONAL = ("sentence", "label"), ("pair", "part", "group")
#: How many classes a task may have, and how many examples each of them needs.
FEWEST_CLASSES, MAX_CLASSES, FEWEST_EXAMPLES = 2, 50, 40
_SENTEVAL_HEADER = ["part", "label", "sentence"]
_Row = tuple[int, dict[str, Any]]


def read_own_file(path: Path) -> list[Labelled]:
    """Rows of a file.

    Raises:
        SentenceDataError: naming file and line, if the file cannot be read or a row is malformed.
    """
    try:
        return parse_own_file(path.read_bytes(), str(path))
    except OSError as error:
        raise SentenceDataError(f"cannot read {path}: {error}; expected a file of sentences and labels, {', '.join(SUFFIXES)}") from error


def parse_own_file(content: bytes, name: str) -> list[Labelled]:
    """Rows of a file's content, such as an upload.

    Args:
        content: in UTF-8.
        name: the file's name; its ending decides the format, and errors name it.

    Raises:
        SentenceDataError: as ``read_own_file``.
    """
    suffix = Path(name).suffix.lower()
    if suffix not in SUFFIXES:
        raise SentenceDataError(f"{name} ends in {suffix!r}, expected {', '.join(SUFFIXES)}")
    # Only \n ends a line: sentences may contain characters that Python takes for line ends.
    lines = list(numbered(io.BytesIO(content), Path(name), SentenceDataError))
    read = {".jsonl": _json_rows, ".csv": _csv_rows}.get(suffix, _tab_rows)
    rows = [_labelled(row, f"{name}, line {number}") for number, row in read(lines, name)]
    if not rows:
        raise SentenceDataError(f"{name} holds no sentences; expected lines with {' and '.join(NEEDED)}")
    if 0 < sum(not row.part for row in rows) < len(rows):
        raise SentenceDataError(f"{name}: some rows name a part and others do not; give all of them one of {', '.join(PARTS)}, or none")
    return rows


def check_classes(rows: Iterable[Labelled], name: str, dropped: Mapping[str, int]) -> None:
    """Refuses what no probe can learn.

    Args:
        rows: without repeats and contradictions.
        name: of the file.
        dropped: reason -> number of the rows that were left out for it.

    Raises:
        SentenceDataError: for fewer than 2 or more than 50 classes, or fewer than 40 examples of one.
    """
    counts: dict[str, int] = {}
    for row in rows:
        counts[row.example.label] = counts.get(row.example.label, 0) + 1
    left_out = ", ".join(f"{number:,} {reason}" for reason, number in dropped.items() if number)
    advice = f" (left out before: {left_out})" if left_out else ""
    if not FEWEST_CLASSES <= len(counts) <= MAX_CLASSES:
        labels = ", ".join(map(repr, sorted(counts)[:5]))
        raise SentenceDataError(
            f"{name}: got {len(counts)} classes{f' ({labels})' if labels else ''}, expected {FEWEST_CLASSES} to {MAX_CLASSES}{advice}"
        )
    label = min(counts, key=lambda one: (counts[one], one))
    if counts[label] < FEWEST_EXAMPLES:
        raise SentenceDataError(
            f"{name}: the label {label!r} has {counts[label]} different examples, expected at least {FEWEST_EXAMPLES} for each label"
            f"{advice}"
        )


def _labelled(row: dict[str, Any], where: str) -> Labelled:
    cells = {}
    for column in (*NEEDED, *OPTIONAL):
        value = row.get(column, "")
        # 1, 1.0 and true are equal in Python, and NaN is a number, so only whole numbers are labels besides texts.
        if column != "sentence" and type(value) is int:
            value = str(value)
        if value is None and column in OPTIONAL:
            value = ""
        if not isinstance(value, str) or (column in NEEDED and not value.strip()):
            got = f"is {value!r}" if column in row else f"is missing, got {sorted(map(str, row))}"
            whole = "" if column == "sentence" else " or a whole number"
            raise SentenceDataError(f"{where}: {column!r} {got}; expected text{whole} in {' and '.join(NEEDED)}")
        refuse_signs(value, f"{where}: {column!r}", SentenceDataError)
        cells[column] = " ".join(value.split())
        if column == "label":
            refuse_label(cells[column], f"{where}: 'label'", SentenceDataError)
    part = PART_NAMES.get(cells["part"], cells["part"])
    if part not in ("", *PARTS):
        raise SentenceDataError(f"{where}: got the part {part!r}, expected {', '.join(PARTS)}, or nothing")
    return Labelled(Example(cells["sentence"], cells["label"], cells["pair"]), part, cells["group"])


def _json_rows(lines: Iterable[tuple[int, str]], name: str) -> Iterator[_Row]:
    for number, line in lines:
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise SentenceDataError(f"{name}, line {number}: not JSON ({error}); expected one object per line") from None
        if not isinstance(row, dict):
            raise SentenceDataError(f"{name}, line {number}: got {line[:80]!r}, expected an object with {' and '.join(NEEDED)}")
        yield number, row


def _tab_rows(lines: Iterable[tuple[int, str]], name: str) -> Iterator[_Row]:
    """Rows of tab-separated columns; a quotation mark is an ordinary character."""
    header: list[str] | None = None
    for number, line in lines:
        if not line.strip():
            continue
        cells = line.split("\t")
        if header is None and is_senteval(line):
            header = _SENTEVAL_HEADER
        if header is None:
            header = _header(cells, f"{name}, line {number}")
        else:
            yield number, _cells(header, cells, f"{name}, line {number}")


def _csv_rows(lines: Iterable[tuple[int, str]], name: str) -> Iterator[_Row]:
    """Rows of comma-separated columns, which may be quoted and then hold line ends."""
    reader = csv.reader((f"{line}\n" for _, line in lines), strict=True)
    header: list[str] | None = None
    number = 1
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                if header is None:
                    header = _header(cells, f"{name}, line {number}")
                else:
                    yield number, _cells(header, cells, f"{name}, line {number}")
            number = reader.line_num + 1
    except csv.Error as error:
        raise SentenceDataError(f"{name}, line {number}: not CSV ({error}); expected comma-separated cells") from None


def _header(cells: Sequence[str], where: str) -> list[str]:
    names = [cell.strip().lower() for cell in cells]
    if missing := [column for column in NEEDED if names.count(column) != 1]:
        got = ", ".join(map(repr, cells))[:120]
        raise SentenceDataError(
            f"{where}: got the columns {got}; expected one called {' and one called '.join(missing)}: name the columns in the first line, "
            "or give SentEval's three (tr, va or te; label; sentence) with tabs between them"
        )
    return names


def _cells(header: Sequence[str], cells: Sequence[str], where: str) -> dict[str, str]:
    if len(cells) != len(header):
        raise SentenceDataError(f"{where}: got {len(cells)} columns, expected {len(header)} ({', '.join(header)})")
    return dict(zip(header, cells, strict=True))
