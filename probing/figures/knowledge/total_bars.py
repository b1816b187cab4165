"""What the last layer knows, and what only inner layers know, stacked (Figure 1 of BERTnesia)."""

from collections.abc import Mapping

import pandas as pd
import plotly.graph_objects as go

from probing.figures import theme


def total_bars(totals: pd.DataFrame, *, k: int, colours: Mapping[str, str], names: Mapping[str, str]) -> go.Figure:
    """One bar a run: solid what the last layer knows, hatched what only some inner layer knows.

    Args:
        totals: one row per run: ``model, head, probe_set, last, total, total_low, total_high, intermediate, n``, shares in [0, 1]; and
            ``seeds, seed_union`` where heads were re-trained: what the union of that many heads of the last layer knows.
        k: the rank up to which a fact counts as known.
        colours: model -> colour.
        names: probe set -> what a reader sees.
    """
    totals = totals.dropna(subset=["last", "total"])
    if totals.empty:
        return theme.empty("No facts are left under these filters.")
    several = [column for column in ("model", "head") if totals[column].nunique() > 1]
    labels = [
        "<br>".join([theme.plain(names.get(row["probe_set"], row["probe_set"])), *(theme.plain(row[column]) for column in several)])
        for _, row in totals.iterrows()
    ]
    bar_colours = [colours.get(model, theme.NEUTRAL) for model in totals["model"]]
    last, total = totals["last"] * 100, totals["total"] * 100
    figure = go.Figure()
    figure.add_bar(
        y=labels, x=last, orientation="h", name="known at the last layer", marker={"color": bar_colours},
        text=[f"{value:.1f}" for value in last], textposition="inside", insidetextanchor="start", textangle=0,
        insidetextfont={"color": [theme.ink_on(colour) for colour in bar_colours]},
        hovertemplate="%{y}<br>last layer: %{x:.1f} %<extra></extra>",
    )  # fmt: skip
    figure.add_bar(
        y=labels, x=total - last, orientation="h", name="known only at inner layers",
        marker={
            "color": [theme.faint(colour, 0.35) for colour in bar_colours],
            "pattern": {"shape": "/", "fgcolor": bar_colours, "size": 6, "solidity": 0.25},
        },
        error_x={
            "type": "data", "symmetric": False, "array": totals["total_high"] * 100 - total,
            "arrayminus": total - totals["total_low"] * 100, "thickness": 1.2, "width": 3, "color": theme.NEUTRAL,
        },
        hovertemplate=[
            f"{label}<br>total: {row.total * 100:.1f} %<br>only at inner layers: {(row.total - row.last) * 100:.1f} % of the facts"
            + (f"<br>= {row.intermediate * 100:.0f} % of all that is known" if pd.notna(row.intermediate) else "")
            + "<extra></extra>"
            for label, row in zip(labels, totals.itertuples(), strict=True)
        ],
    )  # fmt: skip
    if "seed_union" in totals and totals["seed_union"].notna().any():
        figure.add_scatter(
            x=totals["seed_union"] * 100, y=labels, mode="markers", name="union over re-trained heads of the last layer",
            marker={"symbol": "line-ns", "size": 20, "line": {"width": 2.5, "color": theme.NEUTRAL}},
            hovertemplate=[f"{label}<br>union of {row.seeds} heads of the last layer: {row.seed_union * 100:.1f} %<extra></extra>"
                           for label, row in zip(labels, totals.itertuples(), strict=True)],
        )  # fmt: skip
    theme.apply(figure, height=110 + len(totals) * (44 + 12 * len(several)))
    figure.update_layout(barmode="stack", bargap=0.35, legend_traceorder="normal")
    figure.update_xaxes(title_text=f"facts with rank ≤ {k}, per cent", ticksuffix=" %", rangemode="tozero")
    figure.update_yaxes(autorange="reversed", showgrid=False)
    return figure
