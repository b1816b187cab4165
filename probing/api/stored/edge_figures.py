"""The figures of edge probing, as on the page Grammar."""

from functools import partial
from typing import TYPE_CHECKING

from probing.api.stored.argument_values import at_most, read_from, single
from probing.api.stored.looks import ModelLooks
from probing.core.edges.encoders import AT, CUMULATIVE
from probing.core.errors import FigureError
from probing.figures.edges.order_matrix import order_matrix
from probing.figures.edges.place_rows import place_rows
from probing.figures.edges.task_curves import axis_of, task_curves
from probing.reports.edges.declarations import EDGES
from probing.reports.edges.panels import MAX_MODELS, EdgePanels, usual_models
from probing.reports.edges.summary import PARTS
from probing.reports.report import Choice
from probing.store.database import Database
from probing.store.edges.queries import edge_runs, edge_tasks

if TYPE_CHECKING:
    from probing.figures.theme import go


def edge_figure(db: Database, choice: Choice, looks: ModelLooks, published: bool) -> "go.Figure":
    """The figure of a report; see ``Plots.edges``."""
    EDGES.refuse(db, choice)
    name = choice.report.figure
    if not name:
        raise FigureError(
            f"the pages have no figure of {choice.report.name}; use the table, edges({choice.report.name!r})"
        )
    panels = _panels(db, choice, looks, published)
    allowed = (CUMULATIVE, AT) if name == "curves" else (CUMULATIVE,)
    kind = single("kind", choice["kind"]) or allowed[0]
    if kind not in allowed:
        raise FigureError(
            f"got kind={kind!r}; the figure shows {' or '.join(allowed)} probes: change kind, or leave it out"
        )
    if name == "order":
        panel = panels.order(single("model", choice["model"]) or panels.models[0])
        return order_matrix(panel.rows, **panel.options)
    draw = partial(place_rows, colours=looks.colours, labels=looks.labels)
    if name == "curves":
        panel = panels.curves(kind)
        draw = partial(task_curves, axis=axis_of(panel.rows, kind), colours=looks.colours, labels=looks.labels)
    elif name == "labels":
        panel = panels.labels(single("task", choice["task"]) or next(iter(panels.tasks)))
    else:
        panel = panels.places()
    return draw(panel.rows, **panel.options)


def _panels(db: Database, choice: Choice, looks: ModelLooks, published: bool) -> EdgePanels:
    """The panels of the page for the caller's choice; what is open has the page's default."""
    runs = edge_runs(db)
    if runs.empty:
        raise FigureError(
            "no probes are stored; make some with: python -m probing edges train --model nesia-mini --tasks all"
        )
    every: dict[str, str] = dict(
        edge_tasks(db)[["task", "title"]].drop_duplicates("task").itertuples(index=False, name=None)
    )
    wanted = set(choice["task"] or runs["task"])
    tasks = {task: title for task, title in every.items() if task in set(runs["task"]) & wanted}
    order = [model for model in looks.colours if model in set(runs["model"])]
    models = at_most(MAX_MODELS, "model", tuple(choice["model"] or usual_models(runs, order)))
    part = single("part", choice["part"]) or PARTS[0]
    return EdgePanels(read_from(db), models, tasks, part, choice["unseen"], published)
