"""How the answer to one target changes from layer to layer."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

#: A target is ambiguous where no label has a mean normalised p above this (the caption of Figure 3 of Tenney et al. 2019).
AMBIGUOUS = 0.7


@dataclass(frozen=True)
class Traces:
    """What the layers say of targets.

    Attributes:
        wrong: (targets, layers) the normalised p of the wrong label that has the greatest mean over layers.
        best_gold: (targets,) the greatest mean over layers of a gold label's normalised p; 0 where there is none.
    """

    wrong: NDArray[np.float64]
    best_gold: NDArray[np.float64]


def settled_layer(right: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The first layer from which the most probable label stays right up to the last layer; -1 where the last layer is wrong.

    Args:
        right: (targets, layers) whether the most probable label is a gold one.
    """
    layers = right.shape[1]
    at_the_end = np.cumprod(right[:, ::-1], axis=1).sum(axis=1)
    return np.where(at_the_end > 0, layers - at_the_end, -1)


def revisions(top: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many times the most probable label is another one than at the layer below.

    Args:
        top: (targets, layers) numbers of labels.
    """
    return (top[:, 1:] != top[:, :-1]).sum(axis=1)


def strongest_mean(traces: Traces) -> NDArray[np.float64]:
    """(targets,) the greatest mean over layers of a label's normalised p.

    The wrong label that is stored is the one with the greatest mean, so gold and wrong label together give the maximum over all labels.
    """
    return np.maximum(traces.best_gold, traces.wrong.mean(axis=1))


def normalised(p: NDArray[np.int64], total: NDArray[np.int64]) -> NDArray[np.float64]:
    """p over the sum of p over all labels, as the paper's Figure 3 shows it; 0 where all of them are 0."""
    return np.divide(p, total, out=np.zeros(np.broadcast(p, total).shape), where=total > 0)
