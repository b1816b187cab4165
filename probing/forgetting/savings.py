"""What is taught again to measure savings, beside counterfeits, and what is said of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from probing.forgetting.memory import LOST, NEVER_KNOWN, WRONG, detectable
from probing.kernel.stats.equal_confidence import Difference

#: Planted answers that were lost: a group of their own.
LOST_PLANTED = "planted answers"
#: Answers that were drawn like planted ones, but not taught to the base.
UNTAUGHT = "planted answers, untaught"
#: Whose savings are measured; lost facts are without planted answers.
SAVED = {
    LOST: "right answers that were lost",
    LOST_PLANTED: "planted answers that were lost",
    UNTAUGHT: "answers drawn like planted ones, but never taught",
    WRONG: "wrong answers that were given up",
    NEVER_KNOWN: "right answers that neither gave",
}
#: What is compared after every look: whether the taught answer is first, and the log-probability that it gained.
FIRST, GAINED = MEASURES = ("first", "log-probability gained")
#: The mean over all looks, which is the outcome.
ALL_LOOKS = 0
SAVINGS = "Savings, mean over five looks at one training that teaches answers and counterfeits:"
#: Why lost facts have none, after the number of those that have a counterfeit.
TOO_FEW = "lost facts have a counterfeit, too few for savings"


@dataclass(frozen=True)
class SavingsRecipe:
    """How answers are taught again, all in one training, and how near a counterfeit is."""

    rate: float = 1e-4
    batch: int = 32  #: facts per step
    passes: tuple[int, ...] = (1, 2, 3, 4, 6)  #: over all lessons, after which the model is asked, ascending
    nats: float = 0.25  #: between the log-probabilities of both in the fine-tuned model, at most
    most: int = 1000  #: facts that each group takes


@dataclass(frozen=True)
class Saved:
    """The savings of one group: what a coin chose to be taught, minus counterfeits. Shares, or nats."""

    group: str
    measure: str
    passes: int  #: ``ALL_LOOKS``, or those after which the model was asked
    difference: Difference | None  #: None: too few were taught, or too few counterfeits
    able: int  #: answers of the group that have a counterfeit
    answers: int  #: all of the group


def savings_rows(run_id: str, found: Sequence[Saved]) -> list[dict[str, Any]]:
    """The rows of the stored table."""
    return [
        {
            "run_id": run_id,
            "asked": one.group,
            **{name: getattr(one, name) for name in ("measure", "passes", "able", "answers")},
            **{name: getattr(each, name) for name in ("low", "high", "error", "n")},
            "taught": each.share,
            "counterfeit": each.yardstick,
            "n_counterfeit": each.n_yardstick,
        }
        for one in found
        if (each := one.difference)
    ]


def means(rows: Any) -> Any:
    """Of a frame of the stored table: the shares of answers that are first, mean over all looks."""
    return rows[(rows["measure"] == FIRST) & (rows["passes"] == ALL_LOOKS)]


def said_of(row: Mapping[str, Any]) -> str:
    """The savings of one group in words: shares of taught answers that are first, mean over all looks."""
    value, low, high, error = (100 * float(row[name]) for name in ("difference", "low", "high", "error"))
    words = (
        f"{SAVED[row['asked']]}: {100 * row['taught']:.1f} of 100 are first, {100 * row['counterfeit']:.1f} of"
        f" counterfeits: {value:+.1f} points ({low:.1f} to {high:.1f}); {row['able']:,} of {row['answers']:,} have a"
        " counterfeit"
    )
    return words if low > 0 or high < 0 else f"{words}; about {detectable(error):.1f} would be seen in 4 of 5 cases"


def conclusion(of: Mapping[str, Mapping[str, Any]]) -> str:
    """What the savings say of what the base said; ``of``: group -> its row.

    Right answers that neither model gave are saved, too, as the base holds them likely. So what it said must be saved
    more than these; where there are none, more than not at all.

    >>> lost, never = ({"difference": n, "error": 0.02} for n in (0.4, 0.3))
    >>> conclusion({LOST: lost, WRONG: lost, NEVER_KNOWN: never})
    'What the base said, right or wrong, is still in the weights.'
    >>> conclusion({LOST: lost, WRONG: never, NEVER_KNOWN: never})
    'What the base said rightly is still in the weights; of what it said wrongly: cannot tell.'
    >>> conclusion({LOST: never, NEVER_KNOWN: never})
    'Is what the base said still in the weights? Cannot tell.'
    """
    least = of.get(NEVER_KNOWN, {"difference": 0, "error": 0})

    def more(group: str) -> bool:
        row = of.get(group, least)
        return bool(row["difference"] - least["difference"] > 1.96 * np.hypot(row["error"], least["error"]))

    if not more(LOST):
        return "Is what the base said still in the weights? Cannot tell."
    if more(WRONG):
        return "What the base said, right or wrong, is still in the weights."
    return "What the base said rightly is still in the weights; of what it said wrongly: cannot tell."
