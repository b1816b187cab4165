"""The rows of the files, in the tables of the same names."""

from collections.abc import Callable, Sequence

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from probing.core.errors import ImpossibleValuesError, SchemaVersionError
from probing.store.build_steps.increment import Notes
from probing.store.build_steps.packed import packed_rows
from probing.store.kinds import RUNS_OF_FILES
from probing.store.parquet import read_table
from probing.store.run_tables import STORED
from probing.store.schema import KEYS, SCHEMAS, SORT, rows_table
from probing.store.sources import SourceFile

#: So many bytes of rows are held until DuckDB takes them in one statement; they come on top of its memory.
_BYTES_AT_ONCE = 32 * 2**20
#: The number of a row's file while a table is filled; no table has a column of this name.
_FILE = "_file"


def load_plain(
    connection: duckdb.DuckDBPyConnection, table: str, files: Sequence[SourceFile], step: Callable[[str], None], notes: Notes
) -> None:
    """Rows of all files; of several with the same key the first."""
    # Most stores have files of a few tables; statements on the other thirty would be a third of a build.
    if not files:
        return
    key, target = ", ".join(KEYS[table]), STORED if table == "runs" else rows_table(table)
    columns = ", ".join(f'"{name}"' for name in SCHEMAS[table].names)
    # Most files have few rows, and a statement per file would take longer than they do.
    waiting: list[pa.Table] = []
    size, put_aside = 0, False
    for number, file in enumerate(files):
        step(f"reading {file.name}")
        rows = _read(file, notes)
        if rows is None:
            continue
        if notes.failing and table in RUNS_OF_FILES:
            notes.leave_out_failing(file, rows.column("run_id").to_pylist())
        waiting.append(rows.append_column(_FILE, pa.repeat(pa.scalar(number, pa.int32()), len(rows))))
        size += waiting[-1].nbytes
        if size > _BYTES_AT_ONCE:
            if not put_aside:
                connection.execute(f"CREATE TEMP TABLE loading AS SELECT *, 0 AS {_FILE} FROM {target}")
                put_aside = True
            connection.register("incoming", _packed(connection, table, waiting))
            connection.execute("INSERT INTO loading SELECT * FROM incoming")
            connection.unregister("incoming")
            waiting, size = [], 0
    if waiting:
        connection.register("incoming", _packed(connection, table, waiting))
    parts = ["SELECT * FROM loading"] * put_aside + ["SELECT * FROM incoming"] * bool(waiting)
    if parts:
        rows_of_all = f"({' UNION ALL '.join(parts)})"
        # The first of equal keys is found by a sort of all columns, which takes ten times as long as the question if there are any.
        if connection.execute(f"SELECT 1 FROM {rows_of_all} GROUP BY {key} HAVING count(*) > 1 LIMIT 1").fetchall():
            rows_of_all = f"(SELECT DISTINCT ON ({key}) * FROM {rows_of_all} ORDER BY {key}, {_FILE}, {columns})"
        connection.execute(f"INSERT INTO {target} SELECT {columns} FROM {rows_of_all} ORDER BY {', '.join(SORT[table])}")
    if waiting:
        connection.unregister("incoming")
    if put_aside:
        connection.execute("DROP TABLE loading")


def _packed(connection: duckdb.DuckDBPyConnection, table: str, parts: Sequence[pa.Table]) -> pa.Table:
    """Rows of several files, with their numbers, as the table stores them."""
    rows = pa.concat_tables(parts)
    return packed_rows(connection, table, rows, rows.column(_FILE).to_numpy())


def load_predictions(connection: duckdb.DuckDBPyConnection, files: Sequence[SourceFile], step: Callable[[str], None], notes: Notes) -> None:
    """Predictions of the runs that have a row; a run's from the first source that has any."""
    known = {run_id for (run_id,) in connection.execute("SELECT run_id FROM fact_runs WHERE NOT counted").fetchall()}
    source_of: dict[str, int] = {}
    seen: set[str] = set()
    for file in files:
        step(f"reading {file.name}")
        if file.sha256 in seen:
            continue
        seen.add(file.sha256)
        table = _read(file, notes)
        if table is None:
            continue
        notes.runs_of[file.sha256] = pc.unique(table.column("run_id")).to_pylist()
        runs = [run_id for run_id in notes.runs_of[file.sha256] if run_id in known]
        runs = [run_id for run_id in runs if source_of.setdefault(run_id, file.source) == file.source]
        if runs != notes.runs_of[file.sha256]:
            table = table.filter(pc.is_in(table.column("run_id"), pa.array(runs, pa.string())))
        connection.register("incoming", _by_fact(packed_rows(connection, "predictions", table)))
        connection.execute(f"INSERT INTO {rows_table('predictions')} SELECT * FROM incoming")
        connection.unregister("incoming")
        # The last rows of each file are then packed together with those of the next, in the space that they leave.
        connection.execute("CHECKPOINT")


def _by_fact(table: pa.Table) -> pa.Table:
    """Packed rows by run, fact and layer, so that one fact's layers are read from one place; rows of equal keys stay in their order."""
    runs = table.column("run_id").combine_chunks().dictionary_encode().indices
    order = np.lexsort((table.column("layer").to_numpy(), table.column("fact_id").to_numpy(), runs.to_numpy()))
    return table if (order[1:] > order[:-1]).all() else table.take(pa.array(order))


def _read(file: SourceFile, notes: Notes) -> pa.Table | None:
    """The rows of a file; None, and a note, if another version of the program wrote it or a value is impossible."""
    try:
        return read_table(file.path, file.table)
    except (SchemaVersionError, ImpossibleValuesError) as error:
        notes.leave_out(file, str(error))
        return None
