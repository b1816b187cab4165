"""F1 of every layer, published and ours, with the data behind them."""

from typing import Any

import pandas as pd
import streamlit as st

from probing.figures import theme
from probing.figures.edges.task_curves import Axis, task_curves
from probing.reports.reproduction.edges.tables import CALLED
from probing.ui.frame import navigation
from probing.ui.reproduction.page_view import Shown, Table
from probing.ui.reproduction.selection import choose_panel
from probing.ui.widgets import blocks
from probing.ui.widgets.figure_cache import drawing
from probing.ui.widgets.markdown import Markdown


def labels(shown: Shown) -> dict[str, str]:
    """Encoder -> its name in tables and figures."""
    ours = shown.found.ours
    published = {one.title: f"{one.title} (published)" for one in shown.numbers.models}
    return published | ({ours.name: shown.view.label(ours.name)} if ours else {})


def colours(shown: Shown) -> dict[str, str]:
    """Our encoder -> colour; those of the paper have none."""
    ours = shown.found.ours
    return {ours.name: shown.view.all_colours.get(ours.name, theme.NEUTRAL)} if ours else {}


def _named(shown: Shown, table: pd.DataFrame) -> pd.DataFrame:
    """A table with readable names of tasks and encoders."""
    table = table.assign(task=table["task"].map(CALLED))
    return table.assign(encoder=table["encoder"].map(labels(shown))) if "encoder" in table else table


def _columns(table: pd.DataFrame) -> dict[str, Any]:
    layers = {name: st.column_config.NumberColumn(name, format="%.2f") for name in table.columns if name.startswith("P(")}
    return {"task": _TASK, **layers}


def link_to_pipeline(shown: Shown) -> None:
    """Links to the page that has all controls, if anything of ours is shown."""
    if ours := shown.found.ours:
        navigation.link("grammar", "Open with all controls on Pipeline", edge_models=(ours.name,))


def _curves(shown: Shown) -> None:
    points, levels = shown.found.tables["points"], shown.found.tables["levels"]
    tasks = {task: CALLED[task] for task in points["task"].drop_duplicates()}
    if task := choose_panel(tasks, "pipeline_task", shown.view.page, Markdown("Task")):
        points, levels = points[points["task"] == task], levels[levels["task"] == task]
    what = "F1 by share of depth" + (f", {CALLED[task]}" if task else "")
    axis = Axis("micro F1 of P(l)", shares=True)
    blocks.figure(
        drawing(task_curves, points, levels, axis=axis, colours=colours(shown), labels=labels(shown), titles=CALLED),
        table=points,
        stamp=shown.stamp(what, panel=task),
        name="edge-score-curves",
        caption="By share of the depth, so that encoders of different depth can be compared. Grey: published. Bands are 95 % "
        "intervals; dashed levels are the F1 of memory, of one label for all, and of the best answers to equal inputs on our data.",
        alt=f"{what}, cumulative probes" + ("" if task else ", one panel per task"),
    )
    link_to_pipeline(shown)


_TASK, _number = st.column_config.TextColumn("task", pinned=True), st.column_config.NumberColumn
SCORES = Table(
    "scores",
    "scores",
    "F1 by layer, per cent",
    heading=Markdown("## F1 of P(0) to P(L), per cent"),
    worded=_named,
    columns=_columns,
    options={"height": "content"},
    caption=Markdown(
        "Micro F1 on the development part, which also decided when training stopped, as in the paper. P(l) is the probe that reads layers "
        "0 to l; P(0) reads word embeddings without positions. Published numbers are exact, from the authors' notebook; the paper only "
        "draws them."
    ),
)
DATA = Table(
    "data",
    "data",
    "training data",
    heading=Markdown("## The data"),
    worded=_named,
    columns={
        "task": _TASK,
        "published_data": "paper",
        "published_targets": _number("targets", help="Training targets, as published."),
        "published_labels": _number("labels", help="As published."),
        "source": "ours",
        "targets": _number("our targets", help="Training targets here."),
        "labels": _number("our labels", help="Labels in training here."),
    },
    caption=Markdown(
        "Relations are the same data and the same split as the paper's, dependencies the same treebank in a later version. The paper's "
        "other data need a licence of the Linguistic Data Consortium; with it, supply them in jiant's format."
    ),
)
TABLES = (_curves, SCORES, DATA)
