"""How far lost facts fell: a curve per fine-tuned model."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from probing.kernel.figures import theme

#: Points of a curve.
_POINTS = 200


def fall_curves(
    table: pd.DataFrame, *, colours: Mapping[str, str] | None = None, labels: Mapping[str, str] | None = None
) -> go.Figure:
    """The share of lost facts whose right answer is at most so many nats below the first word.

    Columns: ``model, margin`` of every lost fact, of one probe set and k.
    """
    if table.empty:
        return theme.empty("No model was asked for the facts that it lost.")
    figure = go.Figure()
    shares = np.linspace(0, 100, _POINTS)
    for model, rows in table.groupby("model", sort=True):
        name = theme.plain((labels or {}).get(str(model), str(model)))
        margins = np.quantile(rows["margin"], shares / 100)
        figure.add_scatter(
            x=margins,
            y=shares,
            name=name,
            mode="lines",
            line={"color": (colours or {}).get(str(model)), "width": 2},
            hovertemplate=(
                f"<b>{name}</b> ({len(rows):,} lost)<br>%{{y:.0f}} % at most %{{x:.2f}} nats below<extra></extra>"
            ),
        )
    theme.apply(figure, height=360)
    figure.update_xaxes(title_text="right answer below the first word, nats", rangemode="tozero")
    figure.update_yaxes(title_text="per cent of the lost facts", range=[0, 100])
    return figure
