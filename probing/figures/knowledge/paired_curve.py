"""Two models on the same facts: their curves, and below them the difference with its interval."""

from collections.abc import Collection, Mapping

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from probing.figures import layer_axis, theme


def paired_curve(
    points: pd.DataFrame, *, k: int, base: str, model: str, colours: Mapping[str, str], controls: Collection[str] = ()
) -> go.Figure:
    """P@k of both by layer above, model minus base below; filled where the exact McNemar test has p <= 0.05.

    Args:
        points: one row per layer: ``layer, n, base_value, base_low, base_high, value, low, high, difference, difference_low,
            difference_high, p_value``, shares of the facts that both were asked.
        k: the rank up to which a fact counts as known.
        base: name of the model compared with.
        model: name of the other.
        colours: model -> colour.
        controls: models trained further on what their base had read already; their lines are dashed.
    """
    points = points.dropna(subset=["value"]).sort_values("layer")
    if points.empty:
        return theme.empty("The two were asked no fact in common under these filters.")
    figure = make_subplots(rows=2, cols=1, shared_xaxes=True, row_heights=[0.62, 0.38], vertical_spacing=0.07)
    ends = {base: ("base_value", "base_low", "base_high"), model: ("value", "low", "high")}
    for name, (value, low, high) in ends.items():
        colour, symbol = colours.get(name, theme.NEUTRAL), "circle-open" if name == base else "circle"
        _band(figure, points, low, high, colour, row=1)
        figure.add_scatter(
            x=points["layer"], y=points[value] * 100, mode="lines+markers", cliponaxis=False, name=theme.plain(name),
            line={"color": colour, "width": 2.5, "dash": theme.line_dash(name in controls)},
            marker={"symbol": symbol, "size": 8, "color": colour, "line": {"width": 1.5, "color": colour}},
            customdata=[[name, int(layer)] for layer in points["layer"]],
            hovertext=[
                f"<b>{theme.plain(name)}</b><br>layer {one.layer:.0f}: {one[value] * 100:.1f} %<br>95 % interval {one[low] * 100:.1f} to "
                f"{one[high] * 100:.1f} %<br>{one.n:,.0f} facts"
                for _, one in points.iterrows()
            ],
            hovertemplate="%{hovertext}<extra></extra>", row=1, col=1,
        )  # fmt: skip
    colour = colours.get(model, theme.NEUTRAL)
    _band(figure, points, "difference_low", "difference_high", colour, row=2)
    sure = [colour if p <= 0.05 else "rgba(0,0,0,0)" for p in points["p_value"]]
    figure.add_scatter(
        x=points["layer"], y=points["difference"] * 100, mode="lines+markers", cliponaxis=False, showlegend=False, name="difference",
        line={"color": colour, "width": 1.5},
        marker={"symbol": "diamond", "size": 9, "color": sure, "line": {"width": 1.5, "color": colour}},
        hovertext=[
            f"layer {one.layer:.0f}: {one.difference * 100:+.1f} points<br>95 % interval {one.difference_low * 100:+.1f} to "
            f"{one.difference_high * 100:+.1f}<br>McNemar p {p_words(one.p_value)}"
            for _, one in points.iterrows()
        ],
        hovertemplate="%{hovertext}<extra></extra>", row=2, col=1,
    )  # fmt: skip
    theme.apply(figure, height=560)
    for row in (1, 2):
        layer_axis.horizontal(figure, int(points["layer"].max()), row=row, col=1)
    figure.update_xaxes(title_text="", showticklabels=False, row=1, col=1)
    figure.add_hline(y=0, line={"color": theme.NEUTRAL, "width": 1.2}, row=2, col=1)
    figure.update_yaxes(title_text=f"P@{k}, micro", rangemode="tozero", ticksuffix=" %", row=1, col=1)
    figure.update_yaxes(title_text="difference, points", row=2, col=1)
    return figure


def _band(figure: go.Figure, points: pd.DataFrame, low: str, high: str, colour: str, *, row: int) -> None:
    figure.add_scatter(
        x=[*points["layer"], *points["layer"][::-1]], y=[*(points[high] * 100), *(points[low][::-1] * 100)], fill="toself",
        fillcolor=theme.faint(colour, 0.15), line={"width": 0}, mode="lines", hoverinfo="skip", showlegend=False, row=row, col=1,
    )  # fmt: skip


def p_words(p: float) -> str:
    """A p-value for a reader: "= 0.031", "< 0.0001"."""
    return "< 0.0001" if p < 0.0001 else f"= {p:.2g}"
