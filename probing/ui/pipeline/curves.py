"""What the probes reach layer by layer: cumulative, each layer alone, selectivity, compression."""

import streamlit as st

from probing.figures.edges.task_curves import TITLES, axis_of, task_curves
from probing.ui.frame import selection
from probing.ui.pipeline.page_view import Shown
from probing.ui.widgets import blocks
from probing.ui.widgets.figure_cache import drawing
from probing.ui.widgets.markdown import filled

NAMES = {"cumulative": "cumulative, P(l)", "at": "each layer alone", "selectivity": "selectivity", "compression": "compression"}
_WORDS = {
    "cumulative": "P(l) reads the layers 0 to l, so it can hide that a layer lost something.",
    "at": "A probe reads one layer alone, so a layer that lost something shows.",
    "selectivity": "F1 minus that of an equal probe on control labels, which are drawn at random once per span text (Hewitt and Liang "
    "2019): the part that memorising span texts cannot explain. Only spans whose text occurs in training are counted, because no other "
    "control label can be known. If the probe did not learn its control labels (control F1 0), selectivity is the F1 itself.",
    "compression": "How many times shorter the online code of the labels is than the uniform code, which has compression 1 (Voita and "
    "Titov 2020). Labels that are hard to learn lengthen the code, so compression also shows how easily a layer's answer is read.",
}
_COMMANDS = {
    "cumulative": "",
    "at": " --kinds cumulative,at",
    "selectivity": " --labels task,control",
    "compression": " --codes",
}
_RANDOM = {
    "random": " Dotted: the same model with all weights random.",
    "random-body": " Dots and dashes: a random body under trained embeddings.",
}


def draw(shown: Shown) -> None:
    """The switch, and one panel per task."""
    shown.view.contents.section("Layer by layer")
    mode = selection.bound(
        st.segmented_control,
        "Show",
        "layerwise",
        shown.view.page,
        options=list(NAMES),
        required=True,
        wrap=True,
        format_func=NAMES.__getitem__,
    )
    panel = shown.panels.curves(mode)
    points = panel.rows
    if points.empty:
        blocks.missing(
            filled("{what} is not stored for these models and tasks.", what=NAMES[mode].capitalize()),
            f"python -m probing edges train --model {shown.models[0]} --tasks {','.join(shown.tasks)}{_COMMANDS[mode]}",
        )
        return
    random = "".join(words for encoder, words in _RANDOM.items() if (points["encoder"] == encoder).any())
    bands = " Bands are 95 % intervals." if "low" in points and points["low"].notna().any() else ""
    blocks.figure(
        drawing(task_curves, points, axis=axis_of(points, mode), colours=shown.colours, labels=shown.labels, **panel.options),
        table=points,
        stamp=shown.stamp(TITLES[mode]),
        name="pipeline-curves",
        call=shown.call("scores", kind=mode, published=shown.own.published) if mode in ("cumulative", "at") else "",
        caption=filled("{words}{random}{bands} {key}", words=_WORDS[mode], random=random, bands=bands, key=shown.key()),
        alt=f"{TITLES[mode]} by layer, one panel per task",
    )
