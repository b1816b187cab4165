"""Measures of attention maps, and distances between two: (..., tokens, tokens), each row a distribution over tokens.

All is in float64. Rows are normalised to sum to 1, because a model's own float32 sums are off by some 1e-7.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

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
