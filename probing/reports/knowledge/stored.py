"""Any report of stored runs, by its name, with its choice of runs and cells."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import pandas as pd

from probing.core.errors import StoreError
from probing.core.head_kinds import canonical_heads
from probing.core.knowledge.forgetting import DEFINITIONS
from probing.core.knowledge.total import AVERAGES
from probing.core.metrics import RANKS
from probing.reports.choices import refuse_unknown_words
from probing.reports.knowledge.forgotten import forgotten
from probing.reports.knowledge.precision import precision
from probing.reports.knowledge.total import total
from probing.reports.knowledge.transitions import transitions
from probing.reports.learned import scores
from probing.reports.runs import choose, pairs, stored_templates
from probing.store.database import Database


class What(StrEnum):
    """The reports."""

    precision = "precision"
    total = "total"
    forgotten = "forgotten"
    transitions = "transitions"
    tasks = "tasks"


@dataclass(frozen=True)
class ReportChoice:
    """A report and its choices.

    Attributes:
        what: precision (by layer), total, forgotten (relations), transitions (base to fine-tuned) or tasks (did models learn theirs?).
        models, heads, probe_sets: names to keep; None keeps all, except that forgotten relations are those of T-REx. For transitions
            ``models`` are the fine-tuned ones.
        ks, averages, definitions: the values to report, if the report has them.
        templates: name of the template set.
        bases: for transitions, models that ``models`` are compared with; None takes the base of each.

    Raises:
        OptionError: for an unknown rank, average or definition.
    """

    what: What
    models: Sequence[str] | None = None
    heads: Sequence[str] | None = None
    probe_sets: Sequence[str] | None = None
    ks: Sequence[int] = RANKS
    averages: Sequence[str] = AVERAGES
    definitions: Sequence[str] = DEFINITIONS
    templates: str = "default"
    bases: Sequence[str] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "heads", canonical_heads(self.heads))
        for option, wanted, known in (
            ("--k", self.ks, RANKS),
            ("--average", self.averages, AVERAGES),
            ("--definition", self.definitions, DEFINITIONS),
        ):
            refuse_unknown_words(option, wanted, known)

    @property
    def sets(self) -> Sequence[str] | None:
        """The probe sets that are reported; None for all."""
        return self.probe_sets or (["trex"] if self.what is What.forgotten else None)


def report(db: Database, choice: ReportChoice) -> pd.DataFrame:
    """The frame of a report."""
    if choice.what is What.transitions:
        found = pairs(choose(db, None, choice.heads, choice.sets, templates=choice.templates), choice.bases)
        return transitions(db, found[found["model"].isin(list(choice.models))] if choice.models else found, choice.ks)
    if choice.what is What.tasks:
        return scores(db, tuple(choice.models) if choice.models else None)
    ids = list(choose(db, choice.models, choice.heads, choice.sets, templates=choice.templates)["run_id"])
    if choice.what is What.precision:
        return pd.concat([precision(db, ids, choice.ks, one) for one in choice.averages], ignore_index=True)
    if choice.what is What.total:
        return total(db, ids, choice.ks, choice.averages)
    return forgotten(db, ids, choice.ks, choice.definitions)


def other_templates(db: Database, choice: ReportChoice) -> list[str]:
    """Further template sets that the chosen models were probed with, to suggest if a report is empty."""
    return [name for name in stored_templates(db, choice.models, choice.heads, choice.sets) if name != choice.templates]


def refuse_unknown(db: Database, choice: ReportChoice) -> None:
    """Raises a ``StoreError`` for a template set that no run has, or a name that none of its runs has."""
    if (there := stored_templates(db)) and choice.templates not in there:
        raise StoreError(f"no run with --templates {choice.templates}; there are {', '.join(there)}")
    _refuse_names(db, {"--model": choice.models, "--head": choice.heads, "--probe-set": choice.probe_sets}, choice.templates)


def _refuse_names(db: Database, given: dict[str, Sequence[str] | None], templates: str) -> None:
    """Raises a ``StoreError`` for a name that no run of the template set has; it lists the sets that have it."""
    every = choose(db, templates=templates)
    for option, wanted in given.items():
        column = option.removeprefix("--").replace("-", "_")
        if unknown := sorted(set(wanted or ()) - set(every[column])):
            elsewhere = stored_templates(db, **{f"{column}s": unknown})
            asked = f" probed with --templates {templates}" if elsewhere else ""
            there = f"; it was probed with --templates {', '.join(elsewhere)}" if elsewhere else ""
            names = ", ".join(sorted(set(every[column]))) or "none"
            raise StoreError(f"no run with {option} {', '.join(unknown)}{asked}{there}; there are {names}")
