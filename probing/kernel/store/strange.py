"""Reads Parquet files of unknown hand, as a process of its own: ``python -m probing.kernel.store.strange``.

A wrong byte in a footer can end the process that reads it, and a file of a few kilobytes can fill the memory. While
this process reads, it gets at most ``MEMORY`` bytes of address space more than it has, where the system can limit that,
and it reads in batches until a bound is passed, whatever the footer says. Of the program this module loads nothing.
"""

import json
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

MEMORY = 200 << 20
#: Values of the largest column, by the footer, that a batch has, and its rows. A false footer meets the other limit.
_VALUES, _ROWS = 200_000, 1_000
#: What the process says first: whatever ends it later is the fault of a file.
READY = "ready"


@dataclass(frozen=True)
class Contents:
    """What a file holds when it is read, or the bounds of that; ``problem``: why it cannot be read."""

    rows: int = 0
    values: int = 0  #: of its largest column
    text: int = 0  #: bytes of all texts
    longest: int = 0  #: bytes of its longest text
    problem: str = ""

    def above(self, most: "Contents") -> bool:
        """Whether a bound is passed."""
        return any(getattr(self, name) > getattr(most, name) for name in ("rows", "values", "text", "longest"))


def contents(path: str, most: Contents | None) -> Contents:
    """Reads a file with the checksums of its pages, and its statistics; it ends early above a bound.

    A file without bounds is one that DuckDB shall read next: if DuckDB reads other rows, it is damaged.
    """
    found = Contents()
    try:
        with _limited_memory(), pq.ParquetFile(path, page_checksum_verification=True) as file:
            of_column = [0] * len(file.schema_arrow)
            for batch in _batches(file):
                found = _with(found, batch, of_column)
                if most and found.above(most):
                    return found
        if most is None:
            _refuse_other_rows(path)
        return found
    except MemoryError:
        return replace(found, problem=f"a part of it takes more than {MEMORY >> 20} MB of memory")
    # A wrong byte can be the cause of any error.
    except Exception as error:
        return replace(found, problem=str(error).partition("\n")[0] or repr(error))


def _batches(file: pq.ParquetFile) -> Iterator[pa.RecordBatch]:
    groups = [file.metadata.row_group(number) for number in range(file.num_row_groups)]
    chunks = [group.column(number) for group in groups for number in range(group.num_columns)]
    for statistics in (chunk.statistics for chunk in chunks if chunk.is_stats_set):
        # Whoever opens the file asks for them.
        _ = statistics.has_min_max and (statistics.min, statistics.max)
    values = max((chunk.num_values for chunk in chunks), default=0)
    rows = max((group.num_rows for group in groups), default=0)
    for batch in file.iter_batches(max(1, min(_ROWS, _VALUES * rows // max(values, 1)))):
        # A text may hold bytes that are no UTF-8.
        batch.validate(full=True)
        yield batch


def _with(found: Contents, batch: pa.RecordBatch, of_column: list[int]) -> Contents:
    """The contents with those of a batch; ``of_column`` gets the values of each column."""
    text, longest = found.text, found.longest
    for place, column in enumerate(batch.columns):
        column = column.flatten() if pa.types.is_list(column.type) else column
        of_column[place] += len(column)
        if pa.types.is_string(column.type) or pa.types.is_binary(column.type):
            lengths = pc.binary_length(column)
            text += pc.sum(lengths.cast(pa.int64())).as_py() or 0
            longest = max(longest, pc.max(lengths).as_py() or 0)
    return Contents(found.rows + len(batch), max(of_column, default=0), text, longest)


def _refuse_other_rows(path: str) -> None:
    import duckdb

    with (
        pq.ParquetFile(path, page_checksum_verification=True) as file,
        duckdb.connect(config={"threads": 1, "memory_limit": "512MB"}) as connection,
    ):
        connection.register("by_arrow", pa.RecordBatchReader.from_batches(file.schema_arrow, _batches(file)))
        ours, theirs = (
            connection.execute(f"SELECT count(*), sum(hash(r)::HUGEINT) FROM {rows} r", values).fetchone()
            # DuckDB takes a path for a pattern.
            for rows, values in (("by_arrow", []), ("read_parquet($1)", [re.sub(r"([\[?*])", r"[\1]", path)]))
        )
        for number in range(file.num_row_groups):
            _refuse_other_ends(file.metadata.row_group(number), file.read_row_group(number))
    if ours != theirs:
        raise ValueError("two libraries read different rows in it")


def _refuse_other_ends(group: pq.RowGroupMetaData, rows: pa.Table) -> None:
    """Whoever looks for a value skips the groups whose smallest and largest values exclude it."""
    for chunk in map(group.column, range(group.num_columns)):
        if chunk.path_in_schema in rows.column_names and chunk.is_stats_set and chunk.statistics.has_min_max:
            ends = pc.min_max(rows.column(chunk.path_in_schema)).as_py()
            if ends["min"] < chunk.statistics.min or ends["max"] > chunk.statistics.max:
                raise ValueError(f"its footer says other values of {chunk.path_in_schema} than its rows have")


@contextmanager
def _limited_memory() -> Iterator[None]:
    """Limits the address space, on Linux; DuckDB reserves a gigabyte of it and has a limit of its own."""
    try:
        import resource

        used = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()
        usual = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, usual[1]))
    except (ImportError, OSError, ValueError):
        yield
        return
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, usual)


def main() -> None:
    """Answers every line of JSON, a path and its bounds or null, by a line with what the file holds."""
    # The usual one reserves address space by the gigabyte.
    pa.set_memory_pool(pa.system_memory_pool())
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    print(READY, flush=True)
    for path, most in map(json.loads, sys.stdin):
        print(json.dumps(asdict(contents(path, most and Contents(**most)))), flush=True)


if __name__ == "__main__":
    main()
