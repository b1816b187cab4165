"""Stored results for pages: opened when a file has changed, and every read is cached by the state of the files.

A read calls a function of ``probing.store`` or ``probing.reports`` whose first argument is the database:
``read(count_facts, database, run_id)`` returns ``count_facts(database, run_id)``. The cache key consists of the
function's name, the state of the files and all other arguments.
"""

import atexit
from collections.abc import Callable, Hashable, Sequence
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

import streamlit as st

from probing.kernel.files_paths import SAMPLES_FOLDER, result_folders
from probing.kernel.store.database import Database
from probing.kernel.store.opening import open_files
from probing.kernel.store.parquet_sources import SourceFile, find_files, version_of

P = ParamSpec("P")
T = TypeVar("T")
Arguments = tuple[tuple[Any, ...], tuple[tuple[str, Any], ...]]

#: How Streamlit's caches distinguish databases.
BY_DATA: dict[str | type, Callable[[Any], Hashable]] = {Database: lambda database: database.version}


def open_results() -> Database:
    """Opens the results again if a file is new, changed or gone."""
    sources = result_folders()
    files = find_files(sources)
    return _open(version_of(files), sources, files)


def open_sample() -> Database:
    """Opens the finished sample run of a user's own model, which no other page shows."""
    folders = [SAMPLES_FOLDER / "own-model"]
    files = find_files(folders)
    return _open(version_of(files), folders, files)


# What a session still reads of an older state ends before that is closed.
@st.cache_resource(max_entries=3, show_spinner=False)
def _open(version: str, _sources: Sequence[Path], _files: Sequence[SourceFile]) -> Database:
    return open_files(_sources, _files)


def read(function: Callable[Concatenate[Database, P], T], database: Database, *args: P.args, **kwargs: P.kwargs) -> T:
    """The function's result for this state of the data, from the cache if possible.

    Arguments are tuples, not lists. A nested function is refused: the values that it closes over would not be part of
    the cache key.
    """
    return _read(_name(function), (args, tuple(sorted(kwargs.items()))), database, function)


def counted(
    function: Callable[Concatenate[Database, P], T], database: Database, *args: P.args, **kwargs: P.kwargs
) -> T:
    """Like ``read``, with a spinner for slow functions."""
    return _counted(_name(function), (args, tuple(sorted(kwargs.items()))), database, function)


def _name(function: Callable) -> str:
    if "<" in function.__qualname__:
        raise TypeError(
            f"got {function.__qualname__}, expected a function at the top level of a module: only its name is part of"
            " the cache key"
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
