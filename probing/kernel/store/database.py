"""Results that are open for queries: an in-memory DuckDB that reads the Parquet files, one cursor per query."""

import contextlib
import functools
import logging
import os
import re
import threading
import weakref
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import duckdb
import pandas as pd

from probing.kernel.errors import StoreError
from probing.kernel.store.parquet import SourceFile, fingerprint_of, read_table, version_of

_log = logging.getLogger(__name__)
#: DuckDB has no statement timeout; our queries take less than a tenth of this.
QUERY_SECONDS = 30.0
_WANTED = os.environ.get("OMP_NUM_THREADS", "")
#: Each thread needs its own memory: on a machine with many cores a small limit would not suffice for all of them. Users
#: who limit the threads of torch and numpy, such as for several processes side by side, limit DuckDB's with the same
#: variable.
THREADS = min(4, os.cpu_count() or 1, int(_WANTED) if _WANTED.isdecimal() and int(_WANTED) else 4)
#: The machine's fault, not that of a file.
_OF_THE_MACHINE = (duckdb.InterruptException, duckdb.OutOfMemoryException)
_TOO_MANY = "Too many open files"
#: How often a question is asked while files that it needs are replaced or turn out to be damaged.
TRIES = 10


@dataclass(frozen=True)
class Opened:
    """A connection with a table or view for every table of the files, and what it reads."""

    connection: duckdb.DuckDBPyConnection
    files: Sequence[SourceFile]
    #: Table whose files have one run each -> run -> its file.
    of_run: Mapping[str, Mapping[str, Path]]
    left_out: Mapping[str, str]

    @functools.cached_property
    def version(self) -> str:
        return version_of(self.files)


class Database:
    """Results to ask, safe to share between threads; ``open_without`` opens them without some files: file -> why.

    A file that turns out to be damaged while it is read is left out, and the question is asked again.
    """

    def __init__(self, open_without: Callable[[Mapping[Path, str]], Opened]):
        self._lock = threading.Lock()
        self._open_without = open_without
        self._without: dict[Path, str] = {}
        self._opened = open_without({})

    @property
    def version(self) -> str:
        """Changes when the files do, as ``parquet.version_of``; what is kept of results has it in its key."""
        return self._opened.version

    @property
    def data_version(self) -> str:
        """Fingerprint of the bytes of the files, as ``parquet.fingerprint_of``."""
        return fingerprint_of(self._opened.files)

    @property
    def left_out(self) -> pd.DataFrame:
        """The files that are not read: name, why."""
        return pd.DataFrame(sorted(self._opened.left_out.items()), columns=["name", "why"])

    def query(
        self,
        sql: str,
        parameters: Mapping[str, Any] | None = None,
        seconds: float = QUERY_SECONDS,
        of: Collection[str] | None = None,
    ) -> pd.DataFrame:
        """Runs one of this package's own statements on a separate cursor and fetches the whole result.

        Values go where ``sql`` has ``$name``; nothing that a user typed is ever part of it. ``of`` names the runs whose
        predictions, known facts and swapped subjects it asks; None opens the files of all runs.
        """
        for _ in range(TRIES):
            opened = self._opened
            try:
                return self._run_query(opened, sql, dict(parameters or {}), seconds, of)
            except duckdb.Error as error:
                self._leave_out(opened, damaged_files(opened.files, error, sql))
        raise StoreError("the files of results change while they are read; try again")

    def _leave_out(self, opened: Opened, damaged: Mapping[Path, str]) -> None:
        with self._lock:
            # If several threads meet the damage, the first one opens the results again.
            if damaged and self._opened is opened:
                for why in damaged.values():
                    _log.warning("%s", why)
                self._without |= damaged
                self._opened = self._open_without(self._without)

    def _run_query(
        self, opened: Opened, sql: str, parameters: dict[str, Any], seconds: float, of: Collection[str] | None
    ) -> pd.DataFrame:
        # A connection shared by threads gives wrong answers silently; even the making of cursors is kept apart.
        with self._lock:
            cursor = opened.connection.cursor()
        late = threading.Event()

        def interrupt() -> None:
            late.set()
            # The query may have ended, and its cursor been closed, in this very moment.
            with contextlib.suppress(duckdb.Error):
                cursor.interrupt()

        timer = threading.Timer(seconds, interrupt)
        timer.daemon = True
        timer.start()
        try:
            if of is not None:
                _only_runs(cursor, opened, sql, of)
            return cursor.execute(sql, parameters).df()
        except duckdb.InterruptException as error:
            if late.is_set():
                raise StoreError(
                    f"a query took more than {seconds:g} s and was stopped; narrow the selection"
                ) from error
            raise StoreError("a query was interrupted; try again") from error
        finally:
            timer.cancel()
            cursor.close()

    def close(self) -> None:
        """Closes the connection; queries that run end first."""
        self._opened.connection.close()

    def __enter__(self) -> "Database":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def read_files(paths: Collection[Path]) -> str:
    """SQL of the rows of some files, of which there is at least one."""
    return f"read_parquet([{', '.join(map(quoted, map(pattern, paths)))}])"


def pattern(path: Path) -> str:
    """The pattern of DuckDB's that this path alone has: signs of patterns stand for themselves in brackets."""
    return re.sub(r"([\[?*])", r"[\1]", str(path))


def quoted(text: str) -> str:
    """A text as SQL."""
    return "'{}'".format(text.replace("'", "''"))


def _only_runs(cursor: duckdb.DuckDBPyConnection, opened: Opened, sql: str, runs: Collection[str]) -> None:
    """Hides tables that a statement names behind views of the files of some runs, which this cursor alone sees."""
    for table, files in opened.of_run.items():
        if re.search(rf"\b{table}\b", sql):
            paths = [files[run_id] for run_id in dict.fromkeys(runs) if run_id in files]
            rows = f"SELECT * FROM {read_files(paths)}" if paths else f"SELECT * FROM memory.main.{table} LIMIT 0"
            cursor.execute(f"CREATE TEMP VIEW {table} AS {rows}")


def damaged_files(files: Sequence[SourceFile], error: duckdb.Error, sql: str | None = None) -> dict[Path, str]:
    """The files that are the reason for an error, and why; none if one was missing or being replaced, and is there now.

    The statement is None if the files were being opened. Without a reason it is a ``StoreError``.
    """
    text = str(error)
    named = [file for file in files if str(file.path) in text]
    queried = [file for file in files if sql is None or re.search(rf"\b{file.table}\b", sql)]
    damaged = {}
    for file in () if isinstance(error, _OF_THE_MACHINE) or _TOO_MANY in text else named or queried:
        try:
            read_table(file.path, file.table)
        except StoreError as problem:
            damaged[file.path] = str(problem)
    if not damaged and not named:
        raise StoreError(f"cannot query the results: {text}; `python -m probing check` looks at every file") from error
    return damaged


def remembered(query: Callable[[Database], pd.DataFrame]) -> Callable[[Database], pd.DataFrame]:
    """As ``query``, asked once per open database, as reports need some tables dozens of times; callers get copies."""
    tables: weakref.WeakKeyDictionary[Database, tuple[str, pd.DataFrame]] = weakref.WeakKeyDictionary()

    @functools.wraps(query)
    def cached(db: Database) -> pd.DataFrame:
        version, table = tables.get(db, ("", None))
        if table is None or version != db.version:
            table = query(db)
            tables[db] = db.version, table
        return table.copy()

    return cached
