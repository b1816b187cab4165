"""Background threads: the next items are read ahead, and results are written while the computation goes on."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import TypeVar

Item = TypeVar("Item")
Made = TypeVar("Made")


def read_ahead(items: Iterable[Item], make: Callable[[Item], Made]) -> Iterator[Made]:
    """``make`` of each item in order, the next one in a thread while this one is used; errors in order, too."""
    with ThreadPoolExecutor(1, thread_name_prefix="ahead") as thread:
        waiting: deque[Future[Made]] = deque()
        for item in items:
            waiting.append(thread.submit(make, item))
            if len(waiting) == 2:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


class BackgroundWriter:
    """Runs calls one after another in a thread; leaving the ``with`` block waits for all of them.

    At most ``limit`` calls run or wait, else ``later`` blocks. The next ``later``, or leaving the block, raises the
    first error of a call; an error inside the block takes precedence.
    """

    def __init__(self, limit: int = 2):
        self._limit = limit
        self._waiting: deque[Future[object]] = deque()

    def __enter__(self) -> "BackgroundWriter":
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="behind")
        return self

    def later(self, call: Callable[..., object], *arguments: object) -> None:
        """Schedules ``call(*arguments)`` in the thread; raises the error of an earlier call."""
        while self._waiting and (len(self._waiting) >= self._limit or self._waiting[0].done()):
            self._waiting.popleft().result()
        self._waiting.append(self._thread.submit(call, *arguments))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._thread.shutdown(wait=True)
        while kind is None and self._waiting:
            self._waiting.popleft().result()
