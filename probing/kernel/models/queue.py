"""The queue of a device: first come, first served; a user's newer request cancels the older one."""

import itertools
import threading
import weakref
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager

from probing.kernel.errors import ProbingError


class Superseded(ProbingError):
    """A request is cancelled because the same user has made a newer one."""


_lock = threading.Lock()
_order = itertools.count(1)
_number: weakref.WeakKeyDictionary[Hashable, int] = weakref.WeakKeyDictionary()


def register(run: Hashable) -> int:
    """The number of a run in order of arrival, assigned at its first call.

    Call it before anything slow, such as loading a model: a newer run may reach the device first, and is still the
    newer.
    """
    with _lock:
        return _number.setdefault(run, next(_order))


class Turn:
    """A request's turn at a device; calling it raises Superseded once a newer request of the user exists."""

    def __init__(self, check: Callable[[], None], pause: Callable[[], None]):
        self._check, self._pause = check, pause

    def __call__(self) -> None:
        """The check. It may be called inside a model's pass."""
        self._check()

    def pause(self) -> None:
        """Between two pieces of long work: checks, and lets another request compute if one waits.

        Call it at least once per second, and never inside a model's pass: the next request may use the same model.
        """
        self._pause()


class _Place:
    """A request's place in the queue; ``paused`` is whether it is long work that has paused before."""

    paused = False


class Turns:
    """The request queue of one device.

    A user's work comes in runs (one rerun of a page is a run), which may make several requests. As soon as a newer run
    of a user makes one, the requests of that user's older runs are superseded: waiting ones leave the queue, the
    running one stops at its next check, further ones are refused. Other users keep their places.

    Long work pauses between its pieces. New requests and paused work then take turns, so that a new request waits for
    one piece, and for one more per request before it, and long work never starves.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting: list[_Place] = []
        self._holder: _Place | None = None
        self._newest: dict[str, int] = {}

    @property
    def length(self) -> int:
        """Number of requests that compute or wait."""
        with self._changed:
            return len(self._waiting) + (self._holder is not None)

    @contextmanager
    def turn(self, visitor: str, run: Hashable) -> Iterator[Turn]:
        """Waits for the device and holds it inside the ``with`` block except for pauses.

        ``run`` is an object that lives as long as the run that the request belongs to (its thread). Raises Superseded
        as soon as a newer run of the user has made a request.
        """
        with self._changed:
            number, place = register(run), _Place()
            self._newest[visitor] = max(number, self._newest.get(visitor, 0))

            def check() -> None:
                if self._newest[visitor] > number:
                    raise Superseded("a newer request has cancelled this one; ask again if you still need it")

            def wait() -> None:
                while self._holder is not place:
                    self._changed.wait()
                    check()

            def pause() -> None:
                check()
                with self._changed:
                    place.paused = True
                    if self._waiting:
                        self._hand_on(to_paused=False)
                        self._waiting.append(place)
                        wait()

            check()
            self._waiting.append(place)
            if self._holder is None:
                self._hand_on(to_paused=False)
            # The requests of an older run of this user leave the queue.
            self._changed.notify_all()
        try:
            with self._changed:
                wait()
            check()
            yield Turn(check, pause)
        finally:
            with self._changed:
                if self._holder is place:
                    # After a new request it is the turn of paused work.
                    self._hand_on(to_paused=not place.paused)
                else:
                    self._waiting.remove(place)

    def _hand_on(self, to_paused: bool) -> None:
        """Gives the device to the first waiting place of those that have paused, or of the others; if none, of all."""
        chosen = next(
            (place for place in self._waiting if place.paused is to_paused), self._waiting[0] if self._waiting else None
        )
        self._holder = chosen
        if chosen is not None:
            self._waiting.remove(chosen)
            self._changed.notify_all()
