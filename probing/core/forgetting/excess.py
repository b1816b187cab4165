"""How much more often lost facts come back than their yardsticks do, with an interval over subjects and seeds."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

#: Upper ends of the bins of the base's confidence; the last bin goes up to 1.
CONFIDENCE_BINS = (0.1, 0.2, 0.3, 0.5, 0.7)
BINS = len(CONFIDENCE_BINS) + 1
#: A relation with fewer lost facts, or fewer wrong answers, is pooled with the others like it.
FEW = 20
#: The relation that pools those with few facts.
POOLED = "relations with few facts"
DRAWS = 1000
#: A way whose excess over each yardstick of a group is above 0 with its interval; one of which an excess is not above 0; one
#: whose interval holds 0, or that lacks a yardstick.
ABOVE, BELOW, UNKNOWN = VERDICTS = ("above its yardsticks", "not above its yardsticks", "cannot tell")


@dataclass(frozen=True)
class Outcomes:
    """Whether the answers of a group came back.

    Attributes:
        subjects: (facts,) number of each fact's subject; equal subjects have equal numbers in all groups.
        came_back: (seeds, facts) whether; one row for a way that nothing is drawn for, NaN where a seed did not ask the fact.
        confidence: (facts,) the base's probability of the answer.
        facts: (facts,) numbers of the facts.
    """

    subjects: NDArray[np.int64]
    came_back: NDArray[np.float64]
    confidence: NDArray[np.float64]
    facts: NDArray[np.int64]

    @property
    def n(self) -> int:
        """Number of facts."""
        return len(self.subjects)

    def of(self, chosen: NDArray[np.bool_]) -> "Outcomes":
        """Some of the facts."""
        return Outcomes(self.subjects[chosen], self.came_back[:, chosen], self.confidence[chosen], self.facts[chosen])


@dataclass(frozen=True)
class Excess:
    """A share minus that of a yardstick, with its 95 % interval.

    Attributes:
        share, yardstick: the two shares; of excesses at equal confidence both are standardised to the first group's confidence.
        low, high: interval of the difference.
        n, n_yardstick: facts that take part.
    """

    share: float
    yardstick: float
    low: float
    high: float
    n: int
    n_yardstick: int

    @property
    def value(self) -> float:
        return self.share - self.yardstick


def verdict(*intervals: tuple[float, float] | None) -> str:
    """What a way shows of lost facts: one of ``VERDICTS``.

    Args:
        intervals: of the excess over wrong answers of equal confidence, over never-known facts and over a random body; None if there
            are no facts to compare with.
    """
    measured = [one for one in intervals if one is not None]
    if not intervals or len(measured) < len(intervals):
        return UNKNOWN
    if min(low for low, _ in measured) > 0:
        return ABOVE
    return BELOW if min(high for _, high in measured) <= 0 else UNKNOWN


def excess(first: Outcomes, second: Outcomes, seed: int = 0) -> Excess | None:
    """Share of the first facts that came back minus share of the second; None if a side is empty."""
    return _excess(first, second, np.zeros(first.n, np.int64), np.zeros(second.n, np.int64), seed)


def excess_at_equal_confidence(first: Outcomes, second: Outcomes, seed: int = 0) -> Excess | None:
    """As ``excess``, within bins of the base's confidence, each with its weight among the first facts.

    Bins without facts on both sides take no part; None if there is no other.
    """
    return _excess(first, second, bins_of(first.confidence), bins_of(second.confidence), seed)


@dataclass(frozen=True)
class Share:
    """The share of some facts that came back, with its 95 % interval.

    Attributes:
        bin: of the base's confidence, from 0; None for all facts.
        n: number of facts.
        value: the share.
        low, high: its interval.
    """

    bin: int | None
    n: int
    value: float
    low: float
    high: float


def shares(outcomes: Outcomes, seed: int = 0) -> list[Share]:
    """The share of all facts that came back, and of those in each bin of confidence; bins without facts are left out."""
    if not outcomes.n:
        return []
    draws, bins = _Draws([outcomes], seed), bins_of(outcomes.confidence)
    once, drawn = (draws.sums(outcomes, bins, BINS, one) for one in (True, False))
    found = []
    for number in (None, *range(BINS)):
        n = outcomes.n if number is None else int((bins == number).sum())
        if n:
            chosen = slice(None) if number is None else slice(number, number + 1)
            value = float(once[0][:, chosen].sum() / once[1][:, chosen].sum())
            low, high = _ends(_shares(drawn[0][:, chosen].sum(1), drawn[1][:, chosen].sum(1)))
            found.append(Share(number, n, value, min(low, value), max(high, value)))
    return found


def pooled_relations(lost: Sequence[str], yardstick: Sequence[str]) -> dict[str, str]:
    """Relation -> its name in a table by relation: its own, or ``POOLED`` if it has few facts on one of the sides."""
    sides = [Counter(lost), Counter(yardstick)]
    return {name: name if min(side[name] for side in sides) >= FEW else POOLED for name in {*lost, *yardstick}}


def _excess(first: Outcomes, second: Outcomes, of_first: NDArray[np.int64], of_second: NDArray[np.int64], seed: int) -> Excess | None:
    """The excess of shares that are standardised to the first facts' parts."""
    keep_first, keep_second = np.isin(of_first, of_second), np.isin(of_second, of_first)
    if not keep_first.any():
        return None
    first, second, parts = first.of(keep_first), second.of(keep_second), int(of_first.max()) + 1
    of_first, of_second = of_first[keep_first], of_second[keep_second]
    draws = _Draws([first, second], seed)
    found = []
    for once in (True, False):
        hits, sizes = draws.sums(first, of_first, parts, once)
        own, others = _shares(hits, sizes), _shares(*draws.sums(second, of_second, parts, once))
        # A part that a draw has emptied on one side takes no part in it.
        weights = np.where(np.isnan(own) | np.isnan(others), 0, sizes)
        with np.errstate(invalid="ignore", divide="ignore"):
            found.append([(np.nan_to_num(side) * weights).sum(1) / weights.sum(1) for side in (own, others)])
    value, yardstick = (float(side[0]) for side in found[0])
    low, high = _ends(found[1][0] - found[1][1])
    return Excess(value, yardstick, min(low, value - yardstick), max(high, value - yardstick), first.n, second.n)


def bins_of(confidence: NDArray[np.float64]) -> NDArray[np.int64]:
    """Number of each confidence's bin, from 0."""
    return np.searchsorted(CONFIDENCE_BINS, confidence, side="right").astype(np.int64)


def _shares(hits: NDArray[np.float64], sizes: NDArray[np.float64]) -> NDArray[np.float64]:
    """NaN where there is nothing."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return hits / sizes


def _ends(drawn: NDArray[np.float64]) -> tuple[float, float]:
    low, high = np.nanquantile(drawn, [0.025, 0.975])
    return float(low), float(high)


class _Draws:
    """Draws of subjects and seeds. A subject has one weight in all groups: how often it is drawn, which is Poisson with mean 1."""

    def __init__(self, groups: Sequence[Outcomes], seed: int) -> None:
        random = np.random.default_rng(seed)
        self._subjects = np.unique(np.concatenate([group.subjects for group in groups]))
        seeds = max(len(group.came_back) for group in groups)
        self._weights = random.poisson(1.0, (DRAWS, len(self._subjects))).astype(float)
        self._seeds = random.multinomial(seeds, np.full(seeds, 1 / seeds), DRAWS).astype(float)

    def sums(self, group: Outcomes, part: NDArray[np.int64], parts: int, once: bool) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """(draws, parts) how many came back and how many were asked, over the drawn seeds; ``once``: one draw of everything once."""
        asked = ~np.isnan(group.came_back)
        place = np.searchsorted(self._subjects, group.subjects) * parts + part
        size = len(self._subjects) * parts
        counted = [
            np.stack([np.bincount(place, weights=row, minlength=size) for row in rows]).reshape(len(rows), len(self._subjects), parts)
            for rows in (np.nan_to_num(group.came_back), asked.astype(float))
        ]
        weights = np.ones((1, len(self._subjects))) if once else self._weights
        # A group with one row has no seeds to draw.
        seeds = np.ones((len(weights), len(group.came_back))) if once or len(group.came_back) == 1 else self._seeds
        hits, sizes = (np.einsum("ds,sdp->dp", seeds, np.matmul(weights, rows)) for rows in counted)
        return hits, sizes
