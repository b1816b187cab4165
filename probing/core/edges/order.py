"""Which of two tasks, or of two models, has the earlier expected layer; "order not resolved" is one of the verdicts."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from probing.core.stats.intervals import CONFIDENCE, NORMAL_QUANTILE
from probing.core.stats.paired import holm

EARLIER, LATER, UNRESOLVED = VERDICTS = ("earlier", "later", "order not resolved")
_WIDTH = 2 * NORMAL_QUANTILE


@dataclass(frozen=True)
class Place:
    """An expected layer to compare.

    Attributes:
        name: of the task or model.
        value: NaN if it is not resolved.
        drawn: (draws,) its value for resampled seeds and sentences, paired draw by draw with the other places.
    """

    name: str
    value: float
    drawn: NDArray[np.float64]


@dataclass(frozen=True)
class Comparison:
    """One pair.

    Attributes:
        first, second: names.
        verdict: of the first against the second.
        difference: expected layer of the first minus that of the second; NaN if one is not resolved.
        low, high: its interval, at the level at which Holm's correction judges this pair.
        p: two-sided, adjusted for the number of pairs.
        pairs: number of compared pairs, without those in which an expected layer is not resolved.
    """

    first: str
    second: str
    verdict: str
    difference: float
    low: float
    high: float
    p: float
    pairs: int


def compare(places: Sequence[Place]) -> list[Comparison]:
    """Every pair, in the order of the places.

    The standard error of a difference comes from the middle 95 % of its draws, because the tails of an expected layer are long.
    A pair is "order not resolved" if its interval contains 0, or an expected layer is not resolved.
    """
    return compare_pairs(list(itertools.combinations(places, 2)))


def compare_pairs(pairs: Sequence[tuple[Place, Place]]) -> list[Comparison]:
    """The same for chosen pairs, which are one family."""
    values = np.array([one.value - other.value for one, other in pairs], dtype=np.float64)
    errors = np.array([_error(one.drawn - other.drawn) for one, other in pairs], dtype=np.float64)
    known = ~np.isnan(values) & ~np.isnan(errors)
    p, levels = np.full(len(pairs), np.nan), np.full(len(pairs), np.nan)
    z = np.divide(np.abs(values), errors, out=np.where(values == 0, 0.0, np.inf), where=errors > 0)
    own = 2 * special.ndtr(-z)
    p[known], levels[known] = holm(own[known])
    half = -special.ndtri(levels / 2) * errors
    found = []
    for (one, other), value, width, adjusted, level, alone in zip(pairs, values, half, p, levels, own, strict=True):
        sure = not np.isnan(adjusted) and alone <= level
        verdict = (EARLIER if value < 0 else LATER) if sure else UNRESOLVED
        found.append(Comparison(one.name, other.name, verdict, value, value - width, value + width, adjusted, int(known.sum())))
    return found


def _error(drawn: NDArray[np.float64]) -> float:
    drawn = drawn[~np.isnan(drawn)]
    if not len(drawn):
        return np.nan
    low, high = np.quantile(drawn, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return float(high - low) / _WIDTH
