"""What a claim is judged on: the report frames of one family under one kind of head."""

from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from probing.core.tasks.objectives import CONTROL

BASE = "pre-training"
#: Probe sets whose facts come from the same sources as the paper's; our own sentences decide no claim.
COMPARABLE = ("google_re", "trex", "conceptnet", "squad")
HOLDS, FAILS, UNTESTED = "holds", "does not hold", "cannot be tested"
VERDICTS = (HOLDS, FAILS, UNTESTED)


@dataclass(frozen=True)
class Finding:
    """What a rule made of the numbers.

    Attributes:
        verdict: one of ``VERDICTS``.
        numbers: our numbers in a sentence.
        table: the rows that were judged.
    """

    verdict: str
    numbers: str
    table: pd.DataFrame = field(default_factory=pd.DataFrame)


@dataclass(frozen=True)
class Evidence:
    """Frames of ``probing.reports`` for one family, each with the column ``objective``; the base's is ``BASE``.

    Attributes:
        precision: macro P@k by layer: ``objective, probe_set, layer, k, value``.
        total: ``objective, probe_set, k, average, last_layer, total, intermediate_share``.
        forgotten: T-REx by model: ``objective, k, definition, relations, forgotten``.
        relations: the base's T-REx relations at k = 1: ``relation, doubling, caption, authors, strict``.
        transitions: from the base: ``objective, probe_set, k, n, base_value, value, p_value``.
        same_steps: whether all models of the family took the same number of fine-tuning steps.
    """

    precision: pd.DataFrame
    total: pd.DataFrame
    forgotten: pd.DataFrame
    relations: pd.DataFrame
    transitions: pd.DataFrame
    same_steps: bool = False

    @property
    def tuned(self) -> list[str]:
        """Objectives of the fine-tuned models that were probed, the control not among them."""
        return [one for one in dict.fromkeys(self.total["objective"]) if one not in (BASE, CONTROL)]

    @property
    def sets(self) -> list[str]:
        """The comparable probe sets that there are numbers for."""
        return [one for one in COMPARABLE if one in set(self.total["probe_set"])]

    def curve(self, objective: str, probe_set: str = "trex", k: int = 1) -> pd.Series:
        """Macro P@k by layer 0..L; empty where it was not probed."""
        mine = self.precision
        mine = mine[(mine["objective"] == objective) & (mine["probe_set"] == probe_set) & (mine["k"] == k)]
        return mine.set_index("layer")["value"].astype("float64").sort_index()

    def knowledge(self, objective: str, probe_set: str, column: str, average: str = "micro", k: int = 1) -> float | None:
        """A share of ``total``, None where it was not probed or has no value."""
        mine = self.total
        mine = mine[(mine["objective"] == objective) & (mine["probe_set"] == probe_set) & (mine["k"] == k) & (mine["average"] == average)]
        value = mine[column].iloc[0] if len(mine) else None
        return None if value is None or pd.isna(value) else float(value)

    def forgotten_count(self, objective: str, k: int = 1, definition: str = "authors") -> int | None:
        """T-REx relations forgotten in the last layer, None where it was not probed."""
        mine = self.forgotten
        mine = mine[(mine["objective"] == objective) & (mine["k"] == k) & (mine["definition"] == definition)]
        return int(mine["forgotten"].iloc[0]) if len(mine) else None


def named(objective: str) -> str:
    """An objective as a sentence calls it."""
    return "the base" if objective == BASE else objective


def points(share: float | None) -> str:
    """A share in per cent with one place, or a dash."""
    return "–" if share is None or pd.isna(share) else f"{100 * share:.1f}"


def rank_correlation(first: pd.Series, second: pd.Series) -> float | None:
    """Spearman's correlation of two series in the same order; None where one of them is flat or has fewer than three values."""
    one, other = np.asarray(pd.Series(first).rank()), np.asarray(pd.Series(second).rank())
    if len(one) < 3 or one.std() == 0 or other.std() == 0:
        return None
    return float(np.corrcoef(one, other)[0, 1])
