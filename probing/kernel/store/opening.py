"""Opening results: which files are read and the tables that queries see; nothing is built or written."""

import logging
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from itertools import groupby
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from probing.kernel.errors import StoreError
from probing.kernel.provenance import Provenance, stored_provenance
from probing.kernel.store.columns import KEYS, SCHEMAS, SORT, TABLES, create_statement
from probing.kernel.store.database import THREADS, TRIES, Database, Opened, damaged_files, pattern, quoted, read_files
from probing.kernel.store.kinds import FACTS, KINDS, Kind
from probing.kernel.store.parquet import (
    SourceFile,
    as_stored,
    check_values,
    files_of,
    find_files,
    read_table,
    write_differing,
)
from probing.kernel.store.seals import examine

_log = logging.getLogger(__name__)


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


_PROVENANCE = {
    name: pa.int64() if field.annotation is int else pa.string() for name, field in Provenance.model_fields.items()
}
#: Kind and provenance of a run; values that its configuration lacks are empty.
_RUNS = pa.schema(
    [("run_id", pa.string()), ("kind", pa.string()), *_PROVENANCE.items()]
    + [(name, pa.string()) for name in ("device", "created", "config")]
)


def create_run_tables(connection: duckdb.DuckDBPyConnection, rows: Mapping[str, pa.Table], whole: set[str]) -> None:
    """Makes the tables and views of runs from rows by kind; ``whole`` are ids of runs with stored predictions."""
    all_runs = [_run(row, kind) for kind, runs in rows.items() for row in runs.to_pylist()]
    _create(connection, "runs", pa.Table.from_pylist(all_runs, schema=_RUNS), ("model", "kind", "seed", "run_id"))
    of_facts = rows[FACTS]
    counted = pa.array([run_id not in whole for run_id in of_facts.column("run_id").to_pylist()], pa.bool_())
    columns = [name for name in SCHEMAS["runs"].names if name == "run_id" or name not in _RUNS.names]
    _create(
        connection,
        "fact_runs",
        of_facts.select(columns).append_column("counted", counted),
        (*SORT["runs"][1:4], "run_id"),
    )
    connection.execute("CREATE VIEW runs_of_facts AS SELECT * FROM runs JOIN fact_runs USING (run_id)")
    for kind, table in ((kind.name, kind.runs) for kind in KINDS.values() if kind.name != FACTS):
        _create(connection, table, rows[kind], SORT[table])
        provenance = ", ".join(f"r.{name}" for name in _RUNS.names if name not in SCHEMAS[table].names)
        connection.execute(
            f"CREATE VIEW runs_of_{kind} AS SELECT e.*, {provenance} FROM runs r JOIN {table} e ON e.run_id = r.run_id"
        )


def _create(connection: duckdb.DuckDBPyConnection, table: str, rows: pa.Table, order: tuple[str, ...]) -> None:
    connection.register("incoming", rows)
    connection.execute(f"CREATE TABLE {table} AS SELECT * FROM incoming ORDER BY {', '.join(order)}")
    connection.unregister("incoming")


def _run(row: dict[str, Any], kind: str) -> dict[str, Any]:
    origin = {
        name: value
        for name, value in stored_provenance(row["config"]).items()
        if isinstance(value, str if _PROVENANCE[name] == pa.string() else int)
    }
    return origin | {name: value for name, value in row.items() if name in _RUNS.names} | {"kind": kind}


#: Tables of which each file has the rows of the run in its name: questions on some runs open only the files of these.
OF_RUN = ("predictions", "known")
#: The files' pages come from the system's own cache; this is for joins and sums, and the app's models need memory, too.
_MEMORY = "512MB"


def open_database(*sources: Path) -> Database:
    """Opens all results below some existing folders, searched in any depth.

    A file that cannot be read, of another version of the program, or with impossible values is left out, and so is a
    run without counts. Of a run, and of rows with one key, those of the first folder count.
    """
    return open_files(sources, find_files(sources))


def open_files(sources: Sequence[Path], files: Sequence[SourceFile]) -> Database:
    """As ``open_database``, of files that are found already."""
    opened = Database(partial(_opened, sources, files))
    for why in opened.left_out["why"]:
        _log.warning("left out: %s", why)
    return opened


def _opened(sources: Sequence[Path], files: Sequence[SourceFile], without: Mapping[Path, str]) -> Opened:
    for _ in range(TRIES):
        try:
            return _opened_without(sources, files, without)
        except duckdb.Error as error:
            without = {**without, **damaged_files(files, error)}
    raise StoreError("the files of results change while they are opened; try again")


def _opened_without(sources: Sequence[Path], files: Sequence[SourceFile], without: Mapping[Path, str]) -> Opened:
    left_out: dict[str, str] = {}
    by_table: dict[str, list[SourceFile]] = {table: [] for table in SCHEMAS}
    seen: dict[str, SourceFile] = {}
    # All that are new together, by one process.
    examine(file.path for file in files)
    for file in files:
        why = without.get(file.path) or _problem(file.path, file.table, file.size, file.changed)
        if why:
            left_out[file.name] = why
            continue
        first = seen.setdefault(file.path.name, file)
        # Facts and vocabularies have their fingerprint in their name, and every folder has a copy.
        if first is file or file.sha256 != first.sha256:
            by_table[file.table].append(file)
    connection = _connected(sources)
    rows = {kind.name: _runs_of(kind, by_table[kind.runs], left_out) for kind in KINDS.values()}
    for table, table_files in by_table.items():
        if table not in OF_RUN and table not in {kind.runs for kind in KINDS.values()}:
            _create_views(connection, table, table_files)
    for kind in KINDS.values():
        rows[kind.name] = _with_rows(connection, kind, rows[kind.name], left_out)
    known = {run_id for runs in rows.values() for run_id in runs.column("run_id").to_pylist()}
    of_run = {table: _by_run(by_table[table], known, left_out) for table in OF_RUN}
    # Of a run without predictions only counts are kept.
    of_run["known"] = {run_id: path for run_id, path in of_run["known"].items() if run_id in of_run["predictions"]}
    for table, of_runs in of_run.items():
        _create_view(connection, table, list(of_runs.values()))
    create_run_tables(connection, rows, set(of_run["predictions"]))
    return Opened(connection, [file for table_files in by_table.values() for file in table_files], of_run, left_out)


def _connected(sources: Sequence[Path]) -> duckdb.DuckDBPyConnection:
    """An empty database in memory that can read below the sources and nowhere else."""
    connection = duckdb.connect(
        config={"python_enable_replacements": "false", "threads": THREADS, "memory_limit": _MEMORY}
    )
    paths = [Path(source).absolute() for source in sources]
    # DuckDB looks for both: the pattern that it is given, and the file that it finds by it.
    folders = ", ".join(quoted(form) for path in paths for form in dict.fromkeys((str(path), pattern(path))))
    for setting in (
        "autoinstall_known_extensions = false",
        "autoload_known_extensions = false",
        "parquet_metadata_cache = true",
        "temp_directory = ''",
        f"allowed_directories = [{folders}]",
        "enable_external_access = false",
        # The last one: no setting can be changed after it.
        "lock_configuration = true",
    ):
        connection.execute(f"SET {setting}")
    return connection


@lru_cache(maxsize=100_000)
def _problem(path: Path, table: str, size: int, changed: int) -> str | None:
    """Why a file is not read; looked at once for each change of it."""
    try:
        check_values(path, table)
    except StoreError as error:
        return str(error)
    return None


def _create_views(connection: duckdb.DuckDBPyConnection, table: str, files: Sequence[SourceFile]) -> None:
    """Makes the view of a table; if files have rows in common, a table of those that come first."""
    paths, key = [file.path for file in files], ", ".join(KEYS[table])
    if TABLES[table].per == "run_id":
        _create_view_of_runs(connection, table, files)
        return
    # One scan of all files: a scan for each would hold the buffers of all at once.
    twice = f"SELECT 1 FROM {read_files(paths)} GROUP BY {key} HAVING count(*) > 1 LIMIT 1"
    if len(paths) < 2 or not connection.execute(twice).fetchall():
        _create_view(connection, table, paths)
        return
    columns = ", ".join(f'"{name}"' for name in SCHEMAS[table].names)
    connection.execute(
        f"CREATE TABLE {table} AS SELECT DISTINCT ON ({key}) {columns} FROM {read_files(paths)}"
        f" ORDER BY {key}, list_position($paths, filename), {columns}",
        {"paths": [str(path) for path in paths]},
    )


def _create_view_of_runs(connection: duckdb.DuckDBPyConnection, table: str, files: Sequence[SourceFile]) -> None:
    """The view of a table of which a run has all rows below one folder, if not in one file: the first with the run."""
    by_source = [[file.path for file in group] for _, group in groupby(files, key=lambda file: file.source)]
    if len(by_source) < 2:
        _create_view(connection, table, [file.path for file in files])
        return
    seen: set[str] = set()
    parts = []
    for paths in by_source:
        run_ids = {
            run_id for (run_id,) in connection.execute(f"SELECT DISTINCT run_id FROM {read_files(paths)}").fetchall()
        }
        again = ", ".join("'{}'".format(run_id.replace("'", "''")) for run_id in sorted(run_ids & seen))
        parts.append(f"SELECT * FROM {read_files(paths)}" + (f" WHERE run_id NOT IN ({again})" if again else ""))
        seen |= run_ids
    connection.execute(f"CREATE VIEW {table} AS {' UNION ALL '.join(parts)}")


def _create_view(connection: duckdb.DuckDBPyConnection, table: str, paths: Sequence[Path]) -> None:
    empty = create_statement(table, SCHEMAS[table])
    connection.execute(f"CREATE VIEW {table} AS SELECT * FROM {read_files(paths)}" if paths else empty)


def _runs_of(kind: Kind, files: Sequence[SourceFile], left_out: dict[str, str]) -> pa.Table:
    """The rows of the runs of a kind; of several with one id the first."""
    tables = [SCHEMAS[kind.runs].empty_table()]
    for file in files:
        try:
            tables.append(read_table(file.path, kind.runs))
        except StoreError as error:
            left_out[file.name] = str(error)
    rows = pa.concat_tables(tables)
    first: dict[str, int] = {}
    for place, run_id in enumerate(rows.column("run_id").to_pylist()):
        first.setdefault(run_id, place)
    return rows.take(pa.array(first.values(), pa.int64()))


def _with_rows(connection: duckdb.DuckDBPyConnection, kind: Kind, runs: pa.Table, left_out: dict[str, str]) -> pa.Table:
    """The runs that have rows in all tables that their kind needs; the others are noted as left out."""
    for table in kind.needs if len(runs) else ():
        run_ids = connection.sql(f"SELECT DISTINCT run_id FROM {table}").to_arrow_table().column("run_id")
        complete = pc.is_in(runs.column("run_id"), run_ids)
        for run_id in runs.filter(pc.invert(complete)).column("run_id").to_pylist():
            left_out[f"{kind.runs}: {run_id}"] = (
                f"the run {run_id} has no rows of {table}; run `{kind.command}` again, or delete the files that have"
                f" {run_id} in their name"
            )
        runs = runs.filter(complete)
    return runs


def _by_run(files: Sequence[SourceFile], known: set[str], left_out: dict[str, str]) -> dict[str, Path]:
    """Run -> its file of a table, in the first folder that has one; a run that is still being made has no row yet."""
    paths: dict[str, Path] = {}
    for file in files:
        run_id = file.path.stem.removeprefix(f"{file.table}-")
        if not re.fullmatch("[0-9a-f]{16}", run_id):
            left_out[file.name] = f"{file.path} has no run in its name; rename it to {file.table}-RUN.parquet"
        elif run_id in known:
            paths.setdefault(run_id, file.path)
    return paths
