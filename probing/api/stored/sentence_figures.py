"""The figures of sentence probes, as on their pages."""

from typing import TYPE_CHECKING, Any

import pandas as pd

from probing.api.stored.argument_values import at_most, only, read_from, single
from probing.api.stored.looks import ModelLooks
from probing.core.errors import FigureError
from probing.core.sentences.example import OWN, POOLINGS
from probing.figures.sentences.change_map import change_map
from probing.figures.sentences.fate_bars import fate_bars
from probing.figures.sentences.layer_panels import layer_panels
from probing.figures.sentences.learning_lines import learning_lines
from probing.reports.report import Choice
from probing.reports.sentences.declarations import SENTENCES
from probing.reports.sentences.panels import MAX_MODELS, SentencePanels, compared_models, tasks_of_runs, usual_models
from probing.store.database import Database
from probing.store.sentences.queries import sentence_runs, sentence_tasks

if TYPE_CHECKING:
    from probing.figures.theme import go


def sentence_figure(db: Database, choice: Choice, layers: tuple[int, ...] | None, looks: ModelLooks) -> "go.Figure":
    """The figure of a report; see ``Plots.sentences``."""
    SENTENCES.refuse(db, choice)
    name = choice.report.figure
    if not name:
        raise FigureError(
            f"the pages have no figure of {choice.report.name}; use the table, sentences({choice.report.name!r})"
        )
    if choice["reading"] and tuple(choice["reading"]) != (OWN,):
        raise FigureError(f"got reading={list(choice['reading'])}; the figure shows own probes: leave reading out")
    runs = sentence_runs(db)
    runs = runs[runs["protocol"] == choice["protocol"]]
    if runs.empty:
        raise FigureError(
            "no probes are stored; make some with: python -m probing sentences train --model nesia-mini --tasks all"
        )
    lines: dict[str, Any] = {"colours": looks.colours, "labels": looks.labels, "controls": looks.controls}
    if name == "changes":
        return _map(_panels(db, choice, runs, ()), _tuned(choice, runs, looks), choice, layers, looks.labels)
    if name == "fates":
        if layers is not None:
            raise FigureError(f"got layer={list(layers)}; the figure counts the layers of each fate: leave layer out")
        panel = _panels(db, choice, runs, ()).fates(_tuned(choice, runs, looks))
        return fate_bars(panel.rows, **panel.options)
    order = [model for model in looks.colours if model in set(runs["model"])]
    panels = _panels(
        db, choice, runs, at_most(MAX_MODELS, "model", tuple(choice["model"] or usual_models(runs, order)))
    )
    if name == "panels":
        panel = panels.panels()
        return layer_panels(only(panel.rows, "layer", layers), **panel.options, **lines)
    task, every = single("task", choice["task"]) or next(iter(panels.tasks)), panels.every_curve
    if every.loc[every["task"] == task, "portion"].nunique() < 2:
        raise FigureError(f"probes of {task} on a part of the training sentences are not stored; change model or task")
    only(every[every["task"] == task], "layer", layers)
    return learning_lines(panels.curve(task, single("layer", layers)).rows, **lines)


def _panels(db: Database, choice: Choice, runs: pd.DataFrame, models: tuple[str, ...]) -> SentencePanels:
    """The panels of the page for the caller's choice; what is open has the page's default."""
    about = tasks_of_runs(sentence_tasks(db), runs, choice["protocol"])
    every: dict[str, str] = dict(about[["task", "title"]].itertuples(index=False, name=None))
    tasks = {task: title for task, title in every.items() if task in (choice["task"] or every)}
    return SentencePanels(read_from(db), models, tasks, choice["pooling"] or POOLINGS, choice["protocol"])


def _tuned(choice: Choice, runs: pd.DataFrame, looks: ModelLooks) -> str:
    """The one fine-tuned model that is compared with its base."""
    model = single("model", choice["model"]) or ""
    there = compared_models(runs, list(looks.colours), model)
    model = model or next(iter(there), "")
    if model not in there:
        raise FigureError(
            f"{model or 'no model'} has no stored base; name a fine-tuned one in model: {', '.join(there) or 'none'}"
        )
    return model


def _map(
    panels: SentencePanels, model: str, choice: Choice, layers: tuple[int, ...] | None, labels: dict[str, str]
) -> "go.Figure":
    kind = single("pooling", choice["pooling"]) or POOLINGS[0]
    panel = panels.changes(model)
    table = only(panel.rows, "layer", layers)
    base = str(table["base"].iloc[0]) if len(table) else ""
    return change_map(table, kind=kind, model=labels[model], base=labels.get(base, base), **panel.options)
