"""Where the program reads and writes unless told otherwise."""

import errno
import os
import tempfile
from pathlib import Path

from probing.core.errors import CacheError
from probing.core.files.atomic import no_room
from probing.core.registry import REPOSITORY

#: The shipped folder's place in the repository.
FACTS_FOLDER = REPOSITORY / "data" / "facts"

#: A full disk is none of them: ``whole_files.no_room`` names it.
_NOT_WRITABLE = {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EEXIST}


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


def require_writable(folder: Path) -> None:
    """Makes a folder where it is missing, and tries whether files can be made in it.

    Raises:
        CacheError: if not.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder):
            pass
    except OSError as error:
        if no_room(error):
            raise
        raise CacheError(_advice(folder, error)) from error


def cannot_write(error: BaseException) -> str | None:
    """What to tell the user where an error says that a file may not be read or made; None for any other error."""
    if not isinstance(error, OSError) or error.errno not in _NOT_WRITABLE or not error.filename:
        return None
    return _advice(error.filename2 or error.filename, error)


def _advice(place: Path | str, error: OSError) -> str:
    return (
        f"cannot write {place}: {error.strerror}; the cache is {cache_folder()}: make it writable, or set PROBING_CACHE to a folder that is"
    )
