"""Every layer's best tokens as a grid: layers upwards, ranks to the right, probability as shade."""

from collections.abc import Mapping, Sequence

import pandas as pd
import plotly.graph_objects as go

from probing.kernel.figures import theme
from probing.kernel.figures.axis import vertical

#: Cells of less probable words are as the page.
LEAST = 0.05
#: The page, and the colour of a probability of 1; between them a linear ramp, on a light and on a dark page.
_RAMP, _DARK_RAMP = ("#FFFFFF", "#2369B4"), ("#11161C", "#5AA0E6")
#: The right word's cell.
RIGHT = "#F2A24B"
#: Pixels around the cells before the stamp is added.
_AROUND = 116
#: Pixels of a row: a word and its probability; two such lines of nine layers fit a phone.
ROW = 34
#: Width of the column of ranks, in columns of words.
_RANKS = 0.7
#: Letters of a word that fit a column.
_FITS = 12


def tint(probability: float, *, dark: bool = False) -> str:
    low, high = _DARK_RAMP if dark else _RAMP
    share = min(probability, 1) if probability >= LEAST else 0
    parts = [(int(low[at : at + 2], 16), int(high[at : at + 2], 16)) for at in (1, 3, 5)]
    return "#" + "".join(f"{round(first + share * (second - first)):02X}" for first, second in parts)


def token_grid(
    tokens: pd.DataFrame,
    *,
    columns: int = 5,
    names: Sequence[str] = (),
    rows: Sequence[str] = (),
    ranks: Mapping[int, int] | None = None,
    ranked: str = "right word",
    dark: bool = False,
) -> go.Figure:
    """A heat-map with the tokens written into its cells.

    Columns: ``layer`` (from 0), ``place`` (from 1), ``token``, ``probability``, optional ``framed``: it is the right
    answer or a followed word, which its spelling alone does not show. ``columns``: how many places are shown. ``names``
    and ``rows`` are given if they are no places and layers. ``ranks``: layer -> rank of the word ``ranked``, at the
    right.
    """
    columns = len(names) or columns
    tokens = tokens[tokens["place"] <= columns]
    if tokens.empty:
        return theme.empty("No tokens are stored for this fact.")
    last = int(tokens["layer"].max())
    shade = tokens.pivot(index="layer", columns="place", values="probability")
    look = {"xgap": 3, "ygap": 3, "hoverinfo": "skip", "zmin": 0, "zmax": 1}
    figure = go.Figure()
    figure.add_heatmap(
        z=shade.values,
        x=list(shade.columns),
        y=list(shade.index),
        colorscale=[
            [0, tint(0, dark=dark)],
            [LEAST, tint(0, dark=dark)],
            [LEAST, tint(LEAST, dark=dark)],
            [1, tint(1, dark=dark)],
        ],
        colorbar=_legend(last + 1, below=bool(names)),
        **look,
    )
    right = tokens[tokens["framed"]] if "framed" in tokens else tokens[:0]
    if len(right):
        where = right.assign(right=1.0).pivot(index="layer", columns="place", values="right").reindex_like(shade)
        figure.add_heatmap(
            z=where.values,
            x=list(where.columns),
            y=list(where.index),
            colorscale=[[0, RIGHT], [1, RIGHT]],
            showscale=False,
            **look,
        )
    inks = [
        theme.ink_on(RIGHT if at in right.index else tint(share, dark=dark))
        for at, share in tokens["probability"].items()
    ]
    figure.add_scatter(
        x=tokens["place"],
        y=tokens["layer"],
        mode="text",
        showlegend=False,
        text=[f"{_word(cell.token)}<br>{percent(cell.probability)}" for cell in tokens.itertuples()],
        customdata=tokens[["token", "probability"]].map(
            lambda value: theme.plain(value) if isinstance(value, str) else value
        ),
        hovertemplate=(
            f"{'' if rows else 'layer '}%{{y}}{'' if names else ', rank %{x}'}<br><b>%{{customdata[0]}}</b><br>"
            "probability %{customdata[1]:.4f}<extra></extra>"
        ),
        textfont={"size": 12, "color": inks},
        cliponaxis=False,
    )
    # Space for the axis, the stamp and the legend, and for names above.
    theme.apply(figure, height=_AROUND + (40 if names else 0) + ROW * (last + 1))
    if rows:
        figure.update_yaxes(
            tickvals=list(range(len(rows))),
            ticktext=[theme.breakable(row) for row in rows],
            range=[len(rows) - 0.5, -0.5],
            showgrid=False,
        )
    else:
        vertical(figure, last)
    figure.update_xaxes(title_text="" if names else "rank", dtick=1, range=[0.5, columns + 0.5], showgrid=False)
    if ranks:
        _add_ranks(figure, ranks, columns, theme.plain(theme.shorten(ranked, _FITS)))
    if names:
        figure.update_xaxes(
            tickvals=list(range(1, columns + 1)), ticktext=[theme.breakable(name, 12) for name in names], side="top"
        )
    return figure


def _add_ranks(figure: go.Figure, ranks: Mapping[int, int], columns: int, word: str) -> None:
    """Writes a word's rank on the right of every layer; the first rank is bold."""
    place = columns + 0.5 + _RANKS / 2
    figure.add_scatter(
        x=[place] * len(ranks),
        y=list(ranks),
        mode="text",
        showlegend=False,
        hoverinfo="skip",
        text=[f"<b>{rank:,}</b>" if rank == 1 else f"{rank:,}" for rank in ranks.values()],
        textfont={"size": 12},
        cliponaxis=False,
    )
    ticks = list(range(1, columns + 1))
    figure.update_xaxes(
        range=[0.5, columns + 0.5 + _RANKS],
        tickmode="array",
        tickvals=[*ticks, place],
        ticktext=[*map(str, ticks), word],
    )


def _legend(rows: int, *, below: bool) -> dict:
    """The colour bar: above the cells, in line with the figure's button, or below them if names are above."""
    pixel = 1 / (ROW * rows)
    where = {"y": -22 * pixel, "yanchor": "top"} if below else {"y": 1 + 4 * pixel, "yanchor": "bottom"}
    return {
        "orientation": "h",
        "x": 0,
        "xanchor": "left",
        "xpad": 0,
        "ypad": 0,
        "thickness": 8,
        "len": 230,
        "lenmode": "pixels",
        "outlinewidth": 0,
        "tickvals": [0, 0.5, 1],
        "ticktext": ["0 %", "50 %", "100 %"],
        "tickfont": {"size": 12},
        "ticks": "",
        "ticklabelposition": "outside bottom",
        **where,
    }


def _word(token: str) -> str:
    """A token on one line, cut if it is long; the hover text has all of it."""
    return theme.plain(theme.shorten(token, _FITS))


def percent(probability: float) -> str:
    """A probability for a small cell."""
    if probability < 0.001:
        return "<0.1 %"
    return f"{probability * 100:.1f} %" if probability < 0.01 else f"{probability * 100:.0f} %"
