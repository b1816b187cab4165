"""Locks between the processes of a machine."""

import contextlib
import fcntl
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def one_at_a_time(lock: Path) -> Iterator[None]:
    """Lets one process of this machine in at a time; a killed one lets go by itself."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("w") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield


@contextmanager
def used_together(folder: Path) -> Iterator[Callable[[], None]]:
    """Lets any number of processes use a folder; gives a call that removes it, unless another process uses it still.

    So the last one that calls it removes the folder. Where a file system keeps no locks, everyone's call does.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_name(f"{folder.name}.lock").open("a+") as stream:
        with contextlib.suppress(OSError):
            fcntl.flock(stream, fcntl.LOCK_SH)

        def remove() -> None:
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return
            except OSError:
                pass
            shutil.rmtree(folder, ignore_errors=True)

        yield remove
