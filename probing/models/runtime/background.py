"""Work beside the computing: what comes next is read ahead, what is done is written behind."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import TypeVar

Item = TypeVar("Item")
Made = TypeVar("Made")


def read_ahead(items: Iterable[Item], make: Callable[[Item], Made]) -> Iterator[Made]:
    """``make`` of each item in order, the next one made in a thread while this one is used; its error is raised at its turn."""
    with ThreadPoolExecutor(1, thread_name_prefix="ahead") as thread:
        waiting: deque[Future[Made]] = deque()
        for item in items:
            waiting.append(thread.submit(make, item))
            if len(waiting) == 2:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


class BackgroundWriter:
    """Calls that are done one after another in a thread, while the next thing is computed; leaving it waits for all of them.

    What a call holds in memory is bounded: at most ``most`` calls are done or waiting, else ``later`` waits. The first error of a
    call is raised by the next ``later``, or on leaving; one that leaves for an error of its own keeps that.
    """

    def __init__(self, limit: int = 2):
        self._limit = limit
        self._waiting: deque[Future[object]] = deque()

    def __enter__(self) -> "BackgroundWriter":
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="behind")
        return self

    def later(self, call: Callable[..., object], *arguments: object) -> None:
        """Has ``call(*arguments)`` done behind; an error of an earlier call is raised here."""
        while self._waiting and (len(self._waiting) >= self._limit or self._waiting[0].done()):
            self._waiting.popleft().result()
        self._waiting.append(self._thread.submit(call, *arguments))

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._thread.shutdown(wait=True)
        while kind is None and self._waiting:
            self._waiting.popleft().result()
