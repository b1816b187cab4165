"""Figures of attention: of one token, of each head, and measures of it by layer."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

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
    theme.label_rows(figure, labels, tickfont_size=12)
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


#: Measure -> title, unit.
PANELS = {
    "entropy": ("entropy", "nats"),
    "distance": ("distance from the base", "tokens"),
    "first": ("share on the first token", ""),
    "separator": ("share on separators", ""),
    "punctuation": ("share on punctuation", ""),
    "self": ("share on itself", ""),
}
_PANEL, _FRAME = 150, 140


def attention_panels(
    values: pd.DataFrame, *, colours: Mapping[str, str], dashes: Mapping[str, str], yardsticks: Mapping[str, float]
) -> go.Figure:
    """Two panels per row, one line per model; dotted: the value for equal attention to all tokens.

    Columns: ``name, measure, layer, value`` with layers from 1; measures are keys of ``PANELS``.
    """
    drawn = [measure for measure in PANELS if (values["measure"] == measure).any()]
    rows = -(-len(drawn) // 2)
    height = _FRAME + rows * _PANEL + (rows - 1) * 60
    figure = make_subplots(
        rows=rows,
        cols=2,
        vertical_spacing=60 / (height - _FRAME) if rows > 1 else 0,
        horizontal_spacing=0.14,
        subplot_titles=[
            theme.plain(PANELS[measure][0] + (f", {PANELS[measure][1]}" if PANELS[measure][1] else ""))
            for measure in drawn
        ],
    )
    figure.update_annotations(font_size=12)
    last = int(values["layer"].max())
    for place, measure in enumerate(drawn):
        where = {"row": place // 2 + 1, "col": place % 2 + 1}
        if measure in yardsticks:
            figure.add_scatter(
                x=[0.5, last + 0.5],
                y=[yardsticks[measure]] * 2,
                mode="lines",
                name="equal attention",
                legendgroup="equal",
                line={"color": theme.NEUTRAL, "width": 1.5, "dash": "dot"},
                showlegend=measure == next(iter(yardsticks)),
                hovertemplate="equal attention to all tokens: %{y:.3f}<extra></extra>",
                **where,
            )
        for name, line in values[values["measure"] == measure].groupby("name", sort=False):
            line, label = line.sort_values("layer"), theme.plain(str(name))
            figure.add_scatter(
                x=line["layer"],
                y=line["value"],
                name=label,
                legendgroup=label,
                mode="lines+markers",
                showlegend=measure == drawn[0],
                line={
                    "color": colours.get(str(name), theme.NEUTRAL),
                    "width": 2,
                    "dash": dashes.get(str(name), "solid"),
                },
                marker={"size": 6},
                hovertemplate=f"<b>{label}</b><br>layer %{{x}}: %{{y:.3f}}<extra></extra>",
                **where,
            )
        figure.update_yaxes(rangemode="tozero", nticks=4, **where)
    theme.apply(figure, height=height)
    figure.update_layout(legend_y=1 + 36 / (height - _FRAME), margin_t=80)
    figure.update_xaxes(dtick=1 if last <= 8 else 2 if last <= 16 else 4, range=[0.5, last + 0.5], showgrid=False)
    for column in (1, 2):
        if len(drawn) >= column:
            figure.update_xaxes(
                title_text="layer", row=rows if (len(drawn) % 2 == 0 or column == 1) else rows - 1, col=column
            )
    return figure
