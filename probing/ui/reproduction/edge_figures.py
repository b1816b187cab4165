"""The figures on edge probing with our numbers and the published ones, and F1 of every layer."""

import pandas as pd

from probing.figures import theme
from probing.figures.edges.layer_bars import layer_bars
from probing.figures.edges.place_rows import place_rows
from probing.figures.edges.score_rows import score_rows
from probing.figures.edges.task_curves import Axis, task_curves
from probing.reports.reproduction.edges import tables as report
from probing.reports.reproduction.edges.encoder_numbers import EncoderNumbers, published_encoders
from probing.ui.frame import navigation
from probing.ui.reproduction.shown import Shown
from probing.ui.widgets import blocks
from probing.ui.widgets.figure_cache import drawing

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


def labels(shown: Shown) -> dict[str, str]:
    published = {model.title: f"{model.title} (published)" for model in shown.numbers.models}
    return published | ({shown.ours.name: shown.view.label(shown.ours.name)} if shown.ours else {})


def _colours(shown: Shown) -> dict[str, str]:
    """Our encoder -> colour; those of the paper have none."""
    return {shown.ours.name: shown.view.all_colours.get(shown.ours.name, theme.NEUTRAL)} if shown.ours else {}


def titles(shown: Shown) -> dict[str, str]:
    return {figure.number: figure.title for figure in shown.numbers.figures} | {CURVES: "F1 of every layer"}


def panels(shown: Shown, number: str) -> dict[str, str]:
    """The panels of a figure: scores and places, one per encoder, or one per task."""
    if number == CURVES:
        return {task: report.CALLED[task] for task in shown.found.tables["points"]["task"].drop_duplicates()}
    if shown.numbers.figure(number).kind == "summary":
        return {_SCORES: "F1", _PLACES: "Places"}
    return {encoder.name: labels(shown)[encoder.name] for encoder in _encoders(shown, number)}


def _encoders(shown: Shown, number: str) -> list[EncoderNumbers]:
    named = {shown.numbers.model(name).title for name in shown.numbers.figure(number).models}
    theirs = [encoder for encoder in published_encoders(shown.numbers) if encoder.name in named]
    return [*([shown.about] if shown.about else []), *theirs]


def draw(shown: Shown, number: str, panel: str) -> None:
    """Draws ours with the published numbers for a figure."""
    if number == CURVES:
        _curves(shown, panel)
    elif shown.numbers.figure(number).kind == "summary":
        table = shown.found.tables["summary"]
        table = table[table["model"].isin([encoder.name for encoder in _encoders(shown, number)])]
        if panel != _PLACES:
            _rows(shown, number, table, _SCORES)
        if panel != _SCORES:
            _rows(shown, number, table, _PLACES)
    else:
        for encoder in _encoders(shown, number):
            if panel in ("", encoder.name):
                _bars(shown, number, encoder)
    if shown.ours:
        navigation.link("grammar", "More of this encoder: Grammar")


def _curves(shown: Shown, task: str) -> None:
    points, levels = (shown.found.tables[name] for name in ("points", "levels"))
    if task:
        points, levels = points[points["task"] == task], levels[levels["task"] == task]
    what = "F1 by share of depth" + (f", {report.CALLED[task]}" if task else "")
    axis = Axis("micro F1 of P(l)", shares=True)
    blocks.figure(
        drawing(
            task_curves, points, levels, axis=axis, colours=_colours(shown), labels=labels(shown), titles=report.CALLED
        ),
        table=points,
        stamp=shown.stamp(what, panel=task),
        name="edge-score-curves",
        caption=_CURVES_CAPTION,
        how=_HOW,
        alt=what,
    )


def _rows(shown: Shown, number: str, table: pd.DataFrame, panel: str) -> None:
    names = {"colours": _colours(shown), "labels": labels(shown), "titles": report.CALLED}
    if panel == _SCORES:
        drawn = drawing(score_rows, table, **names)
    else:
        drawn = drawing(place_rows, table, **names, shares=table["last"].nunique() > 1)
    blocks.figure(
        drawn,
        table=table,
        stamp=shown.stamp(f"Figure {number}, {panel}"),
        name=f"edge-figure-{number}-{panel}",
        caption=_SCORES_CAPTION if panel == _SCORES else _PLACES_CAPTION,
        how=_HOW,
        alt=f"{shown.numbers.figure(number).title}: {panel}",
    )


def _bars(shown: Shown, number: str, encoder: EncoderNumbers) -> None:
    table, name = report.bars(list(report.CALLED), encoder), labels(shown)[encoder.name]
    colour = _colours(shown).get(encoder.name, theme.NEUTRAL)
    blocks.figure(
        drawing(layer_bars, table, colour=colour, titles=report.CALLED, notes=_notes(shown, encoder)),
        table=table,
        stamp=shown.stamp(f"Figure {number}, {name}"),
        name=f"edge-figure-{number}-{'published' if encoder.published else 'ours'}-{encoder.depth}",
        caption=_BARS_CAPTION,
        how=_HOW,
        alt=f"{shown.numbers.figure(number).title}: {name}",
    )


def _notes(shown: Shown, encoder: EncoderNumbers) -> dict[str, str]:
    """K of weights and gains, written next to the panels as in the paper."""
    table = shown.found.tables["summary"]
    notes = {}
    for row in table[table["model"] == encoder.name].to_dict("records"):
        parts = [
            f"{name} {row[column]:.2f}"
            for column, name in (("k_weights", "K(s)"), ("k_gains", "K(Δ)"))
            if pd.notna(row[column])
        ]
        notes[row["row"]] = "".join(f" · {part}" for part in parts)
    return notes
