"""Mixing weights and gains layer by layer, one panel per task (Figure 2 of Tenney et al. 2019)."""

from collections.abc import Mapping

import pandas as pd
import plotly.graph_objects as go

from probing.edges.figures_layers_small_panels import small_panels
from probing.kernel.figures import theme
from probing.kernel.figures.axis import horizontal_panels

#: Height of a panel, of the gap with its title, and of the figure's frame, in pixels.
_PANEL, _GAP, _FRAME = 66, 34, 130
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
    figure, places = small_panels(heads, panel=_PANEL, gap=_GAP, frame=_FRAME)
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
