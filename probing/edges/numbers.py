"""Which of two tasks, or of two models, has the earlier expected layer; "order not resolved" is one of the verdicts."""

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from probing.kernel.stats.intervals import CONFIDENCE, NORMAL_QUANTILE
from probing.kernel.stats.paired_tests import holm

EARLIER, LATER, UNRESOLVED = ("earlier", "later", "order not resolved")
#: Why an order is not resolved.
NO_PLACE, TOO_FEW, CONTAINS_0 = ("an expected layer is not resolved", "too few seeds", "the interval contains 0")
#: Minimum degrees of freedom of a variance over seeds: three seeds of one task, or two seeds of each of two tasks.
LEAST_FREE = 2
_WIDTH = 2 * NORMAL_QUANTILE


@dataclass(frozen=True)
class SeedSpread:
    """Variance of one seed's expected layer, in squared layers, pooled over the tasks that have several seeds."""

    variance: float
    #: Degrees of freedom: number of seeds minus number of tasks.
    free: int

    def times(self, unit: float) -> "SeedSpread":
        """The same in units of the given number of layers."""
        return SeedSpread(unit**2 * self.variance, self.free)


def seed_spread(by_task: Iterable[NDArray[np.float64]]) -> SeedSpread | None:
    """Pooled variance over the seeds' expected layers by task; None with under ``LEAST_FREE`` degrees of freedom."""
    known = [values[~np.isnan(values)] for values in by_task]
    several = [values for values in known if len(values) > 1]
    free = sum(len(values) - 1 for values in several)
    squares = sum(float(((values - values.mean()) ** 2).sum()) for values in several)
    return SeedSpread(squares / free, free) if free >= LEAST_FREE else None


@dataclass(frozen=True)
class Place:
    """An expected layer to compare; NaN if it is not resolved.

    ``drawn`` are its values for resampled seeds and sentences, paired draw by draw with the other places. ``spread`` is
    from all tasks of the model that have several seeds; None if these are too few.
    """

    name: str
    value: float
    drawn: NDArray[np.float64]
    seeds: int
    spread: SeedSpread | None


@dataclass(frozen=True)
class Comparison:
    """One pair: the expected layer of the first minus that of the second; NaN if one is not resolved.

    ``low`` to ``high`` is its interval at the level at which Holm's correction judges this pair, NaN if the variation
    over seeds is unknown; ``p`` is two-sided and adjusted for ``pairs``, the compared ones that have an interval.
    """

    first: str
    second: str
    verdict: str
    difference: float
    low: float
    high: float
    p: float
    pairs: int
    #: ``NO_PLACE``, ``TOO_FEW`` or ``CONTAINS_0`` if the order is not resolved, else empty.
    reason: str
    #: Whether one side has one seed, so that its variation over seeds is that of other tasks.
    pooled: bool


def compare(places: Sequence[Place]) -> list[Comparison]:
    """Every pair, in the order of the places; see ``compare_pairs``."""
    return compare_pairs(list(itertools.combinations(places, 2)))


def compare_pairs(pairs: Sequence[tuple[Place, Place]]) -> list[Comparison]:
    """Chosen pairs, which are one family.

    The standard error of a difference comes from the middle 95 % of its draws, because the tails of an expected layer
    are long. Draws of n seeds with replacement have only (n - 1) / n of the variance of their mean: none for one seed.
    The rest, 1 / n² of the variance of one seed, is added with the pooled variance. This is estimated from few seeds,
    so the interval is that of Student's t with Satterthwaite's degrees of freedom. A pair is "order not resolved" if
    its interval contains 0, an expected layer is not resolved, or the variation over seeds is unknown.
    """
    values = np.array([first.value - second.value for first, second in pairs], dtype=np.float64)
    errors, free = np.array([_error(pair) for pair in pairs], dtype=np.float64).reshape(-1, 2).T
    known = ~np.isnan(values) & ~np.isnan(errors)
    p, levels = np.full(len(pairs), np.nan), np.full(len(pairs), np.nan)
    t = np.divide(np.abs(values), errors, out=np.where(values == 0, 0.0, np.inf), where=errors > 0)
    own = 2 * special.stdtr(free, -t)
    p[known], levels[known] = holm(own[known])
    half = -special.stdtrit(free, levels / 2) * errors
    comparisons = []
    for (first, second), value, width, adjusted, level, alone in zip(pairs, values, half, p, levels, own, strict=True):
        sure = not np.isnan(adjusted) and alone <= level
        verdict = (EARLIER if value < 0 else LATER) if sure else UNRESOLVED
        reason = "" if sure else NO_PLACE if np.isnan(value) else TOO_FEW if np.isnan(adjusted) else CONTAINS_0
        ends = (value, value - width, value + width, adjusted)
        pooled = not np.isnan(adjusted) and min(first.seeds, second.seeds) == 1
        comparisons.append(Comparison(first.name, second.name, verdict, *ends, int(known.sum()), reason, pooled))
    return comparisons


def _error(pair: tuple[Place, Place]) -> tuple[float, float]:
    """Standard error of a difference and its degrees of freedom; NaN if a variation is unknown."""
    drawn = pair[0].drawn - pair[1].drawn
    drawn, spreads = drawn[~np.isnan(drawn)], [place.spread for place in pair if place.spread]
    if not len(drawn) or len(spreads) < len(pair):
        return np.nan, np.nan
    low, high = np.quantile(drawn, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    variances = [(place.seeds, spread.variance) for place, spread in zip(pair, spreads, strict=True)]
    whole = (float(high - low) / _WIDTH) ** 2 + sum(variance / seeds**2 for seeds, variance in variances)
    of_seeds = sum(variance / seeds for seeds, variance in variances)
    free = min(spread.free for spread in spreads)
    # The two variances may be one estimate, so the smaller number of degrees of freedom counts for both together.
    return float(np.sqrt(whole)), free * max((whole / of_seeds) ** 2, 1.0) if of_seeds else np.inf
