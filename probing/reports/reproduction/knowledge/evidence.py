"""The evidence for a claim: numbers with intervals, of one family under one kind of head or of the paper's own tables."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import pandas as pd

from probing.core.facts.fact import PROBE_SETS
from probing.core.tasks.objectives import CONTROL
from probing.reports.reproduction.decisions import Interval, intervals
from probing.reports.reproduction.findings import BASE, Evidence
from probing.reports.reproduction.words import points
from probing.reports.shown_baselines import shown_baselines

#: Probe sets whose facts come from the same sources as the paper's; our own sentences decide no claim.
COMPARABLE = ("google_re", "trex", "conceptnet", "squad")
_ENDS = ["value", "low", "high"]


@dataclass(frozen=True)
class KnowledgeEvidence(Evidence):
    """Frames whose models are named by objective; the base's is ``BASE``. Unknown numbers have no row.

    Attributes:
        curves: right answers by T-REx relation and layer: ``objective, relation, layer, k, n, hits`` (with rank <= k).
        total: ``objective, probe_set, k, average, last_layer, last_low, last_high, total, total_low, total_high, intermediate_share,
            intermediate_low, intermediate_high``, and where swapped subjects are measured ``inner_own, inner_swapped, inner_n, inner_p``.
        forgotten: T-REx relations by model: ``objective, k, definition, relations, forgotten``.
        relations: the base's T-REx relations at k = 1: ``relation, doubling, caption, authors, strict``.
        shares: of the base's T-REx relations: ``measure`` (doubling, authors), ``count, relations, value, low, high``.
        transitions: from the base: ``objective, probe_set, k, n, base_value, value, difference, low, high, p_value``.
        differences: two models at P@1: ``first, second, probe_set, measure`` (last_layer, total, forgotten), ``value, low, high``,
            the first's share minus the second's.
        by_layer: two models' macro P@1: ``first, second, probe_set, layer, value, low, high``, likewise.
        same_steps: whether models of alike objectives took the same number of fine-tuning steps.
    """

    curves: pd.DataFrame
    total: pd.DataFrame
    forgotten: pd.DataFrame
    relations: pd.DataFrame
    shares: pd.DataFrame
    transitions: pd.DataFrame
    differences: pd.DataFrame
    by_layer: pd.DataFrame
    same_steps: bool = False

    @property
    def tuned(self) -> list[str]:
        """Objectives of the fine-tuned models that have numbers, without the control."""
        there = pd.concat([self.total["objective"], self.forgotten["objective"]])
        return [one for one in dict.fromkeys(there) if one not in (BASE, CONTROL)]

    def models_of(self, objectives: Collection[str] | None = None) -> list[str]:
        """Those of them with these objectives, by which models are named here."""
        return [one for one in self.tuned if objectives is None or one in objectives]

    @property
    def sets(self) -> list[str]:
        """The comparable probe sets that have numbers."""
        return [one for one in COMPARABLE if one in set(self.total["probe_set"])]

    def without(self, models: Collection[str]) -> Self:
        """The same without some models."""
        names = ("curves", "total", "forgotten", "transitions")
        kept = {name: _without(getattr(self, name), ["objective"], models) for name in names}
        kept |= {name: _without(getattr(self, name), ["first", "second"], models) for name in ("differences", "by_layer")}
        return replace(self, **kept)

    def knowledge(self, objective: str, probe_set: str, column: str) -> float | None:
        """A share of ``total`` at P@1 over facts, None if it was not probed or has no value."""
        value = self._cells.get((objective, probe_set), {}).get(column)
        return None if value is None or pd.isna(value) else float(value)

    def known(self, objective: str, probe_set: str, column: str) -> Interval | None:
        """``total`` or ``intermediate`` of a model at P@1 over facts, with its interval; None if there is none."""
        value = {"total": "total", "intermediate": "intermediate_share"}[column]
        ends = [self.knowledge(objective, probe_set, name) for name in (value, f"{column}_low", f"{column}_high")]
        return None if None in ends else Interval(*ends)  # type: ignore[arg-type]

    @cached_property
    def _cells(self) -> dict[tuple[str, str], dict]:
        """(objective, probe set) -> the row of ``total`` at P@1 over facts."""
        rows = self.total[self.total["k"].eq(1) & self.total["average"].eq("micro")].to_dict("records")
        return {(row["objective"], row["probe_set"]): row for row in reversed(rows)}

    def forgotten_count(self, objective: str, k: int = 1, definition: str = "authors") -> int | None:
        """T-REx relations forgotten in the last layer, None if it was not probed."""
        rows = self.forgotten
        rows = rows[(rows["objective"] == objective) & (rows["k"] == k) & (rows["definition"] == definition)]
        return int(rows["forgotten"].iloc[0]) if len(rows) else None

    def difference(self, first: str, second: str, probe_set: str, measure: str) -> Interval | None:
        """The first model's share minus the second's; None if it is not known."""
        rows = self.differences
        rows = rows[(rows["first"] == first) & (rows["second"] == second) & (rows["probe_set"] == probe_set) & (rows["measure"] == measure)]
        return intervals(rows)[0] if len(rows) else None

    def apart(self, first: str, second: str, probe_set: str = "trex") -> pd.DataFrame:
        """``layer, value, low, high`` of the first's macro P@1 minus the second's at layers 1..L; no rows if it is not known."""
        rows = self.by_layer
        rows = rows[(rows["first"] == first) & (rows["second"] == second) & (rows["probe_set"] == probe_set) & (rows["layer"] >= 1)]
        return rows[["layer", *_ENDS]].sort_values("layer").reset_index(drop=True)


def _without(frame: pd.DataFrame, columns: list[str], objectives: Collection[str]) -> pd.DataFrame:
    return frame[~frame[columns].isin(list(objectives)).any(axis=1)]


def named(objective: str) -> str:
    """The name of an objective in a sentence."""
    return "the base" if objective == BASE else objective


def set_named(probe_set: str) -> str:
    """The name of a probe set in a sentence."""
    return PROBE_SETS.get(probe_set, probe_set)


def beside_majority(evidence: KnowledgeEvidence) -> str:
    """The accuracy of the majority answer on the base's T-REx facts, to follow a macro P@1; empty if it may not be shown."""
    table = shown_baselines(evidence.total)
    if "majority" not in table:
        return ""
    row = table[table["objective"].eq(BASE) & table["probe_set"].eq("trex") & table["k"].eq(1) & table["average"].eq("macro")]
    return "" if row["majority"].isna().all() else f"; the majority answer gives {points(row['majority'].iloc[0])}"


def ranged(number: Interval) -> str:
    """A share in per cent with its interval: "14.6 (6.9 to 28.4)"."""
    return f"{points(number.value)} ({points(number.low)} to {points(number.high)})"
