"""What the last layer knows, and what only inner layers know, with guessing baselines (Figure 1 of BERTnesia)."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from probing.kernel.figures import theme

#: Column -> name in the legend and symbol. All models share one look: a mark is a property of the facts, not of a
#: model's bar.
MARKS = {
    "majority": ("commonest answer", "diamond"),
    "swapped_last": ("last layer, blind guess", "circle"),
    "inner_null": ("inner layers, blind guess", "triangle-right"),
    "seed_union": ("union over re-trained heads of the last layer", "line-ns"),
}


def total_bars(
    totals: pd.DataFrame,
    *,
    k: int,
    colours: Mapping[str, str],
    names: Mapping[str, str],
    labels: Mapping[str, str] | None = None,
) -> go.Figure:
    """One bar per run: solid is known at the last layer, hatched only at an inner one; marks are baselines.

    Columns: ``model, head, probe_set, last, total, total_low, total_high, intermediate, n``, shares; if measured,
    ``majority, swapped_last, matched_last, inner_own, inner_swapped, inner_n``, and ``seeds, seed_union``: what the
    union of that many re-trained heads of the last layer knows.
    """
    totals = totals.dropna(subset=["last", "total"])
    if totals.empty:
        return theme.empty("No facts are left under these filters.")
    bars = _bar_names(totals, names, labels or {})
    bar_colours = [colours.get(model, theme.NEUTRAL) for model in totals["model"]]
    last, total = totals["last"] * 100, totals["total"] * 100
    figure = go.Figure()
    figure.add_bar(
        y=bars,
        x=last,
        orientation="h",
        name="known at the last layer",
        marker={"color": bar_colours},
        hovertemplate=[
            f"{bar}<br>last layer: {value:.1f} %<extra></extra>" for bar, value in zip(bars, last, strict=True)
        ],
    )
    figure.add_bar(
        y=bars,
        x=total - last,
        orientation="h",
        name="known only at inner layers",
        marker={
            "color": [theme.faint(colour, 0.35) for colour in bar_colours],
            "pattern": {"shape": "/", "fgcolor": bar_colours, "size": 6, "solidity": 0.25},
        },
        error_x=_whiskers(totals["total_low"] * 100, total, totals["total_high"] * 100),
        hovertemplate=[
            f"{bar}<br>total: {row.total * 100:.1f} %<br>only at inner layers: {(row.total - row.last) * 100:.1f} % of"
            " the facts"
            + (f"<br>= {row.intermediate * 100:.0f} % of all that is known" if pd.notna(row.intermediate) else "")
            + "<extra></extra>"
            for bar, row in zip(bars, totals.itertuples(), strict=True)
        ],
    )
    _add_marks(figure, with_null(totals), bars)
    _lay_out(figure, totals, _with_set(f"facts with rank ≤ {k}, per cent", totals, names))
    _number(figure, bars, [f"{value:.1f}" for value in last])
    figure.update_layout(barmode="stack")
    figure.update_xaxes(rangemode="tozero")
    return figure


def with_null(totals: pd.DataFrame) -> pd.DataFrame:
    """The totals with ``inner_null``: if inner layers found the right word only as often as with a swapped subject.

    The gain over the last layer is scaled by the number of facts found with a swapped subject per fact found with the
    own subject.
    """
    if "inner_own" not in totals:
        return totals
    own = pd.to_numeric(totals["inner_own"]).astype("float64")
    swapped = pd.to_numeric(totals["inner_swapped"]).astype("float64")
    return totals.assign(
        inner_null=totals["last"] + (totals["total"] - totals["last"]) * (swapped / own).where(own > 0)
    )


def _bar_names(rows: pd.DataFrame, names: Mapping[str, str], labels: Mapping[str, str]) -> list[str]:
    """What distinguishes the bars."""
    texts: dict[str, Mapping[str, str]] = {"probe_set": names, "model": labels, "head": {}}
    parts = _parts(rows)
    return [
        "<br>".join(theme.plain(texts[part].get(row[part], row[part])) for part in parts) for _, row in rows.iterrows()
    ]


def _parts(rows: pd.DataFrame) -> list[str]:
    """The columns that distinguish the bars; a single bar is named by its probe set."""
    return [column for column in ("probe_set", "model", "head") if rows[column].nunique() > 1] or ["probe_set"]


def _with_set(title: str, rows: pd.DataFrame, names: Mapping[str, str]) -> str:
    """The title of the axis, below the probe set if no bar is named by it."""
    probe_set = rows["probe_set"].iloc[0]
    return title if "probe_set" in _parts(rows) else f"{theme.plain(names.get(probe_set, probe_set))}<br>{title}"


def _add_marks(figure: go.Figure, totals: pd.DataFrame, bars: list[str]) -> None:
    for column, (name, symbol) in MARKS.items():
        if column not in totals or totals[column].isna().all():
            continue
        thin = symbol.startswith("line")
        look: dict[str, Any] = {"size": 20, "line": {"width": 2.5, "color": theme.NEUTRAL}}
        if not thin:
            # White with a dark edge: visible on every model's colour, on light and dark pages.
            look = {"size": 10, "color": "#FFFFFF", "line": {"width": 1.6, "color": theme.INK}}
        figure.add_scatter(
            x=totals[column] * 100,
            y=bars,
            mode="markers",
            name=name,
            marker={"symbol": symbol, **look},
            hovertemplate=[
                f"{bar}<br>{_hover(column, row)}<extra></extra>"
                for bar, (_, row) in zip(bars, totals.iterrows(), strict=True)
            ],
        )


def _hover(column: str, row: pd.Series) -> str:
    """The hover text of a mark."""
    if column == "majority":
        return f"always the relation's commonest answer: {_share(row['majority'])}"
    if column == "swapped_last":
        with_it, own = _share(row["swapped_last"]), _share(row["matched_last"])
        return f"last layer, with somebody else's name: {with_it}<br>the same facts with their own: {own}"
    if column == "inner_null":
        own, swapped, n = (f"{row[name]:,}" for name in ("inner_own", "inner_swapped", "inner_n"))
        return (
            f"of {n} facts that the last layer misses, inner layers find<br>{own} with their own name, {swapped} with"
            " somebody else's"
        )
    return f"union of {row['seeds']} heads of the last layer: {_share(row['seed_union'])}"


def _share(value: float) -> str:
    return f"{value * 100:.1f} %"


def _whiskers(low: pd.Series, value: pd.Series, high: pd.Series) -> dict[str, Any]:
    return {
        "type": "data",
        "symmetric": False,
        "array": high - value,
        "arrayminus": value - low,
        "thickness": 1.2,
        "width": 3,
        "color": theme.NEUTRAL,
    }


def _number(figure: go.Figure, bars: list[str], numbers: list[str]) -> None:
    """Writes each bar's number next to its name, where no mark, whisker or short bar covers it."""
    figure.update_yaxes(
        tickmode="array",
        tickvals=bars,
        ticktext=[f"{bar}  <b>{number}</b>" for bar, number in zip(bars, numbers, strict=True)],
    )


def _lay_out(figure: go.Figure, rows: pd.DataFrame, title: str) -> None:
    theme.apply(figure, height=110 + len(rows) * (32 + 12 * len(_parts(rows))))
    figure.update_layout(bargap=0.35, legend_traceorder="normal")
    figure.update_xaxes(title_text=title, ticksuffix=" %")
    # Markers would widen the range of plotly's own.
    figure.update_yaxes(range=[len(rows) - 0.5, -0.5], showgrid=False)
