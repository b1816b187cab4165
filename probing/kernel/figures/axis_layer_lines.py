"""Lines over the layers, or over another count from 0 upwards."""

from collections.abc import Mapping

import pandas as pd
import plotly.graph_objects as go

from probing.kernel.figures import axis_layer_axis as layer_axis
from probing.kernel.figures import theme


def layer_lines(
    lines: pd.DataFrame,
    column: str,
    value_format: str,
    *,
    colours: Mapping[str, str] | None = None,
    dashes: Mapping[str, str] | None = None,
    steps: str = "",
) -> go.Figure:
    """One line per name of a ``column`` by layer; columns: ``name, layer`` and that one.

    ``value_format``: of the hover text. Names without a colour take the palette in turn; lines of one colour have one
    marker. ``steps``: what ``layer`` counts if it does not count layers.
    """
    if lines.empty:
        return theme.empty("Nothing to draw: no answer is followed.")
    figure = go.Figure()
    hues = list(dict.fromkeys((colours or {}).values()))
    for number, (name, line) in enumerate(lines.groupby("name", sort=False)):
        line = line.sort_values("layer")
        colour = (colours or {}).get(str(name), theme.PALETTE[number % len(theme.PALETTE)])
        dash = (dashes or {}).get(str(name), "solid")
        symbol = hues.index(colour) if colour in hues else number
        label = theme.plain(str(name))
        figure.add_scatter(
            x=line["layer"],
            y=line[column],
            name=label,
            mode="lines+markers",
            line={"color": colour, "width": 2.5, "dash": dash},
            marker={"size": 8, "symbol": theme.SYMBOLS[symbol % len(theme.SYMBOLS)]},
            showlegend=True,
            hovertemplate=f"<b>{label}</b><br>{'replaced' if steps else 'layer'} %{{x}}: {value_format}<extra></extra>",
        )
    # On a phone every name takes its own line.
    theme.apply(figure, height=380 + 14 * max(lines["name"].nunique() - 3, 0))
    last = int(lines["layer"].max())
    if not steps:
        return layer_axis.horizontal(figure, last)
    figure.update_xaxes(
        title_text=theme.plain(steps), dtick=1 if last <= 14 else 2, range=[-0.5, last + 0.5], showgrid=False
    )
    return figure
