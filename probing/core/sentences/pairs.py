"""Which two probes are compared on the same test sentences: what a run stores in ``sentence_pairs``."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from probing.core.sentences.example import ALIGNED, FIRST, FROZEN, MEAN, MLP, OWN, RESCALED

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
        """The base's probe that this one is compared with: its own probe of the same cell, from as many training sentences."""
        return Cell(self.pooling, self.layer, OWN, self.portion)


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


def neural(cell: Cell, dev_right: Mapping[Cell, int]) -> Cell:
    """The neural probe of a cell, which contains the linear one: its MLP probe, or its own probe if that is as good on dev."""
    mlp = Cell(cell.pooling, cell.layer, MLP)
    return cell if mlp in dev_right and cell in dev_right and dev_right[cell] >= dev_right[mlp] else mlp


def fate_pairs(cell: Cell, best: int, dev_right: Mapping[Cell, int]) -> dict[str, tuple[Cell, Cell]]:
    """Step of a fate (``core.sentences.fates``) -> the fine-tuned model's probe and the base's probe that it is compared with.

    Args:
        cell: an own probe on all training sentences.
        best: the fine-tuned model's best layer of this pooling, from ``best_layers``.
        dev_right: probe of the fine-tuned model -> how many dev sentences it has right.
    """
    pooling, layer = cell.pooling, cell.layer
    quarter = Cell(pooling, layer, OWN, QUARTER)
    this = {"frozen": Cell(pooling, layer, FROZEN), "rescaled": Cell(pooling, layer, RESCALED), "aligned": Cell(pooling, layer, ALIGNED)}
    this |= {"own": cell, "mean": Cell(MEAN, layer), "best": Cell(pooling, best), "mlp": neural(cell, dev_right)}
    return {step: (probe, cell) for step, probe in this.items()} | {"quarter": (quarter, quarter.of_base)}


def wanted_pairs(model: str, dev_right: Mapping[Cell, int], base: str = "", base_dev_right: Mapping[Cell, int] | None = None) -> list[Pair]:
    """The pairs that a run stores, in order: those of ``changed_pairs``, and of a fine-tuned model those that fates need.

    Args:
        model, base, dev_right, base_dev_right: as ``changed_pairs``.
    """
    theirs = (base_dev_right or {}) if base not in ("", model) else {}
    best = best_layers(dev_right)
    of_fates = [
        Pair(this, base, other)
        for cell in theirs
        if (cell.reading, cell.portion) == (OWN, 1) and cell.pooling in best
        for this, other in fate_pairs(cell, best[cell.pooling], dev_right).values()
        if this in dev_right and other in theirs
    ]
    return sorted({*changed_pairs(model, dev_right, base, base_dev_right), *of_fates})


def changed_pairs(
    model: str, dev_right: Mapping[Cell, int], base: str = "", base_dev_right: Mapping[Cell, int] | None = None
) -> list[Pair]:
    """The pairs of changes and of curves, without which a run is damaged, in order.

    Of a base, its own probes: that of the first token against that of the mean at each layer, and every one against its MLP probe. Of a
    fine-tuned model: every probe but the MLP probe on all or a quarter of the training sentences against its ``of_base``, and its own
    probe of the first token against the base's of the mean, at each layer. A pair of which one probe was not trained is left out.

    Args:
        model, base: names; ``base`` is empty of a base.
        dev_right: probe of the run -> how many dev sentences it has right.
        base_dev_right: the same of the base's run on the same data.
    """
    tuned = base not in ("", model)
    theirs = (base_dev_right or {}) if tuned else dev_right
    held = [(cell, Cell(MEAN, cell.layer)) for cell in dev_right if cell == Cell(FIRST, cell.layer)]
    if tuned:
        held += [(cell, cell.of_base) for cell in dev_right if cell.portion in (1, QUARTER) and cell.reading != MLP]
    else:
        held += [(cell, Cell(cell.pooling, cell.layer, MLP)) for cell in dev_right if (cell.reading, cell.portion) == (OWN, 1)]
    return sorted({Pair(this, base if tuned else model, other) for this, other in held if other in theirs})


def right_and_right(this: ArrayLike, other: ArrayLike) -> tuple[int, int, int, int]:
    """How many sentences both probes have right, only the first, only the second, neither; from the sentences that each has right."""
    one, two = np.asarray(this, bool), np.asarray(other, bool)
    both, only_this, only_other = int((one & two).sum()), int((one & ~two).sum()), int((~one & two).sum())
    return both, only_this, only_other, len(one) - both - only_this - only_other
