"""The figures of edge probing, as the Pipeline page draws them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from probing.api.stored.given import at_most, single
from probing.api.stored.looks import ModelLooks
from probing.core.edges.encoders import AT, CUMULATIVE, TRAINED
from probing.core.errors import FigureError
from probing.figures.edges.order_matrix import order_matrix
from probing.figures.edges.place_rows import place_rows
from probing.figures.edges.task_curves import axis_of, task_curves
from probing.reports.edges import pipeline
from probing.reports.edges.labels import by_label
from probing.reports.edges.layers import f1_by_layer
from probing.reports.edges.order import tasks_in_order
from probing.reports.edges.summary import PARTS, summary
from probing.reports.edges.written import EdgeChoice, What, refuse_unknown
from probing.store.database import Database
from probing.store.edges.queries import edge_runs, edge_tasks

if TYPE_CHECKING:
    from probing.figures.theme import go


@dataclass(frozen=True)
class _Shown:
    """What a figure of edge probing shows.

    Attributes:
        db: the open database.
        choice: what the caller has chosen.
        looks: of the models.
        titles: title by task, of the chosen ones, in the order of tables.
        models: the chosen models, or the page's default.
        published: whether published numbers are drawn, too.
    """

    db: Database
    choice: EdgeChoice
    looks: ModelLooks
    titles: dict[str, str]
    models: tuple[str, ...]
    published: bool

    @property
    def part(self) -> str:
        """The part of the data that is scored."""
        return single("part", self.choice.parts) or PARTS[0]

    @property
    def tasks(self) -> tuple[str, ...]:
        """The chosen tasks."""
        return tuple(self.titles)

    def kind(self, allowed: Sequence[str]) -> str:
        """The kind of the probes, the first that the figure can show where none is chosen."""
        kind = single("kind", self.choice.kinds) or allowed[0]
        if kind not in allowed:
            raise FigureError(f"got kind={kind!r}; the figure shows {' or '.join(allowed)} probes: change kind, or leave it out")
        return kind

    def summary(self):
        """The page's summary: trained encoders on the chosen part."""
        found = summary(self.db, unseen=self.choice.unseen, models=self.models, tasks=self.tasks)
        return pipeline.on_part(pipeline.in_order(found, self.models, self.tasks), self.part)


def edge_figure(db: Database, choice: EdgeChoice, looks: ModelLooks, published: bool) -> "go.Figure":
    """The figure of a report; see ``Plots.edges``."""
    refuse_unknown(db, choice)
    draw: dict[What, Callable[[_Shown], go.Figure]] = {
        What.summary: _places, What.scores: _curves, What.labels: _labels, What.tasks: _order,
    }  # fmt: skip
    if choice.what not in draw:
        raise FigureError(f"the pages have no figure of {choice.what}; take the table, edges({choice.what.value!r})")
    runs = edge_runs(db)
    if runs.empty:
        raise FigureError("no probes are stored; make some with: python -m probing edges train --model nesia-mini --tasks all")
    every: dict[str, str] = dict(edge_tasks(db)[["task", "title"]].drop_duplicates("task").itertuples(index=False, name=None))
    wanted = set(choice.tasks or runs["task"])
    titles = {task: title for task, title in every.items() if task in set(runs["task"]) & wanted}
    order = [model for model in looks.colours if model in set(runs["model"])]
    models = at_most(pipeline.MAX_MODELS, "model", tuple(choice.models or pipeline.usual_models(runs, order)))
    return draw[choice.what](_Shown(db, choice, looks, titles, models, published))


def _places(shown: _Shown) -> "go.Figure":
    shown.kind((CUMULATIVE,))
    table = pipeline.with_published(shown.summary(), pipeline.published_summary(shown.tasks if shown.published else ()))
    looks = {"colours": shown.looks.colours, "labels": shown.looks.labels}
    return place_rows(table.assign(row=table["task"]), titles=shown.titles, shares=table["last"].nunique() > 1, **looks)


def _curves(shown: _Shown) -> "go.Figure":
    kind, chosen = shown.kind((CUMULATIVE, AT)), shown.choice
    found = f1_by_layer(shown.db, kind, part=shown.part, unseen=chosen.unseen, models=shown.models, tasks=shown.tasks)
    points = pipeline.in_order(found, shown.models, shown.tasks)
    if kind == CUMULATIVE and shown.published and len(points):
        points = pipeline.with_published_scores(points, shown.tasks)
    levels = pipeline.task_levels(shown.summary())
    axis = axis_of(points, kind)
    return task_curves(points, levels, axis=axis, colours=shown.looks.colours, labels=shown.looks.labels, titles=shown.titles)


def _labels(shown: _Shown) -> "go.Figure":
    shown.kind((CUMULATIVE,))
    task = single("task", shown.choice.tasks) or shown.tasks[0]
    found = by_label(shown.db, task, part=shown.part, unseen=shown.choice.unseen, models=shown.models)
    table = pipeline.in_order(found, shown.models, shown.tasks)
    drawn = pipeline.frequent_labels(table[table["encoder"] == TRAINED])
    return place_rows(drawn, colours=shown.looks.colours, labels=shown.looks.labels, shares=drawn["last"].nunique() > 1)


def _order(shown: _Shown) -> "go.Figure":
    shown.kind((CUMULATIVE,))
    model = single("model", shown.choice.models) or shown.models[0]
    pairs = tasks_in_order(shown.db, model, shown.tasks, part=shown.part, unseen=shown.choice.unseen)
    return order_matrix(pairs, titles=shown.titles)
