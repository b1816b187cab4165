"""How many claims have each verdict: one bar for our results, and one for each set of published numbers."""

from collections.abc import Mapping

import pandas as pd
import plotly.graph_objects as go

from probing.figures import theme

_ROW, _FRAME = 44, 110
#: Of fewer claims every number has its tick, so that none is a fraction.
_EVERY = 6


def verdict_bars(counts: pd.DataFrame, *, colours: Mapping[str, str]) -> go.Figure:
    """Stacked bars of claims by verdict.

    Args:
        counts: one row per side and verdict: ``side, verdict, claims``.
        colours: verdict -> colour, in the order of the bars' parts.
    """
    sides = list(dict.fromkeys(counts["side"]))
    figure = go.Figure()
    for verdict, colour in colours.items():
        of_verdict = counts[(counts["verdict"] == verdict) & (counts["claims"] > 0)]
        if of_verdict.empty:
            continue
        figure.add_bar(
            y=[sides.index(side) for side in of_verdict["side"]],
            x=of_verdict["claims"],
            orientation="h",
            name=verdict,
            marker={"color": colour},
            text=of_verdict["claims"].astype(str),
            textposition="inside",
            insidetextanchor="middle",
            textangle=0,
            insidetextfont={"color": theme.ink_on(colour)},
            hovertemplate=f"{verdict}: %{{x}} claims<extra></extra>",
        )
    theme.apply(figure, height=_FRAME + _ROW * len(sides))
    figure.update_layout(barmode="stack", bargap=0.3, legend_traceorder="normal")
    figure.update_xaxes(title_text="claims", showgrid=False)
    if counts["claims"].sum() < _EVERY:
        figure.update_xaxes(dtick=1)
    figure.update_yaxes(
        tickmode="array",
        tickvals=list(range(len(sides))),
        ticktext=[theme.breakable(side, 16) for side in sides],
        range=[len(sides) - 0.5, -0.5],
        showgrid=False,
    )
    return figure
