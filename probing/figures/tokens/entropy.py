"""Entropy of each layer's predictions."""

from collections.abc import Mapping

import pandas as pd
import plotly.graph_objects as go

from probing.figures import layer_axis, theme
from probing.figures.layer_lines import layer_lines


def entropy_by_layer(layers: pd.DataFrame) -> go.Figure:
    """Entropy of the answer distribution by layer, in nats.

    Args:
        layers: ``layer, entropy``.
    """
    if layers.empty:
        return theme.empty("Nothing has been asked yet.")
    layers = layers.sort_values("layer")
    figure = go.Figure()
    figure.add_bar(
        x=layers["layer"],
        y=layers["entropy"],
        marker={"color": theme.faint(theme.PALETTE[0], 0.75)},
        showlegend=False,
        hovertemplate="layer %{x}: %{y:.2f} nats<extra></extra>",
    )
    theme.apply(figure, height=300)
    layer_axis.horizontal(figure, int(layers["layer"].max()))
    figure.update_yaxes(title_text="entropy, nats", rangemode="tozero")
    return figure


def entropy_lines(layers: pd.DataFrame, *, colours: Mapping[str, str], dashes: Mapping[str, str] | None = None) -> go.Figure:
    """Entropy by layer of several models, in nats.

    Args:
        layers: ``name, layer, entropy``.
        colours, dashes: as in ``layer_lines``.
    """
    if layers.empty:
        return theme.empty("Nothing has been predicted yet.")
    figure = layer_lines(layers, "entropy", "%{y:.2f} nats", colours=colours, dashes=dashes)
    figure.update_layout(height=320)
    figure.update_yaxes(title_text="entropy, nats", rangemode="tozero")
    return figure
