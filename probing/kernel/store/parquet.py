"""Parquet files of results: found by name, written completely or not at all, read only if they are ours."""

import hashlib
import logging
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from probing.kernel.errors import NewerVersionError, StoreError
from probing.kernel.files import atomic_file
from probing.kernel.store.columns import SCHEMAS, SORT, TABLES, VERSIONS
from probing.kernel.store.seals import refuse_damage, seal, sums

_log = logging.getLogger(__name__)
_TABLE_KEY = b"probing.table"
_VERSION_KEY = b"probing.schema_version"
# A question on one run or one fact reads only the groups whose smallest and largest values can hold it; lists are read
# group by group.
_ROWS_PER_GROUP = 20_480
#: Files of at most so many rows are written without statistics and stored schema, which would be most of such a file.
_FEW_ROWS = 10_000


def write_table(table_name: str, rows: Any, path: Path) -> Path:
    """Writes one table to ``path``, which holds the old bytes or all of the new ones, even if the process is killed.

    Equal rows give equal bytes with one version of pyarrow: the encoding is fixed and no time is recorded. Rows are
    sorted by ``columns.SORT``; if its columns are equal, the given order is kept. A file of a newer version of the
    program is not replaced (``NewerVersionError``).
    """
    table, path = as_stored(table_name, rows), Path(path)
    try:
        check_file(path, table_name)
    except NewerVersionError:
        raise
    except StoreError:
        # Missing, damaged or old: it is replaced.
        pass
    marks = {_TABLE_KEY: table_name.encode(), _VERSION_KEY: str(VERSIONS[table_name]).encode()}
    table = table.replace_schema_metadata(marks)
    paths = {
        f"{f.name}.list.element" if pa.types.is_list(f.type) else f.name: _holds_floats(f.type) for f in table.schema
    }
    small = len(table) <= _FEW_ROWS
    with atomic_file(path) as temporary:
        with (
            temporary.open("wb") as stream,
            pq.ParquetWriter(
                stream,
                table.schema,
                compression="zstd",
                compression_level=9,
                version="2.6",
                write_page_checksum=True,
                write_statistics=not small,
                store_schema=not small,
                # A dictionary of one value is no shorter than the value.
                use_dictionary=[name for name, floats in paths.items() if not floats and len(table) > 1],
                use_byte_stream_split=[name for name, floats in paths.items() if floats],
            ) as writer,
        ):
            writer.write_table(table, row_group_size=_ROWS_PER_GROUP)
            if small:
                writer.add_key_value_metadata(marks)
        seal(temporary)
    return path


def write_differing(table_name: str, rows: Any, path: Path, say: Callable[[str], None] = _log.warning) -> Path:
    """As ``write_table``, unless the file has these rows; one that cannot be read is reported and written again."""
    try:
        if path.is_file() and read_table(path, table_name).equals(as_stored(table_name, rows)):
            return path
    except NewerVersionError:
        raise
    except StoreError as error:
        say(f"  {error}; it is made again")
    return write_table(table_name, rows, path)


def as_stored(table_name: str, rows: Any) -> pa.Table:
    """What ``read_table`` gives after ``write_table`` of these rows."""
    return _sorted(_conform(table_name, rows), SORT[table_name])


def read_table(path: Path, table_name: str, columns: Sequence[str] | None = None) -> pa.Table:
    """Reads a file that ``write_table`` wrote; a ``StoreError`` names the file and what to do."""
    check_file(path, table_name)
    schema = SCHEMAS[table_name]
    try:
        # ParquetFile, not read_table: the latter takes "key=value" folder names for columns.
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            selected = schema if columns is None else pa.schema([schema.field(name) for name in columns])
            stored = file.read(columns=selected.names)
            # A text may hold bytes that are no UTF-8.
            stored.validate(full=True)
            rows = stored.replace_schema_metadata().cast(selected)
    # pyarrow raises a bare ValueError for an empty value in a column that may have none.
    except (pa.ArrowException, OSError, ValueError) as error:
        raise StoreError(
            f"cannot read {path}: {error}; the file is damaged: delete it and run again the command that made it"
        ) from error
    if columns is None and (problem := TABLES[table_name].impossible(rows)):
        raise StoreError(f"{path}: {problem}; delete the file and run again the command that made it")
    return rows


def without_texts(rows: pa.Table, *columns: str) -> pa.Table:
    """The rows with empty texts: no sentence of a data set ships, under any licence."""
    for name in columns or ("text",):
        place = rows.column_names.index(name)
        rows = rows.set_column(place, rows.schema.field(place), pa.nulls(len(rows), pa.string()))
    return rows


def check_file(path: Path, table_name: str) -> pq.FileMetaData:
    """The file's footer; by it alone it is checked whether it is a readable file of this table."""
    path = Path(path)
    if not path.is_file():
        raise StoreError(f"no file {path}; expected the table {table_name!r} as Parquet")
    refuse_damage(path)
    try:
        footer = pq.read_metadata(path)
        names = footer.schema.to_arrow_schema().names
    except FileNotFoundError as error:
        raise StoreError(f"{path} has vanished; expected the table {table_name!r} as Parquet") from error
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise StoreError(
            f"cannot read {path} ({path.stat().st_size} bytes): {error}; expected a Parquet file. It is truncated or no"
            " Parquet: delete it and run again the command that made it"
        ) from error
    marks = footer.metadata or {}
    if _TABLE_KEY not in marks or _VERSION_KEY not in marks:
        raise StoreError(
            f"{path} is Parquet but was not written by this program; expected the table {table_name!r}. Move it"
            " elsewhere"
        )
    if marks[_TABLE_KEY] != table_name.encode():
        raise StoreError(
            f"{path} holds the table {marks[_TABLE_KEY].decode(errors='replace')!r}, its name says {table_name!r};"
            " rename it"
        )
    version, expected = marks[_VERSION_KEY].decode(errors="replace"), SCHEMAS[table_name].names
    if version != str(VERSIONS[table_name]):
        got = f"{path} has schema version {version}, expected {VERSIONS[table_name]}"
        if re.fullmatch("[0-9]{1,9}", version) and int(version) > VERSIONS[table_name]:
            raise NewerVersionError(f"{got}: a newer version wrote it; update")
        raise StoreError(f"{got}; make it again with this version of the program")
    if names != expected:
        raise StoreError(
            f"{path} has the columns {names}, expected {expected}; make it again with this version of the program"
        )
    return footer


def check_values(path: Path, table_name: str) -> None:
    """Checks footer and extreme numbers; a file without statistics is small, and is read."""
    footer = check_file(path, table_name)
    try:
        groups = [footer.row_group(number) for number in range(footer.num_row_groups)]
        parts = [group.column(number) for group in groups for number in range(group.num_columns)]
        if not all(part.is_stats_set for part in parts):
            read_table(path, table_name)
            return
        ends: dict[str, list[Any]] = {}
        for part in parts:
            if part.statistics.has_min_max:
                of_column = ends.setdefault(part.path_in_schema.partition(".")[0], [])
                of_column += [part.statistics.min, part.statistics.max]
        values = {name: pa.array(of_column) for name, of_column in ends.items()}
    # The name of a column in the footer, too, may be no UTF-8.
    except (pa.ArrowException, OSError, ValueError) as error:
        raise StoreError(f"cannot read {path}: {error}; delete it and run again the command that made it") from error
    for column in TABLES[table_name].columns:
        if column.low is not None and column.name in values and (problem := column.out_of_bounds(values[column.name])):
            raise StoreError(f"{path}: {problem}; delete the file and run again the command that made it")


def _conform(table_name: str, rows: Any) -> pa.Table:
    if table_name not in SCHEMAS:
        raise StoreError(f"unknown table {table_name!r}; expected one of {sorted(SCHEMAS)}")
    schema = SCHEMAS[table_name]
    try:
        if isinstance(rows, pa.Table):
            table = rows
        elif isinstance(rows, Mapping):
            table = pa.table(dict(rows))
        elif isinstance(rows, Sequence):
            names = list(dict.fromkeys(name for row in rows for name in row)) or schema.names
            # Given a type here, so that the type of a column of small numbers or of nulls only is not guessed.
            fields = [schema.field(name) if name in schema.names else pa.field(name, pa.null()) for name in names]
            _same_names(table_name, names, schema)
            table = pa.Table.from_pylist(list(rows), schema=pa.schema([field.with_nullable(True) for field in fields]))
        else:
            table = pa.Table.from_pandas(rows, preserve_index=False)
        _same_names(table_name, table.column_names, schema)
        nullable = pa.schema([field.with_nullable(True) for field in schema])
        table = table.select(schema.names).replace_schema_metadata().cast(nullable)
    except (pa.ArrowException, TypeError, OverflowError) as error:
        expected = ", ".join(f"{field.name} {field.type}" for field in schema)
        raise StoreError(f"cannot write the table {table_name!r}: {error}; expected {expected}") from error
    for field in schema:
        empty = table.column(field.name).null_count
        if empty and not field.nullable:
            raise StoreError(
                f"column {field.name!r} of the table {table_name!r} has {empty} empty values; expected none"
            )
    return table.cast(schema).combine_chunks()


def _same_names(table_name: str, names: Sequence[str], schema: pa.Schema) -> None:
    if missing := sorted(set(schema.names) - set(names)):
        raise StoreError(f"the table {table_name!r} lacks the columns {missing}; expected {schema.names}")
    if unknown := sorted(set(names) - set(schema.names)):
        raise StoreError(f"the table {table_name!r} has the unknown columns {unknown}; expected {schema.names}")


def _sorted(table: pa.Table, columns: Sequence[str]) -> pa.Table:
    order = pc.sort_indices(table, sort_keys=[(name, "ascending") for name in columns])
    if order.equals(pa.array(np.arange(len(order), dtype=np.uint64))):
        return table
    return table.take(order).combine_chunks()


def _holds_floats(kind: pa.DataType) -> bool:
    return bool(pa.types.is_floating(kind.value_type if pa.types.is_list(kind) else kind))


@dataclass(frozen=True, order=True)
class SourceFile:
    """One Parquet file of results; its name is its path below the source folder, with ``/``, and tells the table."""

    #: Number of its folder in the order given; if two hold the same rows, the first wins.
    source: int
    table: str
    name: str
    path: Path
    size: int
    #: In nanoseconds.
    changed: int

    @property
    def sha256(self) -> str:
        """Of its bytes without their seal, hex; computed once for each change of the file."""
        return _sha256(self.path, self.size, self.changed)


def find_files(sources: Sequence[Path]) -> list[SourceFile]:
    """All files named after a table (``table_of``), in any depth, by source, table and name."""
    files = []
    for number, source in enumerate(map(Path, sources)):
        if not source.is_dir():
            raise StoreError(f"no folder {source}; expected one with files such as predictions-<run>.parquet")
        for path, table in _named(source):
            try:
                status = path.stat()
            except FileNotFoundError:
                # It vanished while the folder was read.
                continue
            name = path.relative_to(source).as_posix()
            files.append(SourceFile(number, table, name, path, status.st_size, status.st_mtime_ns))
    return sorted(files)


def _named(folder: Path) -> Iterator[tuple[Path, str]]:
    """The files below a folder, in any depth, that are named after a table, and the table."""
    for parent, _, names in os.walk(folder):
        for name in names:
            if table := _table_of(name):
                yield Path(parent, name), table


def table_of(path: Path) -> str | None:
    """The table that a file is named after (``NAME.parquet`` or ``NAME-....parquet``, the longest); or None."""
    return _table_of(path.name)


# Every click on a page looks for new files.
@lru_cache(maxsize=4096)
def _table_of(name: str) -> str | None:
    stem = name.removesuffix(".parquet")
    if stem == name:
        return None
    return max((table for table in SCHEMAS if stem == table or stem.startswith(f"{table}-")), key=len, default=None)


def holds_results(folder: Path) -> bool:
    """Whether a file below a folder, in any depth, is named after a table."""
    return any(_named(folder))


def files_of(table: str, folder: Path) -> list[Path]:
    """The files below a folder, in any depth, that are named after a table, in order."""
    return sorted(path for path, named in _named(folder) if named == table)


def version_of(files: Iterable[SourceFile]) -> str:
    """16 hex digits that change when a file is added, replaced or deleted; no file is read."""
    rows = [(str(file.path), file.size, file.changed) for file in files]
    return hashlib.sha256(repr(rows).encode()).hexdigest()[:16]


def fingerprint_of(files: Iterable[SourceFile]) -> str:
    """First 16 hex digits of sha256 over files' names and bytes: equal wherever equal results lie."""
    rows = [(file.source, file.table, file.name, file.sha256) for file in files]
    return hashlib.sha256(repr(rows).encode()).hexdigest()[:16]


@lru_cache(maxsize=100_000)
def _sha256(path: Path, size: int, changed: int) -> str:
    try:
        return sums(path)[0]
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error}") from error
