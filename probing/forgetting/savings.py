"""What is taught again to measure savings, beside counterfeits, and what is said of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from probing.forgetting.memory import LOST, NEVER_KNOWN, WRONG, detectable
from probing.kernel.stats.equal_confidence import Difference

#: Planted answers that were lost: a group of their own.
LOST_PLANTED = "planted answers"
#: Whose savings are measured: lost facts without planted answers, planted answers that were lost, and wrong answers.
SAVED = {
    LOST: "right answers that were lost",
    LOST_PLANTED: "planted answers that were lost",
    WRONG: "wrong answers that were given up",
    NEVER_KNOWN: "right answers that neither gave",
}
#: What is compared after every look: whether the taught answer is first, and the log-probability that it gained.
FIRST, GAINED = MEASURES = ("first", "log-probability gained")
#: The mean over all looks, which is the outcome.
ALL_LOOKS = 0
SAVINGS = "Savings, mean over five looks at one training that teaches answers and counterfeits:"
TOO_FEW = "Savings: too few lost facts have a counterfeit."


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
    difference: Difference
    able: int  #: answers of the group that have a counterfeit
    answers: int  #: all of the group


def savings_rows(run_id: str, found: Sequence[Saved]) -> list[dict[str, Any]]:
    """The rows of the stored table."""
    return [
        {
            "run_id": run_id,
            "asked": one.group,
            "measure": one.measure,
            "passes": one.passes,
            "taught": one.difference.share,
            "counterfeit": one.difference.yardstick,
            "low": one.difference.low,
            "high": one.difference.high,
            "error": one.difference.error,
            "n": one.difference.n,
            "n_counterfeit": one.difference.n_yardstick,
            "able": one.able,
            "answers": one.answers,
        }
        for one in found
    ]


def said_of(row: Mapping[str, Any]) -> str:
    """The savings of one group in words: shares of taught answers that are first, mean over all looks."""
    value, low, high, error = (100 * float(row[name]) for name in ("difference", "low", "high", "error"))
    words = (
        f"{SAVED[row['asked']]}: {100 * row['taught']:.1f} of 100 are first, {100 * row['counterfeit']:.1f} of"
        f" counterfeits: {value:+.1f} points ({low:.1f} to {high:.1f}); {row['able']:,} of {row['answers']:,} have a"
        " counterfeit"
    )
    return words if low > 0 or high < 0 else f"{words}; about {detectable(error):.1f} would be seen in 4 of 5 cases"


def conclusion(lost: Mapping[str, Any], wrong: Mapping[str, Any] | None) -> str:
    """What the savings of lost facts say, beside those of wrong answers.

    >>> lost = {"difference": 0.5, "low": 0.4, "high": 0.6, "error": 0.05}
    >>> conclusion(lost, {"difference": 0.45, "low": 0.3, "high": 0.6, "error": 0.08})
    'What the base said, right or wrong, is still in the weights.'
    >>> conclusion(lost, None), conclusion(lost | {"low": -0.1}, None)
    ('What the base said rightly is still in the weights.', 'Still in the weights? Cannot tell.')
    """
    if lost["low"] <= 0:
        return "Still in the weights? Cannot tell."
    if wrong is None or wrong["low"] <= 0:
        return "What the base said rightly is still in the weights."
    gap, error = lost["difference"] - wrong["difference"], np.hypot(lost["error"], wrong["error"])
    less = ", right answers more than wrong ones" if gap > 1.96 * error else ""
    return f"What the base said, right or wrong, is still in the weights{less}."
