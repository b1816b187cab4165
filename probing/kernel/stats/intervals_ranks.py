"""Rank correlation of few pairs."""

from collections.abc import Sequence
from itertools import permutations

import numpy as np
import scipy

#: Up to this many pairs all orders are counted, 5,040 for seven.
_COUNTED = 7
#: With fewer pairs no order is rare enough: with four the rarest has p = 2 / 24.
FEWEST = 5


def rank_correlation(first: Sequence[float], second: Sequence[float]) -> tuple[float, float]:
    """Spearman's rank correlation with its two-sided p-value; both NaN with fewer than three pairs, or a constant side.

    With up to seven pairs p is exact: the share of all orders of the second side whose correlation is at least as far
    from 0. With more it comes from the t distribution. Equal values have their mean rank.
    """
    if len(first) != len(second):
        raise ValueError(f"got {len(first)} and {len(second)} values, expected pairs")
    first_ranks, second_ranks = (scipy.stats.rankdata(side) if len(side) else np.zeros(0) for side in (first, second))
    if np.isnan([*first, *second]).any():
        raise ValueError("got a NaN, expected pairs of numbers")
    n = len(first_ranks)
    if n < 3 or len(set(first_ranks)) < 2 or len(set(second_ranks)) < 2:
        return float("nan"), float("nan")
    correlation = scipy.stats.spearmanr(first, second)
    rho, p = float(correlation.statistic), float(correlation.pvalue)
    if n <= _COUNTED:
        orders = second_ranks[np.array(list(permutations(range(n))))]
        p = float(np.mean(np.abs(scipy.stats.pearsonr(orders, first_ranks[None], axis=1).statistic) >= abs(rho) - 1e-9))
    return rho, p
