"""The best words of every layer of one or two models, read layer by layer: a component with a play button and keys."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st

from probing.figures import theme
from probing.figures.tokens.token_grid import percent, tint

_HERE = Path(__file__)
#: Words are passed as data and become text, never part of the HTML.
_COMPONENT = st.components.v2.component(
    "bertnesia_layers",
    html='<div class="story"></div>',
    css=_HERE.with_name("story.css").read_text(encoding="utf-8"),
    js=_HERE.with_name("story.js").read_text(encoding="utf-8"),
)


@dataclass(frozen=True)
class Grid:
    """One model's best words.

    Attributes:
        model: its name.
        tokens: ``layer, place`` (from 1), ``token, probability``, and ``framed``, whether it is the right answer.
        ranks: layer -> rank of the right answer; empty if none is known.
        note: what the model is.
    """

    model: str
    tokens: pd.DataFrame
    ranks: Mapping[int, int] = field(default_factory=dict)
    note: str = ""


def draw(grids: Sequence[Grid], *, answer: str = "", key: str) -> None:
    """Draws the grids next to each other, the last layer on top.

    Args:
        grids: one or two models.
        answer: the right word, whose rank is a column; ``""`` if none is known.
        key: of the widget.
    """
    _COMPONENT(key=key, data=data_of(grids, answer))


def data_of(grids: Sequence[Grid], answer: str) -> dict[str, Any]:
    """What the component draws."""
    return {"answer": answer, "grids": [{"model": grid.model, "note": grid.note, "layers": _layers(grid)} for grid in grids]}


def _layers(grid: Grid) -> list[dict[str, Any]]:
    """The layers from the last to the first, with their words from the best on."""
    found = []
    for layer, rows in sorted(grid.tokens.groupby("layer"), key=lambda pair: -int(pair[0])):
        tokens = [_token(row.token, row.probability, bool(row.framed)) for row in rows.sort_values("place").itertuples()]
        found.append({"layer": int(layer), "rank": grid.ranks.get(int(layer)), "tokens": tokens})
    return found


def _token(word: str, probability: float, right: bool) -> dict[str, Any]:
    """A word, its probability, and the colours of its cell on a light and on a dark page."""
    cells = {name: tint(probability, dark=dark) for name, dark in (("light", False), ("dark", True))}
    colours = {name: [cell, theme.ink_on(cell)] for name, cell in cells.items()}
    return {"word": word, "percent": percent(probability), "right": right, **colours}
