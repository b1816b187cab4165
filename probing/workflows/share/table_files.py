"""Shared files of tables of tasks and runs: found for a push, checked in a pull."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa

from probing.core.errors import StoreError
from probing.core.paths import result_folders
from probing.store.parquet import check_file, read_table, rows_and_values, text_size
from probing.store.sources import table_of

_Schemas = Mapping[str, pa.Schema]
#: Maximum rows of a table: twenty times those of the largest task, a hundred times those of the largest vocabulary. A million facts
#: at twenty layers have the rows of the second.
MAX_ROWS, MAX_PREDICTIONS = 5_000_000, 20_000_000
#: Maximum values of a column, and bytes of a file's texts when they are read. A few kilobytes can expand to far more.
MAX_VALUES, MAX_TEXT = 200_000_000, 1 << 30


def nearest(path: Path, source: Path, name: str) -> Path | None:
    """The file of that name in the folder of ``path``, or in the nearest one above it that is still in the source."""
    folders = [folder for folder in path.parents if folder == source or source in folder.parents]
    return next((folder / name for folder in folders if (folder / name).is_file()), None)


def refuse_form(name: str, path: Path, schemas: _Schemas, lists: int, most_rows: int = MAX_ROWS) -> None:
    """Refuses a file by its footer and the size of its texts, before it takes memory.

    Args:
        name: of the file.
        path: of the file.
        schemas: the tables that it may belong to.
        lists: maximum mean length of a column's lists.
        most_rows: maximum rows.

    Raises:
        StoreError: if it is none of these tables, or too large.
    """
    table = table_of(path)
    if table is None or table not in schemas:
        raise StoreError(f"{name} is named after no shared table; expected one of {', '.join(schemas)}")
    check_file(path, table)
    refuse_large(name, path, lists, most_rows)


def refuse_large(name: str, path: Path, lists: int, most_rows: int = MAX_ROWS) -> None:
    """Raises a ``StoreError`` if a file has more rows, values or bytes of text than any that ``push`` writes; as ``refuse_form``."""
    rows, values = rows_and_values(path)
    if rows > most_rows:
        raise StoreError(f"{name} holds {rows:,} rows, expected at most {most_rows:,}")
    if values > min(rows * lists, MAX_VALUES):
        raise StoreError(f"{name} holds {values:,} values in a column of {rows:,} rows, expected at most {min(rows * lists, MAX_VALUES):,}")
    if (size := text_size(path)) > MAX_TEXT:
        raise StoreError(f"{name} holds {size:,} bytes of text when it is read, expected at most {MAX_TEXT:,}")


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
