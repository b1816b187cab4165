"""Figures 1 to 5 of the paper on fine-tuning and probing with our numbers; the paper's own figures print no values."""

import streamlit as st

from probing.finetuning.objectives import BASE
from probing.kernel.app import blocks
from probing.kernel.app.figure_cache import drawing
from probing.kernel.figures import theme
from probing.papers.figures import Drawn, reproduced_lines
from probing.papers.interplay_families import COLA, COLA_MEAN, RTE, SST
from probing.papers.interplay_plots import Plot, plot
from probing.papers.page_figures_shown import PaperView, titled

_ACCURACY, _POINTS = Drawn("right answers, % (accuracy)", 100), Drawn("change, points", 100, signed=True)
#: Kind of figure -> how it is drawn, and its caption.
_LOOKS = {
    "accuracy": (
        _ACCURACY,
        "Solid: mean-pooling; dashed: CLS-pooling. Dotted: the commonest answer, and a probe on surface features.",
    ),
    "entropy": (Drawn("entropy, nats"), "How spread the first token's attention is: mean over sentences, then heads."),
    "distance": (
        Drawn("earth mover's distance, pieces"),
        "How far the first token's attention moved by fine-tuning, in tokens.",
    ),
    "epochs": (
        Drawn("masked-LM perplexity", steps="epoch"),
        "Read with the base's own head on WikiText-2. Epoch 0 is the base.",
    ),
    "replaced": (
        Drawn("masked-LM perplexity", steps="n"),
        "n layers of the base put back. The first n layers are a control of ours.",
    ),
    "first": (_POINTS, "Change by fine-tuning, CLS-pooling. Stars: the same probe against the base's mean-pooling."),
    "mean": (_POINTS, "Change by fine-tuning, mean-pooling."),
}
_HOW = (
    "Whiskers are 95 % intervals: Wilson's for accuracy, Newcombe's, paired over the same sentences, for its change,"
    " and a bootstrap over sentences or blocks for the others; epochs have one seed each and no interval. The control"
    " was trained further on its base's text. The sentences are not the paper's, unless SentEval's own were fetched."
)


def titles(paper_view: PaperView) -> dict[str, str]:
    return {figure.number: figure.title for figure in paper_view.numbers.figures}


def _models(paper_view: PaperView) -> dict[str, str]:
    return {BASE: paper_view.about.family.base, **paper_view.about.family.members}


def _label(paper_view: PaperView, objective: str) -> str:
    """The name of an objective's model, marked by whether it learned its task."""
    models = _models(paper_view)
    return paper_view.view.label(models[objective]) if objective in models else objective


def _colour(paper_view: PaperView, objective: str) -> str:
    """The model's colour on every page; if it has none, one of its objective."""
    known = paper_view.view.all_colours.get(_models(paper_view).get(objective, ""))
    of_objective = theme.OBJECTIVE_COLOURS.get(objective)
    others = (COLA, COLA_MEAN, SST, RTE)
    place = others.index(objective) if objective in others else 4
    return known or (of_objective[0] if of_objective else theme.OTHER_COLOURS[place])


def panels(paper_view: PaperView, number: str) -> dict[str, str]:
    drawn = plot(paper_view.about, paper_view.numbers.figure(number).kind).points["panel"] if paper_view.about else ()
    return {panel: panel for panel in dict.fromkeys(drawn)}


def draw(paper_view: PaperView, number: str, panel: str) -> None:
    if paper_view.about is None:
        st.caption("Nothing of ours is stored, so nothing is drawn.")
        return
    figure = paper_view.numbers.figure(number)
    plotted, (drawn, caption) = plot(paper_view.about, figure.kind), _LOOKS[figure.kind]
    if panel:
        plotted = Plot(*(rows[rows["panel"] == panel] for rows in plotted))
    several = plotted.points["encoder"].nunique() > 1
    labels, colours = {}, {}
    for encoder, objective in dict.fromkeys(zip(plotted.points["encoder"], plotted.points["objective"], strict=True)):
        line = f"{encoder} {objective}"
        labels[line] = (
            paper_view.view.label(encoder) if several and objective == BASE else _label(paper_view, objective)
        )
        colours[line] = (
            paper_view.view.all_colours.get(encoder, _colour(paper_view, BASE))
            if several
            else _colour(paper_view, objective)
        )
    points, stars = (
        points_of.assign(line=points_of["encoder"] + " " + points_of["objective"])
        for points_of in (plotted.points, plotted.stars)
    )
    blocks.figure(
        drawing(reproduced_lines, points, plotted.levels, stars, drawn=drawn, colours=colours, labels=labels),
        table=plotted.points,
        stamp=paper_view.stamp(titled(number, panel), panel=panel),
        name=f"interplay-figure-{number}",
        caption=caption,
        how=_HOW,
        alt=figure.title,
    )
