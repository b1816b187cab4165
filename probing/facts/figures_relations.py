"""Relations by layers as a heat map: which kinds of knowledge come early, and which late."""

import math

import pandas as pd
import plotly.graph_objects as go

from probing.facts.totals_onset import onset
from probing.kernel.figures import theme
from probing.kernel.figures.axis import aligned, horizontal
from probing.kernel.figures.theme import centres, name_rows
from probing.kernel.figures.yardsticks import MODES

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
#: Height of a row whose name has one line, in pixels, characters of a line, and rows that a further line takes.
_ROW, _NAME, _FURTHER = 13, 29, 1.2
#: Room for the colour bar and for the axis of layers.
_ABOVE, _BELOW = 56, 52
_MOST = 100
#: Per cent below -> colour on a light and on a dark page, where the most is the lightest; as ``theme.known_scale``.
_FEWER = {False: {10: "#F6DCC8", 45: "#DE8544", 100: "#7A3300"}, True: {10: "#573314", 45: "#D5792C", 100: "#FFE9D6"}}


def row_facts(points: pd.DataFrame) -> pd.DataFrame:
    """One row per relation, by name: ``relation, label, cardinality, onset, last, drop``, to order rows by.

    Columns: ``relation, label, cardinality, layer, n, value``. ``onset`` as in ``facts.totals_onset``; ``drop``: the
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
    return pd.DataFrame(rows, columns=["relation", "label", "cardinality", "onset", "last", "drop"]).astype(
        {"onset": "Int64"}
    )


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
    names, ends = name_rows(
        [
            (f"{relation.cardinality} · " if order == "cardinality" and relation.cardinality else "")
            + str(relation.label)
            # The mark stays on the line of the last word.
            + (f"\u00a0{MARK}" if relation.Index in marked else "")
            for relation in first.itertuples()
        ],
        _NAME,
        _FURTHER,
    )
    place = dict(zip(rows, centres(ends), strict=True))
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
        y=ends,
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
        hovertext=[_hover(cell, base, mode) for cell in cells.itertuples()],
        hovertemplate="%{hovertext}<extra></extra>",
    )
    theme.apply(figure, height=int(_ABOVE + _BELOW + _ROW * max(ends[-1], 4)))
    figure.update_layout(hoverdistance=80)
    horizontal(figure, int(points["layer"].max()))
    figure.update_yaxes(
        tickmode="array",
        tickvals=list(place.values()),
        ticktext=names,
        range=[ends[-1], 0],
        showgrid=False,
        side="right",
        tickfont_size=12,
    )
    figure.update_layout(margin_t=_ABOVE, margin_b=_BELOW)
    figure.update_xaxes(automargin=False)
    return aligned(figure)


def _hover(cell, base: str, mode: str) -> str:
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
