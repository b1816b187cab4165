"""Where a fine-tuned model's probes read each property of the base: shares of fates, one bar per task and vector."""

import textwrap
from collections.abc import Mapping

import pandas as pd
import plotly.graph_objects as go

from probing.kernel.figures import theme
from probing.sentences.figures_looks import POOLING_NAMES
from probing.sentences.numbers_fates import FATES, NOT_FOUND

#: A probe of the same cell: blue and green; another probe only: orange; none: hatched, because it is a limit of probes;
#: undecided: grey.
FATE_COLOURS = dict(zip(FATES, ("#2C6FAE", "#44AA99", "#E3A53C", "#8A4F64", "#9AA0A6"), strict=True))
#: Letters of a line of the legend: two names fit next to each other on a phone.
_IN_LEGEND = 14
_ROW, _FRAME = 46, 150


def fate_bars(shares: pd.DataFrame, *, titles: Mapping[str, str] | None = None) -> go.Figure:
    """One bar per task and pooling, divided by the fates of its cells.

    Columns: ``task, pooling, fate, cells, of, share``.
    """
    shares = shares[shares["of"] > 0]
    if shares.empty:
        return theme.empty(
            "The base's probes beat the commonest answer nowhere, so no property could be lost, or no model has fates."
        )
    rows = list(dict.fromkeys(shares[["task", "pooling"]].itertuples(index=False, name=None)))
    figure = go.Figure()
    for fate in [name for name in FATES if shares.loc[shares["fate"] == name, "cells"].any()]:
        of_fate = shares[(shares["fate"] == fate) & (shares["cells"] > 0)]
        colour = FATE_COLOURS[fate]
        words = [
            f"{(titles or {}).get(row.task, row.task)}, {POOLING_NAMES.get(row.pooling, row.pooling)}"
            for row in of_fate.itertuples()
        ]
        figure.add_bar(
            y=[rows.index((row.task, row.pooling)) for row in of_fate.itertuples()],
            x=of_fate["share"] * 100,
            orientation="h",
            name="<br>".join(textwrap.wrap(fate, _IN_LEGEND)),
            marker={"color": colour, "line": {"width": 1, "color": "rgba(128,136,144,0.5)"}}
            | (
                {"pattern": {"shape": "/", "fgcolor": "#FFFFFF", "size": 6, "solidity": 0.25}}
                if fate == NOT_FOUND
                else {}
            ),
            text=of_fate["cells"].astype(str),
            textposition="inside",
            insidetextanchor="middle",
            textangle=0,
            insidetextfont={"color": theme.ink_on(colour)},
            hovertext=[
                f"<b>{theme.plain(word)}</b><br>{fate}: {row.cells} of {row.of} layers, {row.share * 100:.0f} %"
                for word, row in zip(words, of_fate.itertuples(), strict=True)
            ],
            hovertemplate="%{hovertext}<extra></extra>",
        )
    theme.apply(figure, height=_FRAME + _ROW * len(rows))
    figure.update_layout(barmode="stack", bargap=0.25, legend_traceorder="normal")
    figure.update_xaxes(title_text="per cent of the layers that had the property", ticksuffix=" %", range=[0, 100])
    figure.update_yaxes(
        tickmode="array",
        tickvals=list(range(len(rows))),
        range=[len(rows) - 0.5, -0.5],
        showgrid=False,
        tickfont_size=12,
        ticktext=[
            f"{theme.breakable((titles or {}).get(task, task), 18)}<br><i>{POOLING_NAMES.get(pooling, pooling)}</i>"
            for task, pooling in rows
        ],
    )
    return figure
