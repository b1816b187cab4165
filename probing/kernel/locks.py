"""Locks between processes."""

import errno
import logging
import os
import shutil
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from pathlib import Path

from filelock import FileLock, ReadWriteLock, Timeout

from probing.kernel.errors import LockError, NoLocksError

log = logging.getLogger(__name__)
_NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP}
#: Seconds before a waiting process reports the process that it waits for.
_PATIENCE = 0.2
#: Seconds that a process waits at most: for downloads and trainings, and for everything else.
LONG_WORK, SHORT_WORK = 24 * 3600.0, 3600.0
#: Seconds that the removal of a shared folder may last. SQLite, which provides the shared lock, also waits if there are
#: no locks.
_REMOVAL_SECONDS = 60.0
#: Windows locks the first byte of the file, so the holder's name follows it.
_NAME_AT = 1


@contextmanager
def exclusive_lock(
    path: Path, say: Callable[[str], None] = log.info, remove: bool = False, limit: float = SHORT_WORK
) -> Iterator[int]:
    """Admits one process or thread at a time; the lock of a killed process is free at once.

    Gives the descriptor of the file, which names its last holder: on a Unix, a child that inherits it holds the lock,
    too, until it ends. ``say`` gets one line if another process holds the lock; after ``limit`` seconds it is an error.
    ``remove`` deletes the file before the lock is released.
    """
    if path.is_dir() or (path.is_symlink() and not path.exists()):
        kind = "a folder" if path.is_dir() else f"a link to {path.readlink()}, which does not exist"
        raise LockError(f"{path} is {kind}, expected a lock file; delete it, and it is made again")
    held: list[int] = []

    def acquired(descriptor: int) -> None:
        held.append(descriptor)
        os.ftruncate(descriptor, 0)
        os.lseek(descriptor, 0, os.SEEK_SET)
        os.write(descriptor, b" " * _NAME_AT + f"process {os.getpid()} on {socket.gethostname()}".encode())

    lock = FileLock(path, poll_interval=0.02, fallback_to_soft=False, on_acquired=acquired)
    try:
        try:
            lock.acquire(timeout=_PATIENCE)
        except Timeout:
            say(f"{_holder(path)} is working on {_subject(path)}; waiting until it ends")
            lock.acquire(timeout=limit)
    except Timeout as error:
        waited = f"{limit / 3600:g} hours" if limit >= 3600 else f"{limit:g} seconds"
        raise LockError(
            f"{_holder(path)} has held {path} for more than {waited}; end that process if it hangs, or run this again"
            " when it has ended"
        ) from error
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
        raise NoLocksError(
            f"{path}: this file system has no locks ({error}); set PROBING_CACHE to a folder on one that has, or start"
            " one process at a time"
        ) from error
    try:
        yield held[-1]
    finally:
        if remove:
            # A process that opened this file meanwhile sees that the file has no name any more, and makes a new one.
            with suppress(OSError):
                path.unlink()
        lock.release()


def is_held(path: Path) -> bool:
    """Whether another process or thread holds this lock now; False if the file system has no locks."""
    try:
        with FileLock(path, timeout=0, fallback_to_soft=False) if path.is_file() else nullcontext():
            return False
    except OSError as error:
        return isinstance(error, Timeout)


@contextmanager
def shared_lock(folder: Path) -> Iterator[Callable[[], None]]:
    """Lets any number of processes use a folder; gives a function that removes it unless another process still uses it.

    So the last process that calls it removes the folder. If the file system has no locks, every call removes it.
    """
    import sqlite3

    folder.parent.mkdir(parents=True, exist_ok=True)
    path, lock = folder.with_name(f"{folder.name}.lock"), None
    with ExitStack() as held:
        try:
            # Two users in one process count as two.
            lock = ReadWriteLock(path, timeout=_REMOVAL_SECONDS, is_singleton=False)
            held.enter_context(lock.read_lock())
        except (Timeout, sqlite3.OperationalError) as error:
            log.warning("%s: the folder is used without a lock (%s)", path, error)
            lock = None

        def remove() -> None:
            held.close()
            with suppress(Timeout), lock.write_lock(blocking=False) if lock else nullcontext():
                shutil.rmtree(folder, ignore_errors=True)

        yield remove


def _holder(path: Path) -> str:
    with suppress(OSError), path.open("rb") as stream:
        stream.seek(_NAME_AT)
        return stream.read(1000).decode(errors="replace") or "another process"
    return "another process"


def _subject(path: Path) -> str:
    """What a lock file is named after: ``.model.lock`` protects ``model``, and ``states/.lock`` its folder."""
    return path.name.removesuffix(".lock").lstrip(".") or path.parent.name
