"""Entropy of each layer's predictions."""

from collections.abc import Mapping

import pandas as pd
import plotly.graph_objects as go

from probing.kernel.figures import theme
from probing.kernel.figures.axis import layer_lines


def entropy_lines(
    layers: pd.DataFrame, *, colours: Mapping[str, str], dashes: Mapping[str, str] | None = None
) -> go.Figure:
    """Entropy by layer of several models, in nats; columns: ``name, layer, entropy``."""
    if layers.empty:
        return theme.empty("Nothing has been predicted yet.")
    figure = layer_lines(layers, "entropy", "%{y:.2f} nats", colours=colours, dashes=dashes)
    figure.update_layout(height=320)
    figure.update_yaxes(title_text="entropy, nats", rangemode="tozero")
    return figure
