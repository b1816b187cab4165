"""Every layer's best tokens as a grid: layers upwards, ranks to the right, probability as shade."""

from collections.abc import Sequence

import pandas as pd
import plotly.graph_objects as go

from probing.figures import layer_axis, theme

#: Probability -> tint; steep at first, as most tokens have a few per cent. Each set has an ink that is readable on all of its
#: tints, so that a grid stays readable where a visitor switches between light and dark and it is not drawn anew.
_TINTS = ((0, "#DFE8EE"), (0.02, "#D3E2ED"), (0.1, "#BBD9EC"), (0.3, "#93C6E6"), (1, "#4AA3D9"))
_DARK_TINTS = ((0, "#1C2833"), (0.02, "#1D2F3D"), (0.1, "#1D3A50"), (0.3, "#1D4F72"), (1, "#1C6A9C"))
INK, DARK_INK, _FRAME = "#14212B", "#E4EAF0", "#D55E00"


def token_grid(
    tokens: pd.DataFrame, *, columns: int = 5, names: Sequence[str] = (), rows: Sequence[str] = (),
    dark: bool = False,
) -> go.Figure:  # fmt: skip
    """A heat-map with the tokens written into its cells.

    Args:
        tokens: one row per layer and place: ``layer``, ``place`` (from 1), ``token``, ``probability`` in [0, 1], and, if any are,
            ``framed``: whether it is the right answer or a followed word, which its spelling alone does not say.
        columns: how many places are shown.
        names: what the columns are, where they are not the places of one list: ``place`` counts them from 1.
        rows: what the rows are from top to bottom, where they are not layers: ``layer`` counts them from 0.
        dark: dark cells and light words, for a dark page.
    """
    columns = len(names) or columns
    tokens = tokens[tokens["place"] <= columns]
    if tokens.empty:
        return theme.empty("No tokens are stored for this fact.")
    last = int(tokens["layer"].max())
    shade = tokens.pivot(index="layer", columns="place", values="probability")
    figure = go.Figure()
    figure.add_heatmap(
        z=shade.values, x=list(shade.columns), y=list(shade.index), zmin=0, zmax=1, xgap=3, ygap=3, hoverinfo="skip",
        colorscale=[list(tint) for tint in (_DARK_TINTS if dark else _TINTS)],
        # Every cell says its probability, and a telephone needs the room.
        showscale=False,
    )  # fmt: skip
    figure.add_scatter(
        x=tokens["place"], y=tokens["layer"], mode="text", showlegend=False,
        text=[
            f"{_lines(one.token)}<br><span style='font-size:10px'>{percent(one.probability)}</span>"
            for one in tokens.itertuples()
        ],
        customdata=tokens[["token", "probability"]].map(lambda value: theme.plain(value) if isinstance(value, str) else value),
        hovertemplate=f"{'' if rows else 'layer '}%{{y}}, {'' if names else 'place '}%{{x}}<br><b>%{{customdata[0]}}</b><br>"
        "probability %{customdata[1]:.4f}<extra></extra>",
        textfont={"size": 12, "color": DARK_INK if dark else INK}, cliponaxis=False,
    )  # fmt: skip
    for one in tokens[tokens["framed"]].itertuples() if "framed" in tokens else ():
        figure.add_shape(
            type="rect", x0=one.place - 0.48, x1=one.place + 0.48, y0=one.layer - 0.45, y1=one.layer + 0.45,
            line={"color": _FRAME, "width": 2.5}, layer="above",
        )  # fmt: skip
    # Room for the axis and the stamp, for names above, and a cell's two lines and its probability.
    theme.apply(figure, height=116 + (40 if names else 0) + 46 * (last + 1))
    if rows:
        figure.update_yaxes(
            tickvals=list(range(len(rows))), ticktext=[theme.breakable(row) for row in rows], range=[len(rows) - 0.5, -0.5], showgrid=False
        )
    else:
        layer_axis.vertical(figure, last)
    figure.update_xaxes(
        title_text="" if names else "place in the list" if rows else "place in the layer's list",
        dtick=1,
        range=[0.5, columns + 0.5],
        showgrid=False,
    )
    if names:
        figure.update_xaxes(tickvals=list(range(1, columns + 1)), ticktext=[theme.breakable(name, 12) for name in names], side="top")
    return figure


def _lines(token: str, width: int = 10) -> str:
    """A token on one line or, if it is long, on two: a column on a telephone holds ten letters."""
    if len(token) <= width:
        return theme.plain(token)
    return f"{theme.plain(token[: width - 1])}-<br>{theme.plain(theme.shorten(token[width - 1 :], width))}"


def percent(probability: float) -> str:
    """A probability for a small cell."""
    return "<1 %" if probability < 0.01 else f"{probability * 100:.0f} %"
