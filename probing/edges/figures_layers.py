"""Figures of edge probing by layer, one panel per task: scores, gains and mixing weights (Tenney et al. 2019)."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from probing.edges.figures import looks_of_models
from probing.kernel.figures import theme
from probing.kernel.figures.axis import horizontal_panels, share_of_depth
from probing.kernel.figures.theme import Shape, add, horizontal_line

#: Size of the panels' titles.
TITLE = 13


def small_panels(
    titles: Sequence[str], *, panel: int, gap: int, frame: int, shared: bool = True
) -> tuple[go.Figure, list[tuple[int, int]]]:
    """An empty figure, and row and column of each panel; heights of panel, gap and frame in pixels.

    ``shared``: only the lowest panels have layers below them.
    """
    columns = min(2, len(titles))
    rows = -(-len(titles) // columns)
    places = [(number // columns + 1, number % columns + 1) for number in range(len(titles))]
    height = frame + panel * rows + gap * (rows - 1)
    figure = make_subplots(
        rows=rows,
        cols=columns,
        horizontal_spacing=0.1,
        vertical_spacing=gap / (height - frame) if rows > 1 else 0,
        subplot_titles=[theme.plain(title) for title in titles],
    )
    for note, (row, col) in zip(figure.layout.annotations, places, strict=True):
        note.update(font_size=TITLE, xanchor="left", x=figure.get_subplot(row, col).xaxis.domain[0])
    theme.apply(figure, height=height)
    figure.update_layout(margin_t=60, legend_y=1 + 28 / (height - frame))
    if shared:
        for row, col in places:
            below = (row + 1, col) in places
            figure.update_xaxes(showticklabels=not below, title_text="" if below else "layer", row=row, col=col)
    return figure, places


#: Height of a panel, of the gap with its title, and of the figure's frame, in pixels.
_BARS_PANEL, _BARS_GAP, _BARS_FRAME = 66, 34, 130
#: Gains are outlined in this colour, for every model.
GAIN = "#9467BD"
WEIGHTS, NORMED, GAINS = "mixing weight", "mixing weight × norm", "gain in F1"


def layer_bars(
    bars: pd.DataFrame,
    *,
    colour: str,
    titles: Mapping[str, str] | None = None,
    notes: Mapping[str, str] | None = None,
    weights: str = "weight",
) -> go.Figure:
    """One panel per task: solid weights of P(L), outlined gains in F1; each as a share of its largest.

    Columns: ``task, layer, weight, normed, gain``, empty if not stored; solid is ``weights``: ``weight`` or ``normed``.
    ``notes``: task -> text after the panel's title.
    """
    if bars.empty or (bars[weights].isna().all() and bars["gain"].isna().all()):
        return theme.empty("No weights and no gains are stored for this model.")
    tasks = list(dict.fromkeys(bars["task"]))
    heads = [(titles or {}).get(task, task) + (notes or {}).get(task, "") for task in tasks]
    figure, places = small_panels(heads, panel=_BARS_PANEL, gap=_BARS_GAP, frame=_BARS_FRAME)
    for place, task in zip(places, tasks, strict=True):
        _add_task(figure, bars[bars["task"] == task].sort_values("layer"), place, colour, weights)
    figure.update_layout(barmode="group", bargap=0.15, bargroupgap=0.05)
    horizontal_panels(figure, int(bars["layer"].max()), places)
    for row, col in places:
        figure.update_xaxes(title_text="" if (row + 1, col) in places else "layer", row=row, col=col)
    figure.update_yaxes(
        showticklabels=False, zeroline=True, zerolinecolor=theme.NEUTRAL, zerolinewidth=1, showgrid=False
    )
    return figure


def _add_task(figure: go.Figure, layers: pd.DataFrame, place: tuple[int, int], colour: str, weights: str) -> None:
    weights_name = WEIGHTS if weights == "weight" else NORMED
    looks = {
        weights: (weights_name, {"color": colour}, f"{weights_name} %{{customdata:.3f}}"),
        "gain": (
            GAINS,
            {"color": "rgba(0,0,0,0)", "line": {"color": GAIN, "width": 1.8}},
            "F1 %{customdata:+.2f} points",
        ),
    }
    for column, (name, marker, words) in looks.items():
        values = layers[column]
        if values.isna().all():
            continue
        largest = float(values.abs().max()) or 1.0
        figure.add_bar(
            x=layers["layer"],
            y=values / largest,
            name=name,
            legendgroup=name,
            showlegend=place == (1, 1),
            marker=marker,
            customdata=values * (100 if column == "gain" else 1),
            hovertemplate=f"layer %{{x}}: {words}<extra></extra>",
            row=place[0],
            col=place[1],
        )


_CURVES_PANEL, _CURVES_GAP, _CURVES_FRAME = 112, 58, 150
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
    looks = looks_of_models(list(dict.fromkeys(points["model"])), colours)
    figure, places = small_panels(
        [(titles or {}).get(task, task) for task in tasks],
        panel=_CURVES_PANEL,
        gap=_CURVES_GAP,
        frame=_CURVES_FRAME,
        shared=False,
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
