"""The record that describes a quantity."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeVar

T = TypeVar("T")
WORST_PLACE = "a tied answer takes the worst place of its group"
NO_TIES = "no ties: a value, not an order"
#: Beginning of a unit -> what holds for quantities that do not say otherwise; the first that fits.
_ENDS: Mapping[str, tuple[float | None, ...]] = {
    "share|F1|mean|yes or no": (0.0, 1.0),
    "difference|correlation|cosine": (-1.0, 1.0),
    "rank|perplexity": (1.0, None),
    "verdict|fate": (None, None),
    "": (0.0, None),
}
_TIES = {
    "share of (facts|total)|mean of|yes or no|rank|facts|lost facts": WORST_PLACE,
    "difference of shares": "as of the two shares",
    "": NO_TIES,
}
_EMPTY = {
    "share of sentences": "undefined without test sentences",
    "mean over queries": "a query without a relevant passage takes no part",
    "share of|mean over": "undefined without {items}",
    "rank|nats": "a NaN or infinite score is an error",
    "lost facts": "0 if no fact is lost",
    "F1": "as for the F1",
}


def _usual(by_unit: Mapping[str, T], unit: str) -> T:
    for beginning, usual in by_unit.items():
        if re.match(beginning, unit):
            return usual
    raise ValueError(f"a quantity in {unit!r} has to say what holds in the empty case")


#: A fact is known at k if its answer has rank <= k, for each of these k.
RANKS = (1, 10, 100)


@dataclass(frozen=True)
class Metric:
    """A quantity with everything a reader needs to judge it; what is not given is the usual for its unit."""

    name: str
    unit: str
    #: Its first sentence says what it is; intervals, tests and exceptions follow.
    definition: str
    #: The function that computes it, below ``probing``.
    computed_in: str
    #: By default the name, with blanks.
    label: str = ""
    better: Literal["higher", "lower", "neither"] = "neither"
    #: Least and greatest value; None: no bound.
    ends: tuple[float | None, ...] = ()
    ties: str = ""
    empty: str = ""
    #: The paper that defines it, and where we differ from it.
    source: str = "ours; not in the paper"

    def __post_init__(self) -> None:
        object.__setattr__(self, "label", self.label or self.name.replace("_", " "))
        object.__setattr__(self, "ends", self.ends or _usual(_ENDS, self.unit))
        object.__setattr__(self, "ties", self.ties or _usual(_TIES, self.unit))
        items = self.unit.split(" ", 2)[-1]
        object.__setattr__(self, "empty", self.empty or _usual(_EMPTY, self.unit).format(items=items))

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
