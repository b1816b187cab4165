"""Rows of tasks, and within a row one line per model: their positions and names."""

from collections.abc import Mapping, Sequence

import pandas as pd
import plotly.graph_objects as go

from probing.kernel.figures import theme
from probing.kernel.figures.theme import add, horizontal_line

#: Height of a model's line, of the gap between two rows, and of the figure's frame, in pixels.
_LINE, _GAP, _FRAME = 15, 10, 150
#: Published models are grey and differ by their marker.
_PUBLISHED = ("diamond", "square", "triangle-up")


def placed(table: pd.DataFrame, order: Sequence[str]) -> pd.DataFrame:
    """The table (``row, model``) with the vertical position ``_y`` of each line, in pixels from the top."""
    rows = list(dict.fromkeys(table["row"]))
    ranked = table.assign(_row=table["row"].map(rows.index), _model=table["model"].map(list(order).index)).sort_values(
        ["_row", "_model"]
    )
    places, y, before = [], 0.0, None
    for row in ranked["_row"]:
        y += 0 if before is None else _LINE if row == before else _LINE + _GAP
        places.append(y)
        before = row
    return ranked.assign(_y=places).drop(columns=["_row", "_model"])


def finish(figure: go.Figure, rows: pd.DataFrame, names: Mapping[str, str]) -> go.Figure:
    """Names the rows of ``placed``, in place; ``names``: ``row`` -> displayed name."""
    theme.apply(figure, height=int(_FRAME + rows["_y"].max() + _LINE))
    middles = rows.groupby("row", sort=False)["_y"].mean()
    edges = rows.groupby("row", sort=False)["_y"].min().iloc[1:] - (_LINE + _GAP) / 2
    add(
        figure,
        [horizontal_line(figure, edge, line={"color": theme.GRID, "width": 1}, layer="below") for edge in edges],
    )
    figure.update_yaxes(
        tickmode="array",
        tickvals=list(middles),
        # A label of punctuation alone would look like a row without a name.
        ticktext=[
            theme.breakable(names.get(row, row if any(map(str.isalnum, row)) else f"“{row}”"), 16)
            for row in middles.index
        ],
        range=[rows["_y"].max() + _LINE, -_LINE],
        showgrid=False,
    )
    return figure


def looks(models: Sequence[str], colours: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Model -> colour and marker; models without a colour are published ones."""
    ours = [model for model in models if model in colours]
    theirs = [model for model in models if model not in colours]
    looks = {model: (colours[model], "circle") for model in ours}
    return looks | {model: (theme.NEUTRAL, _PUBLISHED[place % len(_PUBLISHED)]) for place, model in enumerate(theirs)}


def add_legend(figure: go.Figure, name: str, marker: Mapping) -> None:
    """A legend entry whose marker applies to all colours."""
    figure.add_scatter(
        x=[None], y=[None], mode="markers", name=name, marker={"size": 9, "color": theme.NEUTRAL, **marker}
    )
