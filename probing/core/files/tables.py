"""The one reader of tables that users bring: files of text, JSON or Parquet, data frames, Arrow tables and rows.

Cells that a sign separates are split here, because DuckDB's ``read_csv`` (1.3 and 2.0 alike) loses rows to a lone quotation mark
without rejecting one, takes the heading of a pandas index for a row, and reads a table whose last row is short as one column.
"""

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from probing.core.characters import CONTROL, in_short, refuse_half_characters
from probing.core.errors import ProbingError
from probing.core.files.data_lines import an_object, counted, json_object, sorted_out

#: Endings of files. The content decides what a file is: only ``.json`` and ``.jsonl`` say it by their name.
SUFFIXES = (".jsonl", ".json", ".csv", ".tsv", ".txt", ".parquet")
#: Separator -> what it is called. Of those that fit alike the first is taken: sentences have commas more often than semicolons.
SEPARATORS = {"\t": "tabs", ";": "semicolons", ",": "commas"}
#: How a file begins that is no text -> what it is, and what to do.
_NO_TEXT = {
    b"PK\x03\x04": "is a spreadsheet workbook or an archive, whatever its name; export the sheet as CSV (UTF-8), or unpack it",
    b"\xd0\xcf\x11\xe0": "is an old spreadsheet workbook, whatever its name; export the sheet as CSV (UTF-8)",
    b"\x1f\x8b": "is compressed with gzip; unpack it",
}
_MARKS = {b"\xff\xfe\x00\x00": "utf-32", b"\x00\x00\xfe\xff": "utf-32", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
_WHOLE = re.compile(r"-?\d+\.0")
_AS_WHOLE, _AS_BLANKS = "numbers such as 1.0 read as 1", "control characters read as blanks"
_JSON = re.compile(r"\s*(\[\s*)?\{")
#: Number of the first line, number of lines, and cells.
_Row = tuple[int, int, list[str]]
T = TypeVar("T")


@dataclass(frozen=True)
class Kind:
    """What tables of one kind hold.

    Attributes:
        error: the class of the errors that are raised.
        holds: what the rows are, for errors.
        names: column -> the names that are taken for it, the first one that a table has; case, blanks and ``_-`` do not count.
        unnamed: column -> its number, from 0, in a table without headings, by its first row; empty if the row has headings.
        joined: the column whose lists of texts are one text; elsewhere, a list has one.
        missed: columns whose absence is said.
    """

    error: type[ProbingError]
    holds: str
    names: Mapping[str, tuple[str, ...]]
    unnamed: Callable[[Sequence[str]], dict[str, int]]
    joined: str = ""
    missed: tuple[str, ...] = ()

    def known(self, cells: Sequence[str]) -> int:
        """How many of our columns a row has headings of."""
        keys = {_key(cell) for cell in cells}
        return sum(any(_key(name) in keys for name in known) for known in self.names.values())

    def fit(self, cells: Sequence[str]) -> tuple[int, bool, int]:
        """How well a separator fits, by the first row: columns that are found, a row without headings, number of cells."""
        unnamed = bool(self.unnamed(cells))
        return self.known(cells), unnamed, 0 if unnamed else len(cells)

    def columns(self, heads: Sequence[str], where: str) -> dict[str, list[int]]:
        """Column -> the numbers of the headings that are taken for it, best first; without those that the table lacks.

        Raises:
            ProbingError: if the best is there twice.
        """
        keys = [_key(head) for head in heads]
        found = {ours: [place for name in known for place in _places(keys, _key(name))] for ours, known in self.names.items()}
        for places in found.values():
            if len(places) > 1 and keys[places[0]] == keys[places[1]]:
                raise self.error(f"{where}: got the column {heads[places[0]]!r} twice ({list(heads)}); expected it once")
        return {ours: places for ours, places in found.items() if places}


@dataclass(frozen=True)
class Table:
    """A table as it was read.

    Attributes:
        kind, name: what it holds, and what errors call it.
        form: what separates its cells, in words.
        unit: "line" or "row", which are counted from 1.
        heads: its headings.
        rows: number of the line or row, and its cells in the order of the headings.
        unnamed: column -> its number, of a table without headings.
        notes: what is to be said of how it was read.
        wrong: what is wrong with the rows that are left out.
    """

    kind: Kind
    name: str
    form: str
    unit: str
    heads: tuple[str, ...]
    rows: Sequence[tuple[int, Sequence[Any]]]
    unnamed: Mapping[str, int]
    notes: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()

    def made(self, columns: Mapping[str, int], make: Callable[[dict[str, str]], T]) -> tuple[list[T], int, str]:
        """What is made of the rows, how many are malformed, and how the table was read, in words; these are empty if nothing is to be said.

        Args:
            columns: our column -> its number.
            make: called with the texts of a row by our columns. An empty cell is an empty text, a whole number its digits, also in a
                column of floats, and a control character a blank.

        Raises:
            ProbingError: if every row is malformed, as one is with a cell that is neither text nor number.
        """
        changed: Counter[str] = Counter()
        # An empty cell among whole numbers makes a column of floats in pandas, and in what it writes.
        whole = {ours for ours, place in columns.items() if all(map(_WHOLE.fullmatch, self._filled(place)))}

        def made(cells: Sequence[Any]) -> T:
            row = {ours: self._text(cells[place], ours, place, changed) for ours, place in columns.items()}
            for ours in whole:
                changed[_AS_WHOLE] += bool(row[ours])
                row[ours] = row[ours].removesuffix(".0")
            return make(row)

        good, more = sorted_out(self.rows, made, self.name, self.kind.error, self.unit)
        wrong = [*self.wrong, *more]
        notes = [*self.notes, *(f"{what}: {count:,}" for what, count in changed.items() if count)]
        notes += [counted("malformed rows left out", wrong)] * bool(wrong)
        unused = [head for place, head in enumerate(self.heads) if place not in columns.values() and _key(head)]
        if not self.unnamed and unused:
            notes.append(f"not used: {', '.join(map(in_short, unused))}")
        found = {ours: f"column {place + 1}" if self.unnamed else self.heads[place] for ours, place in columns.items()}
        lacking = [ours for ours in self.kind.missed if ours not in columns]
        said = ""
        if notes or lacking or any(ours != theirs for ours, theirs in found.items()):
            parts = [self.form, ", ".join(f"{ours} = {in_short(theirs)}" for ours, theirs in found.items())]
            said = "; ".join([*parts, *([f"no {', '.join(lacking)}"] if lacking else []), *notes])
        return [one for _, one in good], len(wrong), said

    def _filled(self, place: int) -> Iterator[str]:
        return (str(cell) for _, cells in self.rows if (cell := one_text(cells[place])) != "")

    def _text(self, cell: Any, ours: str, place: int, changed: Counter[str]) -> str:
        """A cell as text; what was changed is counted."""
        cell = one_text(cell, ours == self.kind.joined)
        if isinstance(cell, bool) or not isinstance(cell, str | int | float):
            expected = "expected one text or number: write dates, lists, true and false as text"
            raise self.kind.error(f"{self.heads[place]!r} is {in_short(repr(cell))}; {expected}")
        text = str(cell)
        if not text.isprintable():
            refuse_half_characters(text, f"{self.heads[place]!r}", self.kind.error)
            text, n = CONTROL.subn(" ", text)
            changed[_AS_BLANKS] += n
        return text


def one_text(cell: Any, joined: bool = False) -> Any:
    """A cell as a value of Python: an empty text for what is missing, and the text of a list with one text.

    Args:
        cell: as the table has it.
        joined: whether a list of several texts is one text, too, as LAMA's rows of several sentences are.
    """
    if type(cell) is str:
        return cell
    if type(cell).__module__ == "numpy":
        cell = cell.tolist()
    # NaN is not itself.
    if cell is None or type(cell).__name__ in ("NAType", "NaTType") or cell != cell:
        return ""
    if isinstance(cell, list | tuple) and cell and all(isinstance(one, str) for one in cell) and (joined or len(cell) == 1):
        return " ".join(one.strip() for one in cell)
    return cell


def read_table(given: Any, name: str, kind: Kind) -> Table:
    """Reads a table.

    Args:
        given: text or bytes of a file; a data frame; an Arrow table, or what offers itself as one; a dict of columns; or rows as dicts.
        name: of the file, or what errors call the table.
        kind: what it holds.

    Raises:
        ProbingError: of the kind's class, naming file and line, if it is no table.
    """
    if isinstance(given, bytes) and given.startswith(b"PAR1"):
        return _parquet(given, name, kind)
    if isinstance(given, str | bytes):
        text = _decoded(given, name, kind)
        if Path(name).suffix.lower() in (".json", ".jsonl") or _JSON.match(text):
            return _json(text, name, kind)
        return _separated(text, name, kind)
    if hasattr(given, "iloc") and hasattr(given, "columns"):
        # A named index is a column for whoever made it; an index without a name is a count of the rows.
        given = given.reset_index(level=[one for one in given.index.names if one is not None and one not in given.columns])
        return _of_columns(list(given.columns), [given.iloc[:, place].tolist() for place in range(given.shape[1])], "table", name, kind)
    if hasattr(given, "__arrow_c_stream__"):
        import pyarrow

        return _of_arrow(pyarrow.table(given), "table", name, kind)
    if isinstance(given, Mapping) and given and all(isinstance(column, list | tuple) for column in given.values()):
        return _of_columns(list(given), list(given.values()), "table", name, kind)
    rows = [given] if isinstance(given, Mapping) or not isinstance(given, Iterable) else list(given)
    if rows and not any(isinstance(row, Mapping) for row in rows):
        raise kind.error(f"got {kind.holds} as {type(given).__name__}; expected a table, a list of dicts, or the path of a file")
    return _of_rows(enumerate(rows, 1), "rows", "row", name, kind)


def _key(name: Any) -> str:
    return re.sub(r"[\W_]+", "", str(name)).casefold()


def _places(keys: Sequence[str], key: str) -> list[int]:
    return [place for place, one in enumerate(keys) if one == key]


def _decoded(content: str | bytes, name: str, kind: Kind) -> str:
    r"""The text of a file, its line ends written ``\n``.

    Raises:
        ProbingError: if it is no text, or in another encoding.
    """
    if isinstance(content, bytes):
        for start, what in _NO_TEXT.items():
            if content.startswith(start):
                raise kind.error(f"{name} {what}")
        encoding = next((encoding for mark, encoding in _MARKS.items() if content.startswith(mark)), "utf-8-sig")
        if encoding == "utf-8-sig" and content[:1000].count(0) > len(content[:1000]) // 4:
            raise kind.error(f"{name} seems to be UTF-16 without a byte order mark; save it as UTF-8")
        try:
            content = content.decode(encoding)
        except UnicodeDecodeError as error:
            line = error.object[: error.start].count(b"\n") + 1
            raise kind.error(
                f"{name}, line {line}: byte {error.object[error.start]:#04x} is not {encoding[:6].upper().removesuffix('-')} "
                "(the file may be in Windows-1252 or Latin-1); save it as UTF-8"
            ) from None
    text = content.removeprefix("\ufeff").replace("\r\n", "\n")
    if text.count("\r") > text.count("\n"):
        text = text.replace("\r", "\n")
    # Old programs end a file with Ctrl-Z.
    return re.sub(r"\s*\x1a\s*\Z", "", text)


def _json(text: str, name: str, kind: Kind) -> Table:
    try:
        whole = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        # Not splitlines: texts may hold U+2028 and its like, which JSON allows.
        lines = ((number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip())
        return _of_rows(lines, "JSON lines", "line", name, kind, json_object)
    if isinstance(whole, dict) and len(whole) == 1 and isinstance(rows := next(iter(whole.values())), list):
        whole = rows
    elif isinstance(whole, dict):
        # Columns as pandas and dicts of lists write them; any other object is the only line of its file.
        columns = [list(column.values()) if isinstance(column, dict) else column for column in whole.values()]
        if columns and all(isinstance(column, list) for column in columns):
            return _of_columns(list(whole), columns, "JSON", name, kind)
        return _of_rows([(1, whole)], "JSON lines", "line", name, kind)
    return _of_rows(enumerate(whole if isinstance(whole, list) else [whole], 1), "JSON", "row", name, kind)


def _parquet(content: bytes, name: str, kind: Kind) -> Table:
    import pyarrow
    from pyarrow import parquet

    try:
        table = parquet.read_table(io.BytesIO(content))
    except (pyarrow.ArrowException, OSError) as error:
        raise kind.error(f"{name} cannot be read as Parquet ({error}); write it again") from error
    return _of_arrow(table, "Parquet", name, kind)


def _of_arrow(table: Any, form: str, name: str, kind: Kind) -> Table:
    return _of_columns(table.column_names, [column.to_pylist() for column in table.columns], form, name, kind)


def _of_columns(heads: Sequence[Any], columns: Sequence[Sequence[Any]], form: str, name: str, kind: Kind) -> Table:
    if len(sizes := {len(column) for column in columns}) > 1:
        raise kind.error(f"{name}: got columns of {sorted(sizes)} cells; expected as many in each")
    return Table(kind, name, form, "row", tuple(map(str, heads)), list(enumerate(zip(*columns, strict=True), 1)), {})


def _of_rows(
    rows: Iterable[tuple[int, T]], form: str, unit: str, name: str, kind: Kind, make: Callable[[T], Mapping[Any, Any]] = an_object
) -> Table:
    good, wrong = sorted_out(rows, make, name, kind.error, unit)
    heads = list(dict.fromkeys(key for _, row in good for key in row))
    listed = [(number, [row.get(head) for head in heads]) for number, row in good]
    return Table(kind, name, form, unit, tuple(map(str, heads)), listed, {}, (), tuple(wrong))


def _separated(text: str, name: str, kind: Kind) -> Table:
    """A table whose cells a sign separates, with headings or without."""
    if declared := re.match(r'"?sep=([^\s"]|\t)"?\n', text, re.IGNORECASE):
        text = text[declared.end() - 1 :]
    signs = [declared[1]] if declared else list(SEPARATORS)
    separator = max(signs, key=lambda sign: kind.fit(_first(text, sign)))
    called = SEPARATORS.get(separator, repr(separator))
    rows, notes = _rows(text, separator, called, name, kind)
    heads = [cell.strip() for cell in rows[0][2]] if rows else []
    unnamed = kind.unnamed(heads)
    short = 0

    def filled(cells: list[str]) -> list[str]:
        nonlocal short
        if any(cell.strip() for cell in cells[len(heads) :]):
            raise ValueError(
                f"got {len(cells)} cells, expected {len(heads)} ({', '.join(heads)}); "
                f"put a cell that holds one of the {called} in double quotes"
            )
        short += len(cells) < len(heads)
        return [*cells[: len(heads)], *[""] * (len(heads) - len(cells))]

    below = ((number, cells) for number, _, cells in (rows if unnamed else rows[1:]))
    kept, wrong = sorted_out(below, filled, name, kind.error)
    if short:
        notes.append(f"rows with fewer cells than the first, the others empty: {short:,}")
    return Table(kind, name, f"separated by {called}", "line", tuple(heads), kept, unnamed, tuple(notes), tuple(wrong))


def _rows(text: str, separator: str, called: str, name: str, kind: Kind) -> tuple[list[_Row], list[str]]:
    """The rows that are not blank, and what is to be said of quotation marks.

    Quotation marks were written by a spreadsheet or a library if every cell that begins with one is closed, its own marks doubled.
    Otherwise they are text: a title at the beginning of a sentence, which would swallow the rows up to the next mark.

    Raises:
        ProbingError: if the rows have a wrong number of cells either way, or can be read in both.
    """
    lines = text.removesuffix("\n").split("\n") if text else []
    every, open_at = list[_Row](), 0
    try:
        every.extend(_quoted(text, separator))
        # Line ends are counted in the text and in the cells, so that no row is lost or swallowed by what parts them.
        if (n := sum(1 + "".join(cells).count("\n") for _, _, cells in every)) != len(lines):
            raise kind.error(f"{name}: {n:,} of {len(lines):,} lines are in rows; close every quotation mark that begins a cell")
    except csv.Error:
        open_at = every[-1][0] + every[-1][1] if every else 1
    rows = [row for row in every if any(map(str.strip, row[2]))]
    several = [(number, size) for number, size, _ in rows if size > 1]
    if not open_at and not several:
        taken_off = separator == "\t" and re.search(r'(?m)(?:^|\t) *"', text)
        return rows, ["quotation marks around cells are taken off"] * bool(taken_off)
    plain = [(number, 1, line.split(separator)) for number, line in enumerate(lines, 1) if line.strip(f' "{separator}')]
    wide = len(plain[0][2])
    # A line break in a sentence makes a short row; tables with tabs may lack empty cells at the end.
    off = (number for number, _, cells in plain if any(map(str.strip, cells[wide:])) or (separator != "\t" and len(cells) < wide))
    bad = next(off, 0)
    spans = [f"{number} to {number + size - 1}" for number, size in several]
    ends = separator * (wide - 1)
    alike = [at for at, (number, size) in enumerate(several) if _as_wide(lines[number - 1 : number - 1 + size], separator, wide) > 1]
    if not open_at and (bad or not alike):
        return rows, [counted("rows of several lines", [f"lines {span}" for span in spans])]
    first = open_at or several[alike[0]][0]
    if bad:
        raise kind.error(
            f"{name}, line {first}: a cell begins with a quotation mark and does not end with one before the next of the {called}, and "
            f"line {bad} is no row of {wide} cells if quotation marks are text; put such a cell in quotation marks and double those "
            "inside, or separate the cells by tabs"
        )
    if not open_at and separator != "\t":
        raise kind.error(
            f"{name}, lines {spans[alike[0]]}: one cell in quotation marks, or {several[alike[0]][1]} rows whose {called} are counted? "
            "Replace the line breaks in a cell, or separate the cells by tabs, where quotation marks may be text"
        )
    return plain, [f"quotation marks are text, as in line {first}"]


def _as_wide(lines: Sequence[str], separator: str, wide: int) -> int:
    """How many lines of one row look like rows."""
    return sum(line.count(separator) == wide - 1 for line in lines) if wide > 1 else 0


def _quoted(text: str, separator: str) -> Iterator[_Row]:
    """Rows whose cells may be quoted and then hold line ends; raises a ``csv.Error`` where a quotation mark is not closed."""
    reader, number = csv.reader(io.StringIO(text), delimiter=separator, skipinitialspace=True, strict=True), 1
    for cells in reader:
        yield number, reader.line_num + 1 - number, cells
        number = reader.line_num + 1


def _first(text: str, separator: str) -> list[str]:
    """The cells of the first row that is not blank, if this separates them; empty if there is none."""
    try:
        return next((cells for _, _, cells in _quoted(text, separator) if any(map(str.strip, cells))), [])
    except csv.Error:
        return text.lstrip("\n ").partition("\n")[0].split(separator)
