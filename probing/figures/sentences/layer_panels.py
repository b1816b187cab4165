"""Accuracy of sentence probes by layer, one panel per task, with the baselines that they have to beat."""

from collections.abc import Collection, Mapping
from typing import Any

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from probing.figures import end_labels, layer_axis, theme
from probing.figures.end_labels import EndLabel
from probing.figures.sentences import looks

#: Height of a panel, of the gap below it, and of the figure's frame, in pixels.
_PANEL, _GAP, _FRAME = 170, 62, 175
_TOP = 95


def layer_panels(
    points: pd.DataFrame,
    *,
    mode: str = "value",
    colours: Mapping[str, str],
    labels: Mapping[str, str] | None = None,
    titles: Mapping[str, str] | None = None,
    controls: Collection[str] = (),
) -> go.Figure:
    """One line per model and pooling; the first token is dashed, the mean solid. Bands are 95 % intervals, whiskers the range of seeds.

    Models of different depth are aligned by share of depth.

    Args:
        points: one row per model, task, pooling and layer: ``model, task, pooling, layer, accuracy, low, high, majority, surface,
            n_train, n_test`` and, with several seeds, ``seed_low, seed_high, seeds``; shares.
        mode: a key of ``looks.MODES``.
        colours: model -> colour.
        labels: model -> displayed name.
        titles: task -> displayed name.
        controls: models that were trained further on their base's own text; their markers are open.
    """
    points = points.dropna(subset=["accuracy"] if mode == "value" else ["accuracy", mode])
    if points.empty:
        return theme.empty("Nothing of this kind is stored for these models and tasks.")
    points = looks.less(points, mode)
    depth = points.groupby("model")["layer"].transform("max")
    shares = depth.nunique() > 1
    points = points.assign(x=points["layer"] / depth.clip(lower=1) if shares else points["layer"])
    tasks = list(dict.fromkeys(points["task"]))
    height = _FRAME + _PANEL * len(tasks) + _GAP * (len(tasks) - 1)
    figure = make_subplots(
        rows=len(tasks),
        cols=1,
        vertical_spacing=_GAP / (height - _FRAME) if len(tasks) > 1 else 0,
        subplot_titles=[theme.plain((titles or {}).get(task, task)) for task in tasks],
    )
    ends: list[EndLabel] = []
    ranges = []
    edge = float(points["x"].max())
    for row, task in enumerate(tasks, start=1):
        task_points = points[points["task"] == task]
        ends += _levels(figure, task_points, edge, mode, row)
        for (model, pooling), line in task_points.groupby(["model", "pooling"], sort=False):
            _line(figure, line.sort_values("layer"), (str(model), str(pooling)), mode, colours, labels or {}, controls, row)
        ranges.append(_extent(task_points))
    looks.legend(figure, points, colours, labels or {}, controls)
    theme.apply(figure, height=height)
    figure.update_layout(legend_y=1 + 34 / (height - _FRAME), legend_groupclick="togglegroup")
    figure.update_annotations(font_size=13, x=0, xanchor="left")
    _axes(figure, int(points["layer"].max()), len(tasks), shares)
    figure.update_yaxes(ticksuffix=" %" if mode == "value" else "")
    figure.update_yaxes(title_text=looks.MODES[mode], row=(len(tasks) + 1) // 2, col=1)
    return end_labels.write(figure, ends, ranges=ranges, top=_TOP)


def _axes(figure: go.Figure, last: int, rows: int, shares: bool) -> None:
    if not shares:
        layer_axis.horizontal_panels(figure, last, [(row, 1) for row in range(1, rows + 1)])
    for row in range(1, rows + 1):
        if shares:
            layer_axis.share_of_depth(figure, row=row, col=1)
        if row < rows:
            figure.update_xaxes(title_text="", row=row, col=1)
    figure.update_xaxes(range=[-0.05, 1.02] if shares else [-0.5, last + 0.15])


def _levels(figure: go.Figure, task_points: pd.DataFrame, edge: float, mode: str, row: int) -> list[EndLabel]:
    """One grey line per baseline, for all models; returns the names for the ends."""
    found = []
    for column, (name, dash) in looks.LEVELS.items():
        levels = task_points[f"drawn_{column}"].dropna()
        if levels.empty:
            continue
        level = float(levels.iloc[0])
        figure.add_scatter(
            x=[-0.5, edge],
            y=[level, level],
            mode="lines",
            line={"color": theme.NEUTRAL, "width": 1.5, "dash": dash},
            name=name,
            showlegend=False,
            hovertemplate=f"{name}: {looks.number(mode, level)}<extra></extra>",
            row=row,
            col=1,
        )
        found.append(EndLabel(edge, level, name, strong=False, row=row))
    return found


def _line(
    figure: go.Figure,
    line: pd.DataFrame,
    whose: tuple[str, str],
    mode: str,
    colours: Mapping[str, str],
    labels: Mapping[str, str],
    controls: Collection[str],
    row: int,
) -> None:
    model, pooling = whose
    colour = colours.get(model, theme.NEUTRAL)
    where: dict[str, Any] = {"row": row, "col": 1, "legendgroup": model}
    theme.interval_band(figure, line["x"], line["drawn_low"], line["drawn_high"], colour, **where)
    name = labels.get(model, model)
    places = [f"layer {layer}{' (embeddings)' if layer == 0 else ''}" for layer in line["layer"]]
    rows: list[dict[str, Any]] = line.to_dict("records")
    figure.add_scatter(
        x=line["x"],
        y=line["value"],
        mode="lines+markers",
        name=f"{theme.plain(name)}, {looks.POOLING_NAMES.get(pooling, pooling)}",
        showlegend=False,
        cliponaxis=False,
        line={"color": colour, "width": 2.2, "dash": looks.DASHES.get(pooling, "solid")},
        marker=looks.marker(model, colour, controls),
        error_y=looks.whiskers(line, colour),
        hovertext=[looks.hover(one, name, mode, place) for one, place in zip(rows, places, strict=True)],
        hovertemplate="%{hovertext}<extra></extra>",
        **where,
    )


def _extent(task_points: pd.DataFrame) -> tuple[float, float]:
    """The range of a panel's vertical axis: all values, with a margin."""
    columns = [name for name in task_points if str(name).startswith("drawn_")] + ["value"]
    low, high = float(task_points[columns].min().min()), float(task_points[columns].max().max())
    edge = max(high - low, 2.0) * 0.07
    return low - edge, high + edge
