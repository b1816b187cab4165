"""One coordinator per job: a second one says who is there, and takes over when the first is done or dead."""

import logging
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from probing.core.errors import LockError
from probing.core.files.locks import exclusive_lock

log = logging.getLogger(__name__)


@contextmanager
def claimed(folder: Path, say: Callable[[str], None] = log.warning) -> Iterator[None]:
    """Holds a job's folder; waits while another process does.

    The lock is a file beside the folder, which the kernel releases however a process ends, ``kill -9`` included. On NFS it holds between
    machines where the server has locks. Where a file system has none, a warning says so and the work goes on: two coordinators then
    do the same work to the same bytes, and each file is replaced whole.

    Args:
        folder: the job's; it need not be there.
        say: gets one line with the name of the process that works there, if one has to wait.
    """
    with ExitStack() as stack:
        try:
            stack.enter_context(exclusive_lock(folder.with_name(f"{folder.name}.lock"), say, remove=True))
        except LockError as error:
            log.warning("%s", error)
        yield
