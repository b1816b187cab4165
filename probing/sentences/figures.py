"""Figures of sentence probes: colour is the model, dash the pooling, grey a baseline."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from probing.kernel.figures import theme
from probing.kernel.figures.axis import ZERO, horizontal_panels, share_of_depth
from probing.sentences.examples import FIRST, MEAN

#: Pooling -> displayed name.
POOLING_NAMES = {FIRST: "first token", MEAN: "mean of all tokens"}
DASHES = {FIRST: "dash", MEAN: "solid"}
MAJORITY, SURFACE = "commonest answer", "length and words alone"
#: Column of accuracies -> (name, dash) of a task's baseline.
LEVELS = {"majority": (MAJORITY, "dot"), "surface": (SURFACE, "dashdot")}
#: What is drawn -> title of the axis.
MODES = {
    "value": "right answers, %",
    "majority": "points beyond the commonest answer",
    "surface": "points beyond length and words",
}


def less(points: pd.DataFrame, mode: str) -> pd.DataFrame:
    """The points with ``value``, intervals and baselines in per cent, or in points above one of them (``MODES``).

    Columns: ``accuracy, low, high, majority, surface`` and, if known, ``seed_low, seed_high``. The baseline that is
    subtracted is treated as exact.
    """
    off = 0.0 if mode == "value" else points[mode]
    ends = [name for name in ("low", "high", "seed_low", "seed_high") if name in points]
    drawn = {"value": "accuracy", **{f"drawn_{name}": name for name in (*ends, *LEVELS)}}
    return points.assign(**{name: (points[column] - off) * 100 for name, column in drawn.items()})


def number_of(mode: str, value: float) -> str:
    """ "72.7 %", "+22.3 points"."""
    return f"{value:.1f} %" if mode == "value" else f"{value:+.1f} points"


def marker(model: str, colour: str, controls: Iterable[str], size: int = 7) -> dict[str, Any]:
    """The marker of a model's line; a control's is open."""
    return theme.outlined("circle-open" if model in controls else "circle", colour, size, 1.5)


def whiskers(line: pd.DataFrame, colour: str) -> dict[str, Any] | None:
    """The range over fine-tuning seeds, for lines that have several."""
    if "drawn_seed_low" not in line or line["drawn_seed_low"].isna().all():
        return None
    up, down = line["drawn_seed_high"] - line["value"], line["value"] - line["drawn_seed_low"]
    return theme.whiskers(up.clip(lower=0), down.clip(lower=0), color=colour, thickness=1.2, width=4)


def hover(point: Mapping[str, Any], name: str, mode: str, place: str) -> str:
    """The hover text of a point: its place, value, interval and baselines."""
    lines = [
        f"<b>{theme.plain(name)}</b>, {POOLING_NAMES.get(point['pooling'], point['pooling'])}",
        f"{place}: {number_of(mode, point['value'])}",
        f"95 % interval {point['drawn_low']:.1f} to {point['drawn_high']:.1f}",
    ]
    if mode != "value":
        lines.append(f"accuracy {point['accuracy'] * 100:.1f} %")
    baselines = [
        f"{words} {point[column] * 100:.1f} %" for column, (words, _) in LEVELS.items() if pd.notna(point.get(column))
    ]
    lines.append(", ".join(baselines))
    if pd.notna(point.get("seed_low")) and point.get("seeds", 1) > 1:
        lines.append(
            f"{int(point['seeds'])} seeds of fine-tuning: {point['drawn_seed_low']:.1f} to"
            f" {point['drawn_seed_high']:.1f}"
        )
    lines.append(f"trained on {int(point['n_train']):,} sentences, tested on {int(point['n_test']):,}")
    return "<br>".join(line for line in lines if line)


def legend(
    figure: go.Figure,
    points: pd.DataFrame,
    colours: Mapping[str, str],
    labels: Mapping[str, str],
    controls: Iterable[str],
) -> None:
    """One legend entry per model if there are several, one per pooling, and one per baseline, in place."""
    models = list(dict.fromkeys(points["model"]))
    for model in models if len(models) > 1 else ():
        colour = colours.get(model, theme.NEUTRAL)
        figure.add_scatter(
            x=[None],
            y=[None],
            mode="lines+markers",
            name=theme.plain(labels.get(model, model)),
            legendgroup=model,
            line={"color": colour, "width": 2.5},
            marker=marker(model, colour, controls),
        )
    colour = theme.NEUTRAL if len(models) > 1 else colours.get(models[0], theme.NEUTRAL)
    keys = [
        (POOLING_NAMES.get(pooling, pooling), DASHES.get(pooling, "solid"), colour)
        for pooling in dict.fromkeys(points["pooling"])
    ]
    keys += [(name, dash, theme.YARDSTICK) for column, (name, dash) in LEVELS.items() if points[column].notna().any()]
    for name, dash, shade in keys:
        figure.add_scatter(
            x=[None],
            y=[None],
            mode="lines",
            name=name,
            legendgroup=name,
            line={"color": shade, "width": 2, "dash": dash},
        )


_COLUMNS = 2
#: Height of a panel, of one that has no other, of the gap below it, and of the figure's frame, in pixels.
_PANEL, _ALONE, _GAP, _FRAME = 104, 240, 46, 146


def layer_panels(
    points: pd.DataFrame,
    *,
    mode: str = "value",
    colours: Mapping[str, str],
    labels: Mapping[str, str] | None = None,
    titles: Mapping[str, str] | None = None,
    controls: Collection[str] = (),
    best: pd.DataFrame | None = None,
) -> go.Figure:
    """One line per model and pooling, dashed: first token; bands are 95 % intervals, whiskers the range of seeds.

    A point has the same height in all panels; models of different depth are aligned by share of depth; ``controls``
    have open markers. Columns: ``model, task, pooling, layer, accuracy, low, high, majority, surface, n_train, n_test``
    and, with several seeds, ``seed_low, seed_high, seeds``; shares. ``best``: ``task, model, pooling, layer, read``;
    that point is large, filled if it is read.
    """
    points = points.dropna(subset=["accuracy"] if mode == "value" else ["accuracy", mode])
    if points.empty:
        return theme.empty("Nothing of this kind is stored for these models and tasks.")
    points = less(points, mode)
    depth = points.groupby("model")["layer"].transform("max")
    shares = depth.nunique() > 1
    points = points.assign(x=points["layer"] / depth.clip(lower=1) if shares else points["layer"])
    tasks = list(dict.fromkeys(points["task"]))
    columns = min(_COLUMNS, len(tasks))
    rows = -(-len(tasks) // columns)
    places = {task: (number // columns + 1, number % columns + 1) for number, task in enumerate(tasks)}
    height = _FRAME + (_ALONE if len(tasks) == 1 else _PANEL * rows + _GAP * (rows - 1))
    figure = make_subplots(
        rows=rows,
        cols=columns,
        vertical_spacing=_GAP / (height - _FRAME) if rows > 1 else 0,
        horizontal_spacing=0.09,
        specs=[
            [{} if row * columns + column < len(tasks) else None for column in range(columns)] for row in range(rows)
        ],
    )
    middles, span = {}, 0.0
    for task, (row, col) in places.items():
        of_task = points[points["task"] == task]
        where: dict[str, Any] = {"row": row, "col": col}
        _levels(figure, of_task, (-0.5, float(points["x"].max())), mode, where)
        for (model, pooling), line in of_task.groupby(["model", "pooling"], sort=False):
            _line(
                figure,
                line.sort_values("layer"),
                (str(model), str(pooling)),
                mode,
                colours,
                labels or {},
                controls,
                where,
            )
        second = "" if best is None else _best(figure, of_task, best[best["task"] == task], mode, colours, where)
        _title(figure, (titles or {}).get(task, task), second, where)
        low, high = _extent(of_task)
        middles[row, col] = (low + high) / 2
        span = max(span, high - low)
    legend(figure, points, colours, labels or {}, controls)
    theme.apply(figure, height=height)
    figure.update_layout(legend_y=1 + 46 / (height - _FRAME), legend_groupclick="togglegroup", margin_t=88)
    _axes(figure, int(points["layer"].max()), list(places.values()), shares)
    for (row, col), middle in middles.items():
        figure.update_yaxes(range=[middle - span * 0.55, middle + span * 0.55], nticks=4, row=row, col=col)
    figure.update_yaxes(title_text=MODES[mode], row=(rows + 1) // 2, col=1)
    return figure


def _axes(figure: go.Figure, last: int, places: list[tuple[int, int]], shares: bool) -> None:
    """The axes of layers; only the lowest panel of a column has their numbers."""
    if not shares:
        horizontal_panels(figure, last, places)
    for row, col in places:
        if shares:
            share_of_depth(figure, row=row, col=col)
        if (row + 1, col) in places:
            figure.update_xaxes(title_text="", showticklabels=False, row=row, col=col)
    figure.update_xaxes(range=[-0.05, 1.05] if shares else [-0.5, last + 0.4], tickangle=0)
    if not shares and last > 6 and len(places) > 1:
        # Numbers of all layers would not fit side by side on a phone.
        ticks = list(range(0, last + 1, 2 if last <= 12 else 4))
        figure.update_xaxes(tickvals=ticks, ticktext=[f"0<br>{ZERO}", *map(str, ticks[1:])])


def _title(figure: go.Figure, name: str, second: str, where: Mapping[str, int]) -> None:
    """The name of a panel above its left end, with a second line."""
    axis = figure.get_subplot(where["row"], where["col"])
    x, y = axis.xaxis.plotly_name.replace("axis", ""), axis.yaxis.plotly_name.replace("axis", "")
    text = f"<b>{theme.plain(name)}</b>{second and f'<br>{second}'}"
    theme.heading(figure, text, xref=f"{x} domain", yref=f"{y} domain", name="title", align="left", font_size=12)


def _levels(
    figure: go.Figure, of_task: pd.DataFrame, ends: tuple[float, float], mode: str, where: Mapping[str, int]
) -> None:
    """One grey line per baseline, for all models."""
    for column, (name, dash) in LEVELS.items():
        levels = of_task[f"drawn_{column}"].dropna()
        if levels.empty:
            continue
        level = float(levels.iloc[0])
        figure.add_scatter(
            x=ends,
            y=[level, level],
            mode="lines",
            line={"color": theme.YARDSTICK, "width": 1.5, "dash": dash},
            name=name,
            showlegend=False,
            hovertemplate=f"{name}: {number_of(mode, level)}<extra></extra>",
            **where,
        )


def _line(
    figure: go.Figure,
    line: pd.DataFrame,
    whose: tuple[str, str],
    mode: str,
    colours: Mapping[str, str],
    labels: Mapping[str, str],
    controls: Collection[str],
    where: Mapping[str, Any],
) -> None:
    model, pooling = whose
    colour = colours.get(model, theme.NEUTRAL)
    theme.interval_band(figure, line["x"], line["drawn_low"], line["drawn_high"], colour, legendgroup=model, **where)
    name = labels.get(model, model)
    places = [f"layer {layer}{' (embeddings)' if layer == 0 else ''}" for layer in line["layer"]]
    rows: list[dict[str, Any]] = line.to_dict("records")
    figure.add_scatter(
        x=line["x"],
        y=line["value"],
        mode="lines+markers",
        name=f"{theme.plain(name)}, {POOLING_NAMES.get(pooling, pooling)}",
        showlegend=False,
        legendgroup=model,
        cliponaxis=False,
        line={"color": colour, "width": 2, "dash": DASHES.get(pooling, "solid")},
        marker=marker(model, colour, controls, size=5),
        error_y=whiskers(line, colour),
        hovertext=[hover(row, name, mode, place) for row, place in zip(rows, places, strict=True)],
        hovertemplate="%{hovertext}<extra></extra>",
        **where,
    )


def _best(
    figure: go.Figure,
    of_task: pd.DataFrame,
    best: pd.DataFrame,
    mode: str,
    colours: Mapping[str, str],
    where: Mapping[str, int],
) -> str:
    """A large point at the layer chosen on the development sentences, and its words; others may test higher."""
    points = of_task.merge(best[["model", "pooling", "layer", "read"]], on=["model", "pooling", "layer"])
    if points.empty:
        return ""
    point = points.iloc[0]
    colour = colours.get(point["model"], theme.NEUTRAL)
    figure.add_scatter(
        x=[point["x"]],
        y=[point["value"]],
        mode="markers",
        name="layer chosen on dev",
        legendgroup=point["model"],
        showlegend=False,
        cliponaxis=False,
        marker=theme.outlined("circle" if point["read"] else "circle-open", colour, 13, 2),
        hoverinfo="skip",
        **where,
    )
    return f"by dev: layer {point['layer']}, {number_of(mode, point['value'])}"


def _extent(of_task: pd.DataFrame) -> tuple[float, float]:
    """The lowest and the highest value of a panel."""
    drawn = of_task[[name for name in of_task if str(name).startswith("drawn_")] + ["value"]]
    return float(drawn.min().min()), max(float(drawn.max().max()), float(drawn.min().min()) + 2)


def learning_lines(
    points: pd.DataFrame,
    *,
    colours: Mapping[str, str],
    labels: Mapping[str, str] | None = None,
    controls: Collection[str] = (),
) -> go.Figure:
    """One line per model and pooling over the number of training sentences, on a logarithmic axis.

    Columns as for ``layer_panels``, one row per portion of one task; ``layer`` is the layer that is probed.
    """
    # A number below 1 has no place on a logarithmic axis, and no probe is trained on it.
    points = points[points["accuracy"].notna() & (points["n_train"] >= 1)]
    if points.empty:
        return theme.empty("No probes on a part of the training sentences are stored for these models and this task.")
    points = less(points, "value")
    figure = go.Figure()
    sizes = sorted(int(size) for size in points["n_train"].unique())
    _levels(figure, points, (sizes[0], sizes[-1]), "value", {})
    for (model, pooling), line in points.groupby(["model", "pooling"], sort=False):
        line, colour = line.sort_values("n_train"), colours.get(str(model), theme.NEUTRAL)
        name = (labels or {}).get(str(model), str(model))
        theme.interval_band(
            figure, line["n_train"], line["drawn_low"], line["drawn_high"], colour, legendgroup=str(model)
        )
        figure.add_scatter(
            x=line["n_train"],
            y=line["value"],
            mode="lines+markers",
            cliponaxis=False,
            showlegend=False,
            legendgroup=str(model),
            name=f"{theme.plain(name)}, {POOLING_NAMES.get(str(pooling), str(pooling))}",
            line={"color": colour, "width": 2.2, "dash": DASHES.get(str(pooling), "solid")},
            marker=marker(str(model), colour, controls, size=9),
            hovertext=[
                hover(point, name, "value", f"layer {int(point['layer'])}") for point in line.to_dict("records")
            ],
            hovertemplate="%{hovertext}<extra></extra>",
        )
    legend(figure, points, colours, labels or {}, controls)
    theme.apply(figure, height=340)
    figure.update_layout(legend_groupclick="togglegroup", margin_t=60)
    figure.update_xaxes(
        type="log",
        title_text="training sentences",
        tickmode="array",
        tickvals=sizes,
        ticktext=[f"{size:,}" for size in sizes],
        showgrid=False,
    )
    figure.update_yaxes(title_text=MODES["value"], nticks=6)
    return figure
