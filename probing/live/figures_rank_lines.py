"""The rank of one answer in every layer on a logarithmic axis, best at the top, or its probability."""

from collections.abc import Collection, Mapping
from math import log10

import pandas as pd
import plotly.graph_objects as go

from probing.kernel.figures import theme
from probing.kernel.figures.axis import layer_lines


def rank_lines(
    lines: pd.DataFrame,
    *,
    colours: Mapping[str, str] | None = None,
    dashes: Mapping[str, str] | None = None,
    steps: str = "",
    best: bool = False,
) -> go.Figure:
    """Rank by layer, from 1; ``best`` rings the first of the layers 1 to L with a line's best rank.

    Columns: ``name, layer, rank``.
    """
    lines = lines.dropna(subset=["rank"])
    figure = layer_lines(lines, "rank", "rank %{y:,}", colours=colours, dashes=dashes, steps=steps)
    if lines.empty:
        return figure
    worst = max(int(lines["rank"].max()), 100)
    ticks = [10**power for power in range(7) if 10**power <= worst * 1.5]
    figure.update_yaxes(
        type="log",
        title_text="rank (log scale, best on top)",
        tickvals=ticks,
        ticktext=[f"{tick:,}" for tick in ticks],
        autorange=False,
        range=[log10(worst) + 0.1, -0.15],
    )
    figure.add_hline(y=10, line={"color": theme.NEUTRAL, "width": 1, "dash": "dot"})
    # On a logarithmic axis an annotation stands at the logarithm.
    figure.add_annotation(
        text="rank 10", x=0, xref="x domain", y=1, xanchor="left", yanchor="bottom", showarrow=False, font_size=12
    )
    if best:
        inner = lines[lines["layer"] >= 1].sort_values(["rank", "layer"]).drop_duplicates("name")
        figure.add_scatter(
            x=inner["layer"],
            y=inner["rank"],
            mode="markers",
            name="best layer",
            hoverinfo="skip",
            cliponaxis=False,
            marker={"size": 17, "symbol": "circle-open", "color": theme.NEUTRAL, "line": {"width": 2}},
        )
    return figure


def run_rank_lines(
    table: pd.DataFrame,
    *,
    colours: Mapping[str, str],
    labels: Mapping[str, str] | None = None,
    controls: Collection[str] = (),
) -> go.Figure:
    """The rank of one fact's answer, a line a run; rings mark the best layers, ``controls`` are dashed.

    Columns: ``model, head, layer, gold_rank``, in the order of the lines. Of several heads, lines take other colours.
    """
    runs = table[["model", "head"]].drop_duplicates()
    several = runs["head"].nunique() > 1
    names = {
        (run.model, run.head): (labels or {}).get(run.model, run.model) + (f" · {run.head}" if several else "")
        for run in runs.itertuples()
    }
    keys = list(zip(table["model"], table["head"], strict=True))
    lines = pd.DataFrame(
        {"name": [names[key] for key in keys], "layer": table["layer"], "rank": table["gold_rank"].astype("float64")}
    )
    own = None if several else {name: colours.get(model, theme.NEUTRAL) for (model, _), name in names.items()}
    dashes = None if several else {name: theme.line_dash(model in controls) for (model, _), name in names.items()}
    return rank_lines(lines, colours=own, dashes=dashes, best=True)


def probability_lines(
    lines: pd.DataFrame, *, colours: Mapping[str, str] | None = None, dashes: Mapping[str, str] | None = None
) -> go.Figure:
    """Probability by layer; columns: ``name, layer, probability`` in [0, 1]."""
    lines = lines.assign(probability=lines["probability"] * 100).dropna(subset=["probability"])
    figure = layer_lines(lines, "probability", "%{y:.2f} %", colours=colours, dashes=dashes)
    figure.update_yaxes(title_text="probability, per cent", rangemode="tozero", ticksuffix=" %")
    return figure
