"""Figures by relation: curves (Figure 3 of BERTnesia), a heat map over the layers, and losses."""

import math

import pandas as pd
import plotly.graph_objects as go

from probing.facts.totals import onset
from probing.kernel.columns import Columns, integers
from probing.kernel.figures import theme, yardsticks
from probing.kernel.figures.axis import EndLabel, aligned, horizontal, write
from probing.kernel.figures.theme import row_name
from probing.kernel.figures.yardsticks import MODES

#: More lines than this cannot be distinguished.
MAX_LINES = 6
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#8C6BD1")


def relation_curves(points: pd.DataFrame, *, k: int) -> go.Figure:
    """One line per relation with its 95 % band; grey: its majority answer, dotted: its swapped subject.

    Columns: ``relation, label, layer, n, value, low, high, majority, swapped``, shares, empty if not defined, or the
    result of ``yardsticks.above``. Relations beyond ``MAX_LINES`` are not drawn.
    """
    points = points.dropna(subset=["value"]).reset_index(drop=True)
    if points.empty:
        return theme.empty("No relation is chosen, or no facts are left under these filters.")
    figure = go.Figure()
    points = points[points["relation"].isin(list(dict.fromkeys(points["relation"]))[:MAX_LINES])].assign(
        line=points["relation"]
    )
    names = {relation: str(label) for relation, label in zip(points["relation"], points["label"], strict=True)}
    ends = yardsticks.add_zero(figure, points) + yardsticks.add_levels(figure, points, by=names)
    swapped: list[EndLabel] = []
    for number, (_, line) in enumerate(points.groupby("relation", sort=False)):
        ends.append(_add_relation(figure, line.sort_values("layer"), number, swapped))
    ends += swapped[:1]
    theme.apply(theme.clickable_last(figure), height=420)
    last = int(points["layer"].max())
    horizontal(figure, last)
    zero = yardsticks.zero_of(points)
    title = f"right answers beyond the {zero}, points (P@{k})" if zero else f"right answers, % (P@{k})"
    figure.update_yaxes(title_text=title, ticksuffix="" if zero else " %")
    extent = yardsticks.extent(points, ("value", "low", "high", "majority", "swapped"), 100)
    return aligned(write(figure, ends, ranges=[extent]))


def _add_relation(figure: go.Figure, line: pd.DataFrame, number: int, swapped: list[EndLabel]) -> EndLabel:
    """Draws a relation; ``swapped`` gets the name of its swapped subject's line."""
    colour, label = _COLOURS[number % len(_COLOURS)], theme.plain(line["label"].iloc[0])
    relation, n, end = str(line["relation"].iloc[0]), int(line["n"].max()), float(line["layer"].iloc[-1])
    zero = yardsticks.zero_of(line)
    theme.interval_band(
        figure, line["layer"], line["low"] * 100, line["high"] * 100, colour, label, legendgroup=relation
    )
    if "swapped" in line and line["swapped"].notna().any():
        figure.add_scatter(
            x=line["layer"],
            y=line["swapped"] * 100,
            mode="lines",
            line={"dash": "dot", "color": colour, "width": 1.3},
            opacity=0.8,
            showlegend=False,
            legendgroup=relation,
            name=f"{label}: {yardsticks.SWAPPED}",
            hovertemplate=f"{label}<br>{yardsticks.SWAPPED}: %{{y:.1f}} %<extra></extra>",
        )
        swapped.append(EndLabel(end, float(line["swapped"].iloc[-1]) * 100, yardsticks.SWAPPED, colour, strong=False))
    figure.add_scatter(
        x=line["layer"],
        y=line["value"] * 100,
        mode="lines+markers",
        cliponaxis=False,
        name=f"{label} (n = {n:,})",
        showlegend=False,
        legendgroup=relation,
        line={"color": colour, "width": 2.5},
        marker={"symbol": theme.SYMBOLS[number % len(theme.SYMBOLS)], "size": 8},
        customdata=[[relation, int(layer)] for layer in line["layer"]],
        hovertext=[_hover_of_point(point, label, zero) for point in line.itertuples()],
        hovertemplate="%{hovertext}<extra></extra>",
    )
    # The number of facts stays on one line.
    name = f"{line['label'].iloc[0]} (n\u00a0=\u00a0{n:,})"
    return EndLabel(end, float(line["value"].iloc[-1]) * 100, name, colour)


def _hover_of_point(point, label: str, zero: str) -> str:
    value, low, high = point.value * 100, point.low * 100, point.high * 100
    if zero:
        words = f"{value:+.1f} points against the {zero}<br>95 % interval {low:+.1f} to {high:+.1f}"
    else:
        words = f"{value:.1f} %<br>95 % interval {low:.1f} to {high:.1f} %"
    return f"<b>{label}</b><br>layer {int(point.layer)}: {words}<br>{int(point.n):,} facts"


#: How rows can be ordered -> words for it.
ORDERS = {
    "onset": "earliest first",
    "last": "best known at the last layer first",
    "drop": "best at an inner layer first",
    "cardinality": "by cardinality",
    "name": "by name",
}
#: Marks the name of a relation whose last layer is not clearly above its majority answer.
MARK = "○"
#: Height of a row in pixels, and characters of its name.
_ROW, _NAME = 13, 29
#: Room for the colour bar and for the axis of layers.
_ABOVE, _BELOW = 56, 52
_MOST = 100
#: Per cent below -> colour on a light and on a dark page, where the most is the lightest; as ``theme.known_scale``.
_FEWER = {False: {10: "#F6DCC8", 45: "#DE8544", 100: "#7A3300"}, True: {10: "#573314", 45: "#D5792C", 100: "#FFE9D6"}}


def row_facts(points: pd.DataFrame) -> pd.DataFrame:
    """One row per relation, by name: ``relation, label, cardinality, onset, last, drop``, to order rows by.

    Columns: ``relation, label, cardinality, layer, n, value``. ``onset`` as in ``facts.totals``; ``drop``: the
    best inner layer's value minus the last one's, in shares; negative if the last layer is best.
    """
    rows = []
    last_layer = points["layer"].max()
    lines: dict[str, dict[int, float]] = {}
    named: dict[str, tuple[str, str]] = {}
    for point in points.dropna(subset=["value"]).sort_values(["relation", "layer"], kind="stable").itertuples():
        lines.setdefault(point.relation, {})[int(point.layer)] = float(point.value)
        named.setdefault(point.relation, (point.label, point.cardinality if isinstance(point.cardinality, str) else ""))
    for relation, line in lines.items():
        last = line.get(int(last_layer), math.nan)
        inner = [value for layer, value in line.items() if 1 <= layer < last_layer]
        rows.append(
            (relation, *named[relation], onset(line, int(last_layer)), last, max(inner) - last if inner else math.nan)
        )
    return Columns("relation label cardinality", integers("onset"), "last drop").frame(rows)


def not_above_majority(points: pd.DataFrame) -> list[str]:
    """Relations, by name, whose last value is not above their majority answer by the wider of its 95 % intervals.

    Columns: ``relation, label, layer, above_majority_low, above_majority_low_answers``; empty if none is defined.
    """
    if "above_majority_low" not in points:
        return []
    last = points[points["layer"] == points["layer"].max()].sort_values(["label", "relation"])
    low = last[[name for name in ("above_majority_low", "above_majority_low_answers") if name in last]].min(axis=1)
    return list(last.loc[low <= 0, "relation"])


def ordered(points: pd.DataFrame, order: str) -> list[str]:
    """Relations from the top of the map to its bottom, by a key of ``ORDERS``; columns as in ``row_facts``."""
    rows = row_facts(points).assign(below=lambda frame: -frame["last"], gain=lambda frame: -frame["drop"])
    keys = {
        "onset": ["onset", "below"],
        "last": ["below"],
        "drop": ["gain"],
        "cardinality": ["cardinality", "below"],
        "name": [],
    }[order]
    return list(rows.sort_values([*keys, "label", "relation"], na_position="last")["relation"])


def _colours(dark: bool, *, signed: bool) -> list[tuple[float, str]]:
    """The colours from the least to the most; of differences, orange is below 0."""
    more = theme.known_scale(dark)
    if not signed:
        return more
    fewer = [((1 - share / _MOST) / 2, colour) for share, colour in reversed(_FEWER[dark].items())]
    return [*fewer, *(((1 + place) / 2, colour) for place, colour in more)]


def relation_map(
    points: pd.DataFrame, *, k: int, order: str = "onset", base: str = "", mode: str = "value", dark: bool = False
) -> go.Figure:
    """One row per relation, one column per layer, P@k as shade; every cell carries its relation and layer.

    The scale is the same for all models, and the layers are aligned with those of ``layer_curve``. Differences are
    signed: blue above 0, orange below. ``MARK`` marks the relations of ``not_above_majority``. Columns: ``relation,
    label, cardinality, layer, n, value, low, high, majority, swapped``, for other modes the difference to the yardstick
    with its interval and, with ``base`` (displayed name of the subtracted model), ``base_value``; shares.
    """
    column = "value" if mode == "value" else f"above_{mode}"
    points = points.dropna(subset=["value"])
    if points.empty:
        return theme.empty("No facts are left under these filters.")
    if points[column].isna().all():
        return theme.empty(f"No relation has a {MODES[mode]} under these filters.")
    rows = ordered(points, order)
    signed = bool(base) or mode != "value"
    cells = points.assign(shade=(points[column] - points["base_value"] if base else points[column]) * 100)
    shades = cells.pivot(index="relation", columns="layer", values="shade").reindex(rows)
    first = points.drop_duplicates("relation").set_index("relation").loc[rows]
    marked = set(not_above_majority(points))
    names = []
    for relation in first.itertuples():
        kind = f"{relation.cardinality} · " if order == "cardinality" and relation.cardinality else ""
        mark = f" {MARK}" if relation.Index in marked else ""
        names.append(f"{kind}{row_name(str(relation.label), _NAME - len(kind + mark))}{mark}")
    place = {relation: row for row, relation in enumerate(rows)}
    title = (
        f"right answers, % (P@{k})"
        if not signed
        else f"beyond the {MODES[mode]}, points"
        if not base
        else f"minus {base}, points"
    )
    figure = go.Figure()
    figure.add_heatmap(
        z=shades.values,
        x=list(shades.columns),
        y=list(place.values()),
        xgap=2,
        ygap=2,
        hoverinfo="skip",
        colorscale=_colours(dark, signed=signed),
        zmin=-_MOST if signed else 0,
        zmax=_MOST,
        colorbar={
            "title": {"text": theme.plain(title), "side": "top", "font": {"size": 12}},
            "orientation": "h",
            "thickness": 8,
            "len": 1,
            "x": 0.5,
            "y": 1,
            "yanchor": "bottom",
            "ypad": 2,
            "outlinewidth": 0,
            "nticks": 5,
            "tickfont": {"size": 12},
        },
    )
    # A heat map's cells cannot be clicked; invisible points can.
    figure.add_scatter(
        x=cells["layer"],
        y=cells["relation"].map(place),
        mode="markers",
        showlegend=False,
        marker={"symbol": "square", "size": _ROW - 4, "opacity": 0},
        selected={"marker": {"opacity": 0}},
        unselected={"marker": {"opacity": 0}},
        customdata=[[cell.relation, int(cell.layer)] for cell in cells.itertuples()],
        hovertext=[_hover_of_cell(cell, base, mode) for cell in cells.itertuples()],
        hovertemplate="%{hovertext}<extra></extra>",
    )
    theme.apply(figure, height=int(_ABOVE + _BELOW + _ROW * max(len(rows), 4)))
    figure.update_layout(hoverdistance=80)
    horizontal(figure, int(points["layer"].max()))
    theme.label_rows(figure, names, side="right", tickfont_size=12)
    figure.update_layout(margin_t=_ABOVE, margin_b=_BELOW)
    figure.update_xaxes(automargin=False)
    return aligned(figure)


def _hover_of_cell(cell, base: str, mode: str) -> str:
    kind = f", {cell.cardinality}" if cell.cardinality else ""
    lines = [
        f"<b>{theme.plain(cell.label)}</b> ({theme.plain(cell.relation)}{kind})",
        f"layer {int(cell.layer)}{' (embeddings)' if cell.layer == 0 else ''}: {cell.value * 100:.1f} %",
        f"95 % interval {cell.low * 100:.1f} to {cell.high * 100:.1f} %",
    ]
    if base and mode == "value":
        lines.append(f"{theme.plain(base)}: {cell.base_value * 100:.1f} %, difference {cell.shade:+.1f} points")
    elif base:
        lines.append(
            f"{cell.base_value * 100:+.1f} points against its {MODES[mode]} in {theme.plain(base)}, difference"
            f" {cell.shade:+.1f}"
        )
    if pd.notna(cell.majority):
        lines.append(f"{MODES['majority']}: {cell.majority * 100:.1f} %")
    if pd.notna(getattr(cell, "swapped", None)):
        matched = (
            f", own subject on the same facts {cell.matched * 100:.1f} %"
            if pd.notna(getattr(cell, "matched", None))
            else ""
        )
        lines.append(f"{MODES['swapped']}: {cell.swapped * 100:.1f} %{matched}")
    if mode != "value":
        above = [getattr(cell, f"above_{mode}{end}") * 100 for end in ("", "_low", "_high")]
        lines.append(f"against the {MODES[mode]}: {above[0]:+.1f} points ({above[1]:+.1f} to {above[2]:+.1f})")
    return "<br>".join([*lines, f"{int(cell.n):,} facts"])


#: More rows than this do not fit next to each other.
MAX_ROWS = 45
_SLOPE_ROW, _FRAME, _SIZE = 14.6, 114, 12
#: Characters of a relation's name.
_SLOPE_NAME = 27


def relation_slopes(
    relations: pd.DataFrame, *, base: str, model: str, colours: tuple[str, str], k: int, fewest: int = 0
) -> go.Figure:
    """From base to fine-tuned model, with the share of known facts that was lost at the right.

    Columns: ``relation, label, n, kept, lost, gained, base_value, value, share_lost``, shares, in the order of the
    rows; those after ``MAX_ROWS`` are not drawn, and what only counts cannot say is empty. Relations of which the base
    knows fewer than ``fewest`` facts come last, below a gap.
    """
    rows = relations.head(MAX_ROWS).reset_index(drop=True)
    if rows.empty:
        return theme.empty("No fact was asked of both models under these filters.")
    names = [row_name(str(label), _SLOPE_NAME) for label in rows["label"].fillna(rows["relation"])]
    few = rows["kept"].add(rows["lost"]).fillna((rows["base_value"] * rows["n"]).round()) < fewest
    gap = int((~few).sum()) if few.any() and not few.all() else None
    rows.index = pd.Index([number + 0.5 + (gap is not None and number >= gap) for number in rows.index])
    bottom = len(rows) + (gap is not None)
    figure = go.Figure()
    for gains, colour in ((False, theme.NOT_BACK), (True, theme.GAINED)):
        of = rows[(rows["value"] > rows["base_value"]) == gains]
        slopes = [(row.Index, end) for row in of.itertuples() for end in (row.base_value * 100, row.value * 100, None)]
        figure.add_scatter(
            x=[end for _, end in slopes],
            y=[row for row, _ in slopes],
            mode="lines",
            line={"width": 3, "color": theme.faint(colour, 0.55)},
            hoverinfo="skip",
            showlegend=False,
        )
    hover = [_hover_of_slope(row, base, model) for row in rows.itertuples()]
    for name, column, colour, symbol in (
        (base, "base_value", colours[0], "circle-open"),
        (model, "value", colours[1], "circle"),
    ):
        figure.add_scatter(
            x=rows[column] * 100,
            y=rows.index,
            mode="markers",
            name=theme.plain(name),
            customdata=[[relation] for relation in rows["relation"]],
            marker=theme.outlined(symbol, colour, 9, 2),
            hovertext=hover,
            hovertemplate="%{hovertext}<extra></extra>",
            cliponaxis=False,
        )
    figure.add_scatter(
        x=[121] * len(rows),
        y=rows.index,
        mode="text",
        textposition="middle left",
        textfont={"size": _SIZE},
        showlegend=False,
        text=[
            "" if pd.isna(share) else f"{-share * 100:+.0f} %".replace("-", "−") if round(share * 100) else "0 %"
            for share in rows["share_lost"]
        ],
        customdata=[[relation] for relation in rows["relation"]],
        hovertext=hover,
        hovertemplate="%{hovertext}<extra></extra>",
        cliponaxis=False,
    )
    theme.apply(figure, height=int(_FRAME + _SLOPE_ROW * bottom))
    # The legend is a line above the heading of the numbers at the right.
    figure.update_layout(
        margin={"t": 62, "r": 8}, legend={"y": 1 + 20 / (_SLOPE_ROW * bottom), "font_size": _SIZE}, hoverdistance=12
    )
    figure.update_xaxes(
        title_text=f"right answers, % (P@{k})",
        range=[-2, 121],
        tickvals=list(range(0, 101, 20)),
        tickfont_size=_SIZE,
        title_font_size=_SIZE,
    )
    theme.label_rows(figure, names, list(rows.index), (bottom + 0.1, -0.1), tickfont_size=_SIZE)
    theme.heading(figure, "of known", 1, xref="paper", xanchor="right", font_size=_SIZE, yshift=2)
    if gap is not None:
        words = f"fewer than {fewest:,} known facts"
        figure.add_annotation(
            x=0,
            y=gap + 0.5,
            xanchor="left",
            text=words,
            showarrow=False,
            font={"size": _SIZE, "color": theme.NEUTRAL},
        )
    return figure


def _hover_of_slope(row, base: str, model: str) -> str:
    lines = [f"<b>{theme.plain(row.label if pd.notna(row.label) else row.relation)}</b>, {int(row.n):,} facts"]
    lines += [
        f"{theme.plain(name)}: {value * 100:.1f} %" for name, value in ((base, row.base_value), (model, row.value))
    ]
    if pd.notna(row.kept):
        lines.append(
            f"{int(row.kept):,} kept, {int(row.lost):,} lost, {int(row.gained):,} gained<br>click to see the lost facts"
        )
    return "<br>".join(lines)
