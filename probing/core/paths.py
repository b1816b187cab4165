"""Where the program reads and writes by default."""

import os
import sys
from pathlib import Path

from probing.core.registry import REPOSITORY

#: The folder of the shipped facts in the repository.
FACTS_FOLDER = REPOSITORY / "data" / "facts"


def cache_folder() -> Path:
    """The folder of everything derived: ``PROBING_CACHE`` if it is set, else ``cache`` in a clone, else ``user_cache_folder``."""
    if named := os.environ.get("PROBING_CACHE"):
        return Path(named)
    return REPOSITORY / "cache" if (REPOSITORY / "pyproject.toml").is_file() else user_cache_folder()


def user_cache_folder() -> Path:
    """The folder that the platform keeps for a program's cache."""
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "bertnesia-explorer"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "bertnesia-explorer" / "Cache"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "bertnesia-explorer"


def snapshot_folder() -> Path:
    """The shipped snapshot; ``PROBING_SNAPSHOT`` moves it."""
    return Path(os.environ.get("PROBING_SNAPSHOT") or REPOSITORY / "data" / "snapshot")


def runs_folder() -> Path:
    """Where ``probe`` writes runs by default."""
    return cache_folder() / "runs"


def database_folder() -> Path:
    """Where the database and the pointer to it are."""
    return cache_folder() / "database"


def result_folders() -> list[Path]:
    """The existing folders that results are read from; if both have a run, the snapshot's is used."""
    return [folder for folder in (snapshot_folder(), runs_folder()) if folder.is_dir()]
