"""The record that describes a quantity."""

import re
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Metric:
    """A quantity with everything a reader needs to judge it.

    Attributes:
        name: key in ``METRICS``.
        label: its name in figures, "P@1".
        unit: "share of facts", "rank", "nats", ...
        low: smallest possible value; None if there is none.
        high: largest possible value; None if there is none.
        better: the better direction; ``neither`` if no direction is better.
        definition: its first sentence says what it is; intervals, tests and exceptions follow.
        ties: how equal scores are handled.
        empty: the value if there is nothing to count.
        source: the paper that defines it, and where we differ from it.
        computed_in: the function that computes it, below ``probing``.
    """

    name: str
    label: str
    unit: str
    low: float | None
    high: float | None
    better: Literal["higher", "lower", "neither"]
    definition: str
    ties: str
    empty: str
    source: str
    computed_in: str

    @property
    def meaning(self) -> str:
        """The first sentence of the definition, without its full stop."""
        return re.split(r"\. (?=[A-Z])", self.definition)[0].rstrip(".")
