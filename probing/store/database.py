"""The one way to open the database: read-only, closed to the outside, one cursor per query."""

import contextlib
import functools
import json
import logging
import os
import re
import threading
import weakref
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

import duckdb
import pandas as pd

from probing.core.errors import DamagedDatabaseError, StoreError
from probing.core.files.checksums import file_sha256
from probing.store.schema import SCHEMA_VERSION, tables_checksum
from probing.store.sources import DERIVED_VERSION

_log = logging.getLogger(__name__)
POINTER = "current.json"
#: Names of a database's files, finished or not, and of hidden files.
_OWN_FILE = re.compile(rf"results-[0-9a-f]{{16}}[.-].*|{re.escape(POINTER)}.*|\..*")
BUILD_COMMAND = "python -m probing build"
#: DuckDB has no statement timeout; our queries take less than a tenth of this.
QUERY_SECONDS = 30.0
_WANTED = os.environ.get("OMP_NUM_THREADS", "")
#: Each thread needs its own memory: on a machine with many cores a small limit would not suffice for all of them. Users who limit the
#: threads of torch and numpy, such as for several processes side by side, limit DuckDB's with the same variable.
THREADS = min(4, os.cpu_count() or 1, int(_WANTED) if _WANTED.isdecimal() and int(_WANTED) else 4)

# All connections of a process to one path need the same settings, hence one constant and one factory.
_SETTINGS: dict[str, str | bool | int | float | list[str]] = {
    "enable_external_access": "false",
    "python_enable_replacements": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "lock_configuration": "true",
    # DuckDB's buffer of a large file would otherwise grow to most of the machine's memory, which the app's models need, too.
    "memory_limit": "256MB",
    "threads": THREADS,
}


#: What DuckDB raises for a file whose bytes have changed, in addition to its plain Error for a block with a wrong checksum.
_DAMAGE = (duckdb.IOException, duckdb.SerializationException, duckdb.InternalException, duckdb.FatalException)


class Database:
    """A read-only database of results; safe to share between threads. Made by ``open_database``.

    Attributes:
        path: the file.
        data_version: fingerprint of the files that it was made from.
        mend: makes a damaged database again and opens it; None leaves that to the caller.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection, path: Path, data_version: str):
        self._root = connection
        self._lock, self._mending = threading.Lock(), threading.Lock()
        self.path = path
        self.data_version = data_version
        self.mend: Callable[[], Database] | None = None

    def query(self, sql: str, parameters: Mapping[str, Any] | None = None, seconds: float = QUERY_SECONDS) -> pd.DataFrame:
        """As ``_query``; if the file is found damaged, it is made again once, if ``mend`` is known."""
        used = self._root
        try:
            return self._query(sql, parameters, seconds)
        except DamagedDatabaseError as error:
            if self.mend is None:
                raise
            with self._mending:
                # If several threads meet the damage, the first one mends it.
                if self._root is used:
                    _log.warning("%s; it is made again", error)
                    used.close()
                    made = self.mend()
                    self._root, self.path = made._root, made.path
        return self._query(sql, parameters, seconds)

    def _query(self, sql: str, parameters: Mapping[str, Any] | None = None, seconds: float = QUERY_SECONDS) -> pd.DataFrame:
        """Runs one of this package's own statements on a separate cursor and fetches the whole result.

        Args:
            sql: fixed text with ``$name`` where a value goes; nothing that a user typed is ever part of it.
            parameters: values by name.
            seconds: after which the query is interrupted.

        Raises:
            StoreError: if it takes too long, or the database cannot answer.
        """
        # A connection shared by threads gives wrong answers silently; even the making of cursors is kept apart.
        with self._lock:
            cursor = self._root.cursor()
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
            return cursor.execute(sql, dict(parameters or {})).df()
        except duckdb.InterruptException as error:
            if late.is_set():
                raise StoreError(f"a query on {self.path} took more than {seconds:g} s and was stopped; narrow the selection") from error
            raise StoreError(f"a query on {self.path} was interrupted; try again") from error
        except duckdb.Error as error:
            if isinstance(error, _DAMAGE) or type(error) is duckdb.Error:
                raise DamagedDatabaseError(f"{self.path} is damaged: {error}; run `{BUILD_COMMAND}`, which makes it again") from error
            raise StoreError(f"cannot query {self.path}: {error}; if this stays so, delete the file and run `{BUILD_COMMAND}`") from error
        finally:
            timer.cancel()
            cursor.close()

    def close(self) -> None:
        """Closes the file."""
        self._root.close()

    def __enter__(self) -> "Database":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def remembered(query: Callable[[Database], pd.DataFrame]) -> Callable[[Database], pd.DataFrame]:
    """As ``query``, which is asked once per open database: reports need some tables dozens of times. Each caller gets a copy."""
    tables: weakref.WeakKeyDictionary[Database, pd.DataFrame] = weakref.WeakKeyDictionary()

    @functools.wraps(query)
    def asked(db: Database) -> pd.DataFrame:
        table = tables.get(db)
        if table is None:
            table = tables[db] = query(db)
        return table.copy()

    return asked


def current_version(folder: Path) -> str:
    """Data version of the database in ``folder``, without opening it: it changes when another one is built.

    Raises:
        StoreError: if there is none; the message names the command that makes one.
    """
    return _read_pointer(Path(folder))["data_version"]


def is_whole(folder: Path, file: Path | None = None) -> bool:
    """Whether the database in ``folder``, or a copy of it, has the bytes that were written: the sha256 in the pointer."""
    pointer = _read_pointer(Path(folder))
    return file_sha256(file or Path(folder) / pointer["file"]) == pointer.get("sha256")


def require_own_folder(folder: Path) -> None:
    """Raises a ``StoreError`` if a folder, in which a database is to be built, holds other files than a database's."""
    others = sorted(path.name for path in folder.iterdir() if not _OWN_FILE.fullmatch(path.name)) if folder.is_dir() else []
    if others:
        raise StoreError(
            f"cannot build a database in {folder}, which holds other files, such as {others[0]}; name a new or an empty folder"
        )


def open_database(folder: Path) -> Database:
    """Opens the database that the pointer in ``folder`` names.

    Raises:
        StoreError: if there is none, it is damaged, or another version of the program made it; the message names the
            command that makes one.
    """
    folder = Path(folder)
    pointer = _read_pointer(folder)
    while True:
        try:
            return _open(folder, pointer)
        except StoreError:
            # Since the pointer was read another process may have rebuilt the database and removed this file.
            newer = _read_pointer(folder)
            if newer == pointer:
                raise
            pointer = newer


def _open(folder: Path, pointer: dict[str, str]) -> Database:
    path = folder / pointer["file"]
    if not path.is_file():
        raise StoreError(f"{folder / POINTER} names {path.name}, which does not exist; run `{BUILD_COMMAND}`")
    try:
        connection = duckdb.connect(path, read_only=True, config=_SETTINGS)
    except duckdb.Error as error:
        raise StoreError(f"cannot open {path}: {error}; delete it and run `{BUILD_COMMAND}`") from error
    try:
        row = connection.execute("SELECT data_version, schema_version FROM meta").fetchone()
    except duckdb.Error as error:
        connection.close()
        raise StoreError(f"{path} is a database but not one of results: {error}; delete it and run `{BUILD_COMMAND}`") from error
    expected = (pointer["data_version"], SCHEMA_VERSION)
    if row != expected:
        connection.close()
        raise StoreError(f"{path} is of version {row}, {POINTER} has {expected}; delete it and run `{BUILD_COMMAND}`")
    return Database(connection, path, pointer["data_version"])


def _read_pointer(folder: Path) -> dict[str, str]:
    pointer = folder / POINTER
    try:
        content = json.loads(pointer.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise StoreError(f"no database in {folder} (there is no {pointer.name}); run `{BUILD_COMMAND}`") from error
    except (OSError, ValueError) as error:
        raise StoreError(f"cannot read {pointer}: {error}; delete it and run `{BUILD_COMMAND}`") from error
    if not isinstance(content, dict) or not all(isinstance(content.get(key), str) for key in ("file", "data_version")):
        raise StoreError(f"{pointer} does not name a database; delete it and run `{BUILD_COMMAND}`")
    if content.get("schema_version") != SCHEMA_VERSION:
        version = content.get("schema_version")
        raise StoreError(f"the database in {folder} has schema version {version}, expected {SCHEMA_VERSION}; run `{BUILD_COMMAND}`")
    # A database of older derived tables lacks columns that queries name.
    if content.get("derived_version") != DERIVED_VERSION:
        version = content.get("derived_version")
        raise StoreError(
            f"the database in {folder} has derived tables of version {version}, expected {DERIVED_VERSION}; run `{BUILD_COMMAND}`"
        )
    if content.get("tables") != tables_checksum():
        raise StoreError(f"the database in {folder} has other tables than this version of the program; run `{BUILD_COMMAND}`")
    # The pointer may only name a file in its own folder.
    if Path(content["file"]).name != content["file"]:
        raise StoreError(f"{pointer} names {content['file']!r}, expected a file in the same folder; delete it and run `{BUILD_COMMAND}`")
    return content
