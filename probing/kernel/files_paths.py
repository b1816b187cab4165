"""Where the program reads and writes by default."""

import os
import sys
from pathlib import Path

from probing.kernel.errors import CacheError
from probing.kernel.registry import REPOSITORY
from probing.kernel.text_characters import refuse_signs

#: The folder of the shipped facts in the repository.
FACTS_FOLDER = REPOSITORY / "data" / "facts"
#: Finished runs that a page shows until there are some of the user's own.
SAMPLES_FOLDER = REPOSITORY / "data" / "samples"


def cache_folder() -> Path:
    """The folder of all that is derived: ``PROBING_CACHE``, else ``cache`` in a clone, else ``user_cache_folder``."""
    return _named("PROBING_CACHE") or (
        REPOSITORY / "cache" if (REPOSITORY / "pyproject.toml").is_file() else user_cache_folder()
    )


def _named(variable: str) -> Path | None:
    """The folder that a variable of the environment names, with ``~`` expanded; None if it is not set.

    Refused are names with a line end, another control character, or bytes that are no UTF-8.
    """
    named = os.environ.get(variable)
    if not named:
        return None
    refuse_signs(named, f"{variable} is {named!r}, which", CacheError, spaces=False)
    try:
        return Path(named).expanduser()
    except RuntimeError as error:
        raise CacheError(f"{variable} is {named!r}: {error}; name an existing folder") from error


def user_cache_folder() -> Path:
    """The folder that the platform keeps for a program's cache."""
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "bertnesia-explorer"
    if sys.platform == "win32":
        return (
            Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "bertnesia-explorer" / "Cache"
        )
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "bertnesia-explorer"


def snapshot_folder() -> Path:
    """The shipped snapshot; ``PROBING_SNAPSHOT`` moves it."""
    return _named("PROBING_SNAPSHOT") or REPOSITORY / "data" / "snapshot"


def runs_folder() -> Path:
    """Where ``probe`` writes runs by default."""
    return cache_folder() / "runs"


def shared_folder() -> Path:
    """Where ``pull`` puts shared runs, each share in a folder of its own that is not changed."""
    return cache_folder() / "shared"


def pulled_folders() -> list[Path]:
    """The folders of pulled runs."""
    return sorted(folder for folder in shared_folder().glob("[!.]*") if folder.is_dir())


def result_folders() -> list[Path]:
    """The existing folders that results are read from; if several have a run, the user's own is used, then a pulled
    one.
    """
    return [folder for folder in (runs_folder(), *pulled_folders(), snapshot_folder()) if folder.is_dir()]
