"""P@k by layer of chosen relations (Figure 3 of BERTnesia), with their yardsticks."""

import pandas as pd
import plotly.graph_objects as go

from probing.kernel.figures import theme, yardsticks
from probing.kernel.figures.axis import EndLabel, aligned, horizontal, write

#: More lines than this cannot be distinguished.
MAX_LINES = 6
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#8C6BD1")


def relation_curves(points: pd.DataFrame, *, k: int) -> go.Figure:
    """One line per relation with its 95 % band; grey: its majority answer, dotted: its swapped subject.

    Columns: ``relation, label, layer, n, value, low, high, majority, swapped``, shares, empty if not defined, or the
    result of ``yardsticks.above``. Relations beyond ``MAX_LINES`` are not drawn.
    """
    points = points.dropna(subset=["value"]).reset_index(drop=True)
    if points.empty:
        return theme.empty("No relation is chosen, or no facts are left under these filters.")
    figure = go.Figure()
    points = points[points["relation"].isin(list(dict.fromkeys(points["relation"]))[:MAX_LINES])].assign(
        line=points["relation"]
    )
    names = {relation: str(label) for relation, label in zip(points["relation"], points["label"], strict=True)}
    ends = yardsticks.add_zero(figure, points) + yardsticks.add_levels(figure, points, by=names)
    lent: list[EndLabel] = []
    for number, (_, line) in enumerate(points.groupby("relation", sort=False)):
        ends.append(_add_relation(figure, line.sort_values("layer"), number, lent))
    ends += lent[:1]
    theme.apply(theme.clickable_last(figure), height=420)
    last = int(points["layer"].max())
    horizontal(figure, last)
    zero = yardsticks.zero_of(points)
    title = f"right answers beyond the {zero}, points (P@{k})" if zero else f"right answers, % (P@{k})"
    figure.update_yaxes(title_text=title, ticksuffix="" if zero else " %")
    extent = yardsticks.extent(points, ("value", "low", "high", "majority", "swapped"), 100)
    return aligned(write(figure, ends, ranges=[extent]))


def _add_relation(figure: go.Figure, line: pd.DataFrame, number: int, lent: list[EndLabel]) -> EndLabel:
    """Draws a relation; ``lent`` gets the name of its swapped subject's line."""
    colour, label = _COLOURS[number % len(_COLOURS)], theme.plain(line["label"].iloc[0])
    relation, n, end = str(line["relation"].iloc[0]), int(line["n"].max()), float(line["layer"].iloc[-1])
    zero = yardsticks.zero_of(line)
    theme.interval_band(
        figure, line["layer"], line["low"] * 100, line["high"] * 100, colour, label, legendgroup=relation
    )
    if "swapped" in line and line["swapped"].notna().any():
        figure.add_scatter(
            x=line["layer"],
            y=line["swapped"] * 100,
            mode="lines",
            line={"dash": "dot", "color": colour, "width": 1.3},
            opacity=0.8,
            showlegend=False,
            legendgroup=relation,
            name=f"{label}: {yardsticks.SWAPPED}",
            hovertemplate=f"{label}<br>{yardsticks.SWAPPED}: %{{y:.1f}} %<extra></extra>",
        )
        lent.append(EndLabel(end, float(line["swapped"].iloc[-1]) * 100, yardsticks.SWAPPED, colour, strong=False))
    figure.add_scatter(
        x=line["layer"],
        y=line["value"] * 100,
        mode="lines+markers",
        cliponaxis=False,
        name=f"{label} (n = {n:,})",
        showlegend=False,
        legendgroup=relation,
        line={"color": colour, "width": 2.5},
        marker={"symbol": theme.SYMBOLS[number % len(theme.SYMBOLS)], "size": 8},
        customdata=[[relation, int(layer)] for layer in line["layer"]],
        hovertext=[_hover(point, label, zero) for point in line.itertuples()],
        hovertemplate="%{hovertext}<extra></extra>",
    )
    # The number of facts stays on one line.
    name = f"{line['label'].iloc[0]} (n\u00a0=\u00a0{n:,})"
    return EndLabel(end, float(line["value"].iloc[-1]) * 100, name, colour)


def _hover(point, label: str, zero: str) -> str:
    value, low, high = point.value * 100, point.low * 100, point.high * 100
    if zero:
        words = f"{value:+.1f} points against the {zero}<br>95 % interval {low:+.1f} to {high:+.1f}"
    else:
        words = f"{value:.1f} %<br>95 % interval {low:.1f} to {high:.1f} %"
    return f"<b>{label}</b><br>layer {int(point.layer)}: {words}<br>{int(point.n):,} facts"
