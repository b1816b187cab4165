"""Where lost facts come back: at which layer they are read, and with how many of the base's layers."""

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from probing.core.forgetting.ways import AS_IN_BASE, LAYERS_BACK, OTHER_LAYER
from probing.figures import theme
from probing.figures.forgetting.outcome_bars import COLOURS

#: Way -> title of its axis.
_AXES = {OTHER_LAYER: "highest layer that reads it", LAYERS_BACK: "last layers put back"}


def layer_bars(table: pd.DataFrame, *, lost: int, layers: int) -> go.Figure:
    """Two panels of bars, in per cent of the lost facts.

    Args:
        table: ``way, level, n`` of ``reports.forgetting.places.layers`` of one run.
        lost: number of lost facts.
        layers: number of layers of the model, layer 0 included.
    """
    figure = make_subplots(1, 2, shared_yaxes=True, horizontal_spacing=0.06)
    levels = {OTHER_LAYER: range(layers - 1), LAYERS_BACK: range(1, (layers - 1) // 2 + 1)}
    for column, way in enumerate(_AXES, 1):
        counts = table[table["way"] == way].set_index("level")["n"]
        sizes = [int(counts.get(level, 0)) for level in levels[way]]
        figure.add_bar(
            row=1,
            col=column,
            x=list(levels[way]),
            y=[100 * n / max(1, lost) for n in sizes],
            marker_color=COLOURS[AS_IN_BASE if way == OTHER_LAYER else way],
            name=way,
            customdata=sizes,
            hovertemplate="%{x}: %{customdata:,} facts, %{y:.1f} %<extra></extra>",
        )
    theme.apply(figure, height=300)
    figure.update_layout(bargap=0.25)
    figure.update_yaxes(title_text="per cent of the lost facts", ticksuffix=" %", rangemode="tozero", col=1)
    for column, title in enumerate(_AXES.values(), 1):
        figure.update_xaxes(title_text=title, dtick=1, col=column)
    return figure
