"""The ways by which a lost fact can come back, from the cheapest to the dearest."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

#: The same head reads the answer at a layer below the last.
OTHER_LAYER = "another layer"
#: A head fitted to the fine-tuned model's last layer in closed form, on text without facts, reads the answer.
FITTED_HEAD = "fitted head"
#: The answer is back when some of the last layers are the base's again, at most half of all.
LAYERS_BACK = "layers put back"
#: The answer is back after training steps on other lost facts of other subjects.
RELEARNED = "relearned"
WAYS = (OTHER_LAYER, FITTED_HEAD, LAYERS_BACK, RELEARNED)
#: A lost fact that comes back by none of them. It says nothing about other ways.
NOT_RECOVERED = "not recovered"
#: Training steps after which a relearning model is asked.
STEPS = (5, 15, 45)
#: Training steps that a headline speaks of.
USUAL_STEPS = 15
#: A way with several levels counts a fact that comes back at any of them.
ANY = 0


def usual_level(way: str) -> int:
    """The level of a way that a headline speaks of."""
    return USUAL_STEPS if way == RELEARNED else ANY


@dataclass(frozen=True)
class Part:
    """What one model, or one series of them, answered.

    Attributes:
        way: one of ``WAYS``.
        protocol: one of ``core.forgetting.protocols.PROTOCOLS``; without relearning, ``RIGHT`` means the fine-tuned model.
        seed: of the split; fold: the held-out one, -1 for all.
        levels: layers, layers put back, or steps.
        ranks: group -> (levels, facts of the group in this fold).
    """

    way: str
    protocol: str
    seed: int
    fold: int
    levels: tuple[int, ...]
    ranks: Mapping[str, NDArray[np.int64]]
