"""Which stored runs of facts a figure or a list shows, by the rules of the pages."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import pandas as pd

from probing.api.stored.given import several
from probing.core.errors import FigureError, StoreError
from probing.core.head_kinds import HEADS
from probing.figures.model_looks import looks_of
from probing.figures.shown_runs import RunNames, fit, overlaid, set_order
from probing.reports.knowledge.stored import ReportChoice, What, refuse_unknown
from probing.reports.runs import one_run_each, pairs
from probing.store.database import Database
from probing.store.run_queries import runs as all_runs


@dataclass(frozen=True)
class RunSelection:
    """Which runs of facts are chosen; None keeps all."""

    models: tuple[str, ...] | None = None
    heads: tuple[str, ...] | None = None
    probe_sets: tuple[str, ...] | None = None
    templates: str = "default"

    def choice(self, what: str = What.precision, **cells: tuple[Any, ...] | None) -> ReportChoice:
        """The choice of a report of these runs: ``cells`` are its ``ks``, ``averages`` and ``definitions``; None keeps all."""
        given = {name: value for name, value in cells.items() if value is not None}
        return ReportChoice(What(what), self.models, self.heads, self.probe_sets, templates=self.templates, **given)


def run_names(
    model: str | Iterable[str] | None = None,
    head: str | Iterable[str] | None = None,
    probe_set: str | Iterable[str] | None = None,
    templates: str = "default",
) -> RunSelection:
    """The selection that the arguments of a method name."""
    return RunSelection(several("model", model), several("head", head), several("probe_set", probe_set), templates)


def page_runs(db: Database, templates: str) -> pd.DataFrame:
    """One run of each model, head and probe set, as pages have them.

    Raises:
        StoreError: if no run of facts is stored.
    """
    found = all_runs(db)
    if found.empty:
        raise StoreError("no probed facts are stored; make a run with: python -m probing probe --model nesia-mini --facts all --head tied")
    return one_run_each(found[found["template_set"] == templates])


def laid_over(db: Database, choice: ReportChoice) -> pd.DataFrame:
    """The runs of an overview, in the order of its lines; what the choice leaves open is the page's default.

    Raises:
        StoreError: for a name that no run has, or if no run has all the names together.
    """
    refuse_unknown(db, choice)
    runs = page_runs(db, choice.templates)
    names = RunNames(models=tuple(choice.models or ()), heads=tuple(choice.heads or ()), probe_sets=tuple(choice.probe_sets or ()))
    fitted, _ = fit(names, runs)
    shown = overlaid(runs, fitted.models, fitted.heads, fitted.probe_sets)
    if shown.empty:
        raise StoreError(f"no run has {_words(fitted)} together; results.runs lists the runs that are stored")
    return shown


def one_run(db: Database, choice: ReportChoice) -> pd.Series:
    """The run of a page that reads a single one; what the choice leaves open is the page's default.

    Raises:
        StoreError: as ``laid_over``.
    """
    refuse_unknown(db, choice)
    runs = page_runs(db, choice.templates)
    wanted = {"model": choice.models, "head": choice.heads, "probe_set": choice.probe_sets}
    kept = runs
    for column, names in wanted.items():
        kept = kept if names is None else kept[kept[column].isin(list(names))]
    if kept.empty:
        asked = ", ".join(f"{column} {names[0]}" for column, names in wanted.items() if names)
        raise StoreError(f"no run has {asked} together; results.runs lists the runs that are stored")
    fitted, _ = fit(RunNames(), kept)
    here = (kept["model"] == fitted.model) & (kept["head"] == fitted.head) & (kept["probe_set"] == fitted.probe_set)
    return kept[here].iloc[0]


def tuned_pair(db: Database, choice: ReportChoice, base: str | None = None) -> pd.DataFrame:
    """One fine-tuned model's run and its base's: a row with the columns of ``reports.runs.pairs``.

    Raises:
        StoreError: for a name that no run has.
        FigureError: if there is no such pair.
    """
    refuse_unknown(db, choice)
    runs = page_runs(db, choice.templates)
    found = pairs(runs)
    for column, names in (("model", choice.models), ("head", choice.heads), ("probe_set", choice.probe_sets), ("base", base and [base])):
        found = found if not names else found[found[column].isin(list(names))]
    # Of runs of which counts alone are stored no fact can be followed.
    found = found[~found["run_id"].isin(runs.loc[runs["counted"].astype(bool), "run_id"])]
    if found.empty:
        raise FigureError(
            "no fine-tuned model of this selection is stored fact by fact with its base; results.transitions() lists the pairs"
        )
    return in_menu_order(found, runs).head(1).reset_index(drop=True)


def in_menu_order(found: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Pairs or runs by model, head and probe set, in the order in which pages offer them."""
    models = list(looks_of(runs).colours)
    places = {
        "_model": found["model"].map(models.index),
        "_head": found["head"].map(lambda head: HEADS.index(head) if head in HEADS else len(HEADS)),
        "_set": found["probe_set"].map(set_order),
    }
    return found.assign(**places).sort_values(list(places), kind="stable").drop(columns=list(places))


def _words(names: RunNames) -> str:
    parts = (("model", names.models), ("head", names.heads), ("probe_set", names.probe_sets))
    return ", ".join(f"{name} {' or '.join(values)}" for name, values in parts)
