"""One coordinator a job: the second says who is there, and takes over when the first is done or dead."""

import fcntl
import json
import logging
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

log = logging.getLogger(__name__)


@contextmanager
def claimed(folder: Path, say: Callable[[str], None] = log.warning) -> Iterator[None]:
    """Holds a job's folder; waits while another process does.

    The lock is ``flock`` on a file beside the folder, which the kernel gives back however a process ends, ``kill -9``
    included. On NFS it holds between machines where the server keeps locks; where a file system keeps none, that is
    said and work goes on: two coordinators then do the same work to the same bytes, each file replaced whole.

    Args:
        folder: the job's; it need not be there.
        say: told who works there, once, if one has to wait.
    """
    path = folder.with_name(folder.name + ".lock")
    path.parent.mkdir(parents=True, exist_ok=True)
    stream = _locked(path, folder, say)
    try:
        yield
    finally:
        if stream is not None:
            # While the lock is held: whoever waits for this file then sees that it is no longer there and makes a new one.
            path.unlink(missing_ok=True)
            os.close(stream)


def _locked(path: Path, folder: Path, say: Callable[[str], None]) -> int | None:
    announced = False
    while True:
        stream = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if not announced:
                    say(f"{_who(stream)} works on {folder.name}; waiting until it is done (or dead, then this process goes on)")
                    announced = True
                fcntl.flock(stream, fcntl.LOCK_EX)
        except OSError as error:
            os.close(stream)
            log.warning("%s: this file system keeps no locks (%s); start one process for each run", path, error)
            return None
        except BaseException:
            os.close(stream)
            raise
        if _still_there(stream, path):
            os.ftruncate(stream, 0)
            os.pwrite(stream, json.dumps({"pid": os.getpid(), "host": socket.gethostname()}).encode(), 0)
            return stream
        os.close(stream)


def _still_there(stream: int, path: Path) -> bool:
    """Whether the locked file is the one that the path names now: its last holder removed it."""
    try:
        named = path.stat()
    except FileNotFoundError:
        return False
    held = os.fstat(stream)
    return (held.st_dev, held.st_ino) == (named.st_dev, named.st_ino)


def _who(stream: int) -> str:
    try:
        row = json.loads(os.pread(stream, 1000, 0))
        return f"process {row['pid']} on {row['host']}"
    except (ValueError, KeyError, TypeError):
        return "another process"
