"""Does a way bring back what the base has read, or only what it would guess? The one test in which *memory* is said.

Right answers that the base's training text states are compared with right answers that it never had, at equal
confidence of the base. Both are right answers that fine-tuning lost; no sentence of the text has the second ones, so
they were guessed or inferred. It can miss memories: a difference of 0 does not show that there are none.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from probing.kernel.stats.equal_confidence import Answers, Difference, at_equal_confidence

#: What is said where there is no test.
NO_TEST = (
    "Nothing is said of memory: it is not known fact by fact what the base's training text states, or too few facts of"
    " one kind are lost."
)
MEMORY, GUESSES, UNKNOWN, NOTHING = VERDICTS = (
    "memory",
    "no more than good guesses",
    "cannot tell",
    "nothing comes back",
)
#: A difference whose interval includes 0 and ends below this is small.
SMALL = 0.03
#: Where less of both groups comes back, nothing is tested.
LEAST = 0.01
#: Exposures of answers that the text states (or that were taught), and that it never had. Facts with evidence sentences
#: are in neither.
STATED, NEVER_HAD = ("stated", "planted"), ("unseen", "held out", "guessed")


@dataclass(frozen=True)
class Memory:
    """What the test found of one way: share of stated answers that come back minus that of answers the text never had.

    ``low_without`` to ``high_without`` is its interval without the commonest of the answers that the text never had.
    """

    difference: Difference
    low_without: float
    high_without: float

    @property
    def verdict(self) -> str:
        """One of ``VERDICTS``."""
        each = self.difference
        return verdict(max(each.share, each.yardstick), each.low, each.high, self.low_without, self.high_without)


def verdict(back: float, low: float, high: float, low_without: float, high_without: float) -> str:
    """What an interval of a difference says, if it says the same without the largest cluster; ``back``: the larger of
    the two shares.

    >>> verdict(0.8, 0.01, 0.05, 0.02, 0.06), verdict(0.8, -0.04, 0.02, -0.04, 0.02)
    ('memory', 'no more than good guesses')
    >>> verdict(0.8, 0.01, 0.05, -0.01, 0.06)
    'cannot tell'
    """
    if back < LEAST:
        return NOTHING
    ends = ((low, high), (low_without, high_without))
    overall, without = (MEMORY if lower > 0 else GUESSES if upper < SMALL else UNKNOWN for lower, upper in ends)
    return overall if overall == without else UNKNOWN


def detectable(error: float) -> float:
    """The difference that a test with this standard error would call memory in four of five cases."""
    return float(error * (special.ndtri(0.975) + special.ndtri(0.8)))


def describe(outcome: str, value: float, ends: Sequence[float], seen: float) -> str:
    """The test of one way in words; ``ends``: its interval with and without the commonest answer.

    >>> describe(UNKNOWN, 0.031, (-0.011, 0.074, -0.02, 0.07), 0.06)
    'cannot tell: +3.1 points (-1.1 to 7.4); about 6.0 would be seen in 4 of 5 cases'
    """
    low, high, low_without, high_without = (100 * end for end in ends)
    words = f"{outcome}: {100 * value:+.1f} points ({low:.1f} to {high:.1f})"
    if outcome != UNKNOWN:
        return words if outcome != NOTHING else outcome
    if low > 0 or high < 100 * SMALL:
        return f"{words}, but {low_without:.1f} to {high_without:.1f} without the commonest answer"
    return f"{words}; about {100 * seen:.1f} would be seen in 4 of 5 cases"


def memory(lost: Answers, exposure: Sequence[str]) -> Memory | None:
    """The test of one way; None if a group is too small to compare.

    ``exposure`` is how each of all lost facts occurs in the base's training text; empty where that is not known.
    """
    kinds = np.array(exposure)
    stated, never = lost.of(np.isin(kinds, STATED)), lost.of(np.isin(kinds, NEVER_HAD))
    whole = at_equal_confidence(stated, never, both=True)
    if whole is None:
        return None
    clusters, sizes = np.unique(never.clusters, return_counts=True)
    largest = clusters[sizes.argmax()]
    without = at_equal_confidence(stated.of(stated.clusters != largest), never.of(never.clusters != largest), both=True)
    low, high = (without.low, without.high) if without else (-1.0, 1.0)
    return Memory(whole, low, high)
