"""Stored results for pages: the database is made when first needed, every read is cached by the data's fingerprint."""

import atexit
import hashlib
from collections.abc import Hashable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st

from probing.core.paths import database_folder, result_folders
from probing.core.registry import REPOSITORY as ROOT
from probing.store import run_queries
from probing.store.build import built_database
from probing.store.database import Database
from probing.store.knowledge import fact_queries, forgetting_queries, one_fact

__all__ = ["ROOT", "Results", "open_results"]
_QUERIES = {
    name: function
    for module in (run_queries, fact_queries, forgetting_queries, one_fact)
    for name, function in vars(module).items()
    if getattr(function, "__module__", "") == module.__name__ and callable(function) and not name.startswith("_")
}


@dataclass(frozen=True)
class Results:
    """An open database; ``read`` is the only way from a page to its numbers."""

    database: Database
    data_version: str

    def read(self, query: str, **parameters: Hashable) -> Any:
        """The answer of a query of ``probing.store``, cached for this state of the data.

        Args:
            query: name of a function in ``run_queries``, or in ``fact_queries``, ``forgetting_queries`` or ``one_fact``.
            parameters: its arguments after the database; tuples, not lists.
        """
        return _read(self.data_version, query, tuple(sorted(parameters.items())), self.database)

    def runs(self) -> pd.DataFrame:
        """All runs."""
        return self.read("runs")


def open_results() -> Results:
    """Opens the database, building it first if a results file is new.

    Raises:
        StoreError: if a results file or the database cannot be used; the message says what to do.
    """
    sources = result_folders()
    state = [_state(path) for folder in sources for path in sorted(folder.rglob("*.parquet"))]
    # One text: Streamlit would take a tuple apart, which for hundreds of files takes as long as drawing a page.
    return _open(tuple(map(str, sources)), str(database_folder()), hashlib.sha256(repr(state).encode()).hexdigest())


def _state(path: Path) -> tuple[str, int, int] | None:
    """What tells a file from its next version; None if it vanished while the folder was read."""
    try:
        stat = path.stat()
    except FileNotFoundError:
        return None
    return str(path), stat.st_size, stat.st_mtime_ns


#: The app stays below 1 GB also while it builds a database of ten million predictions; `build` takes half the time.
_BUILD_MEMORY = "256MB"


@st.cache_resource(max_entries=3, show_spinner="Making the database from the stored results (once) …")
def _open(sources: tuple[str, ...], target: str, state: str) -> Results:
    database = built_database([Path(source) for source in sources], Path(target), memory=_BUILD_MEMORY)
    return Results(database, database.data_version)


@st.cache_data(max_entries=400, show_spinner=False)
def _read(data_version: str, query: str, parameters: tuple, _database: Database) -> Any:
    return _QUERIES[query](_database, **dict(parameters))


# A database that is open when Python ends makes DuckDB print a page of warnings.
atexit.register(_open.clear)
