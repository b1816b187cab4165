"""95 % intervals of shares and means from counts, many at once, and when a number may be shown."""

import itertools
import math
import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import special

_One = TypeVar("_One")
_Other = TypeVar("_Other")

#: Mean over relations, and over facts.
AVERAGES = ("macro", "micro")
CONFIDENCE = 0.95
#: 97.5 % quantile of the standard normal distribution.
NORMAL_QUANTILE = float(special.ndtri(0.5 + 0.5 * CONFIDENCE))


@dataclass(frozen=True)
class RelationCounts:
    """What is known about the facts of one relation in one run at one layer."""

    relation: str
    n: int
    #: Facts with rank <= k; a fact whose answer ties with others may be a part of one.
    hits: float
    #: Sum of a value in [0, 1] over the facts (reciprocal ranks), if a mean is wanted, and of its squares.
    sum_value: float | None = None
    sum_squared: float | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.hits <= self.n:
            raise ValueError(
                f"relation {self.relation!r} has {self.hits} hits of {self.n} facts, expected 0 to {self.n}"
            )


@dataclass(frozen=True)
class Estimate:
    """A share or mean in [0, 1] with its 95 % interval; all three None if there are no facts."""

    value: float | None
    low: float | None
    high: float | None
    n: int
    #: Those with at least one fact.
    relations: int


def micro(counts: Sequence[RelationCounts]) -> Estimate:
    """Share of hits over all facts, with Wilson's interval (Wilson 1927)."""
    counts = _with_facts(counts)
    n, hits = sum(c.n for c in counts), sum(c.hits for c in counts)
    if n == 0:
        return Estimate(None, None, None, 0, 0)
    low, high = wilson_mean(hits / n, n)
    return Estimate(hits / n, low, high, n, len(counts))


def macro(counts: Sequence[RelationCounts], seed: int = 0, draws: int = 2000) -> Estimate:
    """Mean over relations of their shares of hits, with an interval from draws; a single relation has Wilson's.

    The relations themselves are fixed: the interval speaks of these relations, not of relations at large. A relation
    without facts takes no part; equal counts and seeds give equal intervals.

    A bootstrap of the facts would treat relations without hits as certain, so shares are drawn from beta distributions.
    The distribution for h hits in n facts has the weight of n - 1 facts, so that it is as wide as the share of n
    resampled facts. Its centre is the share of the relation's facts and one more fact that is worth the mean over
    relations. Half a hit and half a miss are divided among all relations; half a hit in *every* relation (Jeffreys)
    would add up: for 41 relations of 20 facts of which 1 % are known, no interval would contain the true mean. In
    simulations these intervals contain it in 92 to 98 % of the cases, for few and many relations, rare and frequent
    hits. A binomial draw of hits on top would double the variance.
    """
    counts = _with_facts(counts)
    if not counts:
        return Estimate(None, None, None, 0, 0)
    if len(counts) == 1:
        return micro(counts)
    mean = math.fsum(c.hits / c.n for c in counts) / len(counts)
    low, high = _macro_ends(tuple(counts), seed, draws)
    return Estimate(mean, min(low, mean), max(high, mean), sum(c.n for c in counts), len(counts))


def macro_draws(
    counts: Sequence[RelationCounts], seed: int | Sequence[int] = 0, draws: int = 2000
) -> NDArray[np.float64]:
    """(draws,) means over relations of the shares that ``macro`` draws for its interval; there must be facts."""
    counts = _with_facts(counts)
    n, hits = np.array([c.n for c in counts]), np.array([c.hits for c in counts])
    return np.asarray(drawn_shares(n, hits, np.random.default_rng(seed), draws).mean(axis=1))


def micro_mean(counts: Sequence[RelationCounts]) -> Estimate:
    """Mean value (MRR) over all facts, with Student's interval cut to [0, 1]; a single fact has all of [0, 1]."""
    counts = _with_facts(counts)
    n = sum(c.n for c in counts)
    if n == 0:
        return Estimate(None, None, None, 0, 0)
    total, squares = (math.fsum(sums) for sums in zip(*map(_sums, counts), strict=True))
    mean = total / n
    if n == 1:
        return Estimate(mean, 0.0, 1.0, 1, 1)
    error = math.sqrt(_variance(n, total, squares) / (n - 1))
    return _with_interval(mean, error, n, len(counts), float(special.stdtrit(n - 1, 0.5 + 0.5 * CONFIDENCE)))


def macro_mean(counts: Sequence[RelationCounts]) -> Estimate:
    """Mean over relations of their mean values (MRR), with a normal interval, cut to [0, 1].

    Its variance is the one that a bootstrap of the facts within each relation has: the mean of the relations'
    variances / n, over the number of relations. Only sums are stored, so the facts themselves are not drawn.
    """
    counts = _with_facts(counts)
    if not counts:
        return Estimate(None, None, None, 0, 0)
    means = [_sums(c)[0] / c.n for c in counts]
    error = math.sqrt(math.fsum(_variance(c.n, *_sums(c)) / c.n for c in counts)) / len(counts)
    return _with_interval(math.fsum(means) / len(means), error, sum(c.n for c in counts), len(counts), NORMAL_QUANTILE)


def pigeonhole(
    values: np.ndarray, first: np.ndarray, second: np.ndarray | None = None, seed: int = 0, draws: int = 1000
) -> tuple[np.ndarray, np.ndarray]:
    """(columns,) ends of the 95 % intervals of the means of (rows, columns) values, NaN where a row has none.

    ``first`` and ``second`` are the clusters (right answers) of each row; a bootstrap draws clusters, and a row that is
    of two has the product of their weights (Owen 2007). Without ``second`` it is the usual bootstrap of clusters.
    """
    clusters = 1 + max(int(first.max()), -1 if second is None else int(second.max()))
    drawn = np.random.default_rng(seed).multinomial(clusters, np.full(clusters, 1 / clusters), size=draws)
    weights = (drawn[:, first] * (1 if second is None else drawn[:, second])).astype(np.float64)
    known, ends = ~np.isnan(values), np.full((2, values.shape[1]), np.nan)
    some = known.any(axis=0)
    with np.errstate(invalid="ignore"):
        means = weights @ np.where(known, values, 0.0)[:, some] / (weights @ known[:, some])
    ends[:, some] = np.nanquantile(means, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2], axis=0)
    return ends[0], ends[1]


def wilson(hits: int, n: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share of ``hits`` in ``n`` > 0: scipy's takes a thousand times as long."""
    hits, n = int(hits), int(n)
    if n < 1 or not 0 <= hits <= n:
        raise ValueError(f"got {hits} hits of {n} facts, expected 0 to n hits of at least one fact")
    return wilson_mean(hits / n, n)


def wilson_mean(mean: float, n: int) -> tuple[float, float]:
    """Wilson's 95 % interval for the mean of ``n`` > 0 values in [0, 1], which is never too narrow for them."""
    if n < 1 or not 0 <= mean <= 1:
        raise ValueError(f"got a mean of {mean} over {n} values, expected 0 to 1 over at least one value")
    denominator = 2 * (n + NORMAL_QUANTILE**2)
    centre = (2 * n * mean + NORMAL_QUANTILE**2) / denominator
    half = NORMAL_QUANTILE / denominator * math.sqrt(4 * n * mean * (1 - mean) + NORMAL_QUANTILE**2)
    # Where centre and half are equal, they differ by rounding.
    return 0.0 if mean == 0 else max(centre - half, 0.0), 1.0 if mean == 1 else min(centre + half, 1.0)


def fisher(correlation: float, n: int) -> tuple[float, float]:
    """Fisher's 95 % interval of a correlation over ``n`` > 0 pairs, approximate for classes (Matthews' coefficient).

    A perfect correlation is taken as if half a pair were wrong; with three pairs or fewer the interval is -1 to 1.
    """
    if n < 1 or not -1 <= correlation <= 1:
        raise ValueError(f"got a correlation of {correlation} over {n} pairs, expected -1 to 1 over at least one pair")
    if n <= 3:
        return -1.0, 1.0
    inside = correlation if abs(correlation) < 1 else math.copysign(1 - 1 / n, correlation)
    centre, half = math.atanh(inside), NORMAL_QUANTILE / math.sqrt(n - 3)
    return min(math.tanh(centre - half), correlation), max(math.tanh(centre + half), correlation)


def _with_facts(counts: Sequence[RelationCounts]) -> list[RelationCounts]:
    """Counts with at least one fact, by name, so that the order of rows changes nothing."""
    with_facts = sorted((c for c in counts if c.n), key=lambda c: c.relation)
    for before, after in itertools.pairwise(with_facts):
        if before.relation == after.relation:
            raise ValueError(
                f"relation {after.relation!r} is counted twice, expected one entry per relation; add them up"
            )
    return with_facts


def _sums(counts: RelationCounts) -> tuple[float, float]:
    if counts.sum_value is None or counts.sum_squared is None:
        raise ValueError(f"relation {counts.relation!r} has no sum_value or sum_squared, expected both for a mean")
    return counts.sum_value, counts.sum_squared


@lru_cache(maxsize=4096)
def _macro_ends(counts: tuple[RelationCounts, ...], seed: int, draws: int) -> tuple[float, float]:
    """Ends of ``macro``'s interval; kept, because pages share most points and one takes milliseconds."""
    return _percentiles(macro_draws(counts, seed, draws))


def drawn_shares(n: np.ndarray, hits: np.ndarray, random: np.random.Generator, draws: int) -> np.ndarray:
    """(draws, relations) shares of each relation, as ``macro`` says."""
    weight, centre, shared = np.maximum(n - 1, 0.5), (hits + (hits / n).mean()) / (n + 1), 0.5 / len(n)
    return random.beta(weight * centre + shared, weight * (1 - centre) + shared, size=(draws, len(n)))


def _percentiles(means: np.ndarray) -> tuple[float, float]:
    low, high = np.quantile(means, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return float(low), float(high)


def _variance(n: int, total: float, squares: float) -> float:
    # Sums of floats can be slightly below zero if all values are equal.
    return max(squares / n - (total / n) ** 2, 0.0)


def _with_interval(mean: float, error: float, n: int, relations: int, quantile: float) -> Estimate:
    half = quantile * error
    return Estimate(mean, max(mean - half, 0.0), min(mean + half, 1.0), n, relations)


#: A baseline comes from at least this number of facts of a probe set or relation. The most frequent answer of two facts
#: is right for one of them at least, and that of ten for one in ten, whatever the facts are; from 50 facts on, this
#: part is 2 per cent at most.
MIN_FACTS = 50


def may_be_shown(facts: float) -> bool:
    """Whether a baseline counted on this number of facts may be shown; not if the number is missing (NaN)."""
    return facts >= MIN_FACTS


#: A user's own set of fewer items has intervals that are too wide for most differences between layers or models: its
#: page states the width.
SMALL_SET = 1000


def widest(items: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share of one half of so many items: no other share has a wider one."""
    return wilson_mean(0.5, items)


def whole_shares(sizes: Sequence[int], total: int = 100) -> list[int]:
    """Sizes as whole numbers of ``total``: rounded down, and the rest to the largest remainders, first come first.

    >>> whole_shares([1, 1, 1]), whole_shares([0, 0])
    ([34, 33, 33], [0, 0])
    """
    whole = sum(sizes)
    if not whole:
        return [0] * len(sizes)
    shares = [size * total // whole for size in sizes]
    remainders = sorted(range(len(sizes)), key=lambda place: -(sizes[place] * total % whole))
    for place in remainders[: total - sum(shares)]:
        shares[place] += 1
    return shares


def wider(table: pd.DataFrame) -> pd.DataFrame:
    """The table with the outer ends of both intervals as low and high; where ``_answers`` are empty, ends stay."""
    ends = {}
    for name in (name for name in table if str(name).endswith(("low_answers", "high_answers"))):
        end = str(name).removesuffix("_answers")
        both = table[[end, name]].astype("float64")
        ends[end] = both.min(axis=1) if end.endswith("low") else both.max(axis=1)
    return table.assign(**ends)


#: More threads would only wait for each other: NumPy draws run in parallel, the Python code between them does not.
_THREADS = min(4, os.cpu_count() or 1)


def parallel_map(make: Callable[[_One], _Other], of: Iterable[_One]) -> list[_Other]:
    """``make`` of every item, in order; NumPy draws for several items in parallel."""
    many = list(of)
    if len(many) < 2 or _THREADS < 2:
        return [make(one) for one in many]
    with ThreadPoolExecutor(_THREADS) as pool:
        return list(pool.map(make, many))
