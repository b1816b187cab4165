"""What goes wrong at the stand-in: the next requests of a kind get another answer."""

import re
from dataclasses import dataclass, field
from threading import Lock


@dataclass
class Fault:
    """One kind of trouble.

    Attributes:
        where: pattern of ``METHOD PATH`` of the requests that it meets.
        status: an HTTP status instead of the answer; 0 leaves it.
        broken_after: the connection breaks off after so many bytes of the content.
        corrupt: the last 20 bytes of the content are zero.
        times: how often; None: always.
        headers: of the status.
    """

    where: str
    status: int = 0
    broken_after: int | None = None
    corrupt: bool = False
    times: int | None = None
    headers: dict[str, str] = field(default_factory=dict)


class Faults:
    """The faults that are not used up."""

    def __init__(self) -> None:
        self._lock, self._kept = Lock(), list[Fault]()

    def add(self, where: str, **what) -> None:
        """A fault of the requests whose ``METHOD PATH`` matches."""
        self._kept.append(Fault(where, **what))

    def clear(self) -> None:
        """From now on everything works."""
        with self._lock:
            self._kept.clear()

    def of(self, request: str) -> Fault | None:
        """The fault that a request meets, which is used up by it."""
        with self._lock:
            for fault in self._kept:
                if fault.times != 0 and re.search(fault.where, request):
                    fault.times = None if fault.times is None else fault.times - 1
                    return fault
        return None
