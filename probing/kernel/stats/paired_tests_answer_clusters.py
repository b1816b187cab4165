"""Intervals for the case that the answers are drawn again, too: a cluster is a relation's right answer.

A model that has learnt an answer gives it to many facts, so the facts of one answer are known or missed together. An
interval over single facts speaks of other facts with the same answers.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from probing.kernel.stats.intervals import CONFIDENCE

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
    rows = ClusterSums(*np.array(sums, dtype=np.float64))
    means, variances, freedoms = _parts(*rows[:4], getattr(rows, spread))
    half = _quantile(freedoms) * np.sqrt(variances)
    return np.maximum(means - half, least), np.minimum(means + half, 1.0)


def _parts(n, total, squares, clusters, within) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean, its variance and the degrees of freedom of each relation."""
    with np.errstate(invalid="ignore", divide="ignore"):
        means, several = total / n, clusters > 1
        freedoms = np.maximum(np.where(several, clusters, n) - 1, 1)
        variances = np.where(several, within * freedoms / clusters, np.maximum(squares / n - means**2, 0.0) / freedoms)
    return means, variances, freedoms


def _quantile(freedom: ArrayLike) -> NDArray[np.float64]:
    return special.stdtrit(freedom, 0.5 + 0.5 * CONFIDENCE)
