"""Keeps what ships when a part of the family is made anew: the results of steps that another machine did, or an earlier cache."""

from pathlib import Path

import pyarrow as pa

from probing.core.files.atomic import atomic_copy
from probing.store.parquet import read_table, write_table
from probing.store.schema import KEYS
from probing.store.sources import table_of


def keep(old: Path, new: Path) -> list[Path]:
    """Adds to a folder of tables what another has besides: files, runs, and rows of tables without runs.

    Args:
        old: folder of Parquet files that shipped.
        new: folder of those that replace them; a run that it has is not taken from ``old``.

    Returns:
        The files that were added or became longer.

    Raises:
        StoreError: if a file cannot be read.
    """
    changed = []
    for path in sorted(old.glob("*.parquet")):
        target, table = new / path.name, table_of(path)
        if table is None or not target.is_file():
            changed.append(atomic_copy(path, target))
        elif len(further := _besides(table, path, target)):
            changed.append(write_table(table, pa.concat_tables([further, read_table(target, table)]), target))
    return changed


def _besides(table: str, old: Path, new: Path) -> pa.Table:
    """Rows of the old file of runs that the new one lacks; of a table without runs, those with other keys."""
    rows, replacing = read_table(old, table), read_table(new, table)
    keys = ["run_id"] if "run_id" in rows.column_names else list(KEYS[table])
    known = set(_keys(replacing, keys))
    return rows.filter(pa.array([key not in known for key in _keys(rows, keys)], pa.bool_()))


def _keys(rows: pa.Table, names: list[str]) -> list[tuple[object, ...]]:
    return list(zip(*(rows.column(name).to_pylist() for name in names), strict=True))
