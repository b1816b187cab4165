"""Two models or layers on the same facts: exact McNemar, differences with intervals, many tests at once."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray
from scipy import special

from probing.kernel.stats.intervals import CONFIDENCE, NORMAL_QUANTILE, wilson


@dataclass(frozen=True)
class PairedCounts:
    """How many facts each of two sides knows."""

    both: int
    first_only: int
    second_only: int
    neither: int

    def __post_init__(self) -> None:
        if min(self.both, self.first_only, self.second_only, self.neither) < 0:
            raise ValueError(f"counts of facts are {self}, expected none below 0")

    @property
    def n(self) -> int:
        """Number of facts."""
        return self.both + self.first_only + self.second_only + self.neither


@dataclass(frozen=True)
class Difference:
    """Share known by the first side minus share known by the second, on the same facts; None without facts.

    The interval is 95 %; p is McNemar's exact two-sided one, 1 without facts.
    """

    value: float | None
    low: float | None
    high: float | None
    p: float
    counts: PairedCounts


def mcnemar_exact(first_only: int, second_only: int) -> float:
    """Exact two-sided p-value of McNemar's test: a sign test on the facts that only one side knows.

    1 if the sides agree on every fact, 0 if it is below the smallest floating-point number.
    """
    return float(mcnemar_exact_many([first_only], [second_only])[0])


def mcnemar_exact_many(first_only: ArrayLike, second_only: ArrayLike) -> NDArray[np.float64]:
    """(tests,) ``mcnemar_exact`` of many pairs of counts.

    At probability 1/2 the binomial is symmetric, so that the two-sided p-value is twice the smaller tail, at most 1.
    """
    first, second = np.asarray(first_only, dtype=np.int64), np.asarray(second_only, dtype=np.int64)
    if first.size and min(first.min(), second.min()) < 0:
        raise ValueError(f"counts of facts reach down to {first.min()} and {second.min()}, expected none below 0")
    # The binomial's cdf. Importing scipy.stats for it would hold up the start of everything by a second.
    tail = scipy.special.betainc(np.maximum(first, second), np.minimum(first, second) + 1, 0.5)
    p_values: NDArray[np.float64] = np.minimum(2 * tail, 1.0)
    return p_values


def paired_difference(counts: PairedCounts) -> Difference:
    """Difference of two shares on the same facts, with its interval (``paired_interval``) and exact McNemar's p-value.

    Interval and p-value come from different tests and may disagree if p is near 0.05.
    """
    p = mcnemar_exact(counts.first_only, counts.second_only)
    if counts.n == 0:
        return Difference(None, None, None, p, counts)
    return Difference(*paired_interval(counts), p, counts)


def paired_interval(counts: PairedCounts) -> tuple[float, float, float]:
    """Difference of two shares on the same facts, with its 95 % interval: method 10 of Newcombe (1998)."""
    n, first, second = counts.n, counts.both + counts.first_only, counts.both + counts.second_only
    _, low, high = newcombe((first / n, *wilson(first, n)), (second / n, *wilson(second, n)), _correlation(counts))
    return (counts.first_only - counts.second_only) / n, low, high


def together_counted(counts: Iterable[PairedCounts]) -> PairedCounts:
    """The counts of several sets of facts as those of one."""
    many = list(counts)
    return PairedCounts(
        *(sum(getattr(part, name) for part in many) for name in ("both", "first_only", "second_only", "neither"))
    )


def macro_difference(counts: Mapping[str, PairedCounts]) -> Difference:
    """Mean over relations of the difference of two shares on the same facts; p and counts are of all facts together.

    The interval is a normal one: the variance of the mean is the sum of the relations' variances of a paired
    difference, over the square of their number. So that relations without discordant facts do not count as certain, one
    discordant fact either way is shared among all relations, as ``intervals.macro`` shares its half hits. One relation
    alone has Newcombe's interval; one without facts takes no part.
    """
    by_relation = {relation: paired for relation, paired in sorted(counts.items()) if paired.n}
    pooled = together_counted(by_relation.values())
    if len(by_relation) < 2:
        return paired_difference(pooled)
    n = np.array([paired.n for paired in by_relation.values()], dtype=np.float64)
    first, second = (
        np.array([getattr(paired, side) for paired in by_relation.values()], dtype=np.float64)
        for side in ("first_only", "second_only")
    )
    mean = float(((first - second) / n).mean())
    shared = 1 / len(by_relation)
    size, difference = n + 2 * shared, (first - second) / (n + 2 * shared)
    variance = ((first + second + 2 * shared) / size - difference**2) / size
    half = NORMAL_QUANTILE * math.sqrt(variance.sum()) / len(by_relation)
    return Difference(
        mean,
        max(mean - half, -1.0),
        min(mean + half, 1.0),
        mcnemar_exact(pooled.first_only, pooled.second_only),
        pooled,
    )


def newcombe(
    first: tuple[float, float, float], second: tuple[float, float, float], correlation: float = 0.0
) -> tuple[float, float, float]:
    """Difference of two shares and its interval, from each share and its Wilson ends (Newcombe 1998, method 10)."""
    (share_1, low_1, high_1), (share_2, low_2, high_2) = first, second
    value = share_1 - share_2
    below = _joined(share_1 - low_1, high_2 - share_2, correlation)
    above = _joined(high_1 - share_1, share_2 - low_2, correlation)
    return value, max(value - below, -1.0), min(value + above, 1.0)


def benjamini_hochberg(p_values: ArrayLike) -> NDArray[np.float64]:
    """p-values adjusted for the false discovery rate (Benjamini and Hochberg 1995): significant at rate q where <= q.

    The family is exactly what is passed in, (tests,); a result is shown with the family's size.
    """
    p_values = np.asarray(p_values, dtype=np.float64)
    if p_values.ndim != 1:
        raise ValueError(f"p-values have the shape {p_values.shape}, expected (tests,)")
    if p_values.size == 0:
        return p_values
    if not ((p_values >= 0) & (p_values <= 1)).all():
        raise ValueError(f"p-values reach from {p_values.min()} to {p_values.max()}, expected 0 to 1")
    return np.asarray(scipy.stats.false_discovery_control(p_values, method="bh"))


def holm(p_values: ArrayLike, level: float = 1 - CONFIDENCE) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Holm's (1979) correction: one or more wrong rejections in the family have at most the probability ``level``.

    (tests,) adjusted p-values, and the level that judges each test: it is rejected exactly where its own p-value is at
    most that level, which does not rise after the first test that is not rejected.
    """
    p_values = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p_values, kind="stable")
    left = len(p_values) - np.arange(len(p_values))
    adjusted, levels = np.empty_like(p_values), np.empty_like(p_values)
    adjusted[order] = np.minimum(np.maximum.accumulate(p_values[order] * left), 1.0)
    not_rejected = np.flatnonzero(p_values[order] * left > level)
    stop = not_rejected[0] if len(not_rejected) else len(p_values)
    levels[order] = level / left[np.minimum(np.arange(len(p_values)), stop)] if len(p_values) else levels
    return adjusted, levels


def _correlation(counts: PairedCounts) -> float:
    """Newcombe's phi: a positive numerator is reduced by n / 2, but not below 0; 0 if a margin is empty."""
    a, b, c, d = counts.both, counts.first_only, counts.second_only, counts.neither
    margins = (a + b) * (c + d) * (a + c) * (b + d)
    if margins == 0:
        return 0.0
    product = a * d - b * c
    return (max(product - counts.n / 2, 0.0) if product > 0 else product) / math.sqrt(margins)


def _joined(first: float, second: float, phi: float) -> float:
    # Rounding can give slightly less than zero if phi is 1.
    return math.sqrt(max(first**2 - 2 * phi * first * second + second**2, 0.0))


#: Both ends, if an interval is not known.
UNKNOWN = (float("nan"), float("nan"))


class ClusterSums(NamedTuple):
    """Sums over the facts and the clusters (right answers) of each relation; NaN if unknown.

    A value x of a fact is 0 or 1, or the difference of two such values; ``squares`` is the sum of x squared.
    """

    n: ArrayLike
    total: ArrayLike
    squares: ArrayLike
    clusters: ArrayLike
    #: Sum over clusters of the squared change of the relation's mean without one; ``overall``: of all relations'.
    within: ArrayLike
    overall: ArrayLike


def answer_interval(
    sums: ClusterSums | NDArray[np.float64], average: str = "micro", least: float = 0.0
) -> tuple[float, float]:
    """95 % interval of a mean whose facts come in clusters; NaN without facts, or if a sum is not known.

    The variance is the jackknife's, which leaves out one cluster at a time, with Student's quantile at Satterthwaite's
    degrees of freedom. A plain sandwich is too narrow where one answer has half of a relation's facts. For macro the
    relations are fixed, as in ``intervals.macro``. A relation with a single answer has the variance of its facts.
    Answers that are all known, or all missed, count as certain, so this interval stands beside that over facts and does
    not replace it. ``least`` is the mean's lower bound: 0 for a share, -1 for a difference.
    """
    n, total, squares, clusters, within, _ = rows = np.array(sums, dtype=np.float64)[:, np.asarray(sums[0]) > 0]
    if not n.size or np.isnan(rows).any():
        return UNKNOWN
    if average == "micro":
        low, high = each_interval(rows.sum(axis=1, keepdims=True), least, "overall")
        return float(low[0]), float(high[0])
    means, variances, freedoms = _parts(n, total, squares, clusters, within)
    mean, variance = means.mean(), variances.sum()
    freedom = variance**2 / (variances**2 / freedoms).sum() if variance else 1.0
    half = _quantile(freedom) * np.sqrt(variance) / len(means)
    return float(max(mean - half, least)), float(min(mean + half, 1.0))


def each_interval(
    sums: ClusterSums | NDArray[np.float64], least: float = 0.0, spread: str = "within"
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Micro ``answer_interval`` of each entry alone: all lower and all upper ends, NaN where a sum is not known.

    An entry is a relation, or with the spread ``overall`` the sum of all relations.
    """
    rows = np.array(sums, dtype=np.float64)
    means, variances, freedoms = _parts(*rows[[0, 1, 2, 3, ClusterSums._fields.index(spread)]])
    half = _quantile(freedoms) * np.sqrt(variances)
    return np.maximum(means - half, least), np.minimum(means + half, 1.0)


def _parts(
    n: np.ndarray, total: np.ndarray, squares: np.ndarray, clusters: np.ndarray, within: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean, its variance and the degrees of freedom of each relation."""
    with np.errstate(invalid="ignore", divide="ignore"):
        means, several = total / n, clusters > 1
        freedoms = np.maximum(np.where(several, clusters, n) - 1, 1)
        variances = np.where(several, within * freedoms / clusters, np.maximum(squares / n - means**2, 0.0) / freedoms)
    return means, variances, freedoms


def _quantile(freedom: ArrayLike) -> NDArray[np.float64]:
    return np.asarray(special.stdtrit(freedom, 0.5 + 0.5 * CONFIDENCE))
