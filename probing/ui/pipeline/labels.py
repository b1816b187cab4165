"""One task label by label: F1, and where each label is solved."""

import streamlit as st

from probing.figures.edges.place_rows import place_rows
from probing.ui.frame import selection
from probing.ui.pipeline.page_view import Shown
from probing.ui.widgets import blocks
from probing.ui.widgets.figure_cache import drawing
from probing.ui.widgets.markdown import filled


def draw(shown: Shown) -> None:
    """The choice of a task, and its labels."""
    shown.view.contents.section("Label by label")
    own, page = shown.own, shown.view.page
    task = own.labels_of if own.labels_of in shown.tasks else next(iter(shown.tasks))
    if len(shown.tasks) > 1:
        selection.bound(
            st.selectbox, "Labels of", "labels_of", page, value=task, options=list(shown.tasks), format_func=shown.tasks.__getitem__
        )
    panel = shown.panels.labels(task)
    drawn, table = panel.rows, panel.table
    if table is None or table.empty:
        st.info("No cumulative probes are stored for this task.", icon=":material/info:")
        return
    more = table["label"].nunique() - drawn["label"].nunique()
    blocks.figure(
        drawing(place_rows, drawn, colours=shown.colours, labels=shown.labels, **panel.options),
        table=table,
        stamp=shown.stamp(f"labels of {shown.tasks[task]}"),
        name="pipeline-labels",
        call=shown.call("labels", task=task),
        caption=filled(
            "Expected layer of each label, from its own F1; lines are 95 % intervals. Frequent labels are on top{more}. {key}",
            more=f"; {more} rarer ones are in the table" if more else "",
            key=shown.key(),
        ),
        alt=f"Expected layer of each label of {shown.tasks[task]}",
    )
