"""The best layer of every property: accuracy with its interval, and the baselines that it has to beat."""

from collections.abc import Hashable, Mapping
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from probing.figures import theme
from probing.figures.sentences.looks import LEVELS

_ROW, _FRAME = 38, 130
_SYMBOLS = {"majority": "line-ns-open", "surface": "x-thin-open"}


def best_points(best: pd.DataFrame, *, colour: str, titles: Mapping[str, str] | None = None) -> go.Figure:
    """One row per task: the accuracy of the best layer's probe, filled if it is above both baselines, and the baselines.

    Args:
        best: one row per task, of ``reports.sentences.best_probes.best_read``: ``task, layer, accuracy, low, high, majority, surface,
            read``.
        colour: of the model.
        titles: task -> displayed name.
    """
    if best.empty:
        return theme.empty("No probes are stored for this model.")
    names = [(titles or {}).get(task, task) for task in best["task"]]
    places = list(range(len(best)))
    figure = go.Figure()
    for name, (label, _) in LEVELS.items():
        figure.add_scatter(
            x=best[name] * 100,
            y=places,
            mode="markers",
            name=label,
            marker={"symbol": _SYMBOLS[name], "size": 13, "color": theme.NEUTRAL, "line": {"width": 2, "color": theme.NEUTRAL}},
            hovertemplate=f"{label}: %{{x:.1f}} %<extra></extra>",
        )
    figure.add_scatter(
        x=best["accuracy"] * 100,
        y=places,
        mode="markers+text",
        name="best layer",
        text=[f"layer {int(layer)}" for layer in best["layer"]],
        textposition="top center",
        textfont={"size": 10},
        marker={
            "size": 11,
            "symbol": ["circle" if read else "circle-open" for read in best["read"]],
            "color": colour,
            "line": {"width": 2, "color": colour},
        },
        error_x={
            "type": "data",
            "symmetric": False,
            "array": (best["high"] - best["accuracy"]) * 100,
            "arrayminus": (best["accuracy"] - best["low"]) * 100,
            "color": colour,
            "thickness": 1.8,
            "width": 0,
        },
        hovertext=[_hover(name, one) for name, one in zip(names, best.to_dict("records"), strict=True)],
        hovertemplate="%{hovertext}<extra></extra>",
    )
    theme.apply(figure, height=_FRAME + _ROW * len(best))
    figure.update_xaxes(title_text="accuracy", ticksuffix=" %")
    figure.update_yaxes(
        tickmode="array",
        tickvals=places,
        ticktext=[theme.breakable(name, 18) for name in names],
        range=[len(best) - 0.4, -0.7],
        showgrid=False,
    )
    return figure


def _hover(name: str, one: Mapping[Hashable, Any]) -> str:
    """A property's best layer in numbers."""
    accuracy, low, high = (one[column] * 100 for column in ("accuracy", "low", "high"))
    return f"<b>{theme.plain(name)}</b><br>layer {int(one['layer'])}: {accuracy:.1f} % ({low:.1f} to {high:.1f})"
