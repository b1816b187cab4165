"""Every layer's best tokens as a grid: layers upwards, ranks to the right, probability as shade."""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

import pandas as pd
import plotly.graph_objects as go

from probing.figures import across, layer_axis, theme

#: The smallest probability with its own tint; all smaller ones have the first tint.
LEAST = 0.001
#: Tints at equal steps of the logarithm of the probability, from ``LEAST`` to 1. Their lightness (CIE L*) changes by equal steps, so the
#: scale is readable without hue. A cell's text colour depends on its tint, so a grid stays readable when a user switches between
#: light and dark and it is not drawn again.
_TINTS = ("#EDF3F7", "#B5D6EC", "#82B7DF", "#5298D0", "#3378B5", "#215996", "#0B3C78")
_DARK_TINTS = ("#18222B", "#1D3C59", "#225783", "#2C75AD", "#5193C8", "#77B3DE", "#9BD3F5")
_FRAME = "#D55E00"
#: Pixels around the cells before the stamp is added.
_AROUND = 116
#: Pixels of a row: a word and its probability; two such lines of nine layers fit a phone.
ROW = 31
#: Width of the column of ranks, in columns of words.
_RANKS = 0.7
#: Letters of a word that fit one of five columns on a phone, in normal and in small type.
_FITS, _FITS_SMALL = 9, 12


def step(probability: float) -> float:
    """The position of a probability on the scale, from 0 (``LEAST`` or less) to 1."""
    return 1 - math.log10(max(probability, LEAST)) / math.log10(LEAST)


def tint(probability: float, *, dark: bool = False) -> str:
    """The colour of a cell, as Plotly interpolates it between the two nearest tints."""
    tints = _DARK_TINTS if dark else _TINTS
    place = step(min(probability, 1)) * (len(tints) - 1)
    low, high = list(pairwise(tints))[min(int(place), len(tints) - 2)]
    share = place - min(int(place), len(tints) - 2)
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

    Args:
        tokens: one row per layer and place: ``layer``, ``place`` (from 1), ``token``, ``probability`` in [0, 1], and, if any are,
            ``framed``: whether it is the right answer or a followed word, which its spelling alone does not show.
        columns: how many places are shown.
        names: names of the columns if they are not the places of one list: ``place`` counts them from 1.
        rows: names of the rows from top to bottom if they are not layers: ``layer`` counts them from 0.
        ranks: layer -> rank of one word, a column on the right of the layers' best words; without it there is none.
        ranked: the word, at the top of that column.
        dark: dark cells and light words, for a dark page.
    """
    columns = len(names) or columns
    tokens = tokens[tokens["place"] <= columns]
    if tokens.empty:
        return theme.empty("No tokens are stored for this fact.")
    last = int(tokens["layer"].max())
    shade = tokens.assign(step=tokens["probability"].map(step)).pivot(index="layer", columns="place", values="step")
    figure = go.Figure()
    figure.add_heatmap(
        z=shade.values,
        x=list(shade.columns),
        y=list(shade.index),
        zmin=0,
        zmax=1,
        xgap=3,
        ygap=3,
        hoverinfo="skip",
        colorscale=list(_DARK_TINTS if dark else _TINTS),
        colorbar=_legend(last + 1, below=bool(names)),
    )
    figure.add_scatter(
        x=tokens["place"],
        y=tokens["layer"],
        mode="text",
        showlegend=False,
        text=[f"{_word(one.token)}<br><span style='font-size:9px'>{percent(one.probability)}</span>" for one in tokens.itertuples()],
        customdata=tokens[["token", "probability"]].map(lambda value: theme.plain(value) if isinstance(value, str) else value),
        hovertemplate=f"{'' if rows else 'layer '}%{{y}}{'' if names else ', rank %{x}'}<br><b>%{{customdata[0]}}</b><br>"
        "probability %{customdata[1]:.4f}<extra></extra>",
        textfont={"size": 11, "color": [theme.ink_on(tint(probability, dark=dark)) for probability in tokens["probability"]]},
        cliponaxis=False,
    )
    look = {"type": "rect", "line": {"color": _FRAME, "width": 2.5}, "layer": "above"}
    framed = tokens[tokens["framed"]].itertuples() if "framed" in tokens else ()
    across.add(
        figure, [{"x0": one.place - 0.48, "x1": one.place + 0.48, "y0": one.layer - 0.45, "y1": one.layer + 0.45, **look} for one in framed]
    )
    # Space for the axis, the stamp and the legend, and for names above.
    theme.apply(figure, height=_AROUND + (40 if names else 0) + ROW * (last + 1))
    if rows:
        figure.update_yaxes(
            tickvals=list(range(len(rows))), ticktext=[theme.breakable(row) for row in rows], range=[len(rows) - 0.5, -0.5], showgrid=False
        )
    else:
        layer_axis.vertical(figure, last)
    figure.update_xaxes(title_text="" if names else "rank", dtick=1, range=[0.5, columns + 0.5], showgrid=False)
    if ranks:
        _add_ranks(figure, ranks, columns, theme.plain(theme.shorten(ranked, _FITS_SMALL)))
    if names:
        figure.update_xaxes(tickvals=list(range(1, columns + 1)), ticktext=[theme.breakable(name, 12) for name in names], side="top")
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
        "orientation": "h", "x": 0, "xanchor": "left", "xpad": 0, "ypad": 0, "thickness": 8, "len": 230, "lenmode": "pixels",
        "outlinewidth": 0, "tickvals": [step(probability) for probability in (LEAST, 0.01, 0.1, 1)],
        "ticktext": ["≤0.1 %", "1 %", "10 %", "100 %"], "tickfont": {"size": 10}, "ticks": "", "ticklabelposition": "outside bottom",
        **where,
    }  # fmt: skip


def _word(token: str) -> str:
    """A token on one line, in small type or cut if it is long; the hover text has all of it."""
    if len(token) <= _FITS:
        return theme.plain(token)
    return f"<span style='font-size:9px'>{theme.plain(theme.shorten(token, _FITS_SMALL))}</span>"


def percent(probability: float) -> str:
    """A probability for a small cell."""
    if probability < LEAST:
        return "<0.1 %"
    return f"{probability * 100:.1f} %" if probability < 0.01 else f"{probability * 100:.0f} %"
