"""Figures of a sentence or fact: every layer's best tokens as a grid, ranks of answers by layer, and entropy."""

import math
from collections.abc import Collection, Mapping, Sequence
from math import log10

import pandas as pd
import plotly.graph_objects as go

from probing.kernel.figures import theme
from probing.kernel.figures.axis import layer_lines, vertical

#: More lines than this cannot be distinguished.
MAX_LINES = 8


def ranks_by_layer(rows: pd.DataFrame) -> dict[int, int]:
    """Layer -> rank of the right word, of one run's rows from ``facts.store_facts.fact_predictions``."""
    return dict(zip(rows["layer"].astype(int), rows["gold_rank"].astype(int), strict=True))


def token_rows(rows: pd.DataFrame) -> pd.DataFrame:
    """The lists of one run in long form: layer, place, token, probability, framed (it has the right answer's rank).

    ``rows`` of ``facts.store_facts.fact_predictions``.
    """
    return pd.DataFrame(
        [
            (int(row.layer), place, token, math.exp(logp), place == row.gold_rank)
            for row in rows.itertuples()
            for place, (token, logp) in enumerate(zip(row.tokens, row.top_logp, strict=True), 1)
        ],
        columns=["layer", "place", "token", "probability", "framed"],
    )


def compared_runs(runs: pd.DataFrame, run_ids: Sequence[str], head: str, models: Sequence[str]) -> pd.DataFrame:
    """The runs of one fact that are drawn together: of several models one head each, of one all its heads.

    ``run_ids``: ids of the runs with that fact; ``models`` in the order of the lines, the page's own first.
    """
    there = runs[runs["run_id"].isin(list(run_ids))]
    alike = there[there["head"] == head]
    there = alike if alike["model"].nunique() > 1 else there
    first = list(dict.fromkeys(models))
    places = [first.index(model) if model in first else len(first) for model in there["model"]]
    ordered = there.assign(_first=places, _other=there["head"] != head).sort_values(["_first", "_other"], kind="stable")
    return ordered.drop(columns=["_first", "_other"]).head(MAX_LINES)


def rank_table(runs: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    """Where the right answer of one fact stands in the ranking of every layer, in the order of ``runs``.

    Columns of the result: model, head, layer, gold_rank, answer_rank (among the relation's answers), other_rank (with a
    swapped subject), gold_logp, probability; ranks count from 1, what is not stored is empty.
    """
    layers = rows[["run_id", "layer", "gold_rank", "answer_rank", "other_rank", "gold_logp"]]
    layers = layers.assign(probability=[math.exp(value) for value in layers["gold_logp"]])
    return runs[["run_id", "model", "head"]].merge(layers, on="run_id").drop(columns="run_id")


#: Cells of less probable words are as the page.
LEAST = 0.05
#: The page, and the colour of a probability of 1; between them a linear ramp, on a light and on a dark page.
_RAMP, _DARK_RAMP = ("#FFFFFF", "#2369B4"), ("#11161C", "#5AA0E6")
#: The right word's cell.
RIGHT = "#F2A24B"
#: Pixels around the cells before the stamp is added.
_AROUND = 116
#: Pixels of a row: a word and its probability; two such lines of nine layers fit a phone.
ROW = 34
#: Width of the column of ranks, in columns of words.
_RANKS = 0.7
#: Letters of a word that fit a column.
_FITS = 12


def tint(probability: float, *, dark: bool = False) -> str:
    low, high = _DARK_RAMP if dark else _RAMP
    share = min(probability, 1) if probability >= LEAST else 0
    parts = [(int(low[at : at + 2], 16), int(high[at : at + 2], 16)) for at in (1, 3, 5)]
    return "#" + "".join(f"{round(first + share * (second - first)):02X}" for first, second in parts)


def token_grid(
    tokens: pd.DataFrame,
    *,
    columns: int = 5,
    names: Sequence[str] = (),
    rows: Sequence[str] = (),
    ranks: Mapping[int, int] | None = None,
    ranked: str = "right word",
    dark: bool = False,
) -> go.Figure:
    """A heat-map with the tokens written into its cells.

    Columns: ``layer`` (from 0), ``place`` (from 1), ``token``, ``probability``, optional ``framed``: it is the right
    answer or a followed word, which its spelling alone does not show. ``columns``: how many places are shown. ``names``
    and ``rows`` are given if they are no places and layers. ``ranks``: layer -> rank of the word ``ranked``, at the
    right.
    """
    columns = len(names) or columns
    tokens = tokens[tokens["place"] <= columns]
    if tokens.empty:
        return theme.empty("No tokens are stored for this fact.")
    last = int(tokens["layer"].max())
    shade = tokens.pivot(index="layer", columns="place", values="probability")
    look = {"xgap": 3, "ygap": 3, "hoverinfo": "skip", "zmin": 0, "zmax": 1}
    figure = go.Figure()
    figure.add_heatmap(
        z=shade.values,
        x=list(shade.columns),
        y=list(shade.index),
        colorscale=[
            [0, tint(0, dark=dark)],
            [LEAST, tint(0, dark=dark)],
            [LEAST, tint(LEAST, dark=dark)],
            [1, tint(1, dark=dark)],
        ],
        colorbar=_legend(last + 1, below=bool(names)),
        **look,
    )
    right = tokens[tokens["framed"]] if "framed" in tokens else tokens[:0]
    if len(right):
        where = right.assign(right=1.0).pivot(index="layer", columns="place", values="right").reindex_like(shade)
        figure.add_heatmap(
            z=where.values,
            x=list(where.columns),
            y=list(where.index),
            colorscale=[[0, RIGHT], [1, RIGHT]],
            showscale=False,
            **look,
        )
    inks = [
        theme.ink_on(RIGHT if at in right.index else tint(share, dark=dark))
        for at, share in tokens["probability"].items()
    ]
    figure.add_scatter(
        x=tokens["place"],
        y=tokens["layer"],
        mode="text",
        showlegend=False,
        text=[f"{_word(cell.token)}<br>{percent(cell.probability)}" for cell in tokens.itertuples()],
        customdata=tokens[["token", "probability"]].map(
            lambda value: theme.plain(value) if isinstance(value, str) else value
        ),
        hovertemplate=(
            f"{'' if rows else 'layer '}%{{y}}{'' if names else ', rank %{x}'}<br><b>%{{customdata[0]}}</b><br>"
            "probability %{customdata[1]:.4f}<extra></extra>"
        ),
        textfont={"size": 12, "color": inks},
        cliponaxis=False,
    )
    # Space for the axis, the stamp and the legend, and for names above.
    theme.apply(figure, height=_AROUND + (40 if names else 0) + ROW * (last + 1))
    if rows:
        figure.update_yaxes(
            tickvals=list(range(len(rows))),
            ticktext=[theme.breakable(row) for row in rows],
            range=[len(rows) - 0.5, -0.5],
            showgrid=False,
        )
    else:
        vertical(figure, last)
    figure.update_xaxes(title_text="" if names else "rank", dtick=1, range=[0.5, columns + 0.5], showgrid=False)
    if ranks:
        _add_ranks(figure, ranks, columns, theme.plain(theme.shorten(ranked, _FITS)))
    if names:
        figure.update_xaxes(
            tickvals=list(range(1, columns + 1)), ticktext=[theme.breakable(name, 12) for name in names], side="top"
        )
    return figure


def _add_ranks(figure: go.Figure, ranks: Mapping[int, int], columns: int, word: str) -> None:
    """Writes a word's rank on the right of every layer; the first rank is bold."""
    place = columns + 0.5 + _RANKS / 2
    figure.add_scatter(
        x=[place] * len(ranks),
        y=list(ranks),
        mode="text",
        showlegend=False,
        hoverinfo="skip",
        text=[f"<b>{rank:,}</b>" if rank == 1 else f"{rank:,}" for rank in ranks.values()],
        textfont={"size": 12},
        cliponaxis=False,
    )
    ticks = list(range(1, columns + 1))
    figure.update_xaxes(
        range=[0.5, columns + 0.5 + _RANKS],
        tickmode="array",
        tickvals=[*ticks, place],
        ticktext=[*map(str, ticks), word],
    )


def _legend(rows: int, *, below: bool) -> dict:
    """The colour bar: above the cells, in line with the figure's button, or below them if names are above."""
    pixel = 1 / (ROW * rows)
    where = {"y": -22 * pixel, "yanchor": "top"} if below else {"y": 1 + 4 * pixel, "yanchor": "bottom"}
    return {
        "orientation": "h",
        "x": 0,
        "xanchor": "left",
        "xpad": 0,
        "ypad": 0,
        "thickness": 8,
        "len": 230,
        "lenmode": "pixels",
        "outlinewidth": 0,
        "tickvals": [0, 0.5, 1],
        "ticktext": ["0 %", "50 %", "100 %"],
        "tickfont": {"size": 12},
        "ticks": "",
        "ticklabelposition": "outside bottom",
        **where,
    }


def _word(token: str) -> str:
    """A token on one line, cut if it is long; the hover text has all of it."""
    return theme.plain(theme.shorten(token, _FITS))


def percent(probability: float) -> str:
    """A probability for a small cell; none is certain."""
    if probability < 0.001:
        return "<0.1 %"
    if probability > 0.99:
        return ">99 %"
    return f"{probability * 100:.1f} %" if probability < 0.01 else f"{probability * 100:.0f} %"


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
