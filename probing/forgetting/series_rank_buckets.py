"""Ranks of answers in one byte each: enough to say whether a fact is known, and how far away its answer is."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from probing.terms import RANKS

#: Largest rank of each bucket; one more bucket holds all ranks beyond.
ENDS = RANKS
#: A fact is known if the rank of its answer is at most k -> the last bucket of such ranks.
KNOWN_UP_TO = {k: ENDS.index(k) for k in (1, 10)}
#: What each bucket holds, in words.
NAMES = ("1", "2-10", "11-100", "above 100")


def buckets(ranks: ArrayLike) -> NDArray[np.uint8]:
    """The number of the bucket of each rank, from 0.

    >>> buckets([1, 2, 4, 10, 11, 5_000]).tolist()
    [0, 1, 1, 1, 2, 3]
    """
    return np.searchsorted(ENDS, np.asarray(ranks), side="left").astype(np.uint8)
