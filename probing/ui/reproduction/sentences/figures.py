"""Figures 1 to 5 of the paper with our numbers; the paper's own figures print no values."""

import streamlit as st

from probing.figures.sentences.reproduced_lines import Drawn, reproduced_lines
from probing.reports.reproduction.evidence import BASE
from probing.reports.reproduction.sentences.plots import plot
from probing.ui.frame import selection
from probing.ui.reproduction.selection import ReproductionSelection
from probing.ui.reproduction.sentences.shown import Shown, published
from probing.ui.widgets import blocks
from probing.ui.widgets.figure_cache import drawing
from probing.ui.widgets.markdown import filled

_ACCURACY, _POINTS = Drawn("accuracy, %", 100), Drawn("change, points", 100, signed=True)
#: Kind of figure -> how it is drawn, and how to read it.
_LOOKS = {
    "accuracy": (_ACCURACY, "Solid: mean-pooling, dashed: CLS-pooling. Whiskers are Wilson's 95 % intervals; dotted: the majority label, "
                 "and a probe on surface features."),
    "entropy": (Drawn("entropy, nats"), "Entropy of the first token's attention, mean over sentences, then heads. Whiskers are 95 % "
                "intervals (bootstrap over sentences). The control was trained further on its own text."),
    "distance": (Drawn("earth mover's distance, pieces"), "Distance between the first token's attention before and after fine-tuning; the "
                 "ground distance is that between token positions. Whiskers are 95 % intervals."),
    "epochs": (Drawn("masked-LM perplexity", steps="epoch"), "Read with the base's own head, on masked blocks of WikiText-2's test text. "
               "Epoch 0 is the base. One seed each, so no interval."),
    "replaced": (Drawn("masked-LM perplexity", steps="n"), "n = 0 is the fine-tuned model. The second panel is a control that is not in "
                 "the paper: the first n layers. Whiskers are 95 % intervals of the change from the base (bootstrap over blocks)."),
    "first": (_POINTS, "CLS-pooling. Whiskers are Newcombe's 95 % intervals, paired over the same sentences. Stars: the same probe "
              "against the base's mean-pooling. The control was trained further on its own text."),
    "mean": (_POINTS, "Mean-pooling. Whiskers are Newcombe's 95 % intervals, paired over the same sentences. The control was trained "
             "further on its own text."),
}  # fmt: skip


def draw(shown: Shown) -> None:
    """The choice of a figure; describes the paper's, and draws ours."""
    titles = {one.number: one.title for one in published().figures}
    selection.bound(
        st.selectbox, "Figure", "interplay_figure", shown.view.page, options=list(titles), format_func=titles.__getitem__
    )  # fmt: skip
    figure = published().figure(selection.of(ReproductionSelection).interplay_figure)
    st.markdown(filled("**The paper's figure.** {shows} No values are printed.", shows=figure.shows))
    if shown.laid.ours is None:
        st.caption("Nothing of ours is stored, so nothing is drawn.")
        return
    found, (drawn, caption) = plot(shown.laid.ours, figure.kind), _LOOKS[figure.kind]
    several = found.points["encoder"].nunique() > 1
    labels, colours = {}, {}
    for encoder, objective in dict.fromkeys(zip(found.points["encoder"], found.points["objective"], strict=True)):
        line = f"{encoder} {objective}"
        labels[line] = shown.view.label(encoder) if several and objective == BASE else shown.label(objective)
        colours[line] = shown.view.all_colours.get(encoder, shown.colour(BASE)) if several else shown.colour(objective)
    points, stars = (one.assign(line=one["encoder"] + " " + one["objective"]) for one in (found.points, found.stars))
    blocks.figure(
        drawing(reproduced_lines, points, found.levels, stars, drawn=drawn, colours=colours, labels=labels), table=found.points,
        stamp=shown.stamp(f"Figure {figure.number}"), name=f"interplay-figure-{figure.number}", caption=caption, alt=figure.title,
    )  # fmt: skip
