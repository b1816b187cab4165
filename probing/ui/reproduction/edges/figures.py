"""Figures 1, 2, A.2 and A.3 of the paper with our numbers and the published ones."""

import pandas as pd
import streamlit as st

from probing.core.edges.published import PublishedPlot
from probing.figures import theme
from probing.figures.edges.layer_bars import layer_bars
from probing.figures.edges.place_rows import place_rows
from probing.figures.edges.score_rows import score_rows
from probing.reports.reproduction.edges import tables as report
from probing.reports.reproduction.edges.encoder_numbers import EncoderNumbers, published_encoders
from probing.ui.reproduction.edges.tables import colours, labels, link_to_pipeline
from probing.ui.reproduction.page_view import Shown
from probing.ui.widgets import blocks
from probing.ui.widgets.figure_cache import drawing
from probing.ui.widgets.markdown import filled

#: Panels of a summary by their names in links.
_SCORES, _PLACES = "scores", "places"


def panels(shown: Shown, figure: PublishedPlot) -> dict[str, str]:
    """The panels of a figure: scores and places, or one per encoder."""
    if figure.kind == "summary":
        return {_SCORES: "F1", _PLACES: "Places"}
    return {one.name: labels(shown)[one.name] for one in _encoders(shown, figure)}


def _encoders(shown: Shown, figure: PublishedPlot) -> list[EncoderNumbers]:
    named = {shown.numbers.model(name).title for name in figure.models}
    theirs = [one for one in published_encoders(shown.numbers) if one.name in named]
    return [*([shown.about] if shown.about else []), *theirs]


def draw(shown: Shown, figure: PublishedPlot, panel: str) -> None:
    """Draws ours with the published numbers for a figure of the paper."""
    encoders = _encoders(shown, figure)
    if figure.kind == "summary":
        table = shown.found.tables["summary"]
        table = table[table["model"].isin([one.name for one in encoders])]
        if panel != _PLACES:
            _scores(shown, figure, table)
        if panel != _SCORES:
            _places(shown, figure, table)
    else:
        for one in encoders:
            if panel in ("", one.name):
                _bars(shown, figure, one, named=panel == "")
    link_to_pipeline(shown)


def _scores(shown: Shown, figure: PublishedPlot, table: pd.DataFrame) -> None:
    blocks.figure(
        drawing(score_rows, table, colours=colours(shown), labels=labels(shown), titles=report.CALLED),
        table=table,
        stamp=shown.stamp(f"Figure {figure.number}, F1"),
        name=f"edge-figure-{figure.number}-scores",
        caption="F1 of P(0), open, and of P(L), filled. Grey: published. Ours are on other data, so their level is not comparable with the "
        "published one, except for relations and, nearly, dependencies.",
        alt=f"{figure.title}: F1 of P(0) and P(L)",
    )


def _places(shown: Shown, figure: PublishedPlot, table: pd.DataFrame) -> None:
    blocks.figure(
        drawing(place_rows, table, colours=colours(shown), labels=labels(shown), titles=report.CALLED, shares=table["last"].nunique() > 1),
        table=table,
        stamp=shown.stamp(f"Figure {figure.number}, places"),
        name=f"edge-figure-{figure.number}-places",
        caption="Filled: centre of gravity of the mixing weights; open: expected layer; lines are 95 % intervals over seeds and sentences. "
        "Encoders of different depth are aligned by share of the depth. Published numbers have no intervals; for BERT-base only "
        "two centres of gravity are published. Not resolved: all layers together do not clearly gain on layer 0.",
        alt=f"{figure.title}: centre of gravity and expected layer",
    )


def _bars(shown: Shown, figure: PublishedPlot, one: EncoderNumbers, *, named: bool) -> None:
    table = report.bars(list(report.CALLED), one)
    name = labels(shown)[one.name]
    if named:
        st.markdown(filled("#### {name}, {layers} layers", name=name, layers=one.depth))
    blocks.figure(
        drawing(layer_bars, table, colour=colours(shown).get(one.name, theme.NEUTRAL), titles=report.CALLED, notes=_notes(shown, one)),
        table=table,
        stamp=shown.stamp(f"Figure {figure.number}, {name}"),
        name=f"edge-figure-{figure.number}-{'published' if one.published else 'ours'}-{one.depth}",
        caption="Outlined: gain in F1 of P(l) over P(l-1), as a share of the largest. "
        + ("The paper prints no weights, so none are shown." if one.published else "Solid: weight of each layer in P(L)."),
        alt=f"{figure.title}: {name}",
    )


def _notes(shown: Shown, one: EncoderNumbers) -> dict[str, str]:
    """K of weights and gains, written next to the panels as in the paper."""
    table = shown.found.tables["summary"]
    table = table[table["model"] == one.name]
    notes = {}
    for row in table.to_dict("records"):
        said = [f"{name} {row[column]:.2f}" for column, name in (("k_weights", "K(s)"), ("k_gains", "K(Δ)")) if pd.notna(row[column])]
        notes[row["row"]] = "".join(f" · {one}" for one in said)
    return notes
