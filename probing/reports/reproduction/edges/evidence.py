"""The evidence for a claim on edge probing: the numbers of one encoder, ours or one of the paper's, with their intervals."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import pandas as pd
from numpy.typing import NDArray

from probing.core.edges import numbers
from probing.reports.reproduction.curve_shapes import Curve, interval
from probing.reports.reproduction.decisions import Interval, apart
from probing.reports.reproduction.findings import Evidence

#: Titles of the tasks in a sentence.
CALLED = {
    "pos": "part of speech",
    "constituents": "constituents",
    "dependencies": "dependencies",
    "entities": "entities",
    "srl": "semantic roles",
    "coreference": "coreference",
    "proto-roles": "proto-roles",
    "relations": "relations",
}
#: Measures of mixing weights: ``middle`` is the weight of layers 9/24 to 20/24 of the depth together.
MEASURES = ("centre_of_gravity", "k_weights", "middle")
MIDDLE = (9 / 24, 20 / 24)
PLACE_COLUMNS = ("task", "measure", "value", "low", "high")
SETTLED_COLUMNS = ("later", "earlier", "sentences", "before")
ORDER_COLUMNS = ("first", "second", "value", "low", "high")


@dataclass(frozen=True)
class EdgeEvidence(Evidence):
    """The numbers of one encoder. Unknown numbers have no entry.

    Attributes:
        name: its name in sentences.
        depth: number of layers above the embeddings.
        curves: task -> micro F1 of P(0) to P(L) on the development set.
        places: ``PLACE_COLUMNS``; summaries of the mixing weights of P(L), ``measure`` is one of ``MEASURES``. The ends are empty if
            the variation over seeds is unknown.
        order: ``ORDER_COLUMNS``: expected layer of ``second`` minus that of ``first``, the ends corrected for the number of pairs.
            A missing pair is compared on its own.
        weights: ``task, layer, weight``: mixing weights of P(L), mean over seeds.
        beside: yardstick (``memory``, ``majority``, ``ceiling``, ``random``) -> task -> F1; ``random`` is P(L) on a random encoder.
        left_order: ``SETTLED_COLUMNS``: for two tasks of the pipeline how many sentences have targets of both that settle, and in how many
            of them a target of the later one settles before one of the earlier.
        other: another pre-trained encoder of another depth.
        published: whether the intervals are roundings of published numbers.
    """

    name: str
    depth: int
    curves: Mapping[str, Curve]
    places: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=list(PLACE_COLUMNS)))
    order: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=list(ORDER_COLUMNS)))
    weights: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=["task", "layer", "weight"]))
    beside: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    left_order: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=list(SETTLED_COLUMNS)))
    other: "EdgeEvidence | None" = None
    published: bool = False

    def measured(self, tasks: Iterable[str]) -> list[str]:
        """The tasks among these that have an F1 at every layer."""
        return [task for task in tasks if task in self.curves]

    def gain(self, task: str) -> Interval:
        """F1(L) - F1(0)."""
        return of_curve(self.curves[task], lambda f1: f1[:, -1] - f1[:, 0])

    def step(self, task: str, first: int, second: int) -> Interval:
        """F1 of P(second) minus F1 of P(first)."""
        return of_curve(self.curves[task], lambda f1: f1[:, second] - f1[:, first])

    def resolved(self, task: str) -> bool:
        """Whether layers above 0 clearly raise F1; otherwise an expected layer would be noise."""
        found = self.gain(task)
        return numbers.resolved(found.value, found.low)

    def expected(self, task: str) -> Interval | None:
        """The expected layer (equation 4); None if it is not resolved or not known."""
        if task not in self.curves or not self.resolved(task):
            return None
        found = of_curve(self.curves[task], numbers.expected_layer)
        return found if numbers.inside(found.low, found.high, self.depth) else None

    def k_gains(self, task: str) -> Interval | None:
        """K of the gains in bits; None if the expected layer is not resolved."""
        return of_curve(self.curves[task], numbers.k_gains) if self.expected(task) else None

    def place(self, task: str, measure: str) -> Interval | None:
        """A number of the mixing weights, with NaN ends if its variation over seeds is unknown; None if not known."""
        rows = self.places[self.places["task"].eq(task) & self.places["measure"].eq(measure)]
        return Interval(*map(float, rows[["value", "low", "high"]].iloc[0])) if len(rows) else None

    def later(self, first: str, second: str) -> Interval | None:
        """Expected layer of ``second`` minus that of ``first``; None if one of them is not resolved."""
        one, other = self.expected(first), self.expected(second)
        if one is None or other is None:
            return None
        for names, sign in (((first, second), 1), ((second, first), -1)):
            rows = self.order[self.order["first"].eq(names[0]) & self.order["second"].eq(names[1])]
            if len(rows):
                value, low, high = (sign * float(rows[end].iloc[0]) for end in ("value", "low", "high"))
                return Interval(value, min(low, high), max(low, high))
        return apart(other, one)


def of_curve(curve: Curve, number: Callable[[NDArray], NDArray]) -> Interval:
    """A number of a curve with the middle 95 % of its draws.

    Args:
        curve: F1 by layer.
        number: (curves, layers) -> (curves,).

    Returns:
        The number; three times NaN if it is not defined.
    """
    return interval(number(curve.values[None]), number(curve.drawn)) or Interval(*[float("nan")] * 3)
