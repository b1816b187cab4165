"""One coordinator per job: a second one reports the first, waits, and takes over when the first ends or dies."""

import logging
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from probing.core.errors import NoLocksError
from probing.core.files.locks import LONG_WORK, exclusive_lock

log = logging.getLogger(__name__)


@contextmanager
def claimed(folder: Path, say: Callable[[str], None] = log.warning) -> Iterator[None]:
    """Holds a job's folder; waits while another process does.

    The lock is a file next to the folder, which the kernel releases however a process ends, ``kill -9`` included. On
    NFS it holds between machines if the server supports locks. If a file system has none, a warning is logged and the
    work goes on: two coordinators then do the same work to the same bytes, and each write is atomic.

    Args:
        folder: the job's; it need not exist.
        say: called with one line that names the process in the folder, if this one has to wait.

    Raises:
        LockError: if that process does not end for a day, or the lock's path is a folder or a broken link.
    """
    with ExitStack() as stack:
        try:
            stack.enter_context(
                exclusive_lock(folder.with_name(f"{folder.name}.lock"), say, remove=True, limit=LONG_WORK)
            )
        except NoLocksError as error:
            log.warning("%s", error)
        yield
