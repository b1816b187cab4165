"""Similarity of states, of two models or of one: rows are sentences or words, columns are hidden units."""

from collections.abc import Callable

import numpy as np
import scipy
from numpy.typing import NDArray

from probing.kernel.stats.intervals import NORMAL_QUANTILE

Array = NDArray[np.float64]
#: Rows per column from which the plain estimator of CKA is used; with fewer it is too high for any states.
ROWS_A_COLUMN = 10
#: Sentences that similarity matrices are made of; more would only take memory.
MAX_IN_MATRIX = 1000
#: A column that deviates by less than this, or this share of its mean, counts as constant: the rest is rounding.
CONSTANT = 1e-4
#: Groups of rows that are left out in turn for an interval.
GROUPS = 20


def is_constant(states: Array) -> bool:
    """Whether all rows are the same, as first tokens of layer 0 are."""
    return bool((states.std(0) < CONSTANT * np.maximum(1.0, np.abs(states.mean(0)))).all())


def linear_cka(first: Array, second: Array) -> float | None:
    """Centred kernel alignment with a linear kernel (Kornblith et al. 2019) of the same rows in two models; at most 1.

    With fewer than ten rows per column the unbiased estimator (Song et al. 2012, Nguyen et al. 2021) replaces the plain
    one; it can be slightly below 0. None if either is constant, or with fewer than four rows.
    """
    if is_constant(first) or is_constant(second) or len(first) < 4:
        return None
    x, y = first - first.mean(0), second - second.mean(0)
    unbiased = len(x) < ROWS_A_COLUMN * max(x.shape[1], y.shape[1])
    measure = _unbiased_hsic if unbiased else _hsic
    scale = measure(x, x) * measure(y, y)
    return float(measure(x, y) / np.sqrt(scale)) if scale > 0 else None


def _hsic(x: Array, y: Array) -> float:
    return float(np.square(x.T @ y).sum())


def _unbiased_hsic(x: Array, y: Array) -> float:
    """HSIC of the kernel matrices without their diagonals, which are not built, because the kernels are linear."""
    n = len(x)
    own, other = np.square(x).sum(1), np.square(y).sum(1)
    along, across = x @ x.sum(0) - own, y @ y.sum(0) - other
    both = np.square(x.T @ y).sum() - own @ other
    return float(both + along.sum() * across.sum() / ((n - 1) * (n - 2)) - 2 * (along @ across) / (n - 2))


def rsa(first: Array, second: Array) -> float | None:
    """Pearson's correlation of the cosines of all pairs of rows in two models (representational similarity, as Merchant
    et al. 2020); None if either is constant, or with fewer than three rows."""
    if is_constant(first) or is_constant(second) or len(first) < 3:
        return None
    above = np.triu_indices(len(first), 1)
    own, other = (unit @ unit.T for unit in map(unit_rows, (first, second)))
    own, other = own[above], other[above]
    return float(scipy.stats.pearsonr(own, other).statistic) if np.ptp(own) > 0 and np.ptp(other) > 0 else None


def unit_rows(states: Array) -> Array:
    """The rows, each of length 1."""
    return states / np.sqrt(np.square(states).sum(-1, keepdims=True))


def mean_cosine(total: Array, n: Array | int) -> Array:
    """Mean cosine over all pairs of different vectors among n >= 2 of length 1 with sum ``total``, (..., hidden)."""
    return (np.square(total).sum(-1) - n) / (n * (np.asarray(n) - 1))


def jackknife(measure: Callable[[np.ndarray], float | None], rows: int) -> tuple[float, float, float] | None:
    """Value and 95 % interval of a measure, by a jackknife that leaves out a twentieth of the rows at a time.

    A bootstrap would not do: a row that is drawn twice equals itself, which raises every similarity. None if the
    measure is undefined for all rows together.
    """
    numbers = np.arange(rows)
    value = measure(numbers)
    if value is None:
        return None
    groups = min(GROUPS, rows)
    less = [reduced for group in range(groups) if (reduced := measure(numbers[numbers % groups != group])) is not None]
    if len(less) < 2:
        return value, value, value
    half = NORMAL_QUANTILE * np.sqrt((len(less) - 1) * np.var(less))
    return value, float(value - half), float(value + half)
