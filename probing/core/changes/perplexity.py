"""From sums of cross-entropy to perplexities and their changes, with intervals."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

_DRAWS = 2000


@dataclass(frozen=True)
class Perplexity:
    """exp of the mean cross-entropy at masked pieces, with its 95 % interval; a change is of its logarithm."""

    value: float
    low: float
    high: float


def perplexity(by_block: Sequence[float], masked: Sequence[int], seed: int = 0) -> Perplexity:
    """The perplexity of a model; blocks are drawn again for its interval.

    Args:
        by_block: sum of cross-entropy of each block, in nats.
        masked: number of masked pieces of each block; not 0 in all.
        seed: of the draws; equal sums and seeds give equal intervals.
    """
    value, low, high = _mean(np.asarray(by_block, float), np.asarray(masked, float), seed)
    return Perplexity(float(np.exp(value)), float(np.exp(low)), float(np.exp(high)))


def log_change(by_block: Sequence[float], before: Sequence[float], masked: Sequence[int], seed: int = 0) -> tuple[float, float, float]:
    """Mean cross-entropy minus that of another model on the same blocks: the logarithm of the ratio of their perplexities.

    Returns:
        Change in nats, and its 95 % interval, for which blocks with both models' sums are drawn again.
    """
    return _mean(np.asarray(by_block, float) - np.asarray(before, float), np.asarray(masked, float), seed)


def _mean(sums: np.ndarray, masked: np.ndarray, seed: int) -> tuple[float, float, float]:
    """Sum of sums by sum of numbers, and its interval."""
    value = sums.sum() / masked.sum()
    if len(sums) < 2:
        return float(value), float(value), float(value)
    times = np.random.default_rng(seed).multinomial(len(sums), np.full(len(sums), 1 / len(sums)), _DRAWS)
    numbers = times @ masked
    low, high = np.quantile((times @ sums)[numbers > 0] / numbers[numbers > 0], [0.025, 0.975])
    return float(value), float(min(low, value)), float(max(high, value))
