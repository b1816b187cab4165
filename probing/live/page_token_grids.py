"""The best words of every layer of one or two models, next to each other: the one token grid of all pages.

A play button and keys read it layer by layer; a click on a word draws its curve over the layers.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st

from probing.kernel.app import blocks
from probing.kernel.app.figure_cache import LazyFigure, drawing
from probing.kernel.joined import joined
from probing.live.figures import percent, token_grid

_HERE = Path(__file__)
#: Words are passed as data and become text, never part of the HTML.
_COMPONENT = st.components.v2.component(
    "bertnesia_layers",
    html='<div class="grids-of-words"></div>',
    css=_HERE.with_suffix(".css").read_text(encoding="utf-8"),
    js=_HERE.with_suffix(".js").read_text(encoding="utf-8"),
)
#: What their shades mean, for *How to read*.
SHADES = "A cell's colour is the stronger, the more probable its word is; below 5 % it has none."
#: Words of a layer that are shown by default; a curve also uses the others.
COLUMNS = 3


@dataclass(frozen=True)
class Grid:
    """One model's best words.

    ``tokens``: ``layer, place`` (from 1), ``token, probability``, and ``framed``, whether it is the followed word, the
    right one if ``checked``; places that are not shown complete the words' curves. ``ranks`` and ``right``, layer ->
    rank and probability of the followed word, are empty without one. ``note`` is what the model is.
    """

    model: str
    colour: str
    tokens: pd.DataFrame
    ranks: Mapping[int, int] = field(default_factory=dict)
    right: Mapping[int, float] = field(default_factory=dict)
    note: str = ""
    checked: bool = True


def caption(*, checked: bool | None = True) -> str:
    """The line below grids; ``checked``: the followed word is a right one, None: there is none."""
    marked = {True: "; the right word is orange", False: "; the framed one is unchecked", None: ""}[checked]
    return f"Each cell is a word that a layer gives for the gap{marked}. Layer 0: before any layer."


def draw(
    grids: Sequence[Grid],
    *,
    answer: str = "",
    key: str,
    columns: int = COLUMNS,
    steps: str = "layer",
) -> None:
    """Draws one or two grids next to each other, the last layer on top.

    ``answer`` is the followed word, whose rank is a column; ``columns``: words of a layer; ``steps``: what a row is, if
    it is no layer.
    """
    _COMPONENT(key=key, data={**data_of(grids, answer, columns), "steps": steps})


def data_of(grids: Sequence[Grid], answer: str, columns: int = COLUMNS) -> dict[str, Any]:
    return {"answer": answer, "grids": [_data(grid, answer, columns) for grid in grids]}


def _data(grid: Grid, answer: str, columns: int) -> dict[str, Any]:
    """One grid: layers from the last to the first with their words, the best first, and the shown words' curves."""
    rows = sorted(grid.tokens.to_dict("records"), key=itemgetter("probability"))
    shown: defaultdict[int, list[dict[str, Any]]] = defaultdict(list)
    curves: defaultdict[str, dict[int, float]] = defaultdict(dict)
    # Several tokens may have one text; the most probable one counts.
    for row in rows:
        curves[str(row["token"]).lower()][row["layer"]] = row["probability"]
        shown[row["layer"]] += [row] if row["place"] <= columns else []
    layers = sorted(shown, reverse=True)
    if grid.right:
        curves[answer.lower()] = {int(layer): float(value) for layer, value in grid.right.items()}
    return {
        "model": grid.model,
        "note": grid.note,
        "hint": "; ".join(joined("terms").meanings(grid.model)),
        "colour": grid.colour,
        "layers": [
            {
                "layer": layer,
                "rank": grid.ranks.get(layer),
                "tokens": [_token(row, grid) for row in sorted(shown[layer], key=itemgetter("place"))],
            }
            for layer in layers
        ],
        "curves": {word: [by_layer.get(layer) for layer in reversed(layers)] for word, by_layer in curves.items()},
    }


def _token(row: Mapping[str, Any], grid: Grid) -> dict[str, Any]:
    share, framed = row["probability"], row["framed"]
    marks = {"right": framed and grid.checked, "said": framed and not grid.checked}
    return {"word": row["token"], "probability": share, "percent": percent(share), **marks}


def numbers(grids: Iterable[tuple[str, Grid]]) -> pd.DataFrame:
    """The words of grids, each with its model's name, as a table: ``layer, place, token, probability, model, rank``."""
    tables = [grid.tokens.assign(model=name, rank=grid.tokens["layer"].map(grid.ranks.get)) for name, grid in grids]
    return pd.concat(tables).drop(columns="framed")


def as_figure(grid: Grid, ranked: str = "right word", columns: int = COLUMNS) -> LazyFigure:
    """One grid as a figure, for files; ``ranked`` is the word whose rank is a column."""
    tokens = grid.tokens if grid.checked else grid.tokens.drop(columns="framed")
    return drawing(token_grid, tokens, columns=columns, ranks=grid.ranks, ranked=ranked, dark=blocks.dark())
