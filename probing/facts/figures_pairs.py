"""Figures of a base and its fine-tuned models: curves, differences, and what was kept, lost and gained."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from textwrap import wrap
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from probing.facts.forgotten import FATES, outcome_words
from probing.kernel.figures import theme, yardsticks
from probing.kernel.figures.axis import EndLabel, horizontal, write
from probing.kernel.figures.looks import head_name
from probing.kernel.figures.yardsticks import SWAPPED

#: Middle column from the top, so that no ribbon crosses another.
_MIDDLE = ("kept", "lost", "gained")
_WIDTH, _HEIGHT, _LABEL = 0.07, 430, 0.085
#: Characters of a name on one line.
_LINE = 14


@dataclass(frozen=True)
class _Block:
    """A block of a column: what it counts and its position; ``top`` and ``size`` in facts, downwards."""

    name: str
    column: int
    top: float
    size: int


def alluvial(
    counts: Mapping[str, int],
    *,
    base: str,
    model: str,
    colours: Mapping[str, str],
    labels: Mapping[str, str] | None = None,
) -> go.Figure:
    """Known and not known by the base -> kept, lost, gained -> fates of what was lost; heights are numbers of facts.

    ``counts``: ``kept, gained, lost, never, still_inside, moved, suppressed, displaced, not_read``; the fates add up to
    lost. Every part carries its name, so that a click can open its facts. Facts that neither knows are not drawn.
    """
    counts = {name: int(counts[name]) for name in (*_MIDDLE, "never", *FATES)}
    middle = [name for name in _MIDDLE if counts[name]]
    if not middle:
        return theme.empty("Neither model knows a fact under these filters, so nothing can be kept or lost.")
    total = sum(counts[name] for name in middle)
    known = counts["kept"] + counts["lost"]
    unknown = total - known
    left = _stack(0, {name: size for name, size in (("known", known), ("not known", unknown)) if size}, total)
    centre = _stack(1, {name: counts[name] for name in middle}, total)
    fates = {name: counts[name] for name in FATES if counts[name]}
    lost = next((block for block in centre if block.name == "lost"), None)
    right = _stack(2, fates, total, around=lost.top + lost.size / 2) if lost else []
    figure = go.Figure()
    used = {block.name: block.top for block in [*left, *centre]}
    for block in centre:
        source = "known" if block.name in ("kept", "lost") else "not known"
        _ribbon(figure, 0, used[source], block, theme.PART_COLOURS[block.name])
        used[source] += block.size
    for block in right:
        _ribbon(figure, 1, used["lost"], block, theme.PART_COLOURS[block.name])
        used["lost"] += block.size
    all_facts = total + counts["never"]
    for block in left:
        colour, whole = (
            (colours.get(base, theme.NEUTRAL), known) if block.name == "known" else (theme.NEUTRAL, all_facts - known)
        )
        share = percent(whole, all_facts)
        of = f"{share} of all {all_facts:,}"
        _block(figure, block, colour, n=whole, of=of, total=total, clickable=False)
    for block in centre:
        whole, of = (known, "of known") if block.name in ("kept", "lost") else (all_facts - known, "of not known")
        of = f"{percent(block.size, whole)} {of}"
        _block(figure, block, theme.PART_COLOURS[block.name], n=block.size, of=of, total=total)
    for block in right:
        of = f"{percent(block.size, counts['lost'])} of lost"
        _block(figure, block, theme.PART_COLOURS[block.name], n=block.size, of=of, total=total)
    halves = {block: _slot(block.name, block.size, total) / 2 for block in [*left, *centre, *right]}
    low = min(block.top + block.size / 2 - half for block, half in halves.items())
    high = max(block.top + block.size / 2 + half for block, half in halves.items())
    # A column that is longer than all facts, by the room of its labels, does not make that room smaller.
    theme.apply(figure, height=round(_HEIGHT * max(1, (high - low) / total)))
    room = (high - low) * 0.04
    figure.update_layout(hoverdistance=30, margin_t=56, showlegend=False)
    figure.update_xaxes(visible=False, range=[-0.06, 2.75])
    figure.update_yaxes(visible=False, range=[high + room, low - room])
    called = [theme.breakable((labels or {}).get(name, name)) for name in (base, model)]
    for column, words in enumerate((*called, "what happened<br>to lost facts" if right else "")):
        if words:
            theme.heading(figure, f"<b>{words}</b>", column, xshift=-4, align="left")
    return figure


def _stack(column: int, sizes: Mapping[str, int], total: int, around: float | None = None) -> list[_Block]:
    """Blocks from the top with gaps; even a small block leaves space for its label."""
    gap = total * 0.035
    slots = [_slot(name, size, total) for name, size in sizes.items()]
    top = around - (sum(slots) + gap * (len(slots) - 1)) / 2 if around is not None else 0.0
    blocks = []
    for (name, size), slot in zip(sizes.items(), slots, strict=True):
        blocks.append(_Block(name, column, top + (slot - size) / 2, size))
        top += slot + gap
    return blocks


def _slot(name: str, size: int, total: int) -> float:
    """The height that a block takes with its label."""
    return max(size, 0.04 * total * (1 + len(_lines(name))))


def _lines(name: str) -> list[str]:
    """The name of a part; on one line a long one is cut off at the edge of a narrow figure."""
    return wrap(outcome_words(name), _LINE)


def _ribbon(figure: go.Figure, column: int, source: float, block: _Block, colour: str) -> None:
    """From ``source`` in a column to a block of the next."""
    t = np.linspace(0, 1, 24)
    bend = t * t * (3 - 2 * t)
    x = column + _WIDTH + t * (1 - _WIDTH)
    upper = source + bend * (block.top - source)
    figure.add_scatter(
        x=[*x, *x[::-1]],
        y=[*upper, *(upper[::-1] + block.size)],
        fill="toself",
        fillcolor=theme.faint(colour, 0.34),
        mode="lines",
        line={"width": 0},
        hoverinfo="skip",
    )
    _handles(
        figure,
        x[2:-1:3],
        upper[2:-1:3] + block.size / 2,
        block.name,
        f"{outcome_words(block.name)}: {block.size:,} facts",
    )


def _handles(
    figure: go.Figure, x: Iterable[float], y: Iterable[float], name: str, words: str, clickable: bool = True
) -> None:
    """Invisible points that can be touched."""
    hidden = {"marker": {"opacity": 0}}
    x = list(x)
    figure.add_scatter(
        x=x,
        y=list(y),
        mode="markers",
        marker={"size": 16, "symbol": "square", "opacity": 0},
        selected=hidden,
        unselected=hidden,
        customdata=[[name]] * len(x) if clickable else None,
        hovertemplate=f"{words}<extra></extra>",
    )


def percent(part: int, whole: int) -> str:
    """ "24 %", escaped for Plotly; a share above 0 is never written as 0 %, nor one below 100 % as 100 %."""
    share = part / whole * 100 if whole else 0.0
    return "&lt; 1 %" if 0 < share < 1 else "&gt; 99 %" if 99 < share < 100 else f"{share:.0f} %"


def _block(
    figure: go.Figure, block: _Block, colour: str, *, n: int, of: str, total: int, clickable: bool = True
) -> None:
    """A block, and its label: its number of facts, and their share of what."""
    x = block.column
    figure.add_scatter(
        x=[x, x + _WIDTH, x + _WIDTH, x],
        y=[block.top, block.top, block.top + block.size, block.top + block.size],
        fill="toself",
        fillcolor=colour,
        mode="lines",
        line={"width": 1, "color": colour},
        hoverinfo="skip",
    )
    name = outcome_words(block.name)
    label = f"<b>{'<br>'.join(_lines(block.name))}</b> {n:,}<br>{of}"
    hover = f"<b>{name}</b> {n:,}<br>{of}" + ("<br>click to see them" if clickable else "")
    steps = max(int(block.size / total * 20), 1)
    middle = block.top + (np.arange(steps) + 0.5) * block.size / steps
    _handles(figure, [x + _WIDTH / 2] * steps, middle, block.name, hover, clickable)
    figure.add_scatter(
        x=[x + _LABEL],
        y=[block.top + block.size / 2],
        mode="text",
        text=[label],
        textposition="middle right",
        textfont={"size": 12},
        customdata=[[block.name]] if clickable else None,
        hovertemplate=f"{hover}<extra></extra>",
        cliponaxis=False,
    )


#: Name of the line of a control.
SHUFFLED_LABELS = "shuffled labels"
#: Name of the lines of other models of the same base and objective.
OTHER_TRAININGS = "other trainings"


def paired_curve(
    points: pd.DataFrame,
    *,
    k: int,
    base: str,
    model: str,
    colours: Mapping[str, str],
    labels: Mapping[str, str] | None = None,
    controls: Collection[str] = (),
) -> go.Figure:
    """P@k of both by layer above, model minus base below; filled if the difference is significant.

    Grey: the majority answer; dotted in a model's colour: its swapped subject; dashed: ``controls``. Columns: ``layer,
    n, base_value, base_low, base_high, value, low, high, difference, difference_low, difference_high, p_value``, shares
    of the facts that both were asked; optional yardsticks ``majority, base_swapped, swapped``, ``shuffled`` (the
    control with shuffled labels), ``again_low`` and ``again_high`` (other trainings of the objective); or the result of
    ``yardsticks.pair_above``.
    """
    points = points.dropna(subset=["value"]).sort_values("layer")
    if points.empty:
        return theme.empty("No fact was asked of both models under these filters.")
    figure = make_subplots(rows=2, cols=1, shared_xaxes=True, row_heights=[0.62, 0.38], vertical_spacing=0.07)
    zero, last = yardsticks.zero_of(points), int(points["layer"].max())
    ends = yardsticks.add_zero(figure, points, row=1) + yardsticks.add_levels(
        figure, points.assign(line=model), by={}, row=1
    )
    for name, prefix in ((base, "base_"), (model, "")):
        colour, label = colours.get(name, theme.NEUTRAL), (labels or {}).get(name, name)
        swapped = f"{prefix}swapped"
        if swapped in points and points[swapped].notna().any():
            look = {"dash": "dot", "color": colour, "width": 1.3}
            words = theme.plain(label), yardsticks.SWAPPED
            _line(figure, points, swapped, ": ".join(words), look, opacity=0.8, hover="<br>".join(words))
            ends.append(EndLabel(last, float(points[swapped].iloc[-1]) * 100, yardsticks.SWAPPED, colour, strong=False))
        theme.interval_band(
            figure, points["layer"], points[f"{prefix}low"] * 100, points[f"{prefix}high"] * 100, colour, row=1, col=1
        )
        figure.add_scatter(
            x=points["layer"],
            y=points[f"{prefix}value"] * 100,
            mode="lines+markers",
            cliponaxis=False,
            name=theme.plain(label),
            showlegend=False,
            line={"color": colour, "width": 2.5, "dash": theme.line_dash(name in controls)},
            marker=theme.outlined("circle-open" if name == base else "circle", colour, 8, 1.5),
            customdata=[[name, int(layer)] for layer in points["layer"]],
            hovertext=[_hover_of_difference(point, prefix, label, zero) for point in points.to_dict("records")],
            hovertemplate="%{hovertext}<extra></extra>",
            row=1,
            col=1,
        )
        ends.append(EndLabel(last, float(points[f"{prefix}value"].iloc[-1]) * 100, label, colour))
    colour = colours.get(model, theme.NEUTRAL)
    if "shuffled" in points and points["shuffled"].notna().any():
        _line(figure, points, "shuffled", SHUFFLED_LABELS, {"dash": "longdashdot", "color": colour, "width": 1.3})
        ends.append(EndLabel(last, float(points["shuffled"].iloc[-1]) * 100, SHUFFLED_LABELS, colour, strong=False))
    if "again_low" in points and points["again_low"].notna().any():
        for end, word in (("again_low", "least"), ("again_high", "most")):
            _line(figure, points, end, f"{OTHER_TRAININGS}, {word}", {"color": colour, "width": 0.8}, opacity=0.7)
        ends.append(EndLabel(last, float(points["again_high"].iloc[-1]) * 100, OTHER_TRAININGS, colour, strong=False))
    low, high = points["difference_low"] * 100, points["difference_high"] * 100
    theme.interval_band(figure, points["layer"], low, high, colour, row=2, col=1)
    sure = [colour if _sure(point) else "rgba(0,0,0,0)" for point in points.itertuples()]
    figure.add_scatter(
        x=points["layer"],
        y=points["difference"] * 100,
        mode="lines+markers",
        cliponaxis=False,
        showlegend=False,
        name="difference",
        line={"color": colour, "width": 1.5},
        marker={"symbol": "diamond", "size": 9, "color": sure, "line": {"width": 1.5, "color": colour}},
        hovertext=[
            f"layer {int(point.layer)}: {point.difference * 100:+.1f} points<br>95 % interval"
            f" {point.difference_low * 100:+.1f} to {point.difference_high * 100:+.1f}"
            + (f"<br>McNemar p {p_words(point.p_value)}" if pd.notna(point.p_value) else "")
            for point in points.itertuples()
        ],
        hovertemplate="%{hovertext}<extra></extra>",
        row=2,
        col=1,
    )
    theme.apply(theme.clickable_last(figure), height=460)
    for row in (1, 2):
        horizontal(figure, last, row=row, col=1)
    figure.update_xaxes(range=[-0.5, last + 0.15])
    figure.update_xaxes(title_text="", showticklabels=False, row=1, col=1)
    figure.add_hline(y=0, line={"color": theme.NEUTRAL, "width": 1.2}, row=2, col=1)
    title = f"minus {zero},<br>points (P@{k})" if zero else f"right answers,<br>% (P@{k})"
    figure.update_yaxes(title_text=title, ticksuffix="", row=1, col=1)
    figure.update_yaxes(title_text="difference, points", row=2, col=1)
    both = ("value", "low", "high", "base_value", "base_low", "base_high", "majority", "swapped", "base_swapped")
    signed = points.assign(zero="difference")
    ranges = [
        yardsticks.extent(points, both, 100),
        yardsticks.extent(signed, ("difference", "difference_low", "difference_high"), 100),
    ]
    return write(figure, ends, ranges=ranges)


def _line(
    figure: go.Figure,
    points: pd.DataFrame,
    column: str,
    name: str,
    look: dict,
    *,
    opacity: float | None = None,
    hover: str = "",
) -> None:
    """A yardstick's line in the upper panel."""
    figure.add_scatter(
        x=points["layer"],
        y=points[column] * 100,
        mode="lines",
        line=look,
        opacity=opacity,
        showlegend=False,
        name=name,
        row=1,
        col=1,
        hovertemplate=f"{hover or name}: %{{y:.1f}} %<extra></extra>",
    )


def _sure(point) -> bool:
    """Whether a difference is significant: by its test, or by its interval if there is no test."""
    return (
        bool(point.p_value <= 0.05)
        if pd.notna(point.p_value)
        else point.difference_low > 0 or point.difference_high < 0
    )


def _hover_of_difference(point: dict, prefix: str, label: str, zero: str) -> str:
    value, low, high = (point[f"{prefix}{name}"] * 100 for name in ("value", "low", "high"))
    if zero:
        words = f"{value:+.1f} points against the {zero}<br>95 % interval {low:+.1f} to {high:+.1f}"
    else:
        words = f"{value:.1f} %<br>95 % interval {low:.1f} to {high:.1f} %"
    facts = int(point.get(f"{prefix}n", point["n"]))
    return f"<b>{theme.plain(label)}</b><br>layer {int(point['layer'])}: {words}<br>{facts:,} facts"


def p_words(p: float) -> str:
    """A p-value for a reader: "= 0.031", "< 0.0001"."""
    return "< 0.0001" if p < 0.0001 else f"= {p:.2g}"


#: Column -> (words, filling of the marker, distance from the row's middle).
_SHOWN = {"lost": ("lost", "-open", 0.17), "lost_above": (f"lost beyond the {SWAPPED}", "", -0.17)}
_LOSSES_ROW, _LOSSES_FRAME = 40, 130
#: Height of a kind of head's row within a model's.
_KIND = 26


def loss_points(
    lost: pd.DataFrame,
    *,
    k: int,
    colours: Mapping[str, str],
    labels: Mapping[str, str] | None = None,
    controls: Collection[str] = (),
) -> go.Figure:
    """One row per model and kind of head: open P@k, filled P@k minus the swapped subject, with 95 % intervals.

    The model that lost most of the latter is on top; controls are below. Colour is the model's, or the kind's if there
    are several. Columns of ``compared.report_heads.points_lost``, shares.
    """
    if lost.empty:
        return theme.empty("No facts are left to compare under these filters.")
    kinds = lost["head"].nunique() > 1
    rows = lost.assign(
        _control=lost["model"].isin(list(controls)),
        _of=lost.groupby("model")["lost_above"].transform("max").fillna(lost["lost"]),
        _kind=lost["head"].map({head: place for place, head in enumerate(theme.HEAD_SUFFIX)}),
    ).sort_values(["_control", "_of", "model", "_kind"], ascending=[True, False, True, True])
    places, y = [], -1.0
    step = _KIND / _LOSSES_ROW if kinds else 1.0
    for before, model in zip([None, *rows["model"][:-1]], rows["model"], strict=True):
        y += 1.0 if model != before else step
        places.append(y)
    rows = rows.assign(_y=places)
    marks = [
        theme.head_colour(row.head) if kinds else colours.get(row.model, theme.NEUTRAL) for row in rows.itertuples()
    ]
    figure = go.Figure()
    for column, (words, suffix, off) in _SHOWN.items():
        _add(figure, rows, column, words, (suffix, off), marks, labels or {})
    if kinds:
        for head in dict.fromkeys(sorted(rows["head"], key=list(theme.HEAD_SUFFIX).index)):
            theme.add_legend(figure, head_name(head), {"color": theme.head_colour(head)})
    middles = rows.groupby("model", sort=False)["_y"].mean()
    theme.apply(figure, height=int(_LOSSES_FRAME + _LOSSES_ROW * (places[-1] + 1)) + (20 if kinds else 0))
    figure.add_vline(x=0, line={"color": theme.NEUTRAL, "width": 1.2})
    figure.update_xaxes(title_text=f"lost by fine-tuning, points<br>(P@{k} of the base minus the model)")
    names = [theme.breakable((labels or {}).get(model, model)) for model in middles.index]
    theme.label_rows(figure, names, list(middles), (places[-1] + 0.6, -0.6))
    return figure


def _add(
    figure: go.Figure,
    rows: pd.DataFrame,
    column: str,
    name: str,
    look: tuple[str, float],
    marks: list[str],
    labels: Mapping[str, str],
) -> None:
    suffix, off = look
    value, low, high = (rows[f"{column}{end}"] * 100 for end in ("", "_low", "_high"))
    there = value.notna()
    if not there.any():
        return
    for x, y, ends, mark in zip(
        value[there],
        rows["_y"][there] - off,
        zip(low[there], high[there], strict=True),
        _present_marks(marks, there),
        strict=True,
    ):
        figure.add_scatter(
            x=ends,
            y=[y, y],
            mode="lines",
            line={"color": mark, "width": 1.6},
            hoverinfo="skip",
            showlegend=False,
            name=f"{name}: {x:.1f}",
        )
    figure.add_scatter(
        x=value[there],
        y=rows["_y"][there] - off,
        mode="markers",
        showlegend=False,
        name=name,
        marker=theme.outlined(f"circle{suffix}", _present_marks(marks, there), 9, 1.8),
        hovertext=[
            f"<b>{theme.plain(labels.get(row.model, row.model))}</b> · {head_name(row.head)}<br>{name}: {x:+.1f}"
            f" points<br>95 % interval {least:+.1f} to {most:+.1f}"
            for row, x, least, most in zip(rows[there].itertuples(), value[there], low[there], high[there], strict=True)
        ],
        hovertemplate="%{hovertext}<extra></extra>",
    )
    theme.add_legend(figure, name, theme.outlined(f"circle{suffix}", theme.NEUTRAL, 9, 1.8))


def _present_marks(marks: list[str], there: pd.Series) -> list[str]:
    return [mark for mark, present in zip(marks, there, strict=True) if present]


#: Part -> its column, colour and name; a model that stores only counts has the last one alone.
_PARTS = {
    "kept": ("kept_share", theme.KEPT, "kept"),
    "lost": ("lost_share", theme.NOT_BACK, "lost"),
    "gained": ("gained_share", theme.GAINED, "gained"),
    "now": ("now_share", theme.CONTROL, "known now, of counts only"),
}
#: From this per cent on a number fits into its part.
_NUMBER = 6
_RETENTION_ROW, _RETENTION_FRAME = 34, 110


def retention_bars(models: pd.DataFrame, *, k: int, labels: Mapping[str, str] | None = None) -> go.Figure:
    """One bar per model, in per cent of the facts its base knows: kept, lost and, beyond 100 %, gained.

    In the order of the table, of ``compared.report.all_models``.
    """
    rows = models[models["kept_share"].notna() | models["now_share"].notna()].reset_index(drop=True)
    if rows.empty:
        return theme.empty("The base knows no fact under these filters.")
    called = {model: theme.plain((labels or {}).get(model, model)) for model in (*rows["model"], *rows["base"])}
    figure = go.Figure()
    for part, (column, colour, name) in _PARTS.items():
        of_part = rows[rows["kept_share"].isna() if part == "now" else rows["kept_share"].notna()]
        if of_part.empty:
            continue
        shares = 100 * of_part[column]
        figure.add_bar(
            y=of_part.index,
            x=shares,
            orientation="h",
            name=name,
            marker={"color": colour},
            text=[f"{share:.0f}" if share >= _NUMBER and part != "gained" else "" for share in shares],
            textposition="inside",
            insidetextanchor="middle",
            textangle=0,
            insidetextfont={"color": theme.ink_on(colour), "size": 12},
            cliponaxis=False,
            customdata=[[row["model"], part] for row in of_part.to_dict("records")] if part != "now" else None,
            hovertext=[
                _hover_of_retention(row, part, share, called)
                for row, share in zip(of_part.to_dict("records"), shares, strict=True)
            ],
            hovertemplate="%{hovertext}<extra></extra>",
        )
    theme.apply(figure, height=_RETENTION_FRAME + _RETENTION_ROW * len(rows))
    figure.update_layout(barmode="stack", bargap=0.25, legend_traceorder="normal")
    figure.add_vline(x=100, line={"color": theme.YARDSTICK, "width": 1.2, "dash": "dash"})
    most = max(
        float((rows["kept_share"].fillna(0) + rows["lost_share"].fillna(0) + rows["gained_share"].fillna(0)).max()), 1.0
    )
    most = max(most, float(rows["now_share"].fillna(0).max()))
    figure.update_xaxes(
        title_text=f"% of the facts that the base knows (rank ≤ {k})", ticksuffix=" %", range=[0, 100 * most + 3]
    )
    names = [theme.breakable((labels or {}).get(model, model), 18) for model in rows["model"]]
    theme.label_rows(figure, names, tickfont_size=12)
    return figure


def _hover_of_retention(row: Mapping[Any, Any], part: str, share: float, called: Mapping[str, str]) -> str:
    head = f"<b>{called[row['model']]}</b><br>"
    if part == "now":
        return f"{head}knows now {share:.1f} % as many as {called[row['base']]}; only counts are stored"
    known = int(row["kept"] + row["lost"])
    return (
        f"{head}{part}: {int(row[part]):,} facts, {share:.1f} % of the {known:,} that {called[row['base']]}"
        " knows<br>click to see them"
    )
