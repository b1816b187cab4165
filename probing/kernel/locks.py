"""Locks between processes."""

import errno
import json
import logging
import os
import shutil
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
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
    path: Path, say: Callable[[str], None] = log.info, remove: bool = False, limit: float | None = None
) -> Iterator[int]:
    """Admits one process or thread at a time; the lock of a killed process is free at once.

    Gives the descriptor of the file, which names its last holder: on a Unix, a child that inherits it holds the lock,
    too, until it ends. ``say`` gets one line if another process holds the lock; after ``limit`` seconds, None:
    ``SHORT_WORK``, it is an error. ``remove`` deletes the file before the lock is released.
    """
    limit = SHORT_WORK if limit is None else limit
    if path.is_dir() or (path.is_symlink() and not path.exists()):
        kind = "a folder" if path.is_dir() else f"a link to {path.readlink()}, which does not exist"
        raise LockError(f"{path} is {kind}, expected a lock file; delete it, and it is made again")
    held: list[int] = []

    def acquired(descriptor: int) -> None:
        held.append(descriptor)
        _write_holder(descriptor)

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
        where = f"{path}: this file system has no locks ({error})"
        raise NoLocksError(
            f"{where}; set PROBING_CACHE to a folder on one that has, or start one process at a time"
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
    if not path.is_file():
        return False
    lock = FileLock(path, fallback_to_soft=False)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        return True
    except OSError:
        return False
    lock.release()
    return False


@contextmanager
def shared_lock(folder: Path) -> Iterator[Callable[[], None]]:
    """Lets any number of processes use a folder; gives a function that removes it unless another process still uses it.

    So the last process that calls it removes the folder. If the file system has no locks, every call removes it.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    lock = _read_lock(folder.with_name(f"{folder.name}.lock"))
    held = lock is not None

    def release() -> None:
        nonlocal held
        if lock is not None and held:
            lock.release()
        held = False

    def remove() -> None:
        release()
        if lock is None:
            shutil.rmtree(folder, ignore_errors=True)
            return
        with suppress(Timeout), lock.write_lock(blocking=False):
            shutil.rmtree(folder, ignore_errors=True)

    try:
        yield remove
    finally:
        release()


def _read_lock(path: Path) -> ReadWriteLock | None:
    """A lock that is held for reading; None if the file system has no locks."""
    import sqlite3

    try:
        # Two users in one process count as two.
        lock = ReadWriteLock(path, timeout=_REMOVAL_SECONDS, is_singleton=False)
        lock.acquire_read()
    except (Timeout, sqlite3.OperationalError) as error:
        log.warning("%s: the folder is used without a lock (%s)", path, error)
        return None
    return lock


def _write_holder(descriptor: int) -> None:
    name = json.dumps({"pid": os.getpid(), "host": socket.gethostname()}).encode()
    os.ftruncate(descriptor, 0)
    os.lseek(descriptor, 0, os.SEEK_SET)
    os.write(descriptor, b" " * _NAME_AT + name)


def _holder(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            stream.seek(_NAME_AT)
            row = json.loads(stream.read(1000))
        return f"process {row['pid']} on {row['host']}"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"


def _subject(path: Path) -> str:
    """What a lock file is named after: ``.model.lock`` protects ``model``, and ``states/.lock`` its folder."""
    return path.name.removesuffix(".lock").lstrip(".") or path.parent.name
