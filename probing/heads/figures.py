"""Validation loss of decoding heads by layer: one line per kind."""

import pandas as pd
import plotly.graph_objects as go

from probing.kernel.figures import theme
from probing.kernel.figures.axis import EndLabel, aligned, horizontal, write
from probing.kernel.figures.looks import head_name


def head_losses(losses: pd.DataFrame) -> go.Figure:
    """One line per kind of head, as in layer curves; columns: ``head, layer, loss, start_loss``, in nats."""
    if losses.empty:
        return theme.empty("No training of these heads is stored.")
    figure, ends = go.Figure(), []
    for head, line in losses.groupby("head", sort=False):
        line, kind, name = line.sort_values("layer"), str(head), head_name(str(head))
        colour = theme.head_colour(kind)
        figure.add_scatter(
            x=line["layer"],
            y=line["loss"],
            name=name,
            mode="lines+markers",
            showlegend=False,
            cliponaxis=False,
            line={"color": colour, "width": 2.5},
            marker={
                "symbol": theme.head_symbol(0, kind),
                "size": 8,
                "color": colour,
                "line": {"width": 1.5, "color": colour},
            },
            customdata=[[start] for start in line["start_loss"]],
            hovertemplate=(
                f"<b>{name}</b><br>layer %{{x}}: %{{y:.3f}} nats<br>before training:"
                " %{customdata[0]:.3f}<extra></extra>"
            ),
        )
        ends.append(EndLabel(float(line["layer"].iloc[-1]), float(line["loss"].iloc[-1]), name, colour))
    last = int(losses["layer"].max())
    theme.apply(figure, height=340)
    horizontal(figure, last)
    figure.update_yaxes(title_text="error on unseen text (validation loss, nats)")
    low, high = float(losses["loss"].min()), float(losses["loss"].max())
    edge = max(high - low, 0.1) * 0.06
    return aligned(write(figure, ends, ranges=[(low - edge, high + edge)]))
