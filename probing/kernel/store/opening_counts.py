"""What is counted of a run, stored next to its predictions."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import duckdb
import pyarrow as pa

from probing.kernel.errors import StoreError
from probing.kernel.store.columns_schema import SCHEMAS, TABLES
from probing.kernel.store.kinds_kinds import Kind
from probing.kernel.store.parquet import as_stored, read_table, write_differing
from probing.kernel.store.parquet_sources import files_of


def write_counts(kind: Kind, row: Mapping[str, object], target: Path, folders: Sequence[Path]) -> None:
    """Counts a run, which need not be stored yet, and writes the tables that are missing or differ.

    ``folders`` are those of all results with which it is shown.
    """
    if kind.counts is None:
        return
    tables = {kind.runs: as_stored(kind.runs, [{name: row.get(name) for name in SCHEMAS[kind.runs].names}])}
    for name in kind.counted_from:
        if TABLES[name].per == "run_id":
            path = target / TABLES[name].file_name(dict(row))
            # A run with control labels has no predictions.
            if not path.is_file():
                return
            tables[name] = read_table(path, name)
        else:
            tables[name] = _rows_of(name, dict.fromkeys((target, *folders)))
    for name, rows in counted(kind, tables).items():
        write_differing(name, rows, target / TABLES[name].file_name(dict(row)))


def counted(kind: Kind, tables: Mapping[str, pa.Table]) -> dict[str, pa.Table]:
    """What a kind that counts counts of a run's rows."""
    try:
        return kind.counts(tables) if kind.counts else {}
    except (duckdb.Error, pa.ArrowException, ValueError) as error:
        (run_id,) = tables[kind.runs].column("run_id").to_pylist()
        reason = str(error).partition("\n")[0]
        raise StoreError(
            f"run {run_id}: its rows cannot be counted ({reason}); delete its files and run `{kind.command}` again"
        ) from error


def _rows_of(table: str, folders: Mapping[Path, None]) -> pa.Table:
    """The rows of all files of a table that can be read; another run's damaged file is its own matter."""
    tables = [SCHEMAS[table].empty_table()]
    for path in (path for folder in folders if folder.is_dir() for path in files_of(table, folder)):
        try:
            tables.append(read_table(path, table))
        except StoreError:
            continue
    return pa.concat_tables(tables)
