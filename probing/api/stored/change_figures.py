"""The figure of the page "What fine-tuning changed" for one model."""

from typing import TYPE_CHECKING

import pandas as pd

from probing.api.stored.argument_values import read_from, single
from probing.api.stored.looks import ModelLooks
from probing.api.stored.shown_runs import in_menu_order
from probing.core.errors import FigureError, OptionError
from probing.figures import theme
from probing.figures.changes.panels import evidence_panels
from probing.figures.shown_runs import RunNames, fit
from probing.reports.changes.declarations import CHANGES
from probing.reports.fine_tuning.evidence import MEASURED, PERPLEXITY, FactRuns, TuningPanels
from probing.reports.fine_tuning.facts_kept import fact_pairs
from probing.reports.fine_tuning.families_of_models import tuned_models
from probing.reports.knowledge.runs import RunSelection
from probing.reports.report import Choice
from probing.reports.runs import one_run_each
from probing.store.database import Database
from probing.store.run_queries import runs as all_runs

if TYPE_CHECKING:
    from probing.figures.theme import go


def change_figure(db: Database, choice: Choice | None, names: RunSelection, k: int, looks: ModelLooks) -> "go.Figure":
    """The panels of one fine-tuned model; see ``Plots.changes``.

    Args:
        db: the open database.
        choice: the report whose panels are drawn; None draws all panels of the page.
        names: the model, and the head and probe set of the counted facts.
        k: the rank up to which a fact counts as known.
        looks: names and colours of the models.
    """
    model = _model(db, names, looks)
    if choice is not None:
        CHANGES.refuse(db, choice)
    panels = TuningPanels(read_from(db), model, _facts(db, model, names, k))
    evidence = panels.found if choice is None else _of_report(panels.found, choice)
    called = [looks.labels.get(name, name) for name in (model, panels.base, panels.control)]
    colours = [looks.colours[model], looks.colours.get(panels.base, theme.PALETTE[0])]
    return evidence_panels(evidence, names=called, colours=colours, tasks=panels.titles)


def _model(db: Database, names: RunSelection, looks: ModelLooks) -> str:
    """The chosen fine-tuned model, or the page's default: the first model with facts, else the first that represents
    itself.
    """
    tuned = tuned_models(db)
    if tuned.empty:
        raise FigureError(
            "no fine-tuned model is stored; measure one with: python -m probing changes measure --model MODEL"
        )
    stored = set(tuned["model"])
    model = single("model", names.models)
    if model is None:
        standing = set(tuned.loc[tuned["stands"] == tuned["model"], "model"])
        asked = fit(RunNames(), one_run_each(all_runs(db)))[0].model
        return (
            asked
            if asked in standing
            else min((one for one in looks.colours if one in standing), key=lambda one: one in looks.controls)
        )
    if model not in stored:
        raise OptionError(
            f"got model {model}; fine-tuned models are {', '.join(one for one in looks.colours if one in stored)}"
        )
    return model


def _facts(db: Database, model: str, names: RunSelection, k: int) -> FactRuns | None:
    """The counted facts, among those that both the model and its base were asked."""
    pairs = fact_pairs(db)
    model_pairs = pairs[pairs["model"] == model]
    for column, wanted in (("head", names.heads), ("probe_set", names.probe_sets)):
        one = single(column, wanted)
        if one is not None and one not in set(model_pairs[column]):
            there = ", ".join(dict.fromkeys(model_pairs[column])) or "none"
            raise OptionError(f"got {column} {one}; {model} and its base have {there}")
        model_pairs = model_pairs if one is None else model_pairs[model_pairs[column] == one]
    if model_pairs.empty:
        return None
    first = in_menu_order(model_pairs, all_runs(db)).iloc[0]
    return FactRuns(str(first["head"]), str(first["probe_set"]), k)


def _of_report(found: pd.DataFrame, choice: Choice) -> pd.DataFrame:
    """The rows of the panels that show a report."""
    if not (name := choice.report.figure):
        raise FigureError(
            f"the pages have no figure of {choice.report.name}; use the table, changes({choice.report.name!r})"
        )
    if choice["heads"]:
        raise FigureError("got heads=True; the figure shows whole layers: leave heads out")
    if name == "perplexity":
        return found[found["panel"] == PERPLEXITY]
    if unknown := [name for name in choice["measure"] or () if name not in MEASURED]:
        raise FigureError(f"got measure {unknown[0]}, which the page does not draw; it draws {', '.join(MEASURED)}")
    places = {MEASURED[name] for name in choice["measure"] or MEASURED}
    return found[[place in places for place in zip(found["panel"], found["line"], strict=True)]]
