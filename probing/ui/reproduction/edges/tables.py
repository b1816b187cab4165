"""F1 of every layer, published and ours, with the data behind them."""

import streamlit as st

from probing.figures.edges.task_curves import Axis, task_curves
from probing.reports.reproduction.edges import tables as report
from probing.ui.reproduction.edges.shown import Shown, published
from probing.ui.widgets import blocks
from probing.ui.widgets.figure_cache import drawing


def draw(shown: Shown) -> None:
    """The table of all F1s, the same as curves, and what the probes were trained on."""
    _scores(shown)
    _curves(shown)
    _data(shown)


def _scores(shown: Shown) -> None:
    st.markdown("## F1 of P(0) to P(L), per cent")
    table = report.scores_by_layer(shown.laid.tasks, shown.encoders)
    layers = [name for name in table.columns if name.startswith("P(")]
    blocks.table_with_download(
        table, shown=shown.named(table), stamp=shown.stamp("F1 by layer, per cent"), name="edge-scores", height="content",
        column_config={"task": st.column_config.TextColumn("task", pinned=True)}
        | {name: st.column_config.NumberColumn(name, format="%.2f") for name in layers},
    )  # fmt: skip
    st.caption(
        "Micro F1 on the development part, which also decided when training stopped, as in the paper. P(l) is the probe that reads layers "
        "0 to l; P(0) reads word embeddings without positions. Published numbers are exact, from the authors' notebook; the paper only "
        "draws them."
    )


def _curves(shown: Shown) -> None:
    points = shown.laid.points
    levels = report.levels(shown.laid.tasks, shown.laid.ours)
    blocks.figure(
        drawing(
            task_curves, points, levels, axis=Axis("micro F1 of P(l)", shares=True), colours=shown.colours, labels=shown.labels,
            titles=shown.titles,
        ),
        table=points, stamp=shown.stamp("F1 by share of depth"), name="edge-score-curves",
        caption="The same by share of the depth, so that encoders of different depth can be compared. Grey: published. Bands are 95 % "
        "intervals; dashed levels are the F1 of memory, of one label for all, and of the best answers to equal inputs on our data.",
        alt="F1 of the cumulative probes by share of depth, one panel per task",
    )  # fmt: skip


def _data(shown: Shown) -> None:
    st.markdown("## The data")
    table = report.data(published(), shown.laid.data)
    number = st.column_config.NumberColumn
    blocks.table_with_download(
        table, shown=table.assign(task=table["task"].map(shown.titles)), stamp=shown.stamp("training data"), name="edge-data",
        column_config={
            "task": st.column_config.TextColumn("task", pinned=True), "published_data": "paper",
            "published_targets": number("targets", help="Training targets, as published."),
            "published_labels": number("labels", help="As published."), "source": "ours",
            "targets": number("our targets", help="Training targets here."),
            "labels": number("our labels", help="Labels in training here."),
        },
    )  # fmt: skip
    st.caption(
        "Relations are the same data and the same split as the paper's, dependencies the same treebank in a later version. The paper's "
        "other data need a licence of the Linguistic Data Consortium; with it, supply them in jiant's format."
    )
