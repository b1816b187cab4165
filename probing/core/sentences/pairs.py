"""Which two probes are compared on the same test sentences: what a run stores in ``sentence_pairs``."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from probing.core.sentences.example import FIRST, MEAN, MLP, OWN

#: The portion of the training sentences at which fates compare own probes, too.
QUARTER = 4


@dataclass(frozen=True, order=True)
class Cell:
    """One probe of a run.

    Attributes:
        pooling: of ``POOLINGS``.
        layer: 0..L.
        reading: of ``READINGS``.
        portion: 1 of all training sentences, 4 of a quarter, 16 of a sixteenth.
    """

    pooling: str
    layer: int
    reading: str = OWN
    portion: int = 1

    @property
    def of_base(self) -> "Cell":
        """The base's probe that this one is compared with: the MLP probe against its MLP probe, every other against its own probe."""
        return Cell(self.pooling, self.layer, MLP if self.reading == MLP else OWN, self.portion)


@dataclass(frozen=True, order=True)
class Pair:
    """A probe of a run and the one that it is compared with, of the model ``with_model``."""

    this: Cell
    with_model: str
    other: Cell


def best_layer(dev_right: Sequence[int]) -> int:
    """The layer that has most dev sentences right; of several the lowest."""
    return max(range(len(dev_right)), key=lambda layer: (dev_right[layer], -layer))


def best_layers(dev_right: Mapping[Cell, int]) -> dict[str, int]:
    """Pooling -> the layer whose own probe is best on dev; of all probes of a run only its own on all training sentences count.

    Args:
        dev_right: probe -> how many dev sentences it has right.
    """
    by_pooling: dict[str, dict[int, int]] = {}
    for cell, right in dev_right.items():
        if (cell.reading, cell.portion) == (OWN, 1):
            by_pooling.setdefault(cell.pooling, {})[cell.layer] = right
    return {pooling: best_layer([found[layer] for layer in range(len(found))]) for pooling, found in by_pooling.items()}


def wanted_pairs(model: str, dev_right: Mapping[Cell, int], base: str = "", base_dev_right: Mapping[Cell, int] | None = None) -> list[Pair]:
    """The pairs that a run stores, in order.

    Of a base, its own probes: that of the first token against that of the mean at each layer, and every one against its MLP probe. Of a
    fine-tuned model: every probe on all or a quarter of the training sentences against its ``of_base``; its own probe of the first token
    against the base's of the mean, at each layer; and for each pooling its best layer against the base's best, both chosen on dev. A pair
    of which one probe was not trained is left out.

    Args:
        model, base: names; ``base`` is empty of a base.
        dev_right: probe of the run -> how many dev sentences it has right.
        base_dev_right: the same of the base's run on the same data.
    """
    tuned = base not in ("", model)
    theirs = (base_dev_right or {}) if tuned else dev_right
    held = [(cell, Cell(MEAN, cell.layer)) for cell in dev_right if cell == Cell(FIRST, cell.layer)]
    if not tuned:
        held += [(cell, Cell(cell.pooling, cell.layer, MLP)) for cell in dev_right if (cell.reading, cell.portion) == (OWN, 1)]
    else:
        best, best_of_base = best_layers(dev_right), best_layers(theirs)
        held += [(cell, cell.of_base) for cell in dev_right if cell.portion in (1, QUARTER)]
        held += [(Cell(pooling, best[pooling]), Cell(pooling, layer)) for pooling, layer in best_of_base.items() if pooling in best]
    return sorted({Pair(this, base if tuned else model, other) for this, other in held if other in theirs})


def right_and_right(this: ArrayLike, other: ArrayLike) -> tuple[int, int, int, int]:
    """How many sentences both probes have right, only the first, only the second, neither; from the sentences that each has right."""
    one, two = np.asarray(this, bool), np.asarray(other, bool)
    both, only_this, only_other = int((one & two).sum()), int((one & ~two).sum()), int((~one & two).sum())
    return both, only_this, only_other, len(one) - both - only_this - only_other
