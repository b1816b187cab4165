"""Figures of whether the model goes by what its layers show: lines by layer, one panel per model."""

from collections.abc import Mapping

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from probing.kernel.figures import theme
from probing.kernel.figures.axis import EndLabel, aligned, horizontal, write

#: Measure -> its name at the end of its line, and its colour.
LOOKS = {
    "read": ("read here", "#3B6FB6"),
    "alone": ("carried alone", "#C2571A"),
    "against": ("carried against another", "#8C3A8E"),
    "settled": ("settled by here", "#3C8040"),
    "right": ("the right answer", "#3C8040"),
    "as before": ("what the last layer says", "#808890"),
}
SHADED, _SHADE = "read, but not yet carried", "#D9A400"
_AXIS = {
    "known": "facts that the last layer answers, %",
    "inner": "facts that only this layer reads, %",
}
_PANEL = 380


def carried_curves(points: pd.DataFrame, *, part: str = "known", labels: Mapping[str, str]) -> go.Figure:
    """The measures of ``report_carried.by_layer`` of a part of the facts; their nulls are dotted.

    Of known facts, what is read but not carried alone is shaded, where it is above 0.
    """
    points, last = points[(points["part"] == part) & points["measure"].isin(list(LOOKS))], points["layer"].max()
    points = points.dropna(subset=["value"])
    if points.empty:
        return theme.empty("No facts are left to draw.")
    runs = points.drop_duplicates("run_id")
    names, rows = [theme.plain(labels.get(model, model)) for model in runs["model"]], len(runs)
    figure = make_subplots(
        rows=rows, cols=1, vertical_spacing=0.17 * (rows > 1), subplot_titles=names if rows > 1 else None
    )
    ends: list[EndLabel] = []
    for row, run_id in enumerate(runs["run_id"], start=1):
        own = points[points["run_id"] == run_id]
        if part == "known":
            _shade(figure, own, row)
        for measure, line in own.groupby("measure", sort=False):
            ends.append(_line(figure, line, str(measure), row))
    theme.apply(theme.clickable_last(figure), height=_PANEL * rows)
    for row in range(1, rows + 1):
        horizontal(figure, int(last), row=row, col=1)
    figure.update_yaxes(title_text=_AXIS[part], ticksuffix=" %", range=[-3, 103])
    write(figure, ends, ranges=[(0.0, 100.0)] * rows, top=36 if rows > 1 else 20)
    # One model stands below its curves on Layers; two stand below each other alone, and a phone has no room to spare.
    return aligned(figure) if rows == 1 else figure


def _line(figure: go.Figure, line: pd.DataFrame, measure: str, row: int) -> EndLabel:
    """One measure with its interval and its null; returns its name."""
    name, colour = LOOKS[measure]
    line = line.sort_values("layer")
    where = {"row": row, "col": 1}
    theme.interval_band(figure, line["layer"], line["low"] * 100, line["high"] * 100, colour, name, **where)
    if line["null"].notna().any():
        figure.add_scatter(
            x=line["layer"],
            y=line["null"] * 100,
            mode="lines",
            line={"dash": "dot", "color": colour, "width": 1.4},
            name=f"{name}: null",
            showlegend=False,
            hovertemplate=f"{name}<br>null: %{{y:.1f}} %<extra></extra>",
            **where,
        )
    hover = [
        f"<b>{name}</b><br>layer {one.layer}: {one.value:.1%}<br>95 % interval {one.low:.1%} to {one.high:.1%}"
        f"<br>{one.n:,} facts"
        for one in line.itertuples()
    ]
    figure.add_scatter(
        x=line["layer"],
        y=line["value"] * 100,
        mode="lines+markers",
        cliponaxis=False,
        name=name,
        showlegend=False,
        line={"color": colour, "width": 2.5},
        marker={"size": 7, "color": colour},
        hovertext=hover,
        hovertemplate="%{hovertext}<extra></extra>",
        **where,
    )
    return EndLabel(float(line["layer"].iloc[-1]), float(line["value"].iloc[-1]) * 100, name, colour, row=row)


def _shade(figure: go.Figure, points: pd.DataFrame, row: int) -> None:
    """The area between what is read and what is carried alone; its name would lie over curves on a phone."""
    wide = points.pivot(index="layer", columns="measure", values="value").mul(100)
    if not {"read", "alone"} <= set(wide):
        return
    low, high = wide["alone"], wide[["read", "alone"]].max(axis=1)
    figure.add_scatter(
        x=[*wide.index, *wide.index[::-1]],
        y=[*high, *low[::-1]],
        fill="toself",
        mode="lines",
        line={"width": 0},
        fillcolor=theme.faint(_SHADE, 0.25),
        hoverinfo="skip",
        showlegend=False,
        name=SHADED,
        row=row,
        col=1,
    )
