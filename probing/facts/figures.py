"""Figures of metrics by layer, of total knowledge (Figure 1 of BERTnesia), and of the tokens that layers rank first."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from probing.kernel.figures import theme, yardsticks
from probing.kernel.figures.axis import MAX_LABELS, EndLabel, aligned, horizontal, write
from probing.kernel.figures.looks import head_name, set_name
from probing.kernel.joined import joined

#: Metric -> what it is, in plain words; others are right answers.
_WHAT = {"mrr": "mean of 1 / rank", "answer_p_at_1": "right among the answers"}
#: How facts are averaged -> the axis's words for it.
OVER = {"macro": "mean of relations", "micro": "all facts"}
#: Height of a panel, and of the gap between two for ticks and title, in pixels.
_PANEL, _GAP = 290, 62


@dataclass(frozen=True)
class _Look:
    """How a run's line is distinguished from the others, and where it is drawn."""

    name: str  #: at its end and in the hover text
    colour: str
    dash: str
    symbol: str
    scale: int  #: multiplies values; 100 draws them in per cent
    where: dict[str, Any]  #: row and column of the panel


def layer_curve(
    points: pd.DataFrame,
    *,
    title: str,
    unit: str,
    colours: Mapping[str, str],
    names: Mapping[str, str],
    labels: Mapping[str, str] | None = None,
    panels: bool = False,
    controls: Collection[str] = (),
) -> go.Figure:
    """Lines of a metric over the layers, named at their ends, or in a legend if they exceed ``axis.MAX_LABELS``.

    Colour distinguishes models; with only one model, probe sets; and with one of each, heads. The marker's shape is the
    probe set, its filling the head. Grey: majority answer and chance; dotted in a run's colour: its swapped subject;
    dashed: ``controls``. Columns: ``run_id, model, head, probe_set, layer, value, low, high, n`` and
    the yardsticks ``majority, swapped, chance``, empty if not defined; or the result of ``yardsticks.above``. The unit
    ``"share"`` is drawn in per cent.
    """
    points = points.dropna(subset=["value"])
    if points.empty:
        return theme.empty("No facts are left under these filters.")
    sets = list(dict.fromkeys(points["probe_set"]))
    panels = panels and len(sets) > 1
    rows = len(sets) if panels else 1
    lines = points["run_id"].nunique()
    legend = lines > MAX_LABELS * rows
    # On a phone the legend has one line per series.
    height = _PANEL * rows + 60 if panels else 330 + (14 * (lines - 3) if legend else 0)
    panel_titles = [theme.plain(names.get(probe_set, probe_set)) for probe_set in sets] if panels else None
    figure = theme.stacked(rows, panel_titles, _GAP / (height - 150))
    scale = 100 if unit == "share" else 1
    last = int(points["layer"].max())
    called = {
        # A panel's title names its probe set.
        row["run_id"]: series_name(
            row, points[points["probe_set"] == row["probe_set"]] if panels else points, names, labels
        )
        for row in points.drop_duplicates("run_id").to_dict("records")
    }
    drawn: list[tuple[pd.DataFrame, _Look]] = []
    for _, line in points.groupby("run_id", sort=False):
        run = line.iloc[0]
        place = sets.index(run["probe_set"])
        look = _Look(
            called[run["run_id"]],
            _colour(line, points, colours),
            theme.line_dash(run["model"] in controls),
            theme.head_symbol(place, run["head"]),
            scale,
            {"row": place + 1 if panels else 1, "col": 1},
        )
        drawn.append((line.sort_values("layer"), look))
        _add_line(figure, *drawn[-1], legend=legend)
    ends = _yardsticks(figure, points, called, names, scale, sets if panels else [])
    ends += _ends(drawn, legend=legend)
    theme.apply(theme.clickable_last(figure), height=height)
    for row in range(1, rows + 1):
        horizontal(figure, last, row=row, col=1)
        if row < rows:
            figure.update_xaxes(title_text="", row=row, col=1)
    if legend:
        # Above the first panel's title; the legend is 20 pixels lower in a tab that was hidden when it was drawn.
        figure.update_layout(legend_y=1 + 50 / (height - 150) if panels else 1.02)
    percent = unit == "share" and not yardsticks.zero_of(points)
    figure.update_yaxes(title_text=theme.plain(title), ticksuffix=" %" if percent else "")
    parts = [points[points["probe_set"] == probe_set] for probe_set in sets] if panels else [points]
    ranges = [
        yardsticks.extent(part, ("value", "low", "high", "majority", "swapped", "chance"), scale) for part in parts
    ]
    return aligned(write(figure, ends, ranges=ranges, top=36 if legend or panels else 20))


def metric_curve(
    points: pd.DataFrame,
    *,
    metric: str,
    average: str,
    colours: Mapping[str, str],
    mode: str = "value",
    labels: Mapping[str, str] | None = None,
    panels: bool = False,
    controls: Collection[str] = (),
) -> go.Figure:
    """``layer_curve`` of a key of ``terms.METRICS``, or of what lies above one of ``yardsticks.MODES``."""
    about = joined("terms").METRICS[metric]
    unit = "share" if about.unit.startswith("share") else about.unit
    what = _WHAT.get(metric, "right answers") if unit == "share" else _WHAT[metric]
    zero = yardsticks.MODES[mode]
    title = f"points beyond the {zero}" if zero and unit == "share" else f"{what}{', %' if unit == 'share' else ''}"
    title += f" ({about.label}, {OVER[average]})"
    names = {name: set_name(name) for name in points["probe_set"].unique()}
    return layer_curve(
        yardsticks.above(points, mode),
        title=title,
        unit=unit,
        colours=colours,
        names=names,
        labels=labels,
        panels=panels,
        controls=controls,
    )


def candidate_curve(
    points: pd.DataFrame,
    *,
    average: str,
    colours: Mapping[str, str],
    labels: Mapping[str, str] | None = None,
    controls: Collection[str] = (),
) -> go.Figure:
    """``layer_curve`` of P@1 among candidates, as ``report_candidates.by_layer`` gives it; the answer alone and the
    shortest candidates are in the hover text.
    """
    return layer_curve(
        points,
        title=f"right candidates, % (P@1, {OVER[average]})",
        unit="share",
        colours=colours,
        names={name: set_name(name) for name in points["probe_set"].unique()},
        labels=labels,
        controls=controls,
    )


def series_name(
    row: pd.Series | Mapping, points: pd.DataFrame, names: Mapping[str, str], labels: Mapping[str, str] | None = None
) -> str:
    """What distinguishes this line from the others: only the parts that differ among ``points``."""
    texts = {"model": (labels or {}).get(row["model"], str(row["model"])), "head": head_name(str(row["head"]))}
    texts["probe_set"] = names.get(row["probe_set"], str(row["probe_set"]))
    parts = [text for column, text in texts.items() if points[column].nunique() > 1]
    return " · ".join(parts) or f"{texts['model']} · {texts['head']}"


def _colour(line: pd.DataFrame, points: pd.DataFrame, colours: Mapping[str, str]) -> str:
    model, head, probe_set = (line[column].iloc[0] for column in ("model", "head", "probe_set"))
    if points["model"].nunique() == 1 and points["probe_set"].nunique() > 1:
        return theme.probe_set_colour(probe_set)
    if points["model"].nunique() == 1 and points["head"].nunique() > 1:
        return theme.head_colour(head)
    return colours.get(model, theme.NEUTRAL)


def _yardsticks(
    figure: go.Figure,
    points: pd.DataFrame,
    called: Mapping[str, str],
    names: Mapping[str, str],
    scale: int,
    panels: list[str],
) -> list[EndLabel]:
    """What does not depend on the model: one level per probe set, or the zero line."""
    ends = []
    for row, sets in enumerate(
        [[probe_set] for probe_set in panels] or [list(dict.fromkeys(points["probe_set"]))], start=1
    ):
        here = points[points["probe_set"].isin(sets)]
        ends += yardsticks.add_zero(figure, here, row=row)
        # Several probe sets on one panel have their own levels, named after them; within one set the runs that differ
        # are named.
        by_set = len(sets) > 1
        lines = here.assign(line=here["probe_set"] if by_set and _alike(here) else here["run_id"])
        ends += yardsticks.add_levels(
            figure, lines, by={**called, **names} if by_set or not _alike(here) else {}, scale=scale, row=row
        )
    return ends


def _alike(points: pd.DataFrame) -> bool:
    """Whether the runs of each probe set share their levels."""
    columns = [column for column in ("majority", "chance") if column in points]
    return all(len(part[columns].round(9).drop_duplicates()) == 1 for _, part in points.groupby("probe_set"))


def _ends(drawn: list[tuple[pd.DataFrame, _Look]], *, legend: bool) -> list[EndLabel]:
    """The names of the runs' lines; one for the swapped subjects of all."""
    ends, swapped = [], []
    for line, look in drawn:
        x, row = float(line["layer"].iloc[-1]), look.where["row"]
        if not legend:
            ends.append(EndLabel(x, float(line["value"].iloc[-1]) * look.scale, look.name, look.colour, row=row))
        if "swapped" in line and pd.notna(line["swapped"].iloc[-1]):
            at = float(line["swapped"].iloc[-1]) * look.scale
            swapped.append(EndLabel(x, at, yardsticks.SWAPPED, look.colour, strong=False, row=row))
    if len(swapped) == 1:
        return ends + swapped
    for row in dict.fromkeys(label.row for label in swapped):
        of_row = [label for label in swapped if label.row == row]
        x = max(label.x for label in of_row)
        # At the end of one of the lines, by which a file's legend finds it.
        middle = sorted(label.y for label in of_row)[len(of_row) // 2]
        ends.append(EndLabel(x, middle, yardsticks.SWAPPED, strong=False, row=row))
    return ends


def _add_line(figure: go.Figure, line: pd.DataFrame, own: _Look, *, legend: bool) -> None:
    """One run: its interval, its swapped subject and its values."""
    name, colour, scale, where = theme.plain(own.name), own.colour, own.scale, own.where
    group, zero = str(line["run_id"].iloc[0]), theme.plain(yardsticks.zero_of(line))
    common = {"x": line["layer"], "legendgroup": group}
    theme.interval_band(
        figure, line["layer"], line["low"] * scale, line["high"] * scale, colour, name, legendgroup=group, **where
    )
    if "swapped" in line and line["swapped"].notna().any():
        figure.add_scatter(
            **common,
            y=line["swapped"] * scale,
            mode="lines",
            line={"dash": "dot", "color": colour, "width": 1.3},
            opacity=0.8,
            showlegend=False,
            name=f"{name}: {yardsticks.SWAPPED}",
            hovertemplate=f"{name}<br>{yardsticks.SWAPPED}: %{{y:.2f}}<extra></extra>",
            **where,
        )
    figure.add_scatter(
        **common,
        y=line["value"] * scale,
        mode="lines+markers",
        cliponaxis=False,
        name=name,
        showlegend=legend,
        line={"color": colour, "width": 2.5, "dash": own.dash},
        marker=theme.outlined(own.symbol, colour, 8, 1.5),
        customdata=[[group, int(layer)] for layer in line["layer"]],
        hovertext=[_hover(point, name, scale, zero) for point in line.itertuples()],
        hovertemplate="%{hovertext}<extra></extra>",
        **where,
    )


def _hover(row, name: str, scale: int, zero: str) -> str:
    sign, suffix = ("+", f" points against the {zero}") if zero else ("", " %" if scale == 100 else "")
    value = f"{row.value * scale:{sign}.{1 if scale == 100 else 3}f}{suffix}"
    lines = [f"<b>{name}</b>", f"layer {int(row.layer)}{' (embeddings)' if row.layer == 0 else ''}: {value}"]
    if scale == 100 and pd.notna(row.low):
        lines.append(
            f"95 % interval {row.low * scale:{sign}.1f} to {row.high * scale:{sign}.1f}{'' if zero else suffix}"
        )
    if hasattr(row, "alone"):
        lines.append(f"{yardsticks.ALONE} {_share(row.alone)}, shortest candidates {_share(row.shortest)}")
    return "<br>".join([*lines, f"{int(row.n):,} facts"])


#: Column -> name in the legend and symbol. All models share one look: a mark is a property of the facts, not of a
#: model's bar.
MARKS = {
    "majority": ("commonest answer", "diamond"),
    "swapped_last": ("last layer, blind guess", "circle"),
    "total_null": ("null of total knowledge", "triangle-right"),
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
    _add_marks(figure, with_total_null(totals), bars)
    _lay_out(figure, totals, _with_set(f"facts with rank ≤ {k}, per cent", totals, names))
    _number(figure, bars, [f"{value:.1f}" for value in last])
    figure.update_layout(barmode="stack")
    figure.update_xaxes(rangemode="tozero")
    return figure


def with_total_null(totals: pd.DataFrame) -> pd.DataFrame:
    """The totals with ``total_null``: if inner layers found the right word only as often as with a swapped subject.

    The gain over the last layer is scaled by the number of facts found with a swapped subject per fact found with the
    own subject.
    """
    if "inner_own" not in totals:
        return totals
    own = pd.to_numeric(totals["inner_own"]).astype("float64")
    swapped = pd.to_numeric(totals["inner_swapped"]).astype("float64")
    return totals.assign(
        total_null=totals["last"] + (totals["total"] - totals["last"]) * (swapped / own).where(own > 0)
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
                f"{bar}<br>{_hover_of_total(column, row)}<extra></extra>"
                for bar, (_, row) in zip(bars, totals.iterrows(), strict=True)
            ],
        )


def _hover_of_total(column: str, row: pd.Series) -> str:
    """The hover text of a mark."""
    if column == "majority":
        return f"always the relation's commonest answer: {_share(row['majority'])}"
    if column == "swapped_last":
        with_it, own = _share(row["swapped_last"]), _share(row["matched_last"])
        return f"last layer, with somebody else's name: {with_it}<br>the same facts with their own: {own}"
    if column == "total_null":
        own, swapped, n = (f"{row[name]:,}" for name in ("inner_own", "inner_swapped", "inner_n"))
        return (
            f"of {n} facts that the last layer misses, inner layers find<br>{own} with their own name, {swapped} with"
            " somebody else's"
        )
    return f"union of {row['seeds']} heads of the last layer: {_share(row['seed_union'])}"


def _share(value: float) -> str:
    return f"{value * 100:.1f} %"


def _whiskers(low: pd.Series, value: pd.Series, high: pd.Series) -> dict[str, Any]:
    return theme.whiskers(high - value, value - low, thickness=1.2, width=3, color=theme.NEUTRAL)


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


#: Kinds in the order in which they are tried: answers are green to yellow, the others fade.
COLOURS = ("#228B5E", "#8CC63F", "#D9B84A", "#4C8BB0", "#8A8FBF", "#B7A6C9", "#A9B0B7")


def answer_shares(
    shares: pd.DataFrame,
    *,
    kinds: Sequence[str],
    names: Mapping[str, str],
    models: Sequence[str],
    labels: Mapping[str, str] | None = None,
) -> go.Figure:
    """Stacked bars by layer, one panel per model; ``kinds`` from the bottom of the stack to its top.

    Columns: ``model, layer, kind, n, share``; a kind without facts may be missing.
    """
    shares = shares[shares["model"].isin(list(models))]
    if shares.empty:
        return theme.empty("No top-ranked tokens are stored for these facts.")
    models = [model for model in dict.fromkeys(models) if model in set(shares["model"])]
    called = {model: (labels or {}).get(model, model) for model in models}
    figure = make_subplots(
        rows=1,
        cols=len(models),
        shared_yaxes=True,
        horizontal_spacing=0.04,
        subplot_titles=[theme.breakable(called[model]) for model in models],
    )
    for column, model in enumerate(models, 1):
        for number, kind in enumerate(kinds):
            kind_shares = shares[(shares["model"] == model) & (shares["kind"] == kind)].sort_values("layer")
            label = theme.plain(names.get(kind, kind))
            figure.add_bar(
                x=kind_shares["layer"],
                y=kind_shares["share"] * 100,
                name=label,
                legendgroup=kind,
                showlegend=column == 1,
                marker={"color": COLOURS[number % len(COLOURS)], "line": {"width": 0}},
                customdata=kind_shares["n"],
                hovertemplate=(
                    f"<b>{theme.plain(called[model])}</b>, layer %{{x}}<br>{label}: %{{y:.1f}} %<br>%{{customdata:,}}"
                    " facts<extra></extra>"
                ),
                row=1,
                col=column,
            )
    theme.apply(figure, height=400)
    figure.update_layout(barmode="stack", bargap=0.12, legend={"y": 1.12, "traceorder": "normal"})
    for column in range(1, len(models) + 1):
        horizontal(figure, int(shares["layer"].max()), row=1, col=column)
    figure.update_yaxes(range=[0, 100], ticksuffix=" %")
    figure.update_yaxes(title_text="first answers, %", row=1, col=1)
    return figure
