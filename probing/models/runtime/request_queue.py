"""Who may use a device now: one request at a time, in order of arrival, and none whose asker has asked anew."""

import itertools
import threading
import weakref
from collections import deque
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager

from probing.core.errors import ProbingError


class Superseded(ProbingError):
    """A request is given up because the same visitor has asked something newer."""


_lock = threading.Lock()
_order = itertools.count(1)
_number: weakref.WeakKeyDictionary[Hashable, int] = weakref.WeakKeyDictionary()


def register(run: Hashable) -> int:
    """The number of a run in the order in which runs came, given when it is first seen.

    Called before anything slow: a run that has to load a model may come to the device after a newer one, and is the older still.
    """
    with _lock:
        return _number.setdefault(run, next(_order))


class Turns:
    """The queue before one device.

    A visitor's work comes in runs (a page drawn anew is a run), and a run may ask several times, one request after another. As soon as
    a newer run of a visitor asks, requests of that visitor's older runs are superseded: those that wait leave the queue, the one
    that computes stops at its next check, and an old run that asks again is refused. Other visitors' requests keep their places.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting: deque[object] = deque()
        self._newest: dict[str, int] = {}

    @property
    def length(self) -> int:
        """How many requests compute or wait."""
        with self._changed:
            return len(self._waiting)

    @contextmanager
    def turn(self, visitor: str, run: Hashable) -> Iterator[Callable[[], None]]:
        """Waits for the device, and holds it inside.

        Args:
            visitor: who asks.
            run: what the request belongs to, an object that lives as long as the run does (its thread).

        Yields:
            A check, to be called now and then: it raises Superseded once there is something newer.

        Raises:
            Superseded: as soon as a newer run of the visitor has asked.
        """
        with self._changed:
            number, place = register(run), object()
            self._newest[visitor] = max(number, self._newest.get(visitor, 0))

            def check() -> None:
                if self._newest[visitor] > number:
                    raise Superseded("something newer was asked, so this is not answered any more; ask again if it is still wanted")

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
