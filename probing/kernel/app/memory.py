"""Models kept in memory within a number of bytes."""

import gc
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from probing.kernel.app.memory_value_store import KeptByBytes, Sized

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

    def get(self, key: tuple, make: Callable[[], M]) -> M:
        """The model of that key, loaded if necessary.

        Models are loaded one at a time, to save memory and because transformers requires it, and only once for several
        users. A request for a model that is already loaded does not wait.
        """
        if (entry := self.find(key)) is not None:
            return entry
        with self.loading:
            # Another request may have loaded it meanwhile.
            if (entry := self.find(key)) is not None:
                return entry
            others = len(self.kept)
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
