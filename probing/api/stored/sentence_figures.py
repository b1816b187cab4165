"""The figures of sentence probes, as their pages draw them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd

from probing.api.stored.given import at_most, only, single
from probing.api.stored.looks import ModelLooks
from probing.core.errors import FigureError
from probing.core.sentences.example import OWN, POOLINGS
from probing.figures.sentences.change_map import change_map
from probing.figures.sentences.fate_bars import fate_bars
from probing.figures.sentences.layer_panels import layer_panels
from probing.figures.sentences.learning_lines import learning_lines
from probing.reports.sentences import panels
from probing.reports.sentences.accuracy import accuracies, learning_curve
from probing.reports.sentences.changed import changes
from probing.reports.sentences.gone import where_gone_shares
from probing.reports.sentences.written import SentenceChoice, What, refuse_unknown
from probing.store.database import Database
from probing.store.sentences.queries import sentence_runs, sentence_tasks

if TYPE_CHECKING:
    from probing.figures.theme import go


@dataclass(frozen=True)
class _Shown:
    """What a figure of sentence probes shows.

    Attributes:
        db: the open database.
        choice: what the caller has chosen.
        layers: layers to keep; None keeps all.
        looks: of the models.
        runs: the runs of the protocol.
        titles: title by task, of the chosen ones, in the order of tables.
    """

    db: Database
    choice: SentenceChoice
    layers: tuple[int, ...] | None
    looks: ModelLooks
    runs: pd.DataFrame
    titles: dict[str, str]

    @property
    def tasks(self) -> tuple[str, ...]:
        """The chosen tasks."""
        return tuple(self.titles)

    @property
    def models(self) -> tuple[str, ...]:
        """The chosen models, or the page's default."""
        order = [model for model in self.looks.colours if model in set(self.runs["model"])]
        return at_most(panels.MAX_MODELS, "model", tuple(self.choice.models or panels.usual_models(self.runs, order)))

    @property
    def poolings(self) -> tuple[str, ...]:
        """How a sentence becomes one vector, of the chosen ways."""
        return tuple(self.choice.poolings or POOLINGS)

    def tuned(self) -> str:
        """The one fine-tuned model that is compared with its base."""
        there = panels.compared_models(self.runs, list(self.looks.colours), single("model", self.choice.models) or "")
        model = single("model", self.choice.models) or next(iter(there), "")
        if model not in there:
            raise FigureError(f"{model or 'no model'} has no stored base; name a fine-tuned one in model: {', '.join(there) or 'none'}")
        return model


def sentence_figure(db: Database, choice: SentenceChoice, layers: tuple[int, ...] | None, looks: ModelLooks) -> "go.Figure":
    """The figure of a report; see ``Plots.sentences``."""
    refuse_unknown(db, choice)
    draw: dict[What, Callable[[_Shown], go.Figure]] = {
        What.accuracy: _panels, What.changes: _map, What.where_gone: _fates, What.curve: _lines,
    }  # fmt: skip
    if choice.what not in draw:
        raise FigureError(f"the pages have no figure of {choice.what}; take the table, sentences({choice.what.value!r})")
    if choice.readings and tuple(choice.readings) != (OWN,):
        raise FigureError(f"got reading={list(choice.readings)}; the figure shows own probes: leave reading out")
    runs = sentence_runs(db)
    runs = runs[runs["protocol"] == choice.protocol]
    if runs.empty:
        raise FigureError("no probes are stored; make some with: python -m probing sentences train --model nesia-mini --tasks all")
    about = panels.tasks_of_runs(sentence_tasks(db), runs, choice.protocol)
    every: dict[str, str] = dict(about[["task", "title"]].itertuples(index=False, name=None))
    titles = {task: title for task, title in every.items() if task in (choice.tasks or every)}
    return draw[choice.what](_Shown(db, choice, layers, looks, runs, titles))


def _panels(shown: _Shown) -> "go.Figure":
    found = accuracies(shown.db, models=shown.models, tasks=shown.tasks, protocol=shown.choice.protocol)
    found = panels.in_panel_order(found[found["pooling"].isin(shown.poolings)], shown.models, shown.tasks)
    looks = shown.looks
    return layer_panels(
        only(found, "layer", shown.layers), colours=looks.colours, labels=looks.labels, titles=shown.titles, controls=looks.controls
    )  # fmt: skip


def _map(shown: _Shown) -> "go.Figure":
    model, labels = shown.tuned(), shown.looks.labels
    kind = single("pooling", shown.choice.poolings) or POOLINGS[0]
    found = changes(shown.db, models=(model,), tasks=shown.tasks, protocol=shown.choice.protocol)
    table = only(panels.in_panel_order(found, (model,), shown.tasks), "layer", shown.layers)
    base = str(table["base"].iloc[0]) if len(table) else ""
    return change_map(table, kind=kind, titles=shown.titles, model=labels[model], base=labels.get(base, base))


def _fates(shown: _Shown) -> "go.Figure":
    if shown.layers is not None:
        raise FigureError(f"got layer={list(shown.layers)}; the figure counts the layers of each fate: leave layer out")
    shares = where_gone_shares(shown.db, models=(shown.tuned(),), protocol=shown.choice.protocol, by=("task", "pooling"))
    kept = shares[shares["task"].isin(shown.tasks) & shares["pooling"].isin(shown.poolings)]
    return fate_bars(kept, titles=shown.titles)


def _lines(shown: _Shown) -> "go.Figure":
    task = single("task", shown.choice.tasks) or shown.tasks[0]
    every = learning_curve(shown.db, models=shown.models, tasks=shown.tasks, protocol=shown.choice.protocol)
    mine = every[(every["task"] == task) & every["pooling"].isin(shown.poolings) & every["model"].isin(shown.models)]
    if mine["portion"].nunique() < 2:
        raise FigureError(f"probes of {task} on a part of the training sentences are not stored; change model or task")
    layer = single("layer", shown.layers)
    points = panels.curve_rows(only(mine, "layer", shown.layers), shown.models, layer)
    return learning_lines(points, colours=shown.looks.colours, labels=shown.looks.labels, controls=shown.looks.controls)
