"""The figures on edge probing with our numbers and the published ones, and F1 of every layer."""

import pandas as pd

from probing.edges.figures import place_rows, score_rows
from probing.edges.figures_layers import Axis, layer_bars, task_curves
from probing.kernel.app import blocks
from probing.kernel.app.figure_cache import drawing
from probing.kernel.app.selection import link
from probing.kernel.figures import theme
from probing.papers.edge_probing import CALLED, bars
from probing.papers.edge_probing_encoder_numbers import EncoderNumbers, published_encoders
from probing.papers.page_figures_shown import PaperView

#: The figure that the paper does not have, and the panels of a summary, by their names in links.
CURVES, _SCORES, _PLACES = "curves", "scores", "places"
_SCORES_CAPTION = (
    "F1 without context, P(0), is open; F1 of all layers, P(L), is filled. Grey: published, on other data."
)
_PLACES_CAPTION = (
    "Filled: centre of gravity of the weights; open: expected layer. Lines are 95 % intervals. Grey: published."
)
_BARS_CAPTION = (
    "Outlined: what each layer adds to F1, as a share of the most. Solid: weight of each layer; the paper prints none."
)
_CURVES_CAPTION = "F1 of the probe on layers 0 to l, by share of the depth. Grey: published. Bands are 95 % intervals."
_HOW = (
    "Ours are on other data, so their level is not comparable with the published one, except for relations and, nearly,"
    " dependencies. Encoders of different depth are compared by share of the depth. Intervals are over seeds and"
    " sentences; the published numbers have none, and of BERT-base only two centres of gravity are published. Not"
    " resolved: all layers together do not clearly gain on layer 0. Dashed levels: the F1 of memory, of the commonest"
    " answer, and of the best answers to equal inputs on our data."
)


def labels(paper_view: PaperView) -> dict[str, str]:
    published = {model.title: f"{model.title} (published)" for model in paper_view.numbers.models}
    return published | ({paper_view.ours.name: paper_view.view.label(paper_view.ours.name)} if paper_view.ours else {})


def _colours(paper_view: PaperView) -> dict[str, str]:
    """Our encoder -> colour; those of the paper have none."""
    return (
        {paper_view.ours.name: paper_view.view.all_colours.get(paper_view.ours.name, theme.NEUTRAL)}
        if paper_view.ours
        else {}
    )


def titles(paper_view: PaperView) -> dict[str, str]:
    return {figure.number: figure.title for figure in paper_view.numbers.figures} | {CURVES: "F1 of every layer"}


def panels(paper_view: PaperView, number: str) -> dict[str, str]:
    """The panels of a figure: scores and places, one per encoder, or one per task."""
    if number == CURVES:
        return {task: CALLED[task] for task in paper_view.found.tables["points"]["task"].drop_duplicates()}
    if paper_view.numbers.figure(number).kind == "summary":
        return {_SCORES: "F1", _PLACES: "Places"}
    return {encoder.name: labels(paper_view)[encoder.name] for encoder in _encoders(paper_view, number)}


def _encoders(paper_view: PaperView, number: str) -> list[EncoderNumbers]:
    named = {paper_view.numbers.model(name).title for name in paper_view.numbers.figure(number).models}
    theirs = [encoder for encoder in published_encoders(paper_view.numbers) if encoder.name in named]
    return [*([paper_view.about] if paper_view.about else []), *theirs]


def draw(paper_view: PaperView, number: str, panel: str) -> None:
    """Draws ours with the published numbers for a figure."""
    if number == CURVES:
        _curves(paper_view, panel)
    elif paper_view.numbers.figure(number).kind == "summary":
        table = paper_view.found.tables["summary"]
        table = table[table["model"].isin([encoder.name for encoder in _encoders(paper_view, number)])]
        if panel != _PLACES:
            _rows(paper_view, number, table, _SCORES)
        if panel != _SCORES:
            _rows(paper_view, number, table, _PLACES)
    else:
        for encoder in _encoders(paper_view, number):
            if panel in ("", encoder.name):
                _bars(paper_view, number, encoder)
    if paper_view.ours:
        link("grammar", "More of this encoder: Grammar")


def _curves(paper_view: PaperView, task: str) -> None:
    points, levels = (paper_view.found.tables[name] for name in ("points", "levels"))
    if task:
        points, levels = points[points["task"] == task], levels[levels["task"] == task]
    what = "F1 by share of depth" + (f", {CALLED[task]}" if task else "")
    axis = Axis("micro F1 of P(l)", shares=True)
    blocks.figure(
        drawing(
            task_curves,
            points,
            levels,
            axis=axis,
            colours=_colours(paper_view),
            labels=labels(paper_view),
            titles=CALLED,
        ),
        table=points,
        stamp=paper_view.stamp(what, panel=task),
        name="edge-score-curves",
        caption=_CURVES_CAPTION,
        how=_HOW,
        alt=what,
    )


def _rows(paper_view: PaperView, number: str, table: pd.DataFrame, panel: str) -> None:
    names = {"colours": _colours(paper_view), "labels": labels(paper_view), "titles": CALLED}
    if panel == _SCORES:
        drawn = drawing(score_rows, table, **names)
    else:
        drawn = drawing(place_rows, table, **names, shares=table["last"].nunique() > 1)
    blocks.figure(
        drawn,
        table=table,
        stamp=paper_view.stamp(f"Figure {number}, {panel}"),
        name=f"edge-figure-{number}-{panel}",
        caption=_SCORES_CAPTION if panel == _SCORES else _PLACES_CAPTION,
        how=_HOW,
        alt=f"{paper_view.numbers.figure(number).title}: {panel}",
    )


def _bars(paper_view: PaperView, number: str, encoder: EncoderNumbers) -> None:
    table, name = bars(list(CALLED), encoder), labels(paper_view)[encoder.name]
    colour = _colours(paper_view).get(encoder.name, theme.NEUTRAL)
    blocks.figure(
        drawing(layer_bars, table, colour=colour, titles=CALLED, notes=_notes(paper_view, encoder)),
        table=table,
        stamp=paper_view.stamp(f"Figure {number}, {name}"),
        name=f"edge-figure-{number}-{'published' if encoder.published else 'ours'}-{encoder.depth}",
        caption=_BARS_CAPTION,
        how=_HOW,
        alt=f"{paper_view.numbers.figure(number).title}: {name}",
    )


def _notes(paper_view: PaperView, encoder: EncoderNumbers) -> dict[str, str]:
    """K of weights and gains, written next to the panels as in the paper."""
    table = paper_view.found.tables["summary"]
    notes = {}
    for row in table[table["model"] == encoder.name].to_dict("records"):
        parts = [
            f"{name} {row[column]:.2f}"
            for column, name in (("k_weights", "K(s)"), ("k_gains", "K(Δ)"))
            if pd.notna(row[column])
        ]
        notes[row["row"]] = "".join(f" · {part}" for part in parts)
    return notes
