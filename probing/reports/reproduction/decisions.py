"""Yes, no or "cannot tell": criteria on numbers with intervals, and combinations of such criteria."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

HOLDS, FAILS, UNSURE, UNTESTED = "holds", "does not hold", "cannot tell", "cannot be tested"
VERDICTS = (HOLDS, FAILS, UNSURE, UNTESTED)
#: True or False if the criterion has one answer over the whole interval, None if the ends disagree.
Answer = bool | None
#: Tolerance for rounding errors in sums of floats.
_HAIR = 1e-9


class Interval(NamedTuple):
    """A number with its lower and upper end."""

    value: float
    low: float
    high: float


def intervals(rows: pd.DataFrame, columns: Sequence[str] = Interval._fields) -> list[Interval]:
    """The rows of a table as numbers with their ends."""
    return [Interval(*map(float, row)) for row in rows[list(columns)].itertuples(index=False)]


def at_most(number: Interval, limit: float) -> Answer:
    """Is it ``limit`` or less?"""
    return True if number.high <= limit + _HAIR else False if number.low > limit + _HAIR else None


def at_least(number: Interval, limit: float) -> Answer:
    """Is it ``limit`` or more?"""
    return True if number.low >= limit - _HAIR else False if number.high < limit - _HAIR else None


def less(number: Interval, limit: float) -> Answer:
    """Is it less than ``limit``?"""
    return opposite(at_least(number, limit))


def more(number: Interval, limit: float) -> Answer:
    """Is it more than ``limit``?"""
    return opposite(at_most(number, limit))


def between(number: Interval, low: float, high: float) -> Answer:
    """Is it ``low`` to ``high``?"""
    return every([at_least(number, low), at_most(number, high)])


def opposite(answer: Answer) -> Answer:
    """The answer to the opposite question."""
    return None if answer is None else not answer


def every(answers: Iterable[Answer]) -> Answer:
    """True if all are, False if one is not."""
    known = list(answers)
    return False if False in known else None if None in known else True


def some(answers: Iterable[Answer]) -> Answer:
    """True if one is, False if none is."""
    known = list(answers)
    return True if True in known else None if None in known else False


def most(answers: Iterable[Answer]) -> Answer:
    """True if more than half are, False if that is impossible."""
    known = list(answers)
    half = len(known) / 2
    return True if known.count(True) > half else False if known.count(False) >= half else None


def verdict(answer: Answer) -> str:
    """The verdict of a rule whose criterion has this answer."""
    return {True: HOLDS, False: FAILS, None: UNSURE}[answer]


def apart(first: Interval, second: Interval) -> Interval:
    """The difference of two independent numbers, first minus second, with its interval (Zou and Donner 2008)."""
    value = first.value - second.value
    below = np.hypot(first.value - first.low, second.high - second.value)
    above = np.hypot(first.high - first.value, second.value - second.low)
    return Interval(value, float(value - below), float(value + above))
