"""The record that describes a quantity."""

import re
from dataclasses import dataclass
from typing import Literal


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
