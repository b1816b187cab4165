"""Attention maps, their measures and distances, and the similarity of hidden states of one or two models."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray
from scipy import special

from probing.kernel.stats.intervals import NORMAL_QUANTILE

Array = NDArray[np.float64]


@dataclass(frozen=True)
class TokenKinds:
    """(rows, tokens) bool: which tokens are separators, and which punctuation."""

    separator: np.ndarray
    punctuation: np.ndarray


def as_distributions(attention: ArrayLike) -> Array:
    """The rows in float64, each with sum 1."""
    shares = np.array(attention, np.float64)
    shares /= shares.sum(-1, keepdims=True)
    return shares


def entropy(rows: Array) -> Array:
    """-sum a ln a over the last axis, in nats: 0 if one token has it all, ln n if all n have the same."""
    return special.entr(rows).sum(-1)


def movers_distance(first: Array, second: Array) -> Array:
    """Earth mover's distance of the last axis, tokens apart in positions: sum of |CDF - CDF|, in tokens."""
    return np.abs(np.cumsum(first - second, axis=-1))[..., :-1].sum(-1)


def total_variation(first: Array, second: Array) -> Array:
    """Half the sum of |difference| over the last axis, 0 to 1: the distance if all tokens are equally far apart."""
    return 0.5 * np.abs(first - second).sum(-1)


def map_cosine(first: Array, second: Array) -> Array:
    """Cosine of two whole maps, over the last two axes."""
    dot, square_1, square_2 = ((a * b).sum((-2, -1)) for a, b in ((first, second), (first, first), (second, second)))
    return dot / np.sqrt(square_1 * square_2)


def of_model(maps: Array, kinds: TokenKinds) -> dict[str, Array]:
    """Measure -> (layers, rows, heads) of one model's maps, (layers, rows, heads, tokens, tokens), tokens >= 2.

    ``-first`` is of the first token's attention, ``-mean`` the mean over all tokens that attend.
    """
    of_row = entropy(maps)
    most = np.log(maps.shape[-1])
    measures = _both("entropy", of_row) | _both("flatness", of_row / most)
    measures |= _both("to-first", maps[..., 0]) | _both("to-self", np.diagonal(maps, axis1=-2, axis2=-1))
    for name, chosen in (("to-separator", kinds.separator), ("to-punctuation", kinds.punctuation)):
        measures |= _both(name, (maps * chosen[:, None, None, :]).sum(-1))
    return measures


def between(maps: Array, before: Array) -> dict[str, Array]:
    """Measure -> (layers, rows, heads) of how far each head's maps are from the same head's maps of another model."""
    moved, varied, turned = (
        movers_distance(maps, before),
        total_variation(maps, before),
        entropy(maps) - entropy(before),
    )
    measures = _both("emd", moved) | _both("emd-share", moved / (maps.shape[-1] - 1)) | _both("total-variation", varied)
    return measures | {"map-cosine": map_cosine(maps, before)} | _both("entropy-change", turned)


def _both(name: str, of_row: Array) -> dict[str, Array]:
    """From values by attending token, (..., tokens): that of the first token, and the mean."""
    return {f"{name}-first": of_row[..., 0], f"{name}-mean": of_row.mean(-1)}


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
