"""P@k by layer of chosen relations (Figure 3 of BERTnesia), with what each must beat."""

import pandas as pd
import plotly.graph_objects as go

from probing.figures import layer_axis, theme

#: More lines than this cannot be told apart.
MOST_LINES = 6
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#8C6BD1")


def relation_curves(points: pd.DataFrame, *, k: int) -> go.Figure:
    """One line a relation with its 95 % band; dashed the majority answer, dotted the swapped subject.

    Args:
        points: ``relation, label, layer, n, value, low, high, majority, swapped``, shares; baselines are empty where they are not
            defined. Relations beyond ``MOST_LINES`` are not drawn.
        k: the rank up to which a fact counts as known.
    """
    points = points.dropna(subset=["value"])
    if points.empty:
        return theme.empty("No relation is chosen, or no facts are left under these filters.")
    figure = go.Figure()
    said: set[str] = set()
    for number, relation in enumerate(list(dict.fromkeys(points["relation"]))[:MOST_LINES]):
        _add_relation(figure, points[points["relation"] == relation].sort_values("layer"), number, said)
    theme.apply(theme.clickable_last(figure), height=440)
    layer_axis.horizontal(figure, int(points["layer"].max()))
    figure.update_yaxes(title_text=f"P@{k}", rangemode="tozero", ticksuffix=" %")
    return figure


def _add_relation(figure: go.Figure, line: pd.DataFrame, number: int, said: set[str]) -> None:
    colour, label = _COLOURS[number % len(_COLOURS)], theme.plain(line["label"].iloc[0])
    relation, n = str(line["relation"].iloc[0]), int(line["n"].max())
    figure.add_scatter(
        x=[*line["layer"], *line["layer"][::-1]], y=[*(line["high"] * 100), *(line["low"][::-1] * 100)], fill="toself",
        fillcolor=theme.faint(colour, 0.14), line={"width": 0}, mode="lines", hoverinfo="skip", showlegend=False, legendgroup=relation,
        name=f"{label}: 95 % interval",
    )  # fmt: skip
    for column, dash, words in (("majority", "dash", "majority answer"), ("swapped", "dot", "swapped subject")):
        if column not in line or line[column].isna().all():
            continue
        figure.add_scatter(
            x=line["layer"], y=line[column] * 100, mode="lines", line={"dash": dash, "color": colour, "width": 1.4}, opacity=0.8,
            showlegend=False, legendgroup=relation, name=f"{label}: {words}",
            hovertemplate=f"{label}<br>{words}: %{{y:.1f}} %<extra></extra>",
        )  # fmt: skip
        if words not in said:
            said.add(words)
            figure.add_scatter(
                x=[None], y=[None], mode="lines", line={"dash": dash, "color": theme.NEUTRAL, "width": 1.5}, name=words, legendrank=2000
            )
    figure.add_scatter(
        x=line["layer"], y=line["value"] * 100, mode="lines+markers", cliponaxis=False, name=f"{label} (n = {n:,})",
        legendgroup=relation, line={"color": colour, "width": 2.5},
        marker={"symbol": theme.SYMBOLS[number % len(theme.SYMBOLS)], "size": 8},
        customdata=[[relation, int(layer)] for layer in line["layer"]],
        hovertext=[
            f"<b>{label}</b><br>layer {int(one.layer)}: {one.value * 100:.1f} %<br>95 % interval {one.low * 100:.1f} to "
            f"{one.high * 100:.1f} %<br>{int(one.n):,} facts"
            for one in line.itertuples()
        ],
        hovertemplate="%{hovertext}<extra></extra>",
    )  # fmt: skip
