"""Values kept in memory for all users of a server, within a number of bytes."""

import threading
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar


class Sized(Protocol):
    """What has a size in bytes."""

    @property
    def nbytes(self) -> int: ...


V = TypeVar("V", bound=Sized)


@dataclass
class KeptByBytes(Generic[V]):
    """Many small values or a few large ones; the least recently used is dropped first.

    ``limit`` is in bytes; the newest value is kept even if it exceeds it. ``kept`` has the most recently used last.
    """

    limit: int
    kept: "OrderedDict[Hashable, V]" = field(default_factory=OrderedDict)
    turn: threading.Lock = field(default_factory=threading.Lock)

    def find(self, key: Hashable) -> V | None:
        """The value of that key; None if it is not kept."""
        with self.turn:
            if key in self.kept:
                self.kept.move_to_end(key)
            return self.kept.get(key)

    def keep(self, key: Hashable, value: V) -> V:
        """Keeps a value, and drops others until all fit."""
        with self.turn:
            self.kept[key] = value
            self.kept.move_to_end(key)
            while len(self.kept) > 1 and self.total() > self.limit:
                self.kept.popitem(last=False)
        return value

    def total(self) -> int:
        return sum(entry.nbytes for entry in self.kept.values())
