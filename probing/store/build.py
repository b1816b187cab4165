"""Makes the database from the Parquet files. It can be deleted at any time and made again."""

import json
import logging
import shutil
import time
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path

import duckdb
import pyarrow.compute as pc

from probing.core.errors import StoreError
from probing.core.whole_files import write_whole
from probing.store.answer_words import load_words
from probing.store.database import POINTER, THREADS, open_database
from probing.store.derived import STATEMENTS
from probing.store.parquet import read_table
from probing.store.schema import KEYS, SCHEMA_VERSION, SCHEMAS, SORT, create_statement
from probing.store.sources import DERIVED_VERSION, SourceFile, data_version_of, find_files
from probing.store.swapped_ranks import empty_unfit_ranks

#: Called with what is being done, the steps done and the steps in all.
Progress = Callable[[str, int, int], None]

_log = logging.getLogger(__name__)
_OLD_TEMPORARY_SECONDS = 3600.0
#: What DuckDB may hold while it builds; what does not fit waits in a folder beside the database.
_MEMORY = "512MB"
# Runs must be known before predictions are taken: a run still being probed has files but no row yet.
_PLAIN_TABLES = tuple(table for table in SCHEMAS if table != "predictions")


def build_database(sources: Sequence[Path], target: Path, progress: Progress | None = None, memory: str = _MEMORY) -> Path:
    """Builds the database from all runs below the source folders, unless it is already made from exactly these files.

    A run is read from the first source that has it. A run whose predictions are not complete is left out with a warning;
    ``check_store`` names it. A reader sees the old database until the pointer ``current.json`` is replaced.

    Args:
        sources: existing folders, searched in any depth.
        target: folder of the database; created.
        progress: called at every step.
        memory: what DuckDB should hold, in its words: with less it builds more slowly. Where it is too little, what the machine has.

    Returns:
        The database file, ``results-<data version>.duckdb`` in ``target``.

    Raises:
        StoreError: naming the folder or file that is missing, truncated, foreign or of another schema version.
    """
    target = Path(target)
    files = find_files(sources)
    version = data_version_of(files)
    final = target / f"results-{version}.duckdb"
    if _is_current(target, version):
        return final
    target.mkdir(parents=True, exist_ok=True)
    temporary = target / f"results-{version}.{uuid.uuid4().hex[:8]}.tmp"
    say = progress or (lambda what, done, total: None)
    try:
        try:
            _fill(temporary, files, version, say, memory)
        except duckdb.OutOfMemoryException as error:
            _log.info("%s is too little to build %s, so memory is no longer limited: %s", memory, final, error)
            _remove(temporary)
            _fill(temporary, files, version, say, None)
        temporary.replace(final)
        _point_to(target, final, version)
    finally:
        _remove(temporary)
    _remove_old(target, final)
    return final


def _remove(temporary: Path) -> None:
    for leftover in (temporary, temporary.with_name(f"{temporary.name}.wal")):
        leftover.unlink(missing_ok=True)


def _is_current(target: Path, version: str) -> bool:
    try:
        with open_database(target) as database:
            return database.data_version == version
    except StoreError:
        return False


def _fill(path: Path, files: Sequence[SourceFile], version: str, progress: Progress, memory: str | None) -> None:
    predictions = [file for file in files if file.table == "predictions"]
    others = [file for file in files if file.table != "predictions"]
    steps = len(files) + len(STATEMENTS) + 1
    done = 0

    def step(what: str) -> None:
        nonlocal done
        progress(what, done, steps)
        done += 1

    try:
        with duckdb.connect(path, config={"enable_external_access": "false", "python_enable_replacements": "false"}) as connection:
            connection.execute(f"SET threads = {THREADS}")
            if memory:
                connection.execute(f"SET memory_limit = '{memory}'")
            for table in SCHEMAS:
                connection.execute(create_statement(table))
            for table in _PLAIN_TABLES:
                _load_plain(connection, table, [file for file in others if file.table == table], step)
            _load_predictions(connection, predictions, step)
            step("checking that runs are complete")
            _leave_out_incomplete(connection)
            empty_unfit_ranks(connection)
            load_words(connection)
            for name, statement in STATEMENTS.items():
                step(f"counting {name}")
                connection.execute(statement)
            connection.execute("CREATE TABLE meta (data_version VARCHAR, schema_version INTEGER)")
            connection.execute("INSERT INTO meta VALUES (?, ?)", [version, SCHEMA_VERSION])
            connection.execute("CHECKPOINT")
    except duckdb.Error as error:
        if memory and isinstance(error, duckdb.OutOfMemoryException):
            raise
        raise StoreError(f"cannot build the database {path}: {error}") from error
    progress("done", steps, steps)


def _load_plain(connection: duckdb.DuckDBPyConnection, table: str, files: Sequence[SourceFile], step: Callable[[str], None]) -> None:
    """Rows of all files; of several with the same key the first."""
    key = ", ".join(KEYS[table])
    connection.execute(f"CREATE TEMP TABLE loading AS SELECT *, 0 AS place FROM {table}")
    for place, file in enumerate(files):
        step(f"reading {file.name}")
        connection.register("incoming", read_table(file.path, table))
        connection.execute("INSERT INTO loading SELECT *, ? FROM incoming", [place])
        connection.unregister("incoming")
    columns = ", ".join(SCHEMAS[table].names)
    connection.execute(
        f"INSERT INTO {table} SELECT {columns} FROM (SELECT DISTINCT ON ({key}) * FROM loading ORDER BY {key}, place, {columns}) "
        f"ORDER BY {', '.join(SORT[table])}"
    )
    connection.execute("DROP TABLE loading")


def _load_predictions(connection: duckdb.DuckDBPyConnection, files: Sequence[SourceFile], step: Callable[[str], None]) -> None:
    known = {run_id for (run_id,) in connection.execute("SELECT run_id FROM runs").fetchall()}
    source_of: dict[str, int] = {}
    seen: set[str] = set()
    for file in files:
        step(f"reading {file.name}")
        if file.sha256 in seen:
            continue
        seen.add(file.sha256)
        table = read_table(file.path, "predictions")
        runs = [run_id for run_id in pc.unique(table.column("run_id")).to_pylist() if run_id in known]
        runs = [run_id for run_id in runs if source_of.setdefault(run_id, file.source) == file.source]
        connection.register("incoming", table)
        # By fact, not by layer: one fact's layers are then read from one place.
        connection.execute(
            "INSERT INTO predictions SELECT * FROM incoming WHERE run_id IN (SELECT unnest(?::VARCHAR[])) ORDER BY run_id, fact_id, layer",
            [runs],
        )
        connection.unregister("incoming")


def _leave_out_incomplete(connection: duckdb.DuckDBPyConnection) -> None:
    """Counts of a run with missing or doubled rows would look like results, so it is left out whole.

    A replicate may hold its last layer only: one row a fact.
    """
    incomplete = connection.execute("""
        WITH per_fact AS (
            SELECT run_id, fact_id, count(*) AS n, min(layer) AS first_layer,
                bit_count(bit_or(CASE WHEN layer < 64 THEN 1::UBIGINT << layer::UBIGINT END)) AS layers
            FROM predictions GROUP BY run_id, fact_id
        ), found AS (
            SELECT q.run_id, sum(q.n) AS n, min(q.first_layer) AS first_layer, sum(q.layers) FILTER (f.fact_id IS NOT NULL) AS good
            FROM per_fact q LEFT JOIN facts f ON f.fact_id = q.fact_id GROUP BY q.run_id
        ), wanted AS (
            SELECT r.run_id, coalesce(p.n, 0) AS n, coalesce(p.good, 0) AS good,
                r.n_probed * CASE WHEN r.role = 'replicate' AND p.first_layer = r.layers - 1 THEN 1 ELSE r.layers END AS expected
            FROM runs r LEFT JOIN found p ON p.run_id = r.run_id
        )
        SELECT run_id, expected, n, good FROM wanted WHERE n <> expected OR good <> expected ORDER BY run_id
    """).fetchall()
    for run_id, expected, rows, good in incomplete:
        _log.warning(
            "run %s is left out of the database: %d predictions, %d of them distinct with a known fact, expected %d; "
            "`python -m probing check` says what is wrong",
            run_id,
            rows,
            good,
            expected,
        )
        for table in ("predictions", "runs"):
            connection.execute(f"DELETE FROM {table} WHERE run_id = ?", [run_id])


def _point_to(target: Path, final: Path, version: str) -> None:
    content = {"file": final.name, "data_version": version, "schema_version": SCHEMA_VERSION, "derived_version": DERIVED_VERSION}
    write_whole(target / POINTER, json.dumps(content, indent=1))


def _remove_old(target: Path, current: Path) -> None:
    """Best effort: another process may hold an old file, be writing a temporary one, or have renamed it by now."""
    for path in target.glob("results-*"):
        try:
            young = path.suffix == ".tmp" and time.time() - path.stat().st_mtime < _OLD_TEMPORARY_SECONDS
            if path != current and not young:
                # A folder is what a killed build could not hold in memory.
                shutil.rmtree(path) if path.suffixes[-2:] == [".tmp", ".tmp"] else path.unlink()
        except OSError as error:
            _log.info("old database %s stays: %s", path, error)
