"""Makes the database from the Parquet files. It can be deleted at any time and made again."""

import contextlib
import json
import logging
import shutil
import time
import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

import duckdb

from probing.core.errors import StoreError
from probing.core.files.atomic import atomic_text, rename_file
from probing.core.files.checksums import file_sha256
from probing.core.files.disk_errors import require_writable
from probing.store.build_steps import increment
from probing.store.build_steps.failing_runs import OF_THE_ROWS, CountingError, failing_runs, refused
from probing.store.build_steps.load import load_plain, load_predictions
from probing.store.build_steps.packed import create_packed
from probing.store.database import POINTER, THREADS, Database, is_whole, open_database
from probing.store.kinds import KINDS
from probing.store.run_tables import create_run_tables, leave_out_incomplete, leave_out_unread, part_runs
from probing.store.schema import SCHEMA_VERSION, SCHEMAS, TABLES, create_statement, tables_checksum
from probing.store.sources import DERIVED_VERSION, SourceFile, data_version_of, find_files

#: Called with what is being done, the steps done and the steps in all.
Progress = Callable[[str, int, int], None]

_log = logging.getLogger(__name__)
_OLD_TEMPORARY_SECONDS = 3600.0
#: DuckDB's memory limit while it builds; the rest is written to a folder next to the database.
_MEMORY = "512MB"


def build_database(
    sources: Sequence[Path], target: Path, progress: Progress | None = None, memory: str = _MEMORY, verify: bool = False
) -> Path:
    """Builds the database from all runs below the source folders, unless it is already made from exactly these files.

    A run is read from the first source that has it. A run that is not complete is left out with a warning, and so is a file
    of another schema version or with impossible values; ``check_store`` reports both. If files were only added since the last build, a
    copy of the database takes what is new (``store.build_steps.increment``); the result equals a full build. A reader sees the
    old database until the pointer ``current.json`` is replaced.

    Args:
        sources: existing folders, searched in any depth.
        target: folder of the database; created.
        progress: called at every step.
        memory: DuckDB's memory limit, in its notation; with less it builds more slowly. If it is too little, DuckDB's default.
        verify: also compares the database's bytes with the sha256 in its pointer, and builds it again if they differ.

    Returns:
        The database file, ``results-<data version>.duckdb`` in ``target``; a further part of the name distinguishes it from a damaged one.

    Raises:
        StoreError: naming the folder or file that is missing, truncated or foreign.
        CacheError: if nothing can be written in ``target``.
    """
    target = Path(target)
    files = find_files(sources)
    version = data_version_of(files)
    old = _current(target)
    if old and old[1] == version and (not verify or is_whole(target)):
        return old[0]
    require_writable(target)
    final = target / f"results-{version}.duckdb"
    if final.exists():
        # A process that has the damaged file open would get it again under the same name.
        final = target / f"results-{version}-{uuid.uuid4().hex[:8]}.duckdb"
    temporary = target / f"results-{version}.{uuid.uuid4().hex[:8]}.tmp"
    say = progress or (lambda what, done, total: None)
    try:
        if not (old and _add_to_copy(target, old[0], temporary, files, version, say, memory)):
            _fill_in_full(temporary, files, version, say, memory)
        sha256 = file_sha256(temporary)
        rename_file(temporary, final)
        _point_to(target, final, version, sha256)
    finally:
        _remove(temporary)
    _remove_old(target, final)
    return final


def built_database(sources: Sequence[Path], target: Path, memory: str = _MEMORY, progress: Progress | None = None) -> Database:
    """Builds the database if it is not current, and opens it; if it is found damaged later, it is made again.

    Raises:
        StoreError: as ``build_database``.
    """
    build_database(sources, target, progress, memory=memory)
    database = open_database(target)

    def mend() -> Database:
        build_database(sources, target, memory=memory, verify=True)
        return open_database(target)

    database.mend = mend
    return database


def _remove(temporary: Path) -> None:
    for leftover in (temporary, temporary.with_name(f"{temporary.name}.wal")):
        leftover.unlink(missing_ok=True)


def _current(target: Path) -> tuple[Path, str] | None:
    """File and data version of the existing database; None if it cannot be opened."""
    try:
        with open_database(target) as database:
            return database.path, database.data_version
    except StoreError:
        return None


def _add_to_copy(
    target: Path, old: Path, temporary: Path, files: Sequence[SourceFile], version: str, progress: Progress, memory: str | None
) -> bool:
    """Makes the new database from a copy of the old one; False if only a full build is certain to be right."""
    try:
        shutil.copyfile(old, temporary)
        if not is_whole(target, temporary):
            raise increment.UnusualError("its bytes are not those that were written")
        warnings = _fill(temporary, files, version, progress, memory, {}, add=True)
    except (increment.UnusualError, StoreError, OSError, duckdb.OutOfMemoryException) as error:
        _log.debug("%s is built in full: %s", target, error)
        _remove(temporary)
        return False
    _warn(warnings)
    return True


def _fill_in_full(temporary: Path, files: Sequence[SourceFile], version: str, progress: Progress, memory: str | None) -> None:
    """Makes the database, without the runs whose rows cannot be counted; each is named in ``failing_runs``.

    Raises:
        StoreError: if it cannot be made without them either.
    """

    def fill(say: Progress, without: Mapping[str, str]) -> list[str]:
        nonlocal memory
        try:
            return _fill(temporary, files, version, say, memory, without)
        except duckdb.OutOfMemoryException as error:
            _log.info("%s is too little to build %s, so memory is no longer limited: %s", memory, temporary, error)
            _remove(temporary)
            memory = None
            return _fill(temporary, files, version, say, memory, without)

    def refusal(runs: Collection[str]) -> CountingError | None:
        """The error of a build without these runs, whose database is not kept."""
        try:
            fill(lambda what, done, total: None, dict.fromkeys(runs, "is not tried"))
        except CountingError as error:
            return error
        finally:
            _remove(temporary)
        return None

    try:
        warnings = fill(progress, {})
    except CountingError as error:
        _remove(temporary)
        without = failing_runs(files, error, refusal)
        if not without:
            raise
        warnings = fill(progress, without)
    _warn(warnings)


def _warn(lines: Sequence[str]) -> None:
    """Logs what is left out of a database, once it is made."""
    for line in lines:
        _log.warning("%s", line)


def _fill(
    path: Path,
    files: Sequence[SourceFile],
    version: str,
    progress: Progress,
    memory: str | None,
    without: Mapping[str, str],
    add: bool = False,
) -> list[str]:
    """Makes the database at ``path``; with ``add`` it is a copy of an older one that takes what is new.

    Args:
        path: the temporary file.
        files: of the sources.
        version: data version of the files.
        progress: called at every step.
        memory: DuckDB's limit; None: its default.
        without: id of a run to leave out -> why.
        add: takes the runs to leave out from the older database.

    Returns:
        A sentence for each run and file that is left out.
    """
    predictions = [file for file in files if file.table == "predictions"]
    others = [file for file in files if file.table != "predictions"]
    notes = increment.Notes(failing=dict(without))
    counts = {name: how for kind in KINDS.values() for name, how in kind.counts.items()}
    steps = len(files) + len(counts) + 1
    done = 0

    def step(what: str) -> None:
        nonlocal done
        progress(what, done, steps)
        done += 1

    try:
        with duckdb.connect(path, config={"enable_external_access": "false", "python_enable_replacements": "false"}) as connection:
            connection.execute(f"SET threads = {THREADS}")
            _draw_no_bars(connection)
            _wait_for_no_disk(connection)
            if memory:
                connection.execute(f"SET memory_limit = '{memory}'")
            if add:
                notes.failing = increment.known_failing(connection, files)
                notes.unchanged = increment.begin(connection, files)
                others = [file for file in others if file.table not in notes.unchanged]
                steps = len(others) + len(predictions) + len(counts) + 1
            # One commit for all empty tables.
            connection.execute("BEGIN")
            for table in SCHEMAS:
                if table != "runs" and table not in notes.unchanged:
                    if TABLES[table].numbered:
                        create_packed(connection, table)
                    else:
                        connection.execute(create_statement(table, SCHEMAS[table]))
            create_run_tables(connection)
            connection.execute("COMMIT")
            # Runs must be known before predictions are taken: a run still being probed has files but no row yet.
            for table in (table for table in SCHEMAS if table != "predictions"):
                load_plain(connection, table, [file for file in others if file.table == table], step, notes)
            leave_out_unread(connection, notes.failing)
            part_runs(connection)
            if add:
                predictions = increment.new_predictions(connection, predictions, notes)
                steps = done + len(predictions) + len(counts) + 1
            load_predictions(connection, predictions, step, notes)
            step("checking that runs are complete")
            notes.warnings += leave_out_incomplete(connection)
            for name, how in counts.items():
                step(f"counting {name}")
                how(connection) if callable(how) else connection.execute(how)
            if add:
                increment.merge(connection, notes.unchanged)
            increment.note_files(connection, files, notes)
            connection.execute("CREATE OR REPLACE TABLE meta (data_version VARCHAR, schema_version INTEGER)")
            connection.execute("INSERT INTO meta VALUES (?, ?)", [version, SCHEMA_VERSION])
            connection.execute("CHECKPOINT")
    except OF_THE_ROWS as error:
        if memory and isinstance(error, duckdb.OutOfMemoryException):
            raise
        raise refused(path, error) from error
    progress("done", steps, steps)
    return notes.warnings


def _draw_no_bars(connection: duckdb.DuckDBPyConnection) -> None:
    """Switches off the bars that DuckDB draws if Python is interactive: ``progress`` reports how far the build is.

    In a notebook without ipywidgets there are none, and DuckDB refuses to set the option to any value.
    """
    row = connection.execute("SELECT current_setting('enable_progress_bar')").fetchone()
    if row and row[0]:
        connection.execute("SET enable_progress_bar = false")


def _wait_for_no_disk(connection: duckdb.DuckDBPyConnection) -> None:
    """Lets no statement wait until its rows are on the disk: ``rename_file`` waits once for the complete file.

    DuckDB before 2.0 has no such option, and waits sixty times per build.
    """
    with contextlib.suppress(duckdb.CatalogException):
        connection.execute("SET fsync_mode = 'NONE'")


def _point_to(target: Path, final: Path, version: str, sha256: str) -> None:
    content = {"file": final.name, "data_version": version, "schema_version": SCHEMA_VERSION, "derived_version": DERIVED_VERSION}
    content |= {"tables": tables_checksum(), "sha256": sha256}
    atomic_text(target / POINTER, json.dumps(content, indent=1))


def _remove_old(target: Path, current: Path) -> None:
    """Best effort: another process may hold an old file, be writing a temporary one, or have renamed it by now."""
    for path in target.glob("results-*"):
        try:
            young = path.suffix == ".tmp" and time.time() - path.stat().st_mtime < _OLD_TEMPORARY_SECONDS
            if path != current and not young:
                # A folder has what a killed build could not keep in memory.
                shutil.rmtree(path) if path.suffixes[-2:] == [".tmp", ".tmp"] else path.unlink()
        except OSError as error:
            _log.info("old database %s stays: %s", path, error)
