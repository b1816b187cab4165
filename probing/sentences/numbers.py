"""Which two probes are compared on the same test sentences: what a run stores in ``sentence_pairs``."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from probing.sentences.examples import FIRST, FROZEN, MEAN, MLP, OWN


@dataclass(frozen=True, order=True)
class Cell:
    """One probe of a run; portion 4 is trained on a quarter of the training sentences."""

    pooling: str
    layer: int
    reading: str = OWN
    portion: int = 1


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
    """Pooling -> the layer whose own probe, trained on all sentences, has most dev sentences right."""
    by_pooling: dict[str, dict[int, int]] = {}
    for cell, right in dev_right.items():
        if (cell.reading, cell.portion) == (OWN, 1):
            by_pooling.setdefault(cell.pooling, {})[cell.layer] = right
    return {pooling: best_layer([right[layer] for layer in range(len(right))]) for pooling, right in by_pooling.items()}


def neural(cell: Cell, dev_right: Mapping[Cell, int]) -> Cell:
    """The neural probe of a cell, which contains the linear one: MLP, or its own if that is as good on dev."""
    mlp = Cell(cell.pooling, cell.layer, MLP)
    return cell if mlp in dev_right and cell in dev_right and dev_right[cell] >= dev_right[mlp] else mlp


def fate_probes(cell: Cell, best: int, dev_right: Mapping[Cell, int]) -> dict[str, Cell]:
    """Step of a fate -> the fine-tuned model's probe that is compared with the base's own probe of the cell.

    ``frozen`` is the base's probe on the fine-tuned model, ``own`` its own; ``mlp`` see ``neural``; ``mean`` its own
    probe of mean-pooling at this layer, which of a cell of mean-pooling is the same; ``best`` its own probe of its
    ``best_layers``. ``dev_right`` counts the fine-tuned model's right dev sentences.
    """
    pooling, layer = cell.pooling, cell.layer
    here = {"frozen": Cell(pooling, layer, FROZEN), "own": cell, "mlp": neural(cell, dev_right)}
    return here | {"mean": Cell(MEAN, layer), "best": Cell(pooling, best)}


def stored_pairs(
    model: str, dev_right: Mapping[Cell, int], base: str = "", base_dev_right: Mapping[Cell, int] | None = None
) -> list[Pair]:
    """The pairs that a run stores, in order; ``dev_right`` are the probes' numbers of right dev sentences.

    Of a base, its own probes: that of the first token against that of the mean at each layer, and every one against its
    MLP probe. Of a fine-tuned model, the pairs of fates, and its own probe of the first token against the base's of the
    mean, at each layer. A pair of which one probe was not trained is left out.
    """
    tuned = base not in ("", model)
    theirs = (base_dev_right or {}) if tuned else dev_right
    held = [(cell, Cell(MEAN, cell.layer)) for cell in dev_right if cell == Cell(FIRST, cell.layer)]
    own = [cell for cell in theirs if (cell.reading, cell.portion) == (OWN, 1)]
    if tuned:
        best = best_layers(dev_right)
        held += [
            (this, cell)
            for cell in own
            if cell.pooling in best
            for this in fate_probes(cell, best[cell.pooling], dev_right).values()
        ]
    else:
        held += [(cell, Cell(cell.pooling, cell.layer, MLP)) for cell in own]
    pairs = {
        Pair(this, base if tuned else model, other) for this, other in held if this in dev_right and other in theirs
    }
    return sorted(pairs)


def right_and_right(this: ArrayLike, other: ArrayLike) -> tuple[int, int, int, int]:
    """How many sentences both probes have right, only the first, only the second, neither."""
    a, b = np.asarray(this, bool), np.asarray(other, bool)
    both, only_this, only_other = int((a & b).sum()), int((a & ~b).sum()), int((~a & b).sum())
    return both, only_this, only_other, len(a) - both - only_this - only_other
