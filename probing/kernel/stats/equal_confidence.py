"""Shares of answers that come back, minus those of a yardstick, with intervals over answers and trainings.

An answer of a relation is right for many facts, which come back together. So every interval is cluster-robust (the
sandwich of Liang and Zeger 1986) over pairs of relation and answer, plus the variation between the training's seeds.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse, special

#: Knots of the spline, as quantiles of the first group's confidences (Harrell 2015, "Regression Modeling Strategies",
#: table 2.3).
_KNOTS = (0.05, 0.275, 0.5, 0.725, 0.95)
#: Share of the variance of an effect that keeps its estimate finite where a relation has only answers of one kind.
_RIDGE = 1e-4
#: Newton's steps; ten are usual.
_STEPS = 60
_CONFIDENCE = 0.95


@dataclass(frozen=True)
class Answers:
    """Whether the answers of a group came back, (seeds, answers): one row for a way that nothing is drawn for.

    The rest is (answers,): the base's probability, relation and answer, by numbers that are the same in all groups.
    """

    back: NDArray[np.bool_]
    confidence: NDArray[np.float64]
    relations: NDArray[np.int64]
    answers: NDArray[np.int64]

    @property
    def n(self) -> int:
        """Number of answers."""
        return len(self.confidence)

    @property
    def clusters(self) -> NDArray[np.int64]:
        """(answers,) number of each pair of relation and answer; equal in all groups."""
        return self.relations * (1 << 32) + self.answers

    def of(self, chosen: NDArray[np.bool_] | NDArray[np.int64]) -> "Answers":
        """Some of the answers, by whether or by their places."""
        return Answers(self.back[:, chosen], self.confidence[chosen], self.relations[chosen], self.answers[chosen])


@dataclass(frozen=True)
class Difference:
    """A share minus that of a yardstick, with its 95 % interval and standard error; n are the answers that take part.

    At equal confidence both shares are of the first group's relations and confidences.
    """

    share: float
    yardstick: float
    low: float
    high: float
    error: float
    n: int
    n_yardstick: int

    @property
    def value(self) -> float:
        return self.share - self.yardstick


@dataclass(frozen=True)
class Share:
    """The share of a group that came back, with its 95 % interval cut to 0 and 1, and the group's size."""

    value: float
    low: float
    high: float
    n: int


def share(group: Answers) -> Share | None:
    """The share of a group that came back; None if it is empty."""
    if not group.n:
        return None
    value, low, high, _ = _interval(group.back, group.clusters, lambda back: _mean(back, group.clusters))
    return Share(value, max(0.0, low), min(1.0, high), group.n)


def paired(first: Answers, second: Answers) -> Difference | None:
    """The share of the first group minus that of the second, which has a partner for each of the first.

    Partners have one relation and answer. None if the groups are empty; of unequal numbers of seeds the first ones
    count.
    """
    if not first.n:
        return None
    seeds = min(len(first.back), len(second.back))
    each = first.back[:seeds].astype(float) - second.back[:seeds]
    value, low, high, error = _interval(each, first.clusters, lambda differences: _mean(differences, first.clusters))
    own = float(first.back[:seeds].mean())
    return Difference(own, own - value, low, high, error, first.n, second.n)


def at_equal_confidence(first: Answers, second: Answers, both: bool = False) -> Difference | None:
    """The share of the first group minus that of the second at the same relations and the same confidence of the base.

    A logistic regression of coming back on the group, the relation and a natural spline of the logit of the base's
    probability; only relations that both groups have take part. The difference is the mean over the first group's
    relations and confidences, with ``both`` also the second's. None without such a relation, or if a group has only one
    pair of relation and answer.
    """
    first, second = (
        first.of(np.isin(first.relations, second.relations)),
        second.of(np.isin(second.relations, first.relations)),
    )
    clusters = np.concatenate([first.clusters, second.clusters])
    fewest = min(len(np.unique(group.clusters)) for group in (first, second))
    if fewest < 2:
        return None
    seeds = min(len(first.back), len(second.back))
    back = np.concatenate([first.back[:seeds], second.back[:seeds]], axis=1)
    # Every answer is in one relation, so that nearly all of a row is 0.
    design = sparse.csr_array(_design(first, second))
    others = design[slice(None) if both else slice(first.n), 1:]
    shares: list[tuple[float, float]] = []

    def difference(outcomes: NDArray[np.float64]) -> tuple[float, float]:
        weights, spread = _logistic(design, outcomes, clusters)
        sides = [special.expit(others @ weights[1:] + group) for group in (weights[0], 0)]
        bends = [side * (1 - side) for side in sides]
        gradient = np.r_[bends[0].mean(), (bends[0] - bends[1]) @ others / others.shape[0]]
        shares.append((float(sides[0].mean()), float(sides[1].mean())))
        return shares[-1][0] - shares[-1][1], float(gradient @ spread @ gradient)

    _, low, high, error = _interval(back, clusters, difference, fewest)
    # The first fit is that of all seeds together.
    return Difference(*shares[0], low, high, error, first.n, second.n)


def randomised(
    values: NDArray[np.float64], chosen: NDArray[np.bool_], clusters: NDArray[np.int64]
) -> Difference | None:
    """The mean of the values that a coin chose, minus that of the others; all (answers,).

    None if either side has only one cluster.
    """
    sides = (chosen, ~chosen)
    fewest = min(len(np.unique(clusters[side])) for side in sides)
    if fewest < 2:
        return None
    own, other = (float(values[side].mean()) for side in sides)
    _, place = np.unique(clusters, return_inverse=True)
    sums = np.bincount(place, np.where(chosen, (values - own) / chosen.sum(), (other - values) / (~chosen).sum()))
    variance = float(sums @ sums) * _few(len(sums))
    _, low, high, error = _interval(values[None], clusters, lambda _: (own - other, variance), fewest)
    return Difference(own, other, low, high, error, int(chosen.sum()), int((~chosen).sum()))


def _interval(
    back: NDArray[np.float64] | NDArray[np.bool_],
    clusters: NDArray[np.int64],
    estimate: Callable[[NDArray[np.float64]], tuple[float, float]],
    fewest: int | None = None,
) -> tuple[float, float, float, float]:
    """A number with its interval and standard error, from the mean over seeds and from every seed, (seeds, answers).

    ``estimate``: (answers,) -> the number and its variance over clusters, of which ``fewest`` are the smaller group's.
    """
    value, variance = estimate(back.mean(0))
    few = fewest or len(np.unique(clusters))
    # A group that comes back as one has no residuals: at least the variance of Agresti and Coull (1998) of a share of
    # 0.
    variance, degrees = max(variance, 2 / (few + 4) ** 2), max(1.0, few - 1)
    if len(back) > 1:
        of_seeds = float(np.var([estimate(seed_back.astype(float))[0] for seed_back in back], ddof=1)) / len(back)
        total = variance + of_seeds
        # Welch and Satterthwaite: few seeds count for little only if they vary little.
        parts = variance**2 / degrees + of_seeds**2 / (len(back) - 1)
        variance, degrees = total, total**2 / parts if parts else degrees
    error = float(np.sqrt(variance))
    half = float(special.stdtrit(degrees, 0.5 + _CONFIDENCE / 2)) * error
    return value, value - half, value + half, error


def _mean(values: NDArray[np.float64], clusters: NDArray[np.int64]) -> tuple[float, float]:
    """The mean, and its variance over clusters."""
    mean = float(values.mean())
    _, place = np.unique(clusters, return_inverse=True)
    sums = np.bincount(place, values - mean)
    return mean, float(sums @ sums) * _few(len(sums)) / len(values) ** 2


def _few(clusters: int) -> float:
    """The usual correction of a sandwich for few clusters."""
    return clusters / max(1, clusters - 1)


def _design(first: Answers, second: Answers) -> NDArray[np.float64]:
    """(answers, effects): group, a column for each relation, spline."""
    relations = np.concatenate([first.relations, second.relations])
    group = np.r_[np.ones(first.n), np.zeros(second.n)][:, None]
    logits = [special.logit(np.clip(answers.confidence, 1e-6, 1 - 1e-6)) for answers in (first, second)]
    spline = _spline(np.concatenate(logits), np.unique(np.quantile(logits[0], _KNOTS)))
    return np.hstack([group, relations[:, None] == np.unique(relations), spline])


def _spline(values: NDArray[np.float64], knots: NDArray[np.float64]) -> NDArray[np.float64]:
    """(values, knots - 1) restricted cubic spline, which is linear below the first and above the last knot."""
    if len(knots) < 3:
        return np.asarray(values[:, None] - values.mean())
    span = knots[-1] - knots[0]

    def cube(knot: float) -> NDArray[np.float64]:
        return np.asarray(np.maximum(values - knot, 0) ** 3 / span**2)

    last, before = knots[-1], knots[-2]
    bends = [
        cube(knot) - cube(before) * (last - knot) / (last - before) + cube(last) * (before - knot) / (last - before)
        for knot in knots[:-2]
    ]
    columns = np.stack([values, *bends], axis=1)
    return np.asarray((columns - columns.mean(0)) / np.maximum(columns.std(0), 1e-12))


def _logistic(
    design: sparse.csr_array, back: NDArray[np.float64], clusters: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Effects of a logistic regression, and their covariance over clusters; ``back`` may be a share of seeds."""
    weights = np.zeros(design.shape[1])
    ridge = np.full(len(weights), _RIDGE)

    def curvature(chance: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray((design.T @ (sparse.diags_array(chance * (1 - chance)) @ design)).toarray() + np.diag(ridge))

    for _ in range(_STEPS):
        chance = special.expit(design @ weights)
        slope = design.T @ (back - chance) - ridge * weights
        step = np.linalg.solve(curvature(chance), slope)
        # A step in which a relation without exceptions would run away is shortened.
        weights = weights + step * min(1.0, 5 / np.abs(step).max())
        if np.abs(step).max() < 1e-8:
            break
    chance = special.expit(design @ weights)
    _, place = np.unique(clusters, return_inverse=True)
    scores = sparse.csr_array((back - chance, (place, np.arange(len(place))))) @ design
    bread = np.linalg.inv(curvature(chance))
    return weights, bread @ (scores.T @ scores).toarray() @ bread * _few(scores.shape[0])
