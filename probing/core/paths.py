"""Where the program reads and writes unless told otherwise."""

import os
from pathlib import Path

from probing.core.registry import REPOSITORY

#: The shipped folder's place in the repository.
FACTS_FOLDER = REPOSITORY / "data" / "facts"


def cache_folder() -> Path:
    """Everything derived; ``PROBING_CACHE`` moves it."""
    return Path(os.environ.get("PROBING_CACHE") or REPOSITORY / "cache")


def snapshot_folder() -> Path:
    """The shipped snapshot; ``PROBING_SNAPSHOT`` moves it."""
    return Path(os.environ.get("PROBING_SNAPSHOT") or REPOSITORY / "data" / "snapshot")


def runs_folder() -> Path:
    """Where ``probe`` writes runs unless told otherwise."""
    return cache_folder() / "runs"


def database_folder() -> Path:
    """Where the database and the pointer to it lie."""
    return cache_folder() / "database"


def result_folders() -> list[Path]:
    """The folders that results are read from, as far as they are there; of a run in both, the snapshot's counts."""
    return [folder for folder in (snapshot_folder(), runs_folder()) if folder.is_dir()]
