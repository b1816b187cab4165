"""Messages for the user if the disk is full or a folder may not be written."""

import errno
import tempfile
from pathlib import Path

from probing.kernel.errors import CacheError
from probing.kernel.files_paths import cache_folder

#: Messages of the libraries that write for us if the disk is full; none of them passes on the number of the error.
_WORDS_OF_A_FULL_DISK = (
    "No space left on device",
    "File too large",
    "Disk quota exceeded",
    "PytorchStreamWriter",
    "unexpected pos",
)
_NUMBERS_OF_A_FULL_DISK = {errno.ENOSPC, errno.EFBIG, errno.EDQUOT}
#: A full disk is none of them: ``no_room`` reports it.
_NOT_WRITABLE = {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EEXIST}
#: No file or folder can have the name, or it is a file where a folder is expected, or the other way round.
_NO_NAME = {errno.ENAMETOOLONG, errno.ELOOP, errno.EISDIR}
#: Letters of a name in a message.
_SHOWN = 120


def no_room(error: BaseException) -> str | None:
    """The message for an error that means, or was caused by, a full disk; None for any other error."""
    cause: BaseException | None = error
    while cause is not None:
        full = isinstance(cause, OSError) and cause.errno in _NUMBERS_OF_A_FULL_DISK
        if full or any(words in str(cause) for words in _WORDS_OF_A_FULL_DISK):
            where = f" for {cause.filename}" if isinstance(cause, OSError) and cause.filename else ""
            return (
                f"no room on the disk{where} ({cause}); what was finished is kept: make room and run the same command"
                " again"
            )
        cause = cause.__cause__ or cause.__context__
    return None


def require_writable(folder: Path) -> None:
    """Makes a folder if it is missing, and checks that files can be made in it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder):
            pass
    except OSError as error:
        if no_room(error):
            raise
        raise CacheError(_advice(folder, error)) from error


def cannot_write(error: BaseException) -> str | None:
    """The message for an error that means that a file may not be read or made; None for any other error."""
    if not isinstance(error, OSError) or not error.filename:
        return None
    name = error.filename2 or error.filename
    if error.errno in _NO_NAME:
        name = str(name)
        # What the reader typed is at the start or at the end, whichever folder the cache is in.
        short = name if len(name) <= _SHOWN else f"{name[: _SHOWN // 2]}…{name[-_SHOWN // 2 :]}"
        return (
            f"cannot use {short!r} ({len(name):,} letters) as the name of a file or folder: {error.strerror}; give"
            " another name"
        )
    return _advice(name, error) if error.errno in _NOT_WRITABLE else None


def _advice(place: Path | str, error: OSError) -> str:
    cache, place = cache_folder().absolute(), Path(place).absolute()
    if not (place.is_relative_to(cache) or cache.is_relative_to(place)):
        return f"cannot write {place}: {error.strerror}; make it writable, or choose another folder"
    return (
        f"cannot write {place}: {error.strerror}; the cache is {cache}: make it writable, or set PROBING_CACHE to a"
        " folder that is"
    )
