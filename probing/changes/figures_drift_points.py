"""How far the weights of fine-tuned models moved against what the models lost."""

from collections.abc import Mapping

import pandas as pd
import plotly.graph_objects as go

from probing.kernel.figures import theme
from probing.kernel.figures.axis import EndLabel, write


def drift_points(
    points: pd.DataFrame,
    *,
    loss: str,
    title: str,
    factor: float = 1.0,
    colours: Mapping[str, str],
    labels: Mapping[str, str] | None = None,
) -> go.Figure:
    """One point per model with its name at the right edge; open: the control, or a net loss from counts only.

    ``points`` of ``finetuning.report.drift_and_losses``; ``loss``, times ``factor``, is a column of it.
    """
    points = points.dropna(subset=["drift", loss])
    if points.empty:
        return theme.empty("No model has both a weight drift and this measure.")
    figure, ends = go.Figure(), []
    edge = float(points["drift"].max()) * 105 or 1.0
    for row in points.to_dict("records"):
        x, y, colour = row["drift"] * 100, row[loss] * factor, colours.get(row["model"], theme.NEUTRAL)
        called = (labels or {}).get(row["model"], row["model"])
        name, is_open = theme.plain(called), row["control"] or (loss == "facts_lost" and row["counted"])
        figure.add_scatter(
            x=[x, edge],
            y=[y, y],
            mode="lines",
            line={"color": theme.faint(colour, 0.35), "width": 1},
            hoverinfo="skip",
            showlegend=False,
            name=f"{name}: to its name",
        )
        figure.add_scatter(
            x=[x],
            y=[y],
            name=name,
            mode="markers",
            showlegend=False,
            cliponaxis=False,
            marker={
                "size": 12,
                "color": colour,
                "symbol": "circle-open" if is_open else "circle",
                "line": {"width": 2, "color": colour},
            },
            hovertemplate=(
                f"<b>{name}</b><br>weights moved by %{{x:.2f}} %<br>{theme.plain(title)}: %{{y:.2f}}<extra></extra>"
            ),
        )
        ends.append(EndLabel(edge, y, called, colour, strong=not row["control"]))
    low, high = min(float(points[loss].min()) * factor, 0), max(float(points[loss].max()) * factor, 0)
    around = (high - low or 1) * 0.06
    theme.apply(figure, height=max(420, 130 + 26 * len(points)))
    figure.update_xaxes(title_text="mean change of weights, layers 1 to the last", ticksuffix=" %", range=[0, edge])
    figure.update_yaxes(title_text=theme.plain(title))
    return write(figure, ends, ranges=[(low - around, high + around)])
