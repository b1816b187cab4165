"""What each layer adds to each task, one small panel per task."""

from collections.abc import Mapping

import pandas as pd
import plotly.graph_objects as go

from probing.edges.figures_layers_small_panels import small_panels
from probing.kernel.figures import theme

_PANEL, _GAP, _FRAME = 106, 14, 100


def gain_panels(
    gains: pd.DataFrame,
    *,
    colours: Mapping[str, str],
    labels: Mapping[str, str] | None = None,
    titles: Mapping[str, str] | None = None,
) -> go.Figure:
    """Bars are the points of F1 that a layer adds, a panel per task; models without a colour are published, grey.

    Columns: ``model, task, layer, gain``, from layer 1 on.
    """
    if gains.empty:
        return theme.empty("No cumulative probes are stored for these models.")
    tasks = list(dict.fromkeys(gains["task"]))
    figure, places = small_panels(
        [(titles or {}).get(task, task) for task in tasks], panel=_PANEL, gap=_GAP, frame=_FRAME
    )
    for number, (task, (row, col)) in enumerate(zip(tasks, places, strict=True)):
        for model, line in gains[gains["task"] == task].groupby("model", sort=False):
            plain_name = theme.plain((labels or {}).get(str(model), str(model)))
            _add(figure, line, plain_name, colours.get(str(model)), showlegend=number == 0, row=row, col=col)
    points, last = gains["gain"] * 100, int(gains["layer"].max())
    figure.update_layout(bargap=0.2, bargroupgap=0.05)
    figure.update_yaxes(
        range=[min(points.min(), 0) - 0.8, points.max() * 1.1 + 0.8],
        zeroline=True,
        zerolinecolor=theme.NEUTRAL,
        nticks=4,
    )
    figure.update_xaxes(range=[0.4, last + 0.6], tickvals=[1, *range(4, last + 1, 4)], showgrid=False, title_standoff=4)
    for note, (row, col) in zip(figure.layout.annotations, places, strict=True):
        # Most gains are those of the first layers, so the right half of a panel has room for its title.
        panel = figure.get_subplot(row, col)
        note.update(x=panel.xaxis.domain[1], xanchor="right", y=panel.yaxis.domain[1], yanchor="top")
    figure.update_yaxes(title_text="points added (F1)", row=(places[-1][0] + 1) // 2, col=1)
    return figure


def _add(figure: go.Figure, line: pd.DataFrame, name: str, colour: str | None, **where: object) -> None:
    """A model's bars, or a published model's line, in one panel."""
    layers, points = line["layer"], line["gain"] * 100
    look = {
        "name": name,
        "legendgroup": name,
        "hovertemplate": f"<b>{name}</b><br>layer %{{x}}: %{{y:+.1f}} points<extra></extra>",
        **where,
    }
    if colour is None:
        grey = {"color": theme.YARDSTICK, "width": 1.6}
        figure.add_scatter(
            x=layers, y=points, mode="lines+markers", line=grey, marker={"size": 4, "color": theme.YARDSTICK}, **look
        )
        return
    figure.add_bar(x=layers, y=points, marker={"color": colour}, **look)
