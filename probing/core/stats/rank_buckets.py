"""Ranks of answers in one byte each: enough to say whether a fact is known, and how far away its answer is."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

#: Largest rank of each bucket; one more bucket holds all ranks beyond.
ENDS = (1, 2, 3, 5, 10, 20, 50, 100, 1_000)
#: A fact is known if the rank of its answer is at most k -> the last bucket of such ranks.
KNOWN_UP_TO = {k: ENDS.index(k) for k in (1, 10)}
#: What each bucket holds, in words.
NAMES = ("1", "2", "3", "4-5", "6-10", "11-20", "21-50", "51-100", "101-1,000", "above 1,000")


def buckets(ranks: ArrayLike) -> NDArray[np.uint8]:
    """The number of the bucket of each rank, from 0.

    >>> buckets([1, 2, 4, 10, 11, 5_000]).tolist()
    [0, 1, 3, 4, 5, 9]
    """
    return np.searchsorted(ENDS, np.asarray(ranks), side="left").astype(np.uint8)
