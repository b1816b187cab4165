"""Stored results for pages: the database is made when first needed, every read is cached by the data's fingerprint."""

import os
from collections.abc import Hashable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st

from probing.store import queries
from probing.store.build import build_database
from probing.store.database import Database, open_database

ROOT = Path(__file__).resolve().parents[2]


def snapshot_folder() -> Path:
    """Where shipped results lie: ``PROBING_SNAPSHOT`` or ``data/snapshot``."""
    return Path(os.environ.get("PROBING_SNAPSHOT") or ROOT / "data" / "snapshot")


def cache_folder() -> Path:
    """Where derived files lie: ``PROBING_CACHE`` or ``cache``."""
    return Path(os.environ.get("PROBING_CACHE") or ROOT / "cache")


@dataclass(frozen=True)
class Results:
    """An open database; ``read`` is the only way from a page to its numbers."""

    database: Database
    data_version: str

    def read(self, query: str, **parameters: Hashable) -> Any:
        """The answer of ``probing.store.queries.<query>``, cached for this state of the data.

        Args:
            query: name of a function in ``probing.store.queries``.
            parameters: its arguments after the database; tuples, not lists.
        """
        return _read(self.data_version, query, tuple(sorted(parameters.items())), self.database)

    def runs(self) -> pd.DataFrame:
        """All runs."""
        return self.read("runs")

    def relation_labels(self) -> dict[str, str]:
        """Relation -> what a reader sees."""
        table = self.read("relations")
        return dict(zip(table["relation"], table["label"], strict=True))


def open_results() -> Results:
    """Opens the database, building it first if a results file is new.

    Raises:
        StoreError: if a results file or the database cannot be used; the message says what to do.
    """
    sources = [folder for folder in (snapshot_folder(), cache_folder() / "runs") if folder.is_dir()]
    state = tuple(
        (str(path), stat.st_size, stat.st_mtime_ns)
        for folder in sources
        for path in sorted(folder.rglob("*.parquet"))
        for stat in (path.stat(),)
    )
    return _open(tuple(map(str, sources)), str(cache_folder() / "database"), state)


@st.cache_resource(max_entries=3, show_spinner="Making the database from the stored results (once) …")
def _open(sources: tuple[str, ...], target: str, state: tuple) -> Results:  # noqa: ARG001 - state is part of the key
    folder = Path(target)
    build_database([Path(source) for source in sources], folder)
    database = open_database(folder)
    return Results(database, database.data_version)


@st.cache_data(max_entries=400, show_spinner=False)
def _read(data_version: str, query: str, parameters: tuple, _database: Database) -> Any:  # noqa: ARG001
    return getattr(queries, query)(_database, **dict(parameters))
