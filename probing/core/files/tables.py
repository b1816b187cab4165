"""The one reader of tables that users bring: files of text, JSON or Parquet, data frames, Arrow tables and rows.

Cells that a sign separates are split here, because DuckDB's ``read_csv`` (1.3 and 2.0 alike) loses rows to a lone quotation mark
without rejecting one, takes the heading of a pandas index for a row, and reads a table whose last row is short as one column.
"""

import io
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from probing.core.characters import CONTROL, refuse_half_characters
from probing.core.errors import ProbingError

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
_JSON = re.compile(r"\s*(\[\s*)?\{")
_MOST_NAMED = 3
#: Number of the line, number of its lines, and cells.
_Split = tuple[int, int, list[str]]


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
    """

    kind: Kind
    name: str
    form: str
    unit: str
    heads: tuple[str, ...]
    rows: Sequence[tuple[int, Sequence[Any]]]
    unnamed: Mapping[str, int]
    notes: tuple[str, ...] = ()

    def where(self, number: int) -> str:
        """The name of a row in errors."""
        return f"{self.name}, {self.unit} {number}"

    def texts(self, columns: Mapping[str, int]) -> tuple[list[tuple[int, dict[str, str]]], str]:
        """The rows as texts by our columns, and how the table was read, in words; these are empty if nothing is to be said.

        An empty cell is an empty text, a whole number its digits, also of a column of floats, and a control character a blank.

        Raises:
            ProbingError: naming the row, if a cell is neither text nor number, or holds half a character.
        """
        controls: Counter[str] = Counter()
        texts = [self._column(place, ours == self.kind.joined, controls) for ours, place in columns.items()]
        rows = [(number, dict(zip(columns, cells, strict=True))) for (number, _), *cells in zip(self.rows, *texts, strict=True)]
        notes = [*self.notes, *(f"{what}: {count:,}" for what, count in controls.items())]
        unused = [head for place, head in enumerate(self.heads) if place not in columns.values() and _key(head)]
        if not self.unnamed and unused:
            notes.append(f"not used: {', '.join(map(_short, unused))}")
        found = {ours: f"column {place + 1}" if self.unnamed else self.heads[place] for ours, place in columns.items()}
        lacking = [ours for ours in self.kind.missed if ours not in columns]
        if not notes and not lacking and all(ours == theirs for ours, theirs in found.items()):
            return rows, ""
        said = [self.form, ", ".join(f"{ours} = {_short(theirs)}" for ours, theirs in found.items())]
        return rows, "; ".join([*said, *([f"no {', '.join(lacking)}"] if lacking else []), *notes])

    def _column(self, place: int, joined: bool, counts: Counter[str]) -> list[str]:
        """The cells of a column as texts; what was changed is counted."""
        texts = []
        for number, cells in self.rows:
            cell = cells[place]
            if type(cell) is not str:
                cell = one_text(cell, joined)
                if cell is None or cell != cell:
                    cell = ""
                elif isinstance(cell, bool) or not isinstance(cell, str | int | float):
                    raise self.kind.error(
                        f"{self.where(number)}: {self.heads[place]!r} is {cell!r}; expected one text or number: "
                        "write dates, lists, true and false as text"
                    )
                cell = str(cell)
            if not cell.isprintable():
                refuse_half_characters(cell, f"{self.where(number)}: {self.heads[place]!r}", self.kind.error)
                cell, n = CONTROL.subn(" ", cell)
                if n:
                    counts["control characters read as blanks"] += n
            texts.append(cell)
        # An empty cell among whole numbers makes a column of floats in pandas, and in what it writes.
        if (n := sum(map(bool, map(_WHOLE.fullmatch, texts)))) and n == sum(map(bool, texts)):
            counts["numbers such as 1.0 read as 1"] += n
            return [text.removesuffix(".0") for text in texts]
        return texts


def one_text(cell: Any, joined: bool = False) -> Any:
    """A cell as a value of Python: None for what pandas calls missing, and the text of a list with one text.

    Args:
        cell: as the table has it.
        joined: whether a list of several texts is one text, too, as LAMA's rows of several sentences are.
    """
    if type(cell).__name__ in ("NAType", "NaTType"):
        return None
    if type(cell).__module__ == "numpy":
        cell = cell.tolist()
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
    if not all(isinstance(row, Mapping) for row in rows):
        raise kind.error(f"got {kind.holds} as {type(given).__name__}; expected a table, a list of dicts, or the path of a file")
    return _of_rows(enumerate(rows, 1), "rows", "row", name, kind)


def json_objects(text: str, where: str, error_class: type[ProbingError]) -> Iterator[tuple[int, dict]]:
    """Line number and object of every line that is not blank.

    Raises:
        ProbingError: of the class, naming the line, if a line is not a JSON object.
    """
    # Not splitlines: labels may hold U+2028 and its like, which JSON allows inside a string.
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line, strict=False)
        except (ValueError, RecursionError) as error:
            raise error_class(f"{where}, line {number}: not JSON ({error}); expected one JSON object per line") from error
        if not isinstance(row, dict):
            raise error_class(f"{where}, line {number}: got {type(row).__name__}, expected a JSON object")
        yield number, row


def _key(name: Any) -> str:
    return re.sub(r"[\W_]+", "", str(name)).casefold()


def _places(keys: Sequence[str], key: str) -> list[int]:
    return [place for place, one in enumerate(keys) if one == key]


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:60]}…"


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
        return _of_rows(json_objects(text, name, kind.error), "JSON lines", "line", name, kind)
    if isinstance(whole, dict) and len(whole) == 1 and isinstance(rows := next(iter(whole.values())), list):
        whole = rows
    elif isinstance(whole, dict):
        # Columns as pandas and dicts of lists write them; any other object is the only line of its file.
        columns = [list(column.values()) if isinstance(column, dict) else column for column in whole.values()]
        if not columns or not all(isinstance(column, list) for column in columns):
            return _of_rows([(1, whole)], "JSON lines", "line", name, kind)
        return _of_columns(list(whole), columns, "JSON", name, kind)
    if not isinstance(whole, list) or not all(isinstance(row, dict) for row in whole):
        raise kind.error(f"{name}: got JSON of another form ({type(whole).__name__}); expected an array of objects, or one object per line")
    return _of_rows(enumerate(whole, 1), "JSON", "row", name, kind)


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


def _of_rows(rows: Iterable[tuple[int, Mapping[Any, Any]]], form: str, unit: str, name: str, kind: Kind) -> Table:
    listed_rows = list(rows)
    heads = list(dict.fromkeys(key for _, row in listed_rows for key in row))
    return Table(kind, name, form, unit, tuple(map(str, heads)), [(n, [row.get(head) for head in heads]) for n, row in listed_rows], {})


def _separated(text: str, name: str, kind: Kind) -> Table:
    """A table whose cells a sign separates, with headings or without."""
    if declared := re.match(r'"?sep=(.)"?\n', text, re.IGNORECASE):
        text = text[declared.end() - 1 :]
    signs = [declared[1]] if declared else list(SEPARATORS)
    separator = max(signs, key=lambda sign: kind.fit(_first(text, sign)))
    called = SEPARATORS.get(separator, repr(separator))
    rows, notes = _rows(text, separator, name, kind)
    if not rows:
        return Table(kind, name, f"separated by {called}", "line", (), [], {})
    heads = [cell.strip() for cell in rows[0][2]]
    unnamed = kind.unnamed(heads)
    kept, short = [], 0
    for number, _, cells in rows if unnamed else rows[1:]:
        if any(cell.strip() for cell in cells[len(heads) :]):
            raise kind.error(
                f"{name}, line {number}: got {len(cells)} cells, expected {len(heads)} ({', '.join(heads)}); "
                f"put a cell that holds one of the {called} in double quotes"
            )
        short += len(cells) < len(heads)
        kept.append((number, [*cells[: len(heads)], *[""] * (len(heads) - len(cells))]))
    if short:
        notes.append(f"rows with fewer cells than the first, the others empty: {short:,}")
    return Table(kind, name, f"separated by {called}", "line", tuple(heads), kept, unnamed, tuple(notes))


def _rows(text: str, separator: str, name: str, kind: Kind) -> tuple[list[_Split], list[str]]:
    """The rows that are not blank, and what is to be said of quotation marks.

    Cells that begin with a quotation mark were written by a spreadsheet or a library if each of them is closed, its own marks doubled.
    Otherwise the marks are text: a title at the beginning of a sentence, which would swallow the rows up to the next mark.

    Raises:
        ProbingError: if the rows have a wrong number of cells either way.
    """
    filled, sign = re.compile(rf'[^\s"{re.escape(separator)}]'), SEPARATORS.get(separator, repr(separator))
    lines = text.split("\n")
    rows, several, open_at, alike, n = list[_Split](), list[tuple[int, int]](), 0, (0, 0), 0
    for number, size, cells in _quoted(text, separator):
        if not size:
            open_at = number
            break
        # Counted from the cells, and not by what has split them.
        if inside := sum(filled.search(line) is not None for line in separator.join(cells).split("\n")):
            rows.append((number, size, cells))
            n += inside
            if size > 1:
                several.append((number, size))
                alike = alike if alike[0] or not _alike(lines[number - 1 : number - 1 + size], separator, len(rows[0][2])) else several[-1]
    if not open_at and not alike[0]:
        if n != (n_lines := sum(filled.search(line) is not None for line in lines)):
            raise kind.error(f"{name}: {n:,} of {n_lines:,} lines are in rows; close every quotation mark that begins a cell")
        notes = ["quotation marks around cells are taken off"] if separator == "\t" and re.search(r'(?m)(?:^|\t) *"', text) else []
        notes += [f"line {number}: a row of {size} lines" for number, size in several[:_MOST_NAMED]]
        return rows, [*notes, *([f"{len(several):,} such rows"] if len(several) > _MOST_NAMED else [])]
    plain = [(number, 1, line.split(separator)) for number, line in enumerate(lines, 1) if filled.search(line)]
    wide = len(plain[0][2])
    # A line break in a sentence makes a short row; tables with tabs may lack empty cells at the end.
    off = (number for number, _, cells in plain if any(map(filled.search, cells[wide:])) or (separator != "\t" and len(cells) < wide))
    if not open_at and separator != "\t":
        raise kind.error(
            f"{name}, lines {alike[0]} to {alike[0] + alike[1] - 1}: one cell in quotation marks, or {alike[1]} rows whose {sign} are "
            "counted? Replace the line breaks in a cell, or separate the cells by tabs, where quotation marks may be text"
        )
    if bad := next(off, 0):
        raise kind.error(
            f"{name}, line {open_at or alike[0]}: a cell begins with a quotation mark and does not end with one before the next of the "
            f"{sign}, and line {bad} is no row of {wide} cells if quotation marks are text; put such a cell in quotation marks and double "
            "those inside, or separate the cells by tabs"
        )
    return plain, [f"quotation marks are text, as in line {open_at or alike[0]}"]


def _alike(lines: Sequence[str], separator: str, wide: int) -> bool:
    """Whether the lines of one row look like rows: sentences have commas, but no tabs."""
    filled = [line for line in lines if line.strip()]
    alike = sum(line.count(separator) == wide - 1 for line in filled)
    return wide > 1 and alike >= (2 if separator == "\t" else len(filled))


def _quoted(text: str, separator: str) -> Iterator[_Split]:
    """Rows whose cells may be quoted and then hold line ends; a row of 0 lines, the last, is not well quoted."""
    sign = re.escape(separator)
    cell = re.compile(rf' *"([^"]*(?:""[^"]*)*)" *({sign}|\n|\Z)|([^{sign}\n]*)({sign}|\n|\Z)')
    place, number = 0, 1
    while place < len(text):
        end = text.find("\n", place) % (len(text) + 1)
        if '"' not in text[place:end]:
            yield number, 1, text[place:end].split(separator)
            place, number = end + 1, number + 1
            continue
        start, cells = number, list[str]()
        while True:
            found = cell.match(text, place)
            assert found and found.lastindex
            place, plain = found.end(), found[3]
            if plain is None:
                cells.append(found[1].replace('""', '"'))
                number += found[1].count("\n")
            elif plain.lstrip().startswith('"'):
                yield start, 0, cells
                return
            else:
                cells.append(plain)
            if found[found.lastindex] != separator:
                break
        number += 1
        yield start, number - start, cells


def _first(text: str, separator: str) -> list[str]:
    """The cells of the first row that is not blank, if this separates them; empty if there is none."""
    for number, size, cells in _quoted(text, separator):
        if not size:
            return text.split("\n", number)[number - 1].split(separator)
        if any(cell.strip() for cell in cells):
            return cells
    return []
