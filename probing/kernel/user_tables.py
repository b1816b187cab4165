"""The one reader of tables that users bring: files of text, JSON or Parquet, data frames, Arrow tables and rows.

Cells that a sign separates are split here, because DuckDB's ``read_csv`` (1.3 and 2.0 alike) loses rows to a lone
quotation mark, takes the heading of a pandas index for a row, and a short last row for a table of one column.
"""

import csv
import io
import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from probing.kernel.errors import ProbingError
from probing.kernel.text import (
    CONTROL,
    an_object,
    counted,
    decoded,
    in_short,
    json_object,
    refuse_half_characters,
    sorted_out,
    stripped,
)

#: Endings of files. The content decides what a file is: only ``.json`` and ``.jsonl`` say it by their name.
SUFFIXES = (".jsonl", ".json", ".csv", ".tsv", ".txt", ".parquet")
#: Separator -> what it is called. Of those that fit alike the first is taken: sentences have commas more often than
#: semicolons.
SEPARATORS = {"\t": "tabs", ";": "semicolons", ",": "commas", "|": "bars"}
#: Texts of a cell that programs write where there is nothing, in lower case.
NOTHING = frozenset(
    ("nan", "null", "n/a", "#n/a", "<na>", r"\n", "#ref!", "#value!", "#name?", "#div/0!", "#num!", "#null!")
)
#: Texts that may stand for nothing, in lower case, as R's NA does, which is Namibia's code, too: kept, and named.
DOUBTFUL = frozenset(("?", "na", "none", "nil", "unknown", "undefined", "missing"))
#: The form of an object whose keys have a list of rows each; the key is the column ``split``.
BY_SPLIT = "JSON by split"
#: Stands for a quotation mark with a backslash while cells are parted: no text has it.
_ESCAPED = "\ufdd0"
#: Lines above the headings at most.
_MOST_ABOVE = 20
_WHOLE = re.compile(r"-?\d+\.0")
_JSON = re.compile(r"\s*(\[\s*)?\{")
#: Texts that name a thing without being its name: ids of Wikidata and the like, addresses, numbers.
_ID = re.compile(r"<?https?://\S+|/\w+/\S+|(?:\w+:)?[A-Za-z]{0,3}[-_]?\d[\d.,:-]*")
_TOKEN = r"(?:\[(?:CLS|SEP|PAD)\]|</?s>|<(?:bos|eos|pad)>|<\|endoftext\|>)"
#: Special tokens that a tokenizer puts around a text itself.
_TYPED = re.compile(rf"\A(?:{_TOKEN}\s*)+|(?:{_TOKEN}\s*)+\Z")
#: What a program should have undone: tags and entities of HTML, a letter's escape, but no command of TeX (``\nu``),
#: pieces of words, a list or bytes as Python writes them, and UTF-8 that was read as Windows-1252.
_MARKUP = re.compile(
    r"</?(?:p|br|b|i|u|em|strong|su[bp]|a|div|span|li|[uo]l|t[dr]|h\d|code|font)(?:\s[^<>]*)?/?>"
    rf"|&(?:[A-Za-z]{{2,8}}\d*|#\d+|#x[\da-fA-F]+);|\\(?:[nrt](?![a-z])|u[\da-fA-F]{{4}}|x[\da-fA-F]{{2}})|{_TOKEN}"
    r"""|(?<!\S)(?:##\w+|[Ġ▁]\w*)|(?m:^(?:b(['"]).*\1|\[(['"]).*\2\])$)"""
    "|\ufffd|â€|[ÂÃÐÑ][\xa0-\xbfŒœŠšŸŽžƒˆ˜–—‘-„†-•…‰‹›€™]"
)
#: Number of the first line, number of lines, and cells.
_Row = tuple[int, int, list[str]]
T = TypeVar("T")


@dataclass(frozen=True)
class Kind:
    """What tables of one kind hold, in words (``holds``) and by column."""

    error: type[ProbingError]
    holds: str
    #: Column -> the names that are taken for it, the first one that a table has, without case, blanks and ``_-``.
    names: Mapping[str, tuple[str, ...]]
    #: Column -> its number in a table without headings, by its first row; empty if the row has headings.
    unnamed: Callable[[Sequence[str]], dict[str, int]]
    #: The column whose lists of texts are one text; elsewhere, a list has one.
    joined: str = ""
    #: Columns whose absence is said.
    missed: tuple[str, ...] = ()
    #: Columns in which true and false are texts.
    flags: tuple[str, ...] = ()

    def known(self, cells: Sequence[str]) -> int:
        """How many of our columns a row has headings of."""
        keys = {_key(cell) for cell in cells}
        return sum(any(_key(name) in keys for name in known) for known in self.names.values())

    def fit(self, cells: Sequence[str]) -> tuple[int, bool, int]:
        """How well a separator fits, by the first row: columns found, a row without headings, number of cells."""
        unnamed = bool(self.unnamed(cells))
        return self.known(cells), unnamed, 0 if unnamed else len(cells)

    def columns(self, heads: Sequence[str], where: str) -> dict[str, list[int]]:
        """Column -> the numbers of the headings that are taken for it, best first; only columns that are there."""
        keys, by_column = list(map(_key, heads)), dict[str, list[int]]()
        for ours, known in self.names.items():
            places = [place for name in known for place, key in enumerate(keys) if key == _key(name)]
            if len(places) > 1 and keys[places[0]] == keys[places[1]]:
                raise self.error(
                    f"{where}: got the column {heads[places[0]]!r} twice ({list(heads)}); expected it once"
                )
            by_column |= {ours: places} if places else {}
        return by_column


@dataclass(frozen=True)
class Table:
    """A table as it was read; ``name`` and ``unit`` ("line" or "row", counted from 1) are for errors."""

    kind: Kind
    name: str
    form: str
    unit: str
    #: "column 1" and so on if it has none.
    heads: Sequence[str]
    rows: Sequence[tuple[int, Sequence[Any]]]
    unnamed: Mapping[str, int]
    notes: Sequence[str] = ()
    #: Of the rows that are left out.
    wrong: Sequence[str] = ()

    def made(self, columns: Mapping[str, int], make: Callable[[dict[str, str]], T]) -> tuple[list[T], int, str]:
        """What is made of the rows, how many are malformed, and how the table was read, if something is to be said.

        ``make`` gets the texts of a row by our columns. An empty cell is an empty text, a whole number its digits, also
        in a column of floats, and a control character a blank. Blanks, invisible signs and special tokens at the ends
        are left out. A cell that is neither text nor number is malformed.
        """
        # An empty cell among whole numbers makes a column of floats in pandas, and in what it writes.
        whole = {place for place in columns.values() if all(map(_WHOLE.fullmatch, self.filled(place)))}
        controls, typed_tokens, texts = 0, 0, list[str]()

        def made(cells: Sequence[Any]) -> T:
            nonlocal controls, typed_tokens
            row = {}
            for ours, place in columns.items():
                text = cells[place]
                if type(text) is not str or not text.isprintable():
                    text, n = CONTROL.subn(" ", self._text(text, ours, place))
                    controls += n
                text, n = _TYPED.subn("", stripped(text))
                typed_tokens += n > 0
                row[ours] = text.removesuffix(".0") if place in whole else text
            texts.append("\n".join(row.values()))
            return make(row)

        good, wrong = sorted_out(self.rows, made, self.name, self.kind.error, self.unit)
        wrong = [*self.wrong, *wrong]
        headings = {ours: self.heads[place] for ours, place in columns.items()}
        unused = [head for place, head in enumerate(self.heads) if place not in columns.values() and _key(head)]
        notes = (
            [f"no {', '.join(lacking)}"]
            if (lacking := [ours for ours in self.kind.missed if ours not in columns])
            else []
        )
        notes += self.notes
        typed = (place for place in whole if any(isinstance(one[place], str) and one[place] for _, one in self.rows))
        if cut := sorted(in_short(self.heads[place]) for place in typed):
            notes.append(f"numbers that end in .0 are read without it: {', '.join(cut)}")
        notes += [f"control characters read as blanks: {controls:,}"] if controls else []
        notes += [f"special tokens at the ends of texts left out: {typed_tokens:,}"] if typed_tokens else []
        notes += signs_of_programs(texts)
        notes += [counted("malformed rows left out", wrong)] if wrong else []
        notes += [f"not used: {', '.join(map(in_short, unused))}"] if unused else []
        if notes or any(ours != theirs for ours, theirs in headings.items()):
            notes = [self.form, ", ".join(f"{ours} = {in_short(theirs)}" for ours, theirs in headings.items()), *notes]
        return [value for _, value in good], len(wrong), "; ".join(notes)

    def filled(self, place: int) -> list[str]:
        """The texts of a column's cells that are not empty."""
        return [str(cell) for _, cells in self.rows if (cell := cell_value(cells[place])) != ""]

    def of_words(self, places: Sequence[int]) -> list[int]:
        """The columns in their order, those whose cells are mostly ids, numbers or empty behind the others."""

        def ids(place: int) -> bool:
            cells = [cell.strip() for cell in self.filled(place)]
            return 2 * sum(_ID.fullmatch(cell) is not None or not re.search(r"\w", cell) for cell in cells) >= len(
                cells
            )

        return sorted(places, key=ids)

    def _text(self, cell: Any, ours: str, place: int) -> str:
        cell = cell_value(cell, ours == self.kind.joined)
        if isinstance(cell, bool) and ours in self.kind.flags:
            return str(cell)
        if isinstance(cell, bool) or not isinstance(cell, str | int | float):
            expected = "expected one text or number: write dates, lists, true and false as text"
            raise ValueError(f"{self.heads[place]!r} is {in_short(repr(cell))}; {expected}")
        refuse_half_characters(text := str(cell), repr(self.heads[place]), self.kind.error)
        return text


def signs_of_programs(texts: Sequence[str]) -> list[str]:
    """One note of the texts that hold what a program should have undone, with the first signs; none without them."""
    found = [in_short(match[0]) for text in texts if (match := _MARKUP.search(text))]
    which = f"{len(found):,} of {len(texts):,} ({', '.join(list(dict.fromkeys(found))[:5])})"
    what = "HTML, escapes, pieces of words, special tokens, Python's quotes or a wrong encoding"
    return [f"texts with {what}: {which}"] * bool(found)


def cell_value(cell: Any, joined: bool = False) -> Any:
    """A cell as a value of Python: an empty text for what is missing, and the text of a list with one text.

    ``joined``: a list of several texts is one text, too, as LAMA's rows of several sentences are.
    """
    if type(cell) is str:
        return cell
    if type(cell).__module__ == "numpy":
        cell = cell.tolist()
    # NaN is not itself.
    if cell is None or type(cell).__name__ in ("NAType", "NaTType") or cell != cell:
        return ""
    if (
        isinstance(cell, list | tuple)
        and cell
        and all(isinstance(text, str) for text in cell)
        and (joined or len(cell) == 1)
    ):
        return " ".join(text.strip() for text in cell)
    return cell


def read_table(data: Any, name: str, kind: Kind) -> Table:
    """A table from text or bytes of a file, a data frame, an Arrow table, a dict of columns, or rows as dicts."""
    form = "table"
    if isinstance(data, bytes) and data.startswith(b"PAR1"):
        import pyarrow
        from pyarrow import parquet

        form = "Parquet"
        try:
            data = parquet.read_table(io.BytesIO(data))
        except (pyarrow.ArrowException, OSError) as error:
            raise kind.error(f"{name} cannot be read as Parquet ({error}); write it again") from error
    if isinstance(data, str | bytes):
        text = decoded(data, name, kind.error)
        if Path(name).suffix.lower() in (".json", ".jsonl") or _JSON.match(text):
            return _json(text, name, kind)
        return _separated(text, name, kind)
    if hasattr(data, "iloc") and hasattr(data, "columns"):
        # A named index is a column for whoever made it; an index without a name is a count of the rows.
        data = data.reset_index(
            level=[level for level in data.index.names if level is not None and level not in data.columns]
        )
        return _of_columns(
            list(data.columns), [data.iloc[:, place].tolist() for place in range(data.shape[1])], form, name, kind
        )
    if hasattr(data, "__arrow_c_stream__"):
        import pyarrow

        table = pyarrow.table(data)
        return _of_columns(table.column_names, [column.to_pylist() for column in table.columns], form, name, kind)
    if isinstance(data, Mapping) and data and all(isinstance(column, list | tuple) for column in data.values()):
        return _of_columns(list(data), list(data.values()), form, name, kind)
    rows = [data] if isinstance(data, Mapping) or not isinstance(data, Iterable) else list(data)
    if rows and not any(isinstance(row, dict) for row in rows):
        raise kind.error(
            f"got {kind.holds} as {type(data).__name__}; expected a table, a list of dicts, or the path of a file"
        )
    return _of_rows(enumerate(rows, 1), "rows", "row", name, kind)


def _key(name: Any) -> str:
    # Without accents, which are letters of their own in some files and signs after a letter in others.
    return re.sub(r"[\W_]+", "", unicodedata.normalize("NFKD", str(name))).casefold()


def _json(text: str, name: str, kind: Kind) -> Table:
    try:
        whole = json.loads(text, strict=False)
    except (ValueError, RecursionError) as error:
        # Not splitlines: texts may hold U+2028 and its like, which JSON allows.
        lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
        opened = text.lstrip()[:1]
        by_line = opened == "{" and (len(lines) == 1 or any(line[0] == "{" for _, line in lines[1:]))
        if isinstance(error, json.JSONDecodeError) and opened in ("[", "{") and not by_line:
            expected = "expected one array of objects, without a comma before a closing bracket"
            raise kind.error(f"{name}, line {error.lineno}: not JSON ({error.msg}); {expected}") from None
        return _of_rows(lines, "JSON lines", "line", name, kind, json_object)
    if isinstance(whole, dict):
        return _of_object(whole, name, kind)
    rows = whole if isinstance(whole, list) else [whole]
    if rows and all(isinstance(row, list) for row in rows):
        return _of_lists(rows, name, kind)
    return _of_rows(enumerate(rows, 1), "JSON", "row", name, kind)


def _of_object(whole: dict[str, Any], name: str, kind: Kind) -> Table:
    """The table of an object: its list of rows, its lists by split, rows by their index, columns, or its one row."""

    def known(row: Any) -> int:
        return kind.known(list(row)) if isinstance(row, dict) else 0

    values = list(whole.values())
    if isinstance(heads := whole.get("columns"), list) and isinstance(listed := whole.get("data"), list):
        return _of_lists([heads, *listed], name, kind)
    lists = {key: list(map(_inner, rows)) for key, rows in whole.items() if isinstance(rows, list) and rows}
    if known(whole) < 2 and (lists := {key: rows for key, rows in lists.items() if known(rows[0])}):
        by_split = len(lists) > 1
        rows = [
            {"split": key} | row if by_split and isinstance(row, dict) else row for key in lists for row in lists[key]
        ]
        return _of_rows(enumerate(rows, 1), BY_SPLIT if by_split else "JSON", "row", name, kind)
    if len(whole) == 1 and isinstance(values[0], list):
        return _of_rows(enumerate(values[0], 1), "JSON", "row", name, kind)
    if not known(whole) and values and all(map(known, values)):
        return _of_rows(enumerate(values, 1), "JSON", "row", name, kind)
    if not known(whole) and len(values) == 1 and isinstance(values[0], dict):
        return _of_object(values[0], name, kind)
    # Columns as pandas and dicts of lists write them; any other object is the only line of its file.
    if values and all(isinstance(column, dict | list) for column in values):
        keyed = [column for column in values if isinstance(column, dict)]
        if other := sorted({key for column in keyed for key in column.keys() ^ keyed[0].keys()}):
            raise kind.error(f"{name}: not every column has the keys {other[:5]}; expected one for each row in each")
        columns = [[column[key] for key in keyed[0]] if isinstance(column, dict) else column for column in values]
        return _of_columns(list(whole), columns, "JSON", name, kind)
    return _of_rows([(1, whole)], "JSON lines", "line", name, kind)


def _inner(row: Any) -> Any:
    """A row; of huggingface's viewer what its key ``row`` holds."""
    return row["row"] if isinstance(row, dict) and isinstance(row.get("row"), dict) else row


def _of_lists(rows: Sequence[Any], name: str, kind: Kind) -> Table:
    """Rows that are lists, the first of which has the headings unless it is a row as well."""
    first = list(map(str, rows[0]))
    unnamed = kind.unnamed(first)
    heads = [f"column {place}" for place in range(1, len(first) + 1)] if unnamed else first

    def cells(row: Any) -> list[Any]:
        if not isinstance(row, list) or len(row) != len(heads):
            raise ValueError(f"got {in_short(repr(row))}, expected a list of {len(heads)} cells")
        return row

    good, wrong = sorted_out(list(enumerate(rows, 1))[not unnamed :], cells, name, kind.error, "row")
    return Table(kind, name, "JSON", "row", heads, good, unnamed, (), wrong)


def _of_columns(heads: Sequence[Any], columns: Sequence[Sequence[Any]], form: str, name: str, kind: Kind) -> Table:
    if len(sizes := {len(column) for column in columns}) > 1:
        raise kind.error(f"{name}: got columns of {sorted(sizes)} cells; expected as many in each")
    return Table(kind, name, form, "row", list(map(str, heads)), list(enumerate(zip(*columns, strict=True), 1)), {})


def _of_rows(
    rows: Iterable[tuple[int, T]], form: str, unit: str, name: str, kind: Kind, make: Callable[[T], Any] = an_object
) -> Table:
    good, wrong = sorted_out(rows, make, name, kind.error, unit)
    heads = list(dict.fromkeys(key for _, row in good for key in row))
    listed = [(number, [row.get(head) for head in heads]) for number, row in good]
    return Table(kind, name, form, unit, list(map(str, heads)), listed, {}, (), wrong)


def _separated(text: str, name: str, kind: Kind) -> Table:
    """A table whose cells a sign separates, with headings or without."""
    if declared := re.match(r'"?sep=([^\s"]|\t)"?\n', text, re.IGNORECASE):
        text = text[declared.end() - 1 :]
    signs = [declared[1]] if declared else list(SEPARATORS)
    begun = {sign: _begun(text, sign, kind) for sign in signs}
    separator = max(signs, key=lambda sign: kind.fit(_first(begun[sign], sign)))
    called = SEPARATORS.get(separator, repr(separator))
    written = _marked(begun[separator], separator)
    rows, notes = _rows(written, separator, called, name, kind)
    if written != begun[separator]:
        rows = [(number, size, [cell.replace(_ESCAPED, '"') for cell in cells]) for number, size, cells in rows]
        notes.append(r"\" is read as a quotation mark")
    above = text.split("\n", _MOST_ABOVE)[: len(written) - len(written.lstrip("\n"))]
    if titles := [in_short(line) for line in above if line.strip()]:
        notes.append(counted("lines above the headings that are not read", titles))
    heads = [cell.strip() for cell in rows[0][2]] if rows else []
    unnamed = kind.unnamed(heads)

    def padded(cells: list[str]) -> list[str]:
        if any(map(str.strip, cells[len(heads) :])):
            expected = (
                f"expected {len(heads)} ({', '.join(heads)}); put a cell that holds one of the {called} in double"
                " quotes"
            )
            raise ValueError(f"got {len(cells)} cells, {expected}")
        return [*cells[: len(heads)], *[""] * (len(heads) - len(cells))]

    # Below its headings a table of Markdown or of psql has a line.
    ruled = separator == "|" and len(rows) > 1 and re.fullmatch(r"[\s:+-]+", "".join(rows[1][2])) is not None
    below = [(number, cells) for number, _, cells in (rows if unnamed else rows[1 + ruled :])]
    padded_rows, wrong = sorted_out(below, padded, name, kind.error)
    if short := sum(len(cells) < len(heads) for _, cells in below):
        notes.append(f"rows with fewer cells than the first, the others empty: {short:,}")

    def nameless(place: int) -> bool:
        # Pandas' count of rows has no heading, and is no column of a user's.
        return not heads[place] and any(re.search(r"[^\W\d]", cells[place]) for _, cells in padded_rows)

    named = [f"column {place + 1}" if unnamed or nameless(place) else head for place, head in enumerate(heads)]
    return Table(kind, name, f"separated by {called}", "line", named, padded_rows, unnamed, notes, wrong)


def _rows(text: str, separator: str, called: str, name: str, kind: Kind) -> tuple[list[_Row], list[str]]:
    """The rows that are not blank, and what is to be said of quotation marks.

    Quotation marks were written by a spreadsheet or a library if every cell that begins with one is closed, its own
    marks doubled. Otherwise they are text: a title at the beginning of a sentence, which would swallow the rows up to
    the next mark. Rows that can be read both ways are refused.
    """
    lines = text.removesuffix("\n").split("\n") if text else []
    every, first = list[_Row](), 0
    try:
        every.extend(_quoted(text, separator))
        # Line ends are counted in the text and in the cells, so that no row is lost by what parts them.
        if (n := sum(1 + "".join(cells).count("\n") for _, _, cells in every)) != len(lines):
            raise kind.error(
                f"{name}: {n:,} of {len(lines):,} lines are in rows; close every quotation mark that begins a cell"
            )
    except csv.Error:
        first = every[-1][0] + every[-1][1] if every else 1
    closed, rows = not first, [row for row in every if any(map(str.strip, row[2]))]
    several = [(number, size) for number, size, _ in rows if size > 1]
    if closed and not several:
        taken_off = separator == "\t" and re.search(r'(?m)(?:^|\t) *"', text)
        return rows, ["quotation marks around cells are taken off"] * bool(taken_off)
    plain = [(number, 1, line.split(separator)) for number, line in enumerate(lines, 1) if line.strip(f' "{separator}')]
    wide = len(plain[0][2]) if plain else 0
    # A line break in a sentence makes a short row; tables with tabs may lack empty cells at the end.
    off = (
        number
        for number, _, cells in plain
        if any(map(str.strip, cells[wide:])) or (separator != "\t" and len(cells) < wide)
    )
    bad = next(off, 0)
    for number, size in several if closed and wide > 1 else []:
        if sum(line.count(separator) == wide - 1 for line in lines[number - 1 : number - 1 + size]) > 1:
            first = number
            break
    if closed and (bad or not first):
        return rows, [counted("rows of several lines", [f"line {number}: {size} lines" for number, size in several])]
    if bad or (closed and separator != "\t"):
        why = (
            f"line {bad} has not {wide} cells if it is text" if bad else "the next lines are rows as well if it is text"
        )
        raise kind.error(
            f"{name}, line {first}: a cell begins with a quotation mark, and {why}; put such a cell in quotation marks,"
            f" double those inside and replace its line breaks, or separate the cells by tabs instead of {called}"
        )
    return plain, [f"quotation marks are text, as in line {first}"]


def _quoted(text: str, separator: str) -> Iterator[_Row]:
    """Rows whose cells may be quoted and then hold line ends; raises a ``csv.Error`` at a quotation mark left open."""
    csv.field_size_limit(2**31 - 1)
    reader, number = csv.reader(io.StringIO(text), delimiter=separator, skipinitialspace=True, strict=True), 1
    for cells in reader:
        yield number, reader.line_num + 1 - number, cells
        number = reader.line_num + 1


def _begun(text: str, separator: str, kind: Kind) -> str:
    """The text from its headings or first row on; comments and titles above are empty lines, so that numbers stay.

    A title has one filled cell. Headings may begin with ``#``, too.
    """
    lines = text.split("\n", _MOST_ABOVE)
    begin = next((number for number, line in enumerate(lines) if line.strip() and line[0] != "#"), 0)
    for number, line in enumerate(lines[:_MOST_ABOVE]):
        cells, comment = [cell.strip(' "') for cell in line.split(separator)], line.startswith("#")
        if kind.known(cells) > comment or kind.unnamed(cells):
            begin = number
            break
        if not comment and sum(map(bool, cells)) > 1:
            break
    return "\n" * begin + "\n".join(lines[begin:])


def _marked(text: str, separator: str) -> str:
    r"""The text with ``_ESCAPED`` for each ``\"``, if a library wrote marks so: no other mark is inside a cell."""
    marked = text.replace('\\"', _ESCAPED)
    if marked == text or re.search(rf'[^\n{re.escape(separator)}]"[^\n{re.escape(separator)}]', marked):
        return text
    try:
        widths = {len(cells) for _, _, cells in _quoted(marked, separator) if cells}
    except csv.Error:
        return text
    return marked if len(widths) == 1 else text


def _first(text: str, separator: str) -> list[str]:
    """The cells of the first row that is not blank, if this separates them; empty if there is none."""
    try:
        return next((cells for _, _, cells in _quoted(text, separator) if any(map(str.strip, cells))), [])
    except csv.Error:
        return text.lstrip("\n ").partition("\n")[0].split(separator)
