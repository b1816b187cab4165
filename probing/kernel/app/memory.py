"""Values and models kept in memory for all users of a server, within a number of bytes."""

import gc
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar


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


#: Bytes of weights kept in memory. The shipped family with all its heads needs less than half of them, BERT-base with
#: ``full`` heads nearly all.
KEPT_BYTES = 2 << 30


class Weighted(Sized, Protocol):
    """What has weights."""

    @property
    def weights(self) -> Mapping[int, Sized]:
        """All weights by their address in memory."""


M = TypeVar("M", bound=Weighted)


@dataclass
class ModelCache(KeptByBytes[M]):
    """Models kept in memory."""

    limit: int = KEPT_BYTES
    loading: threading.RLock = field(default_factory=threading.RLock)

    def get(self, key: tuple[Any, ...], make: Callable[[], M]) -> M:
        """The model of that key, loaded if necessary.

        Parts of a key: the model, the state of its files, the kind of its heads, and the state of theirs; what was
        loaded in another state is dropped. Models are loaded one at a time, to save memory and because transformers
        requires it, and only once for several users. A request for a model that is already loaded does not wait.
        """
        if (entry := self.find(key)) is not None:
            return entry
        with self.loading:
            # Another request may have loaded it meanwhile.
            if (entry := self.find(key)) is not None:
                return entry
            others = len(self.kept)
            with self.turn:
                for kept in [kept for kept in self.kept if isinstance(kept, tuple) and kept[0] == key[0]]:
                    if kept[1] != key[1] or kept[2] == key[2]:
                        del self.kept[kept]
            made = self.keep(key, make())
            if len(self.kept) <= others:
                # A model that was dropped can hold itself in memory by a cycle, until Python happens to look for
                # garbage.
                gc.collect()
            return made

    def total(self) -> int:
        """Bytes of all weights; those of an encoder that several kinds of heads share count once."""
        weights = {address: tensor for model in self.kept.values() for address, tensor in model.weights.items()}
        return sum(tensor.nbytes for tensor in weights.values())
