"""Figures 1 to 5 of the paper with our numbers; the paper's own figures print no values."""

import streamlit as st

from probing.core.sentences.published import PublishedDrawing
from probing.core.tasks.objectives import BASE
from probing.figures import theme
from probing.figures.sentences.reproduced_lines import Drawn, reproduced_lines
from probing.reports.reproduction.sentences.families import COLA, COLA_MEAN, RTE, SST
from probing.reports.reproduction.sentences.plots import Plot, plot
from probing.ui.reproduction.page_view import Shown, titled
from probing.ui.widgets import blocks
from probing.ui.widgets.figure_cache import drawing
from probing.ui.widgets.task_marks import marks_once

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
    "replaced": (Drawn("masked-LM perplexity", steps="n"), "n = 0 is the fine-tuned model. The first n layers are a control that is not "
                 "in the paper. Whiskers are 95 % intervals of the change from the base (bootstrap over blocks)."),
    "first": (_POINTS, "CLS-pooling. Whiskers are Newcombe's 95 % intervals, paired over the same sentences. Stars: the same probe "
              "against the base's mean-pooling. The control was trained further on its own text."),
    "mean": (_POINTS, "Mean-pooling. Whiskers are Newcombe's 95 % intervals, paired over the same sentences. The control was trained "
             "further on its own text."),
}  # fmt: skip


def _models(shown: Shown) -> dict[str, str]:
    """Objective -> model of ours."""
    return {BASE: shown.about.family.base, **shown.about.family.members}


def _label(shown: Shown, objective: str) -> str:
    """The name of an objective's model, marked by whether it learned its task."""
    models = _models(shown)
    return shown.view.label(models[objective]) if objective in models else objective


def _colour(shown: Shown, objective: str) -> str:
    """The model's colour on every page; if it has none, one of its objective."""
    known = shown.view.all_colours.get(_models(shown).get(objective, ""))
    of_objective = theme.OBJECTIVE_COLOURS.get(objective)
    others = (COLA, COLA_MEAN, SST, RTE)
    place = others.index(objective) if objective in others else 4
    return known or (of_objective[0] if of_objective else theme.OTHER_COLOURS[place])


def panels(shown: Shown, figure: PublishedDrawing) -> dict[str, str]:
    """The panels of a figure, named by their titles."""
    drawn = plot(shown.found.ours.about, figure.kind).points["panel"] if shown.found.ours else ()
    return {panel: panel for panel in dict.fromkeys(drawn)}


def draw(shown: Shown, figure: PublishedDrawing, panel: str) -> None:
    """Draws ours for a figure of the paper."""
    if shown.found.ours is None:
        st.caption("Nothing of ours is stored, so nothing is drawn.")
        return
    found, (drawn, caption) = plot(shown.found.ours.about, figure.kind), _LOOKS[figure.kind]
    if panel:
        found = Plot(*(rows[rows["panel"] == panel] for rows in found))
    several = found.points["encoder"].nunique() > 1
    labels, colours = {}, {}
    for encoder, objective in dict.fromkeys(zip(found.points["encoder"], found.points["objective"], strict=True)):
        line = f"{encoder} {objective}"
        labels[line] = shown.view.label(encoder) if several and objective == BASE else _label(shown, objective)
        colours[line] = shown.view.all_colours.get(encoder, _colour(shown, BASE)) if several else _colour(shown, objective)
    models = [model for one in found.points["objective"].unique() if (model := _models(shown).get(one))]
    points, stars = (one.assign(line=one["encoder"] + " " + one["objective"]) for one in (found.points, found.stars))
    blocks.figure(
        drawing(reproduced_lines, points, found.levels, stars, drawn=drawn, colours=colours, labels=labels),
        table=found.points,
        stamp=shown.stamp(titled(figure.number, panel), panel=panel),
        name=f"interplay-figure-{figure.number}",
        caption=f"{caption} {marks_once(shown.view, models)}".rstrip(),
        alt=figure.title,
    )
