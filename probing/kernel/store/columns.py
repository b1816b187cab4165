"""How a stored table is declared: its columns with type, bounds and meaning, and what identifies a row."""

import itertools
import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from probing.kernel.joined import Declared, joined

#: Maximum of a count, far above every data set's; sums over a file's rows then fit into 64 bits.
MOST = 1_000_000_000
#: Maximum rows of a shared file: twenty times those of the largest task, a hundred times those of the largest
#: vocabulary.
MOST_ROWS = 5_000_000
SQL_TYPES = {
    pa.string(): "VARCHAR",
    pa.bool_(): "BOOLEAN",
    pa.uint8(): "UTINYINT",
    pa.uint32(): "UINTEGER",
    pa.uint64(): "UBIGINT",
    pa.int64(): "BIGINT",
    pa.float32(): "FLOAT",
    pa.float64(): "DOUBLE",
    pa.list_(pa.string()): "VARCHAR[]",
    pa.list_(pa.uint8()): "UTINYINT[]",
    pa.list_(pa.uint32()): "UINTEGER[]",
    pa.list_(pa.float32()): "FLOAT[]",
}


@dataclass(frozen=True)
class Column:
    """A column of a stored table; ``says`` is what it holds, in one line.

    Only finite numbers are possible in a column that has bounds; a list's are those of its values.
    """

    name: str
    type: pa.DataType
    says: str
    optional: bool = False
    low: float | None = None
    high: float | None = None
    among: tuple[Any, ...] = ()

    def or_empty(self) -> "Column":
        """The same column, which may be empty."""
        return replace(self, optional=True)

    def impossible(self, values: pa.ChunkedArray) -> str | None:
        """Which value is outside the bounds, in words; None if none is."""
        if pa.types.is_list(self.type):
            values = pc.list_flatten(values)
        if self.low is not None:
            return self.out_of_bounds(values)
        strange = sorted(set(pc.unique(values).to_pylist()) - {*self.among, None}) if self.among else []
        return f"{self.name} is {str(strange[0])[:80]!r}, expected {self.bounds}" if strange else None

    def out_of_bounds(self, values: pa.ChunkedArray | pa.Array) -> str | None:
        """As ``impossible``, of numbers."""
        low, high = float(self.low or 0), math.inf if self.high is None else self.high
        if pa.types.is_integer(values.type):
            ends = pc.min_max(values).as_py().values()
            strange = [end for end in ends if end is not None and not low <= end <= high]
        else:
            numbers = values.drop_null().to_numpy()
            strange = numbers[~((numbers >= low) & (numbers <= high) & np.isfinite(numbers))].tolist()
        return f"{self.name} is {strange[0]}, expected {self.bounds}" if strange else None

    @property
    def bounds(self) -> str:
        """The possible values in words; empty if all of the type are."""
        if self.among:
            return f"one of {', '.join(map(str, self.among))}"
        if self.low is None:
            return ""
        if self.high in (None, math.inf):
            return "a finite number" if self.low == -math.inf else f"{self.low:,} or more"
        return f"{self.high:,} or less" if self.low == -math.inf else f"{self.low:,} to {self.high:,}"

    @property
    def described(self) -> dict[str, str]:
        """Name, type, possible values and meaning, in words."""
        values = f"{self.bounds} or empty" if self.bounds else "may be empty"
        return {
            "column": f"`{self.name}`",
            "type": f"list of {self.type.value_type}" if pa.types.is_list(self.type) else str(self.type),
            "values": values if self.optional else self.bounds,
            "meaning": self.says,
        }


@dataclass(frozen=True)
class Table:
    """A stored table; several columns in one text are separated by blanks."""

    name: str
    says: str
    key: str
    columns: tuple[Column, ...]
    #: What a row belongs to, as the columns whose values a file is named after; empty: many things share a file.
    per: str = ""
    #: The order of rows in a file, if it is not that of the key.
    sort: str = ""
    #: The columns that are shared only if the licence of a task's data allows it.
    withheld: tuple[str, ...] = ()
    #: The columns in which two files of the same rows may differ.
    free: tuple[str, ...] = ()
    #: Columns of which in every row none is above the next.
    ascending: tuple[str, ...] = ()
    #: Four columns: the first two without the third, which counts what both count, are at most the fourth.
    unions: tuple[str, ...] = ()
    #: Two columns whose lists have equal lengths in every row.
    aligned: tuple[str, ...] = ()
    #: Raised when a column is added, removed or changes its meaning; a file of an earlier one is refused by name.
    version: int = 1
    #: Maximum rows of a shared file.
    most_rows: int = MOST_ROWS
    #: Maximum mean length of the lists of a shared file.
    longest: int = 1000
    #: Whether it has too many rows, such as single predictions, to compare copies of a run row by row.
    many: bool = False
    schema: pa.Schema = field(init=False, repr=False)

    def __post_init__(self) -> None:
        fields = [pa.field(column.name, column.type, nullable=column.optional) for column in self.columns]
        object.__setattr__(self, "schema", pa.schema(fields))

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns that identify a row."""
        return tuple(self.key.split())

    def impossible(self, rows: pa.Table) -> str | None:
        """The first value that no counting gives, in words; None if there is none."""
        for column in self.columns:
            if problem := column.impossible(rows.column(column.name)):
                return problem
        for less, more in itertools.chain.from_iterable(itertools.pairwise(names.split()) for names in self.ascending):
            # Not "above", because NaN is neither above nor below.
            if not (rows.column(less).to_numpy() <= rows.column(more).to_numpy()).all():
                return f"{less} is above {more}: more facts are known than there are, or than have a higher rank"
        for names in self.aligned:
            first, second = (pc.list_value_length(rows.column(name)) for name in names.split())
            if not first.equals(second):
                return f"{' and '.join(names.split())} of some rows have different lengths"
        for names in self.unions:
            first, second, both, n = (rows.column(name).to_numpy().astype(np.int64) for name in names.split())
            if (first + second - both > n).any():
                return "more facts are known with one subject, or with both, than there are"
        return None

    def file_name(self, row: dict[str, Any]) -> str:
        """Name of the file that a row belongs in when it is shared."""
        return "-".join([self.name, *(str(row[name]).replace("/", "--") for name in self.per.split())]) + ".parquet"


def text(name: str, says: str, among: tuple[str, ...] = ()) -> Column:
    """A column of texts."""
    return Column(name, pa.string(), says, among=among)


def flag(name: str, says: str) -> Column:
    """A column of truth values."""
    return Column(name, pa.bool_(), says)


def count(name: str, says: str, low: int = 0, high: int = MOST) -> Column:
    """A column of counts or numbers of things."""
    return Column(name, pa.uint32(), says, low=low, high=high)


def small(name: str, says: str, low: int = 0, high: int = 255) -> Column:
    """A column of numbers up to 255, such as layers."""
    return Column(name, pa.uint8(), says, low=low, high=high)


def whole(name: str, says: str) -> Column:
    """A column of integers."""
    return Column(name, pa.int64(), says)


def real(name: str, says: str, low: float = -math.inf, high: float = math.inf) -> Column:
    """A column of finite numbers."""
    return Column(name, pa.float64(), says, low=low, high=high)


def several(column: Column, kind: pa.DataType | None = None) -> Column:
    """A column of lists of such values, or of values of another type within the same bounds."""
    return replace(column, type=pa.list_(kind or column.type))


RUN_ID = text("run_id", "fingerprint of the run")
MODEL = text("model", "name of the model")
BASE = text("base", "name of the model that it was fine-tuned from; empty of a base")
OBJECTIVE = text("objective", "what it was trained for")
REVISION = text("model_revision", "commit on the hub; ``local`` for a folder").or_empty()
SEED = whole("seed", "of the training of heads or probes")
LAYER = small("layer", "layer l; 0 is the embeddings")
LAYERS = small("layers", "number of layers, layer 0 included, so that L is ``layers - 1``", 1)
#: The columns that the table of runs of every kind begins and ends with.
RUN = (RUN_ID, MODEL, REVISION, BASE.or_empty(), OBJECTIVE.or_empty())
LEFT_OUT = text("left_out", "JSON of what was left out: reason -> number, or part -> reason -> number").or_empty()
MADE = (
    text("device", "the device that it was computed on").or_empty(),
    text("code_version", "version of the program that made it").or_empty(),
    text("created", "when, in UTC").or_empty(),
    text("config", "canonical JSON of the run's configuration, which ``run_id`` is the fingerprint of"),
)


#: Table name -> its declaration.
TABLES = Declared[Table](
    lambda: {table.name: table for kind in joined("subjects").kinds().values() for table in kind.tables}
)
#: Table name -> its columns in order.
SCHEMAS = Declared[pa.Schema](lambda: {name: table.schema for name, table in TABLES.items()})
#: Table name -> the columns that identify a row.
KEYS = Declared[tuple[str, ...]](lambda: {name: table.keys for name, table in TABLES.items()})
#: Table name -> the order of rows in a file. If columns are equal, the writer's order stays.
SORT = Declared[tuple[str, ...]](
    lambda: {name: tuple(table.sort.split()) or table.keys for name, table in TABLES.items()}
)
#: Table name -> the version that its files are written with.
VERSIONS = Declared[int](lambda: {name: table.version for name, table in TABLES.items()})


def create_statement(table_name: str, schema: pa.Schema) -> str:
    """The SQL that creates an empty table with the columns of a schema."""
    columns = ", ".join(f'"{field.name}" {SQL_TYPES[field.type]}' for field in schema)
    return f"CREATE TABLE {table_name} ({columns})"
