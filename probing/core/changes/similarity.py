"""How alike two models' states are, and how alike the states of one model: rows are sentences or words, columns the hidden units."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
#: Rows for each column from which on the plain estimator of CKA is used: with fewer it is too high, whatever the states.
ROWS_A_COLUMN = 10
#: Sentences that similarity matrices are made of; more would only take room.
MAX_IN_MATRIX = 1000
#: A column that deviates by less than this, or this share of its mean, is constant: the rest is rounding.
CONSTANT = 1e-4
#: Groups of rows that are left out in turn for an interval.
GROUPS = 20
_Z = 1.959963984540054


def is_constant(states: Array) -> bool:
    """Whether all rows are the same, as first tokens of layer 0 are."""
    return bool((states.std(0) < CONSTANT * np.maximum(1.0, np.abs(states.mean(0)))).all())


def linear_cka(first: Array, second: Array) -> float | None:
    """Centred kernel alignment with a linear kernel (Kornblith et al. 2019) of the same rows in two models; 1 where one is the other
    turned, moved or scaled.

    With fewer than ten rows a column the unbiased estimator (Song et al. 2012, Nguyen et al. 2021) takes the place of the plain one; it
    can be a little below 0. None where either is constant.
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
    """Of the kernel matrices without their diagonals, which need not be made: they are linear."""
    n = len(x)
    own, other = np.square(x).sum(1), np.square(y).sum(1)
    along, across = x @ x.sum(0) - own, y @ y.sum(0) - other
    both = np.square(x.T @ y).sum() - own @ other
    return float(both + along.sum() * across.sum() / ((n - 1) * (n - 2)) - 2 * (along @ across) / (n - 2))


def rsa(first: Array, second: Array) -> float | None:
    """Pearson's correlation of the cosines of all pairs of rows in two models (representational similarity, as Merchant et al. 2020);
    None where either is constant."""
    if is_constant(first) or is_constant(second) or len(first) < 3:
        return None
    above = np.triu_indices(len(first), 1)
    one, other = (unit @ unit.T for unit in map(unit_rows, (first, second)))
    one, other = (cosines[above] - cosines[above].mean() for cosines in (one, other))
    scale = np.square(one).sum() * np.square(other).sum()
    return float((one * other).sum() / np.sqrt(scale)) if scale > 0 else None


def unit_rows(states: Array) -> Array:
    """The rows, each of length 1."""
    return states / np.sqrt(np.square(states).sum(-1, keepdims=True))


def mean_cosine(total: Array, n: Array | int) -> Array:
    """Mean cosine over all pairs of different vectors among n of length 1, at least two, whose sum is ``total``, (..., hidden)."""
    return (np.square(total).sum(-1) - n) / (n * (np.asarray(n) - 1))


def jackknife(measure: Callable[[np.ndarray], float | None], rows: int) -> tuple[float, float, float] | None:
    """A measure of rows with its 95 % interval, for which a twentieth of the rows is left out in turn.

    Rows cannot be drawn again here: a row that is there twice is alike to itself, which raises every similarity.

    Args:
        measure: takes the numbers of the rows; none where it has no value.
        rows: how many there are.

    Returns:
        Value and interval; None where all rows give no value.
    """
    numbers = np.arange(rows)
    value = measure(numbers)
    if value is None:
        return None
    groups = min(GROUPS, rows)
    less = [one for group in range(groups) if (one := measure(numbers[numbers % groups != group])) is not None]
    if len(less) < 2:
        return value, value, value
    half = _Z * np.sqrt((len(less) - 1) * np.var(less))
    return value, float(value - half), float(value + half)
