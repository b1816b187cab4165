"""What is recorded of a quantity."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Metric:
    """A quantity with everything a reader needs to judge it.

    Attributes:
        name: key in ``METRICS``.
        label: what a figure writes, "P@1".
        unit: "share of facts", "rank", "nats", ...
        low: smallest value possible; None where there is none.
        high: largest value possible; None where there is none.
        better: which direction is more knowledge; ``neither`` where no direction is better.
        definition: one or two sentences.
        ties: what happens to equal scores.
        empty: the value where there is nothing to count.
        source: paper that defines it, and where we depart from it.
        computed_in: the function that gives it, below ``probing``.
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
