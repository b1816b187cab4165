"""What the figures of sentence probes share: colour is the model, dash the pooling, grey a baseline."""

from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from probing.kernel.figures import theme
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


def number(mode: str, value: float) -> str:
    """ "72.7 %", "+22.3 points"."""
    return f"{value:.1f} %" if mode == "value" else f"{value:+.1f} points"


def marker(model: str, colour: str, controls: Iterable[str], size: int = 7) -> dict[str, Any]:
    """The marker of a model's line; a control's is open."""
    symbol = "circle-open" if model in controls else "circle"
    return {"symbol": symbol, "size": size, "color": colour, "line": {"width": 1.5, "color": colour}}


def whiskers(line: pd.DataFrame, colour: str) -> dict[str, Any] | None:
    """The range over fine-tuning seeds, for lines that have several."""
    if "drawn_seed_low" not in line or line["drawn_seed_low"].isna().all():
        return None
    up, down = line["drawn_seed_high"] - line["value"], line["value"] - line["drawn_seed_low"]
    return {
        "type": "data",
        "symmetric": False,
        "array": up.clip(lower=0),
        "arrayminus": down.clip(lower=0),
        "color": colour,
        "thickness": 1.2,
        "width": 4,
    }


def hover(point: Mapping[str, Any], name: str, mode: str, place: str) -> str:
    """The hover text of a point: its place, value, interval and baselines."""
    lines = [
        f"<b>{theme.plain(name)}</b>, {POOLING_NAMES.get(point['pooling'], point['pooling'])}",
        f"{place}: {number(mode, point['value'])}",
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
