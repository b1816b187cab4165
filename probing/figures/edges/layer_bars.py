"""Mixing weights and gains layer by layer, one panel per task (Figure 2 of Tenney et al. 2019)."""

from collections.abc import Mapping

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from probing.figures import layer_axis, theme

#: Height of a panel, of the gap with its title, and of the figure's frame, in pixels.
_PANEL, _GAP, _FRAME = 66, 30, 150
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
    """One panel per task: solid bars are the weights of P(L), outlined ones each layer's gain in F1; each as a share of its largest.

    Args:
        bars: one row per task and layer: ``task, layer, weight, normed, gain``; weights and gains are empty if they are not stored.
        colour: of the model.
        titles: task -> displayed name.
        notes: task -> text after the panel's title.
        weights: the column drawn as solid bars, ``weight`` or ``normed``.
    """
    if bars.empty or (bars[weights].isna().all() and bars["gain"].isna().all()):
        return theme.empty("No weights and no gains are stored for this model.")
    tasks = list(dict.fromkeys(bars["task"]))
    height = _FRAME + (_PANEL + _GAP) * len(tasks)
    heads = [theme.plain((titles or {}).get(task, task) + (notes or {}).get(task, "")) for task in tasks]
    figure = make_subplots(rows=len(tasks), cols=1, shared_xaxes=True, vertical_spacing=_GAP / (height - _FRAME), subplot_titles=heads)
    for row, task in enumerate(tasks, start=1):
        _add_task(figure, bars[bars["task"] == task].sort_values("layer"), row, colour, weights)
    theme.apply(figure, height=height)
    figure.update_layout(barmode="group", bargap=0.15, bargroupgap=0.05, margin_t=70, legend_y=1 + 34 / (height - _FRAME))
    figure.update_annotations(font_size=12, x=0, xanchor="left")
    layer_axis.horizontal_panels(figure, int(bars["layer"].max()), [(row, 1) for row in range(1, len(tasks) + 1)])
    for row in range(1, len(tasks)):
        figure.update_xaxes(title_text="", showticklabels=False, row=row, col=1)
    figure.update_yaxes(showticklabels=False, zeroline=True, zerolinecolor=theme.NEUTRAL, zerolinewidth=1, showgrid=False)
    return figure


def _add_task(figure: go.Figure, layers: pd.DataFrame, row: int, colour: str, weights: str) -> None:
    name = WEIGHTS if weights == "weight" else NORMED
    looks = {
        weights: (name, {"color": colour}, f"{name} %{{customdata:.3f}}"),
        "gain": (GAINS, {"color": "rgba(0,0,0,0)", "line": {"color": GAIN, "width": 1.8}}, "F1 %{customdata:+.2f} points"),
    }
    for column, (shown, marker, words) in looks.items():
        values = layers[column]
        if values.isna().all():
            continue
        largest = float(values.abs().max()) or 1.0
        figure.add_bar(
            x=layers["layer"],
            y=values / largest,
            name=shown,
            legendgroup=shown,
            showlegend=row == 1,
            marker=marker,
            customdata=values * (100 if column == "gain" else 1),
            hovertemplate=f"layer %{{x}}: {words}<extra></extra>",
            row=row,
            col=1,
        )
