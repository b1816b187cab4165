"""The rules on two claims about forgetting."""

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import Self

import pandas as pd

from probing.core.forgetting.excess import ABOVE, BELOW
from probing.core.forgetting.published import RECOVERED
from probing.core.forgetting.ways import USUAL_STEPS
from probing.reports.reproduction.decisions import FAILS, HOLDS, UNSURE, UNTESTED
from probing.reports.reproduction.findings import Evidence, Finding, Rule

#: Columns of ``ForgettingEvidence.back``.
BACK = ("model", "objective", "share", "low", "high", "wrong_share", "never_share", "verdict")
#: Columns of ``ForgettingEvidence.prevented``: share of the known facts that are lost, usually and with lower layers frozen, with the
#: interval of the difference.
PREVENTED = ("model", "usual", "frozen", "low", "high")
#: More than this share is "most".
_MOST = 0.5


@dataclass(frozen=True)
class ForgettingEvidence(Evidence):
    """The numbers of one base with its fine-tuned models.

    Attributes:
        back: one row per model: the share of held-out lost facts that relearning brings back, with interval, the shares of its yardsticks
            and the verdict on them; columns ``BACK``.
        prevented: one row per model and number of frozen layers of a fine-tuning; columns ``PREVENTED``.
    """

    back: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=list(BACK)))
    prevented: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=list(PREVENTED)))

    def models_of(self, objectives: Collection[str] | None = None) -> list:
        """The fine-tuned models of these objectives; None: all."""
        rows = self.back if objectives is None else self.back[self.back["objective"].isin(list(objectives))]
        return list(rows["model"])

    def without(self, models: Collection) -> Self:
        """The same without some models."""
        kept = {name: table[~table["model"].isin(list(models))] for name, table in (("back", self.back), ("prevented", self.prevented))}
        return replace(self, **kept)


def relearning(evidence: ForgettingEvidence) -> Finding:
    """Do most held-out lost facts come back, and more often than the yardsticks?"""
    back = evidence.back
    if back.empty:
        return Finding(UNTESTED, "Not measured: no fine-tuned model was asked for the facts that it lost.")
    most, few = (back["low"] > _MOST) & (back["verdict"] == ABOVE), (back["high"] <= _MOST) | (back["verdict"] == BELOW)
    verdict = HOLDS if most.all() else FAILS if few.any() else UNSURE
    said = "; ".join(f"{row.model} {100 * row.share:.0f} % ({100 * row.low:.0f} to {100 * row.high:.0f})" for row in back.itertuples())
    null = "; ".join(
        f"{row.model} {100 * row.wrong_share:.0f} % of equally confident wrong answers, {100 * row.never_share:.0f} % of never-known facts"
        for row in back.itertuples()
        if pd.notna(row.wrong_share) and pd.notna(row.never_share)
    )
    numbers = f"Held-out lost facts that are back after {USUAL_STEPS} steps: {said}. The paper: {100 * RECOVERED:.0f} % of the accuracy."
    return Finding(verdict, numbers, back, f"{null}." if null else "")


def frozen_layers(evidence: ForgettingEvidence) -> Finding:
    """Do models whose lower layers were frozen lose fewer facts?"""
    rows = evidence.prevented
    if rows.empty:
        return Finding(UNTESTED, "Not measured: no model that was fine-tuned with its lower layers frozen is stored.")
    verdict = HOLDS if (rows["high"] < 0).all() else FAILS if (rows["low"] >= 0).any() else UNSURE
    said = "; ".join(
        f"{row.model}: all layers trained {100 * row.usual:.0f} %, frozen {100 * row.frozen:.0f} % "
        f"({100 * row.low:+.0f} to {100 * row.high:+.0f} points)"
        for row in rows.itertuples()
    )
    return Finding(verdict, f"Lost of the facts that the base knows: {said}.", rows)


RULES: dict[str, Rule] = {
    "relearning brings most back": Rule(
        f"forgetting report ways, relearned, {USUAL_STEPS} steps",
        f"Holds if for every fine-tuned model more than half of the held-out lost facts are back after {USUAL_STEPS} steps on other lost "
        "facts of other subjects, and more of them than of wrong answers of equal confidence and of never-known facts. Does not hold if "
        "for one model half or fewer surely are, or surely no more than of one of these. The control does not decide.",
        "Cannot tell if neither is so. The 95 % intervals are over subjects and seeds.",
        relearning,
        every=True,
    ),
    "frozen lower layers lose less": Rule(
        "facts lost with lower layers frozen, against the same fine-tuning of all layers",
        "Holds if every model that was fine-tuned with its lower layers frozen loses fewer of the base's facts than the same model with "
        "all layers trained. Does not hold if one surely does not.",
        "Cannot tell if neither is so. Without such models it is not measured. The intervals are of the difference of two shares, the "
        "widest over seeds.",
        frozen_layers,
        every=True,
    ),
}
