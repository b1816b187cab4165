"""The list of facts of one run, by the filters of the Facts page, and one fact through all layers."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

import pandas as pd

from probing.api.stored.shown_runs import compared_run, one_run, page_runs
from probing.core.errors import OptionError, StoreError
from probing.core.knowledge.transitions import FATES, PARTS
from probing.core.metrics import RANKS
from probing.core.nesia.corpus import EXPOSURES
from probing.reports.knowledge.runs import RunSelection
from probing.reports.report import refuse_unknown_words
from probing.reports.runs import base_of
from probing.store.database import Database
from probing.store.knowledge.fact_queries import MAX_ROWS, ORDERS, search_facts
from probing.store.knowledge.one_fact import fact, fact_predictions
from probing.store.run_queries import relations

#: Value of ``known`` -> whether the fact is never known.
KNOWN = {"ever": False, "never": True}
FACT_COLUMNS = (
    "model",
    "head",
    "layer",
    "gold_rank",
    "answer_rank",
    "other_rank",
    "gold_logp",
    "probability",
    "token",
    "token_probability",
)


class FactFilters(TypedDict, total=False):
    """Further filters of a list of facts; all are optional.

    Attributes:
        text: words that must all occur in subject, answer, prompt or relation.
        known: ``ever`` (rank 1 at some of the layers 1 to L) or ``never``.
        known_at, first_known, last_known: the layer at which the fact has rank 1, or has it first, or last.
        at_layer, at_rank: the fact has rank <= ``at_rank`` (1, 10 or 100; by default 1) at ``at_layer``.
        k: the rank up to which a fact counts as known for ``part``: 1, 10 or 100; by default 1.
        exposure: exposure of the fact in the training text, one value or a list.
        answer_in_subject: True keeps facts whose answer occurs in their subject, False the others.
        order: ``layers known`` (default), ``fact``, ``first layer``, ``last layer``, ``best rank``, ``last rank`` or
            ``worst last rank``.
        templates: name of the template set; by default ``default``.
    """

    text: str
    known: str
    known_at: int
    first_known: int
    last_known: int
    at_layer: int
    at_rank: int
    k: int
    exposure: str | list[str]
    answer_in_subject: bool
    order: str
    templates: str


@dataclass(frozen=True)
class FactChoice:
    """The listed facts of one run.

    Attributes:
        run: the run.
        relation: name of a relation; None keeps all.
        base, part: the model that the run's model is compared with, and the outcome of a fact from it to the run's
            model.
        filters: see ``FactFilters``.

    Raises:
        OptionError: if a filter or value is unknown.
    """

    run: pd.Series
    relation: str | None
    base: str | None
    part: str | None
    filters: Mapping[str, Any]

    def __post_init__(self) -> None:
        if unknown := sorted(set(self.filters) - set(FactFilters.__annotations__)):
            raise OptionError(f"got the filter {unknown[0]}; expected one of {', '.join(FactFilters.__annotations__)}")
        given, layers = self.filters, range(int(self.run["layers"]))
        for name, known in (
            ("part", (*PARTS, *FATES)),
            ("known", tuple(KNOWN)),
            ("order", tuple(ORDERS)),
            ("k", RANKS),
            ("at_rank", RANKS),
            *((name, layers) for name in ("known_at", "at_layer")),
            *((name, layers[1:]) for name in ("first_known", "last_known")),
        ):
            value = self.part if name == "part" else given.get(name)
            refuse_unknown_words(name, () if value is None else (value,), known)
        refuse_unknown_words("exposure", self.exposures, (*EXPOSURES, "unknown"))
        if given.get("at_rank") is not None and given.get("at_layer") is None:
            raise OptionError("got at_rank without at_layer; name the layer at which a fact has that rank")

    @property
    def exposures(self) -> tuple[str, ...] | None:
        """The exposures to keep; None keeps all."""
        given = self.filters.get("exposure")
        return None if given is None else (given,) if isinstance(given, str) else tuple(given)

    def conditions(self, db: Database) -> dict[str, Any]:
        """The filters as arguments of the store.

        Raises:
            OptionError: if the run does not have the relation, or a part has no model to compare with.
        """
        given, known = self.filters, self.filters.get("known")
        if self.relation is not None:
            table = relations(db)
            refuse_unknown_words(
                "relation", (self.relation,), table.loc[table["probe_set"] == self.run["probe_set"], "relation"]
            )
        at_layer = given.get("at_layer")
        return {
            "text": given.get("text") or "",
            "relation": self.relation,
            **{name: given.get(name) for name in ("known_at", "first_known", "last_known", "answer_in_subject")},
            "never_known": None if known is None else KNOWN[known],
            "exposures": self.exposures,
            "layer_rank": None if at_layer is None else (at_layer, given.get("at_rank") or 1),
            **self._part(db),
        }

    def _part(self, db: Database) -> dict[str, Any]:
        if self.part is None:
            if self.base is not None:
                raise OptionError(f"got base={self.base!r} without part; name a part: {', '.join((*PARTS, *FATES))}")
            return {}
        base = self.base or base_of(self.run)
        if not base:
            raise OptionError(f"{self.run['model']} has no base; name the model to compare with in base")
        other = one_run(
            db, RunSelection((base,), (self.run["head"],), (self.run["probe_set"],), self.run["template_set"])
        )
        refuse_counted(other)
        return {"versus": other["run_id"], "part": self.part, "part_k": self.filters.get("k") or 1}


def listed_run(db: Database, names: RunSelection, base: str | None, part: str | None) -> pd.Series:
    """The run whose facts are listed; with a part, an open head or probe set is one that the model to compare with has,
    too.

    Raises:
        StoreError: if no run has the names, or the two models have no run with the same head and probe set.
    """
    run = one_run(db, names)
    other = base or base_of(run)
    return compared_run(db, names, other) if part is not None and other else run


def refuse_counted(run: pd.Series) -> None:
    """Raises a ``StoreError`` if only counts of a run are stored."""
    if run["counted"]:
        names = f"{run['model']} ({run['head']} heads, {run['probe_set']})"
        raise StoreError(
            f"only counts of {names} are stored, nothing fact by fact; probe it again with: python -m probing probe"
        )


def list_facts(db: Database, choice: FactChoice, limit: int | None) -> pd.DataFrame:
    """The facts that pass the filters, in order; ``limit`` None returns all.

    Raises:
        OptionError: for a limit below 0.
    """
    if limit is not None and limit < 0:
        raise OptionError(f"got limit={limit}; expected 0 or more, or None for all facts")
    refuse_counted(choice.run)
    conditions, order = choice.conditions(db), choice.filters.get("order") or "layers known"
    pages: list[pd.DataFrame] = []
    while True:
        done = sum(map(len, pages))
        wanted = MAX_ROWS if limit is None else min(limit - done, MAX_ROWS)
        pages.append(search_facts(db, choice.run["run_id"], order=order, offset=done, limit=wanted, **conditions))
        if len(pages[-1]) < wanted or wanted < MAX_ROWS:
            return pd.concat(pages, ignore_index=True)


@dataclass(frozen=True)
class OneFact:
    """One fact and the predictions of the runs of its probe set.

    Attributes:
        about: a row of the table ``facts``, with the label of its relation.
        runs: the runs of its probe set, one per model and head.
        rows: rows of ``store.knowledge.one_fact.fact_predictions``.
    """

    about: pd.Series
    runs: pd.DataFrame
    rows: pd.DataFrame


def open_fact(db: Database, fact_id: str, templates: str = "default") -> OneFact:
    """A stored fact.

    Raises:
        OptionError: if there is no fact with this id.
    """
    facts = fact(db, fact_id)
    if facts.empty:
        raise OptionError(f"got fact_id {fact_id!r}, which is not stored; results.facts() lists facts with their ids")
    runs = page_runs(db, templates)
    runs = runs[runs["probe_set"] == facts["probe_set"].iloc[0]]
    return OneFact(facts.iloc[0], runs, fact_predictions(db, fact_id, tuple(runs["run_id"])))


def by_layer(one: OneFact, models: Sequence[str] | None, heads: Sequence[str] | None) -> pd.DataFrame:
    """The predictions of every layer of the runs for a fact, see ``Results.fact``."""
    runs = one.runs
    for column, names in (("model", models), ("head", heads)):
        if names is not None:
            refuse_unknown_words(column, names, sorted(set(runs[column])))
            runs = runs[runs[column].isin(list(names))]
    table = (
        runs[["run_id", "model", "head"]]
        .merge(one.rows, on="run_id")
        .sort_values(["model", "head", "layer"], kind="stable")
    )
    best = [
        (tokens[0], math.exp(logp[0])) if tokens else (None, math.nan)
        for tokens, logp in zip(table["tokens"], table["top_logp"], strict=True)
    ]
    made = table.assign(
        probability=[math.exp(value) for value in table["gold_logp"]],
        token=[token for token, _ in best],
        token_probability=[probability for _, probability in best],
    )
    return made[list(FACT_COLUMNS)].reset_index(drop=True)
