"""The request queue of a device: one request at a time, first come, first served; a user's newer request cancels the older one."""

import itertools
import threading
import weakref
from collections import deque
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager

from probing.core.errors import ProbingError


class Superseded(ProbingError):
    """A request is cancelled because the same user has made a newer one."""


_lock = threading.Lock()
_order = itertools.count(1)
_number: weakref.WeakKeyDictionary[Hashable, int] = weakref.WeakKeyDictionary()


def register(run: Hashable) -> int:
    """The number of a run in order of arrival, assigned at its first call.

    Call it before anything slow: a run that has to load a model may reach the device after a newer run, but is still the older one.
    """
    with _lock:
        return _number.setdefault(run, next(_order))


class Turns:
    """The request queue of one device.

    A user's work comes in runs (one rerun of a page is a run), and a run may make several requests, one after another. As soon as a
    newer run of a user makes a request, the requests of that user's older runs are superseded: waiting requests leave the queue, the
    running one stops at its next check, and further requests of an old run are refused. Requests of other users keep their places.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting: deque[object] = deque()
        self._newest: dict[str, int] = {}

    @property
    def length(self) -> int:
        """Number of requests that compute or wait."""
        with self._changed:
            return len(self._waiting)

    @contextmanager
    def turn(self, visitor: str, run: Hashable) -> Iterator[Callable[[], None]]:
        """Waits for the device and holds it inside the ``with`` block.

        Args:
            visitor: id of the user.
            run: an object that lives as long as the run that the request belongs to (its thread).

        Yields:
            A check, to be called now and then: it raises Superseded once a newer request exists.

        Raises:
            Superseded: as soon as a newer run of the user has made a request.
        """
        with self._changed:
            number, place = register(run), object()
            self._newest[visitor] = max(number, self._newest.get(visitor, 0))

            def check() -> None:
                if self._newest[visitor] > number:
                    raise Superseded("a newer request has cancelled this one; ask again if you still need it")

            check()
            self._waiting.append(place)
            self._changed.notify_all()
        try:
            with self._changed:
                while self._waiting[0] is not place:
                    self._changed.wait()
                    check()
            check()
            yield check
        finally:
            with self._changed:
                self._waiting.remove(place)
                self._changed.notify_all()
