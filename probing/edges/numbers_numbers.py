"""The numbers of edge probing, computed from counts, F1s and mixing weights (Tenney et al. 2019).

The last axis is the layers 0..L; other axes (seeds, draws, tasks) stay. Undefined values are NaN.
"""

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

#: Minimum F1(L) - F1(0) for an expected layer: one point.
LEAST_GAIN = 0.01
#: Mixing weights with a smaller K(s), in bits, are near uniform. They move a centre of gravity by at most about 8 % of
#: the depth.
NEAR_UNIFORM = 0.05
#: Why an expected layer is not resolved.
ALREADY, NOT_ABOVE, INCONCLUSIVE, OUTSIDE = (
    "already at layer 0",
    "not above the majority label",
    "gain is inconclusive",
    "interval leaves the layers",
)


def f1(tp: ArrayLike, fp: ArrayLike, fn: ArrayLike) -> NDArray[np.float64]:
    """Micro F1, 2 TP / (2 TP + FP + FN), from counts summed over the labels that count; NaN for 0 / 0."""
    twice = 2 * np.asarray(tp, dtype=np.float64)
    return _ratio(twice, twice + np.asarray(fp) + np.asarray(fn))


def gains(scores: ArrayLike) -> NDArray[np.float64]:
    """Gain of P(l) over P(l - 1), for the layers 1..L: (..., L + 1) F1 -> (..., L)."""
    return np.diff(np.asarray(scores, dtype=np.float64), axis=-1)


def expected_layer(scores: ArrayLike) -> NDArray[np.float64]:
    """Mean of the layers 1..L, weighted by their gains, also negative ones (equation 4); NaN if P(L) equals P(0)."""
    steps = gains(scores)
    return _ratio((steps * np.arange(1, steps.shape[-1] + 1)).sum(axis=-1), steps.sum(axis=-1))


def resolved(gain: float, low: float | None) -> bool:
    """Whether the gain F1(L) - F1(0) is at least one point, and the end ``low`` of its interval, if known, above 0.

    Otherwise an expected layer would be noise, and could lie beyond the last layer.
    """
    return gain >= LEAST_GAIN and (low is None or low > 0)


def inside(low: float, high: float, last: int) -> bool:
    """Whether the interval of an expected layer is in 0 to L; an unknown interval (NaN) is.

    Otherwise F1(L) - F1(0), by which the formula divides, is small compared with its noise, and so the value is noise.
    """
    return not (low < 0 or high > last)


def near_uniform(bits: ArrayLike) -> NDArray[np.bool_]:
    """Whether mixing weights with this K(s) are near uniform, so that their centre of gravity is no place."""
    return np.asarray(bits, dtype=np.float64) < NEAR_UNIFORM


def gain_above_memory(scores: ArrayLike, memory: float) -> NDArray[np.float64]:
    """F1(L) minus the greater of F1(0) and the memory baseline's F1 (or NaN): the gain beyond a table of words."""
    values = np.asarray(scores, dtype=np.float64)
    return values[..., -1] - np.maximum(values[..., 0], memory)


def centre_of_gravity(weights: ArrayLike) -> NDArray[np.float64]:
    """Mean of the layers 0..L, each weighted by its share in the mix (equation 2); NaN if the weights sum to 0."""
    mix = np.asarray(weights, dtype=np.float64)
    return _ratio((mix * np.arange(mix.shape[-1])).sum(axis=-1), mix.sum(axis=-1))


def times_norm(weights: ArrayLike, norms: ArrayLike) -> NDArray[np.float64]:
    """Each layer's weight times its states' mean norm, as shares: its part by length (Fayyaz et al. 2021)."""
    amounts = np.asarray(weights, dtype=np.float64) * np.asarray(norms, dtype=np.float64)
    return _ratio(amounts, amounts.sum(axis=-1, keepdims=True))


def k_weights(weights: ArrayLike) -> NDArray[np.float64]:
    """K(s): bits by which the mixing weights of the layers 0..L differ from uniform ones; 0 to log2(L + 1)."""
    return _bits_from_uniform(np.asarray(weights, dtype=np.float64))


def k_gains(scores: ArrayLike) -> NDArray[np.float64]:
    """K(Δ): bits by which the gains of the layers 1..L, negative ones as 0, differ from uniform ones; 0 to log2 L."""
    return _bits_from_uniform(np.maximum(gains(scores), 0.0))


def selectivity(scores: ArrayLike, control: ArrayLike) -> NDArray[np.float64]:
    """F1 minus the F1 of the same kind of probe on control labels (Hewitt and Liang 2019)."""
    return np.asarray(scores, dtype=np.float64) - np.asarray(control, dtype=np.float64)


def compression(uniform: ArrayLike, bits: ArrayLike) -> NDArray[np.float64]:
    """Ratio of the uniform to the online code length (Voita and Titov 2020), each summed over the portions."""
    return _ratio(np.asarray(uniform, dtype=np.float64), np.asarray(bits, dtype=np.float64))


def _bits_from_uniform(amounts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Kullback-Leibler divergence of the amounts, as shares, from uniform shares."""
    with np.errstate(invalid="ignore"):
        bits = scipy.stats.entropy(amounts, np.ones(amounts.shape[-1]), base=2, axis=-1)
    # Rounding can give a value slightly below zero if all are equal.
    return np.where(np.isnan(bits), bits, np.maximum(bits, 0.0))


def _ratio(above: ArrayLike, below: ArrayLike) -> NDArray[np.float64]:
    above, below = np.broadcast_arrays(np.asarray(above, dtype=np.float64), np.asarray(below, dtype=np.float64))
    return np.divide(above, below, out=np.full(above.shape, np.nan), where=below != 0)
