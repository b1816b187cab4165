"""What one token attends to, tokens by layers; and one number per head and layer."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from probing.kernel.figures import theme

#: Opaque enough for a light page and for a dark one.
_SCALE = ((0, "rgba(0,114,178,0.05)"), (0.5, "rgba(0,114,178,0.55)"), (1, "rgba(0,114,178,1)"))
_ROW, _AROUND = 18, 140


def attention_map(shares: np.ndarray, tokens: Sequence[str], *, maximum: float, marked: int = 0) -> go.Figure:
    """(layers, tokens) shares of the ``marked`` token's attention, from layer 1 on; ``maximum`` has the full colour."""
    names = [theme.plain(token) for token in tokens]
    places = list(range(len(names)))
    figure = go.Figure()
    figure.add_heatmap(
        z=shares.T,
        x=list(range(1, len(shares) + 1)),
        y=places,
        zmin=0,
        zmax=maximum,
        colorscale=_SCALE,
        xgap=1,
        ygap=1,
        customdata=[[name] * len(shares) for name in names],
        colorbar=_bar("share", ".2f"),
        hovertemplate="layer %{x}: %{z:.3f} to <b>%{customdata}</b><extra></extra>",
    )
    theme.apply(figure, height=_AROUND + _ROW * max(len(names), 4))
    _layers(figure, len(shares))
    labels = [f"<b>{name}</b>" if place == marked else name for place, name in enumerate(names)]
    figure.update_yaxes(
        tickmode="array",
        tickvals=places,
        ticktext=labels,
        range=[len(names) - 0.5, -0.5],
        showgrid=False,
        tickfont_size=12,
    )
    return figure


def head_map(values: np.ndarray, *, what: str, unit: str, maximum: float, marked: int | None = None) -> go.Figure:
    """One number per layer, from 1, and head; a click on a cell gives the head, from 1; ``marked`` counts from 0."""
    layers, heads = values.shape
    figure = go.Figure()
    figure.add_heatmap(
        z=values.T,
        x=list(range(1, layers + 1)),
        y=list(range(1, heads + 1)),
        zmin=0,
        zmax=max(maximum, 1e-9),
        colorscale=_SCALE,
        xgap=1,
        ygap=1,
        hoverinfo="skip",
        colorbar=_bar(unit, ".1f"),
    )
    # A heat map's cells cannot be clicked; points can.
    cells = [(layer, head) for head in range(heads) for layer in range(layers)]
    figure.add_scatter(
        x=[layer + 1 for layer, _ in cells],
        y=[head + 1 for _, head in cells],
        mode="markers",
        showlegend=False,
        marker={"symbol": "square", "size": 18, "opacity": 0},
        selected={"marker": {"opacity": 0}},
        unselected={"marker": {"opacity": 0}},
        customdata=[[head + 1] for _, head in cells],
        text=[f"{values[cell]:.2f} {unit}" for cell in cells],
        hovertemplate=f"layer %{{x}}, head %{{y}}<br>{theme.plain(what)}: %{{text}}<extra></extra>",
    )
    if marked is not None:
        figure.add_shape(
            type="rect",
            x0=0.5,
            x1=layers + 0.5,
            y0=marked + 0.5,
            y1=marked + 1.5,
            line={"color": theme.PALETTE[1], "width": 2},
        )
    theme.apply(figure, height=_AROUND + _ROW * max(heads, 4))
    _layers(figure, layers)
    figure.update_yaxes(
        title_text="head", dtick=1 if heads <= 16 else 2, range=[heads + 0.5, 0.5], showgrid=False, tickfont_size=12
    )
    return figure


def _layers(figure: go.Figure, last: int) -> None:
    # The title's distance is measured from the axis here, so it has to exceed the height of the labels.
    title = {"text": "layer", "standoff": 34}
    figure.update_xaxes(
        title=title, dtick=1 if last <= 12 else 2 if last <= 28 else 4, range=[0.5, last + 0.5], showgrid=False
    )


def _bar(title: str, form: str) -> dict:
    return {
        "title": {"text": title, "side": "top", "font": {"size": 12}},
        "orientation": "h",
        "thickness": 6,
        "len": 0.5,
        "x": 1,
        "xanchor": "right",
        "y": 1.0,
        "yanchor": "bottom",
        "ypad": 0,
        "outlinewidth": 0,
        "tickformat": form,
        "nticks": 3,
        "tickfont": {"size": 12},
    }
