"""How accuracy grows with the number of training sentences."""

import streamlit as st

from probing.figures.sentences.learning_lines import learning_lines
from probing.ui.frame import selection
from probing.ui.sentence_probes.page_view import Shown
from probing.ui.widgets import blocks
from probing.ui.widgets.figure_cache import drawing
from probing.ui.widgets.markdown import filled
from probing.ui.widgets.paper.calls import plot


def draw(shown: Shown) -> None:
    """The choice of a task and a layer, and the curve."""
    shown.view.contents.section("With fewer training sentences")
    page, own = shown.view.page, shown.own
    task = own.learned_task if own.learned_task in shown.tasks else next(iter(shown.tasks))
    every = shown.panels.every_curve
    if every.empty or every["portion"].nunique() < 2:
        st.info("Probes on a part of the training sentences are not stored for these models.", icon=":material/info:")
        return
    last = int(every["layer"].max())
    with st.container(horizontal=True, vertical_alignment="bottom", gap="large"):
        if len(shown.tasks) > 1:
            selection.bound(
                st.selectbox,
                "Learning curve of",
                "learned_task",
                page,
                value=task,
                options=list(shown.tasks),
                format_func=shown.tasks.__getitem__,
            )
        selection.bound(
            st.selectbox,
            "Layer",
            "learned_layer",
            page,
            options=[None, *range(last + 1)],
            placeholder="best of each",
            format_func=lambda layer: "best of each" if layer is None else "0 (embeddings)" if layer == 0 else str(layer),
            help="The layer whose probe on all training sentences is best on the development sentences.",
        )
    points = shown.panels.curve(task, own.learned_layer).rows
    if points.empty:
        st.info("No probes of this task are stored for this layer.", icon=":material/info:")
        return
    where = "at each line's best layer" if own.learned_layer is None else f"at layer {own.learned_layer}"
    blocks.figure(
        drawing(learning_lines, points, colours=shown.colours, labels=shown.labels, controls=shown.controls),
        table=points,
        stamp=shown.stamp(f"learning curve of {shown.tasks[task]}, {where}"),
        name="sentence-learning",
        call=plot("sentences", "curve", model=list(shown.models), task=task, protocol=shown.protocol, layer=own.learned_layer),
        caption=filled(
            "{title}, {where}: probes on a sixteenth, a quarter and all of the training sentences, each the beginning of the next, with "
            "equal classes. Bands are 95 % intervals; dotted: majority, dots and dashes: the surface baseline with all sentences. If a "
            "line still rises, the probe may gain from more sentences. {key}",
            title=shown.tasks[task],
            where=where,
            key=shown.key(),
        ),
        alt=f"Accuracy on {shown.tasks[task]} by number of training sentences",
    )
