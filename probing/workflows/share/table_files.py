"""Shared files of tables of tasks and runs: found for a push, checked in a pull."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pyarrow as pa

from probing.core.errors import StoreError
from probing.core.paths import result_folders
from probing.store.parquet import check_file, read_table, rows_and_values
from probing.store.sources import table_of

_Schemas = Mapping[str, pa.Schema]
#: Maximum rows of a table: twenty times those of the largest task.
_MAX_ROWS = 5_000_000


def nearest(path: Path, source: Path, name: str) -> Path | None:
    """The file of that name in the folder of ``path``, or in the nearest one above it that is still in the source."""
    folders = [folder for folder in path.parents if folder == source or source in folder.parents]
    return next((folder / name for folder in folders if (folder / name).is_file()), None)


def refuse_form(name: str, path: Path, schemas: _Schemas, most_values: Callable[[int], int]) -> None:
    """Checks only a file's footer, so that impossible numbers of rows are refused before they take memory.

    Args:
        name: of the file.
        path: of the file.
        schemas: the tables that it may belong to.
        most_values: rows of a table -> maximum number of values of a column.

    Raises:
        StoreError: if it is none of these tables, or too large.
    """
    table = table_of(path)
    if table is None or table not in schemas:
        raise StoreError(f"{name} is named after no shared table; expected one of {', '.join(schemas)}")
    check_file(path, table)
    rows, values = rows_and_values(path)
    if rows > _MAX_ROWS:
        raise StoreError(f"{name} holds {rows:,} rows, expected at most {_MAX_ROWS:,}")
    if values > most_values(rows):
        raise StoreError(f"{name} holds {values:,} values in a column of {rows:,} rows")


def joined(paths: Mapping[str, Path], schemas: _Schemas) -> dict[str, pa.Table]:
    """Table -> the rows of all files."""
    parts: dict[str, list[pa.Table]] = {table: [schema.empty_table()] for table, schema in schemas.items()}
    for _, path in sorted(paths.items()):
        table = str(table_of(path))
        parts[table].append(read_table(path, table))
    return {table: pa.concat_tables(tables) for table, tables in parts.items()}


def other_than_known(paths: Mapping[str, Path], tables: Sequence[str], hidden: Sequence[str] = ()) -> list[tuple[str, Path]]:
    """Files of tasks that are stored here with different rows: runs on both would have different data.

    Args:
        paths: name of a file -> its path.
        tables: of tasks.
        hidden: columns that one of two files may lack, such as texts.
    """
    found = []
    for name, path in sorted(paths.items()):
        table = str(table_of(path))
        for folder in result_folders() if table in tables else ():
            for known in sorted(folder.rglob(name)):
                try:
                    same = _without(known, table, hidden).equals(_without(path, table, hidden))
                except StoreError:
                    # A damaged file of ours is reported by `check`.
                    continue
                if not same:
                    found.append((name, known))
    return found


def _without(path: Path, table: str, hidden: Sequence[str]) -> pa.Table:
    rows = read_table(path, table)
    return rows.drop_columns([name for name in hidden if name in rows.column_names])
