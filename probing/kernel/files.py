"""Where files are, checksums, and atomic writes: what has its final name is complete, even if a process is killed."""

import errno
import hashlib
import os
import shutil
import sys
import tempfile
import time
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from probing.kernel.errors import CacheError
from probing.kernel.registry import REPOSITORY
from probing.kernel.text import refuse_signs

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
    """The absolute path that a variable of the environment names, with ``~`` expanded; None if it is not set.

    Refused are names with a line end, another control character, or bytes that are no UTF-8.
    """
    named = os.environ.get(variable)
    if not named:
        return None
    refuse_signs(named, f"{variable} is {named!r}, which", CacheError, spaces=False)
    try:
        return Path(named).expanduser().absolute()
    except RuntimeError as error:
        raise CacheError(f"{variable} is {named!r}: {error}; name an existing folder") from error


def absolute_environment() -> dict[str, str]:
    """The variables of the environment that name files, for a process that works in another folder."""
    one_path = ("PROBING_SNAPSHOT", "PROBING_REGISTRY", "PROBING_REPOSITORY", "HF_HOME", "HF_HUB_CACHE")
    found = {name: str(path) for name in one_path if (path := _named(name))}
    models = [Path(text).expanduser() for text in os.environ.get("PROBING_MODELS", "").split(os.pathsep) if text]
    found |= {"PROBING_MODELS": os.pathsep.join(str(path.absolute()) for path in models)} if models else {}
    return found | {"PROBING_CACHE": str(cache_folder().absolute())}


def user_cache_folder() -> Path:
    """The folder that the platform keeps for a program's cache."""
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "bertnesia-explorer"
    if sys.platform == "win32":
        return (
            Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "bertnesia-explorer" / "Cache"
        )
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "bertnesia-explorer"


#: Path, size in bytes and modification time in nanoseconds of each file.
State = tuple[tuple[str, int, int], ...]


def files_state(folders: Iterable[Path], pattern: str = "**/*") -> State:
    """State of all files in these folders: it changes when a file changes; empty if there are no files."""
    state = []
    for path in (path for folder in folders for path in sorted(folder.glob(pattern)) if path.is_file()):
        with suppress(FileNotFoundError):  # A temporary file may be renamed meanwhile.
            state.append((str(path), path.stat().st_size, path.stat().st_mtime_ns))
    return tuple(state)


def snapshot_folder() -> Path:
    """The shipped snapshot; ``PROBING_SNAPSHOT`` moves it."""
    return _named("PROBING_SNAPSHOT") or REPOSITORY / "data" / "snapshot"


def runs_folder() -> Path:
    """Where ``probe`` writes runs by default."""
    return cache_folder() / "runs"


def shared_folder() -> Path:
    """Where ``pull`` puts shared runs, each share in a folder of its own that only a pull or ``delete`` changes."""
    return cache_folder() / "shared"


def pulled_folders() -> list[Path]:
    """The folders of pulled runs."""
    return sorted(folder for folder in shared_folder().glob("[!.]*") if folder.is_dir())


def result_folders() -> list[Path]:
    """The existing folders that results are read from; if several have a run, the user's own is used, then a pulled
    one.
    """
    return [folder for folder in (runs_folder(), *pulled_folders(), snapshot_folder()) if folder.is_dir()]


#: A temporary file or folder that has not been written to for so long was left by a killed process.
STALE_SECONDS = 3600.0


@contextmanager
def atomic_file(path: Path) -> Iterator[Path]:
    """A temporary name to write to, which becomes ``path`` when all bytes are written and on disk.

    Two processes that write it do not disturb each other. Files that killed processes left next to it are removed.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    for left in path.parent.glob("*.*-????????.tmp"):
        with suppress(FileNotFoundError):
            if time.time() - left.stat().st_mtime > STALE_SECONDS:
                left.unlink()
    temporary = path.with_name(f"{path.name}.{_own_name()}.tmp")
    try:
        temporary.touch()
        mode = temporary.stat().st_mode
        yield temporary
        # safetensors makes files that only the user may read; in a shared cache they get the permissions of the user's
        # other files.
        temporary.chmod(mode)
        rename_file(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def atomic_folder(path: Path, replace: bool = False) -> Iterator[Path]:
    """An empty folder to fill, which becomes ``path`` when the block ends without an error and all bytes are on disk.

    What killed processes left next to it is removed. Without ``replace`` the other files of an existing folder stay.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    for left in path.parent.glob(".*.*-????????.part"):
        with suppress(FileNotFoundError):
            if time.time() - max(file.stat().st_mtime for file in (left, *left.rglob("*"))) > STALE_SECONDS:
                shutil.rmtree(left, ignore_errors=True)
    temporary = path.with_name(f".{path.name}.{_own_name()}.part")
    temporary.mkdir()
    try:
        yield temporary
        if replace:
            shutil.rmtree(path, ignore_errors=True)
        rename_folder(temporary, path)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def atomic_copy(source: Path, target: Path) -> Path:
    """Copies a file by ``atomic_file``."""
    with atomic_file(target) as temporary:
        shutil.copyfile(source, temporary)
    return target


def link_or_copy(source: Path, target: Path) -> None:
    """The same bytes under another name, by a hard link if the file system has them; no file is changed in place."""
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(source.resolve(), target)
    except OSError:
        atomic_copy(source, target)


def atomic_text(target: Path, text: str) -> Path:
    """Writes a text file by ``atomic_file``."""
    with atomic_file(target) as temporary:
        temporary.write_text(text, encoding="utf-8")
    return target


def rename_file(finished: Path, target: Path) -> Path:
    """Gives a finished file its final name when its bytes are on disk."""
    _sync(finished)
    finished.replace(target)
    _sync_folder(target.parent)
    return target


def rename_folder(finished: Path, target: Path) -> Path:
    """Gives a finished folder its final name at once; into a folder that exists the files move one by one."""
    for path in sorted(finished.rglob("*")):
        if path.is_file():
            _sync(path)
    if target.is_dir():
        for path in sorted(finished.iterdir()):
            path.replace(target / path.name)
        finished.rmdir()
    else:
        finished.replace(target)
    _sync_folder(target.parent)
    return target


def _own_name() -> str:
    return f"{os.getpid()}-{uuid.uuid4().hex[:8]}"


def _sync(path: Path) -> None:
    """Waits until a file's bytes are on disk; Windows only does that for files that are open for writing."""
    descriptor = os.open(path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _sync_folder(folder: Path) -> None:
    """Makes a rename in a folder survive a power cut; Windows cannot open folders and keeps renames itself."""
    if os.name != "nt":
        _sync(folder)


def file_sha256(path: Path) -> str:
    """sha256 of a file's bytes, in hex."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def differing_files(listed: Path) -> Iterator[tuple[Path, str]]:
    """Files that are missing, changed, or in a folder of sha256sum's list next to them and not listed."""
    lines = listed.read_text(encoding="utf-8").splitlines()
    sums = {listed.parent / name: sha256 for sha256, _, name in (line.partition("  ") for line in lines)}
    for path, sha256 in sums.items():
        if not path.is_file():
            yield path, "missing"
        elif file_sha256(path) != sha256:
            yield path, "changed"
    for folder in sorted({path.parent for path in sums}):
        for path in sorted(folder.iterdir()):
            if path.is_file() and path not in sums and not path.name.startswith((".", "README", listed.name)):
                yield path, "not part of what ships"


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
    cache, place = cache_folder(), Path(place).absolute()
    if not (place.is_relative_to(cache) or cache.is_relative_to(place)):
        return f"cannot write {place}: {error.strerror}; make it writable, or choose another folder"
    return (
        f"cannot write {place}: {error.strerror}; the cache is {cache}: make it writable, or set PROBING_CACHE to a"
        " folder that is"
    )
