"""The record that describes a quantity."""

import re
from dataclasses import dataclass
from typing import Literal

#: A fact is known at k if its answer has rank <= k, for each of these k.
RANKS = (1, 10, 100)


@dataclass(frozen=True)
class Metric:
    """A quantity with everything a reader needs to judge it."""

    name: str
    label: str
    unit: str
    low: float | None
    high: float | None
    better: Literal["higher", "lower", "neither"]
    #: Its first sentence says what it is; intervals, tests and exceptions follow.
    definition: str
    ties: str
    empty: str
    #: The paper that defines it, and where we differ from it.
    source: str
    #: The function that computes it, below ``probing``.
    computed_in: str

    @property
    def meaning(self) -> str:
        """The first sentence of the definition, without its full stop."""
        return re.split(r"\. (?=[A-Z])", self.definition)[0].rstrip(".")


@dataclass(frozen=True)
class Term:
    """A term in the singular, with its meaning in one phrase without a full stop and other words for it.

    The source is the paper or library that has the word; "ours" if none has.
    """

    name: str
    meaning: str
    source: str
    forms: tuple[str, ...] = ()
