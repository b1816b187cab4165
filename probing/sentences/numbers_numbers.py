"""The numbers of sentence-level probing, computed from counts of test sentences."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from probing.kernel.stats.intervals import NORMAL_QUANTILE, wilson
from probing.kernel.stats.paired_tests import PairedCounts, benjamini_hochberg, paired_difference

#: The two groups of layers in the paper's tables of mean changes.
LOWER, UPPER = "lower", "upper"


def accuracy(right: int, n: int) -> tuple[float, float, float]:
    """Share of the test sentences that are labelled correctly, with Wilson's 95 % interval; NaN without sentences."""
    return (right / n, *wilson(right, n)) if n else (np.nan, np.nan, np.nan)


def change(counts: PairedCounts) -> tuple[float, float, float, float]:
    """First probe's accuracy minus the second's, Newcombe's 95 % interval of a paired difference, exact McNemar's p."""
    difference = paired_difference(counts)
    if difference.value is None or difference.low is None or difference.high is None:
        return np.nan, np.nan, np.nan, difference.p
    return difference.value, difference.low, difference.high, difference.p


def family_q(p_values: ArrayLike) -> NDArray[np.float64]:
    """p-values of a model's tests (layers x poolings x tasks) by Benjamini and Hochberg; NaN is ignored."""
    p = np.asarray(p_values, dtype=np.float64)
    known = ~np.isnan(p)
    q = np.full(p.shape, np.nan)
    q[known] = benjamini_hochberg(p[known])
    return q


def layer_group(layer: int, last: int) -> str:
    """The group of a layer: 0 to L / 2, rounded down, are the lower ones (0 to 6 of 12, as in the paper's tables)."""
    return LOWER if layer <= last // 2 else UPPER


def group_mean(changes: Sequence[float]) -> float:
    """Mean change of the layers of a group; NaN without layers."""
    return float(np.mean(changes)) if len(changes) else np.nan


def spread_about_zero(changes: ArrayLike) -> float:
    """Bound of 95 % of changes that vary normally about 0: 1.96 times their root mean square; NaN without changes."""
    known = np.asarray(changes, dtype=np.float64)
    return NORMAL_QUANTILE * float(np.sqrt(np.mean(known**2))) if known.size else np.nan
