"""The scores of each layer's probes, one panel per task, with their baselines."""

from collections.abc import Mapping
from typing import NamedTuple

import pandas as pd
import plotly.graph_objects as go

from probing.edges import figures_task_rows
from probing.edges.figures_layers_small_panels import small_panels
from probing.kernel.figures import theme
from probing.kernel.figures.axis import horizontal_panels, share_of_depth
from probing.kernel.figures.theme import Shape, add, horizontal_line

_PANEL, _GAP, _FRAME = 112, 58, 150
#: Yardstick of a task -> dash of its level.
LEVELS = {
    "memory": "dash",
    "commonest label": "dot",
    "ceiling": "longdash",
    "uniform code": "dash",
    "no selectivity": "dash",
}
#: Encoder -> dash of its line.
DASHES = {"trained": "solid", "random": "dot", "random-body": "dashdot"}
#: What is drawn layer by layer -> title of the vertical axis.
TITLES = {
    "cumulative": "layers 0 to l, % (F1 of P(l))",
    "at": "each layer alone, % (F1)",
    "selectivity": "beyond memorising, points (selectivity)",
    "compression": "times shorter (compression)",
}


class Axis(NamedTuple):
    """The axes of a curve."""

    title: str  #: of the vertical axis
    percent: bool = True  #: values are shares, drawn in per cent
    shares: bool = False  #: of depth, horizontally
    signed: bool = False  #: values are differences


def task_curves(
    points: pd.DataFrame,
    levels: pd.DataFrame,
    *,
    axis: Axis,
    colours: Mapping[str, str],
    labels: Mapping[str, str] | None = None,
    titles: Mapping[str, str] | None = None,
) -> go.Figure:
    """One panel per task, one line per model; random encoders are dotted or dash-dotted in its colour.

    Columns of ``points``: ``model, encoder, task, layer, last, value`` and ``low, high`` if known; of ``levels``, grey
    yardsticks: ``task, name, value``, the names of ``LEVELS``. Models without a colour are published, grey.
    """
    points = points.dropna(subset=["value"])
    if points.empty:
        return theme.empty("Nothing of this kind is stored for these models and tasks.")
    tasks = list(dict.fromkeys(points["task"]))
    looks = figures_task_rows.looks(list(dict.fromkeys(points["model"])), colours)
    figure, places = small_panels(
        [(titles or {}).get(task, task) for task in tasks], panel=_PANEL, gap=_GAP, frame=_FRAME, shared=False
    )
    named: set[str] = set()
    lines: list[Shape] = []
    for place, task in zip(places, tasks, strict=True):
        for _, level in levels[(levels["task"] == task) & levels["value"].notna()].iterrows():
            lines.append(_add_level(figure, str(level["name"]), float(level["value"]), axis, place, named))
        for (model, encoder), line in points[points["task"] == task].groupby(["model", "encoder"], sort=False):
            name = (labels or {}).get(str(model), str(model))
            _add_line(
                figure,
                line.sort_values("layer"),
                _words(name, str(encoder)),
                (*looks[str(model)], str(encoder)),
                axis,
                place,
                named,
            )
    add(figure, lines)
    if axis.shares:
        for row, col in places:
            share_of_depth(figure, row=row, col=col)
    else:
        horizontal_panels(figure, int(points["last"].max()), places)
    for row, col in places:
        # Two panels beside each other have no room for the usual title.
        below = (row + 1, col) in places
        figure.update_xaxes(title_text="" if below else "share of depth" if axis.shares else "layer", row=row, col=col)
    # Without a unit, which the title has: on a phone the labels of the right panels would reach into the left ones.
    figure.update_yaxes(nticks=5)
    figure.update_yaxes(title_text=theme.plain(axis.title), row=(places[-1][0] + 1) // 2, col=1)
    return figure


def axis_of(points: pd.DataFrame, mode: str) -> Axis:
    """The axis of a kind of curve; ``mode`` is a key of ``TITLES``."""
    return Axis(
        TITLES[mode], percent=mode != "compression", shares=points["last"].nunique() > 1, signed=mode == "selectivity"
    )


def _words(name: str, encoder: str) -> str:
    return (
        name if encoder == "trained" else f"{name}, {'random body' if encoder == 'random-body' else 'random encoder'}"
    )


def _add_line(
    figure: go.Figure,
    line: pd.DataFrame,
    name: str,
    look: tuple[str, str, str],
    axis: Axis,
    place: tuple[int, int],
    named: set[str],
) -> None:
    colour, symbol, encoder = look
    scale, plain_name = 100 if axis.percent else 1, theme.plain(name)
    x = line["layer"] / line["last"] if axis.shares else line["layer"]
    unit = " points" if axis.signed else " %" if axis.percent else ""
    number = f"%{{y:{'+' if axis.signed else ''}.{1 if axis.percent else 2}f}}{unit}"
    if "low" in line:
        theme.interval_band(
            figure,
            x,
            line["low"] * scale,
            line["high"] * scale,
            colour,
            plain_name,
            legendgroup=name,
            row=place[0],
            col=place[1],
        )
    figure.add_scatter(
        x=x,
        y=line["value"] * scale,
        mode="lines+markers",
        name=plain_name,
        legendgroup=name,
        showlegend=name not in named,
        line={"color": colour, "width": 2.2 if encoder == "trained" else 1.4, "dash": DASHES.get(encoder, "dot")},
        marker={
            "symbol": symbol if encoder == "trained" else f"{symbol}-open",
            "size": 6 if symbol == "circle" and encoder == "trained" else 4,
        },
        customdata=line["layer"],
        hovertemplate=f"<b>{plain_name}</b><br>layer %{{customdata}}: {number}<extra></extra>",
        row=place[0],
        col=place[1],
    )
    named.add(name)


def _add_level(
    figure: go.Figure, name: str, value: float, axis: Axis, place: tuple[int, int], named: set[str]
) -> Shape:
    """A grey level in the legend; returns the line to be drawn across its panel."""
    level = value * (100 if axis.percent else 1)
    look = {"color": theme.NEUTRAL, "width": 1.6, "dash": LEVELS.get(name, "dash")}
    # A shape has no line in the legend and does not widen the axis.
    figure.add_scatter(
        x=[0],
        y=[level],
        mode="lines",
        name=name,
        legendgroup=name,
        showlegend=name not in named,
        line=look,
        hoverinfo="skip",
        row=place[0],
        col=place[1],
    )
    named.add(name)
    return horizontal_line(figure, level, *place, line=look, layer="below")
