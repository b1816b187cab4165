"""Where one answer stands in every layer: rank on a logarithmic axis, best at the top, or probability."""

from collections.abc import Mapping
from math import log10

import pandas as pd
import plotly.graph_objects as go

from probing.figures import layer_axis, theme


def rank_lines(lines: pd.DataFrame, *, colours: Mapping[str, str] | None = None, vocabulary: int | None = None) -> go.Figure:
    """Rank by layer.

    Args:
        lines: ``name, layer, rank``; ranks count from 1.
        colours: name -> colour; others take the palette in turn.
        vocabulary: size of the vocabulary, the lowest rank there is.
    """
    figure = _lines(lines.dropna(subset=["rank"]), "rank", colours, "rank %{y:,}")
    if lines.empty:
        return figure
    worst = max(int(lines["rank"].max()), 100, vocabulary or 0)
    ticks = [10**power for power in range(7) if 10**power <= worst * 1.5]
    figure.update_yaxes(
        type="log", title_text="rank (log scale, best on top)", tickvals=ticks, ticktext=[f"{tick:,}" for tick in ticks],
        autorange=False, range=[log10(worst) + 0.1, -0.15],
    )  # fmt: skip
    figure.add_hline(y=10, line={"color": theme.NEUTRAL, "width": 1, "dash": "dot"})
    return figure


def probability_lines(lines: pd.DataFrame, *, colours: Mapping[str, str] | None = None) -> go.Figure:
    """Probability by layer.

    Args:
        lines: ``name, layer, probability`` in [0, 1].
        colours: as in ``rank_lines``.
    """
    lines = lines.assign(probability=lines["probability"] * 100)
    figure = _lines(lines.dropna(subset=["probability"]), "probability", colours, "%{y:.2f} %")
    figure.update_yaxes(title_text="probability, per cent", rangemode="tozero", ticksuffix=" %")
    return figure


def _lines(lines: pd.DataFrame, column: str, colours: Mapping[str, str] | None, shown: str) -> go.Figure:
    if lines.empty:
        return theme.empty("Nothing to draw: no answer is watched.")
    figure = go.Figure()
    for number, (name, line) in enumerate(lines.groupby("name", sort=False)):
        line = line.sort_values("layer")
        colour = (colours or {}).get(str(name), theme.PALETTE[number % len(theme.PALETTE)])
        label = theme.plain(str(name))
        figure.add_scatter(
            x=line["layer"], y=line[column], name=label, mode="lines+markers", line={"color": colour, "width": 2.5},
            marker={"size": 8, "symbol": theme.SYMBOLS[number % len(theme.SYMBOLS)]}, showlegend=True,
            hovertemplate=f"<b>{label}</b><br>layer %{{x}}: {shown}<extra></extra>",
        )  # fmt: skip
    theme.apply(figure, height=380)
    return layer_axis.horizontal(figure, int(lines["layer"].max()))
