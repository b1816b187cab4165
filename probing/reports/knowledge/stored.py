"""Any report of stored runs, by its name, with its choice of runs and cells."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import pandas as pd

from probing.core.errors import OptionError, StoreError
from probing.core.head_kinds import canonical_heads
from probing.core.knowledge.forgetting import DEFINITIONS
from probing.core.knowledge.total import AVERAGES
from probing.core.knowledge.transitions import PARTS
from probing.core.metrics import RANKS
from probing.core.options import spelled
from probing.reports.choices import refuse_unknown_words
from probing.reports.knowledge.forgotten import forgotten
from probing.reports.knowledge.pairs.listed import listed_facts, named_pairs
from probing.reports.knowledge.precision import precision
from probing.reports.knowledge.total import total
from probing.reports.knowledge.transitions import transitions
from probing.reports.learned import scores
from probing.reports.runs import choose, pairs, stored_templates
from probing.store.database import Database

#: Outcomes that are listed if none are named: those that fine-tuning could change.
CHANGED = ("lost", "kept", "gained")


class What(StrEnum):
    """The reports."""

    precision = "precision"
    total = "total"
    forgotten = "forgotten"
    transitions = "transitions"
    facts = "facts"
    tasks = "tasks"


@dataclass(frozen=True)
class ReportChoice:
    """A report and its choices.

    Attributes:
        what: precision (by layer), total, forgotten (relations), transitions (base to fine-tuned), facts (kept, gained, lost) or tasks
            (did models learn theirs?).
        models, heads, probe_sets: names to keep; None keeps all, except that forgotten relations are those of T-REx. For transitions and
            facts ``models`` are the fine-tuned ones; facts need one, and None takes the first kind of heads that it shares with its base.
        ks, averages, definitions: the values to report, if the report has them.
        templates: name of the template set.
        bases: for transitions and facts, models that ``models`` are compared with; None takes the base of each.
        parts: for facts, the outcomes that are listed, of ``core.knowledge.transitions.PARTS``.

    Raises:
        OptionError: for an unknown rank, average, definition or part, or if facts have no model or several.
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
    parts: Sequence[str] = CHANGED

    def __post_init__(self) -> None:
        object.__setattr__(self, "heads", canonical_heads(self.heads))
        for option, wanted, known in (
            ("k", self.ks, RANKS),
            ("average", self.averages, AVERAGES),
            ("definition", self.definitions, DEFINITIONS),
            ("part", self.parts, PARTS),
        ):
            refuse_unknown_words(option, wanted, known)
        if self.what is What.facts and len(self.models or ()) != 1:
            raise OptionError(f"got {len(self.models or ())} models for facts; name the one fine-tuned model ({spelled('model')})")

    @property
    def sets(self) -> Sequence[str] | None:
        """The probe sets that are reported; None for all."""
        return self.probe_sets or (["trex"] if self.what is What.forgotten else None)


def report(db: Database, choice: ReportChoice) -> pd.DataFrame:
    """The frame of a report."""
    if choice.what is What.transitions:
        found = pairs(choose(db, None, choice.heads, choice.sets, templates=choice.templates), choice.bases)
        return transitions(db, found[found["model"].isin(list(choice.models))] if choice.models else found, choice.ks)
    if choice.what is What.facts:
        (model,), (base,) = choice.models or (), choice.bases or (None,)
        found = named_pairs(db, model, base, choice.heads, choice.sets, choice.templates)
        return listed_facts(db, found, choice.ks, choice.parts)
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
        raise StoreError(f"no run with {spelled('templates', choice.templates)}; there are {', '.join(there)}")
    _refuse_names(db, {"model": choice.models, "head": choice.heads, "probe_set": choice.probe_sets}, choice.templates)
    _refuse_names(db, {"base": choice.bases}, choice.templates)


def _refuse_names(db: Database, given: dict[str, Sequence[str] | None], templates: str) -> None:
    """Raises a ``StoreError`` for a name that no run of the template set has; it lists the sets that have it."""
    every = choose(db, templates=templates)
    for option, wanted in given.items():
        column = "model" if option == "base" else option
        if unknown := sorted(set(wanted or ()) - set(every[column])):
            elsewhere = stored_templates(db, **{f"{column}s": unknown})
            asked = f" probed with {spelled('templates', templates)}" if elsewhere else ""
            there = f"; it was probed with {spelled('templates', ', '.join(elsewhere))}" if elsewhere else ""
            names = ", ".join(sorted(set(every[column]))) or "none"
            raise StoreError(f"no run with {spelled(option, ', '.join(unknown))}{asked}{there}; there are {names}")
