"""Stored results for pages: the database is built when first needed, and every read is cached by the data's fingerprint.

A read calls a function of ``probing.store`` or ``probing.reports`` whose first argument is the database:
``read(count_facts, database, run_id)`` returns ``count_facts(database, run_id)``. The cache key consists of the function's name, the
data's fingerprint and all other arguments.
"""

import atexit
import hashlib
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

import streamlit as st

from probing.core.paths import database_folder, result_folders
from probing.store.build import built_database
from probing.store.database import Database

P = ParamSpec("P")
T = TypeVar("T")
Arguments = tuple[tuple[Any, ...], tuple[tuple[str, Any], ...]]

#: How Streamlit's caches distinguish databases.
BY_DATA: dict[str | type, Callable[[Any], Hashable]] = {Database: lambda database: database.data_version}


def open_results() -> Database:
    """Opens the database, building it first if a results file is new.

    Raises:
        StoreError: if a results file or the database cannot be used.
    """
    sources = result_folders()
    state = [_state(path) for folder in sources for path in sorted(folder.rglob("*.parquet"))]
    # One hash: Streamlit would hash each item of a tuple, which for hundreds of files takes as long as drawing a page.
    return _open(tuple(map(str, sources)), str(database_folder()), hashlib.sha256(repr(state).encode()).hexdigest())


def _state(path: Path) -> tuple[str, int, int] | None:
    """Path, size and modification time of a file; None if it vanished while the folder was read."""
    try:
        stat = path.stat()
    except FileNotFoundError:
        return None
    return str(path), stat.st_size, stat.st_mtime_ns


#: Keeps the app below 1 GB while it builds a database of ten million predictions; `build` uses more and takes half the time.
_BUILD_MEMORY = "256MB"


@st.cache_resource(max_entries=3, show_spinner="Building the database from the stored results (once) …")
def _open(sources: tuple[str, ...], target: str, state: str) -> Database:
    return built_database([Path(source) for source in sources], Path(target), memory=_BUILD_MEMORY)


def read(function: Callable[Concatenate[Database, P], T], database: Database, *args: P.args, **kwargs: P.kwargs) -> T:
    """The function's result for this state of the data, from the cache if possible.

    Args:
        function: defined at the top level of a module of ``probing``.
        database: its first argument.
        args, kwargs: its other arguments; tuples, not lists.

    Raises:
        TypeError: for a nested function: the values that it closes over would not be part of the cache key.
    """
    return _read(_name(function), (args, tuple(sorted(kwargs.items()))), database, function)


def counted(function: Callable[Concatenate[Database, P], T], database: Database, *args: P.args, **kwargs: P.kwargs) -> T:
    """Like ``read``, with a spinner for slow functions."""
    return _counted(_name(function), (args, tuple(sorted(kwargs.items()))), database, function)


def _name(function: Callable) -> str:
    if "<" in function.__qualname__:
        raise TypeError(
            f"got {function.__qualname__}, expected a function at the top level of a module: only its name is part of the cache key"
        )
    return f"{function.__module__}.{function.__qualname__}"


@st.cache_data(max_entries=400, show_spinner=False, hash_funcs=BY_DATA)
def _read(name: str, arguments: Arguments, database: Database, _function: Callable[..., Any]) -> Any:
    return _function(database, *arguments[0], **dict(arguments[1]))


@st.cache_data(max_entries=200, show_spinner="Counting …", hash_funcs=BY_DATA)
def _counted(name: str, arguments: Arguments, database: Database, _function: Callable[..., Any]) -> Any:
    return _function(database, *arguments[0], **dict(arguments[1]))


# DuckDB prints many warnings if a database is still open when Python exits.
atexit.register(_open.clear)
