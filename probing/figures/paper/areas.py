"""Bars and heat maps of Plotly for pgfplots: rectangles, so that their ends are Plotly's whatever else is in the panel."""

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from plotly.colors import get_colorscale

from probing.core.errors import FigureError
from probing.figures import theme
from probing.figures.paper import marks, tex
from probing.figures.paper.panels import Panel, ends_of_stacks, listed

#: Shape of a pattern of Plotly -> pattern of TikZ.
_PATTERNS = {
    "/": "north east lines",
    "\\": "north west lines",
    "x": "crosshatch",
    "-": "horizontal lines",
    "|": "vertical lines",
    "+": "grid",
    ".": "crosshatch dots",
}


def bars(panel: Panel, trace: dict[str, Any], layout: dict[str, Any], colours: tex.Colours) -> Iterator[str]:
    """The lines of code that draw a trace of bars. The value of a bar stands behind it, in a comment.

    Raises:
        FigureError: for bars that are arranged in a way that there is no code for.
    """
    across, barmode = trace.get("orientation") == "h", layout.get("barmode", "group")
    if barmode not in ("stack", "relative", "group", "overlay"):
        raise FigureError(f"got bars arranged by {barmode!r}; expected stack, relative, group or overlay")
    along, size = (panel.y, panel.x) if across else (panel.x, panel.y)
    places, sizes = (listed(trace.get(name)) for name in (("y", "x") if across else ("x", "y")))
    stacked = barmode in ("stack", "relative")
    ends = ends_of_stacks(panel, trace) if stacked else [size.at(one) for one in sizes]
    offsets = _sides(panel, trace, layout, along)
    tips: tuple[list[float], list[float]] = ([], [])
    for at, (place, value, end) in enumerate(zip(places, sizes, ends, strict=True)):
        middle, length = along.at(place), size.at(value)
        start = end - length if stacked else _base(trace, at)
        finish = end if stacked else start + length
        low, high = middle + offsets[at][0], middle + offsets[at][1]
        tips[0].append(finish if across else (low + high) / 2)
        tips[1].append((low + high) / 2 if across else finish)
        if not (math.isfinite(middle) and math.isfinite(length)) or (size.log and start <= 0):
            continue
        corners = ((start, low), (finish, high)) if across else ((low, start), (high, finish))
        box = " rectangle ".join(panel.place(*corner) for corner in corners)
        for look in looks(trace, colours, at):
            yield f"\\path[{look}] {box}; % {tex.number(length)}"
        yield from _label(panel, trace, colours, at, (start, finish, (low + high) / 2, across))
    yield from marks.error_bars(panel, trace, colours, tips)


def looks(trace: dict[str, Any], colours: tex.Colours, at: int = 0) -> list[str]:
    """The options of a bar: its fill, and its pattern on it."""
    marker = trace.get("marker") or {}
    name, alpha = colours(str(marks.nth(marker.get("color", "#808080"), at)))
    alpha *= float(marks.nth(marker.get("opacity", 1), at)) * float(trace.get("opacity", 1))
    edge = marker.get("line") or {}
    outline = ", draw=none"
    if edge.get("width") is not None and float(marks.nth(edge["width"], at)) > 0 and edge.get("color") is not None:
        outline = f", draw={colours(str(marks.nth(edge['color'], at)))[0]}, line width={tex.points(float(marks.nth(edge['width'], at)))}"
    shape = str(marks.nth((marker.get("pattern") or {}).get("shape") or "", at) or "")
    if shape and shape not in _PATTERNS:
        raise FigureError(f"got the pattern {shape!r}; expected one of {' '.join(_PATTERNS)}")
    if not shape:
        return [f"fill={name}, fill opacity={alpha:.3g}{outline}"]
    line, _ = colours(str(marks.nth(marker["pattern"].get("fgcolor") or "#000000", at)))
    same = line == name
    return [f"fill={name}, fill opacity={0.3 if same else alpha:.3g}{outline}", f"pattern={_PATTERNS[shape]}, pattern color={line}"]


def cells(panel: Panel, trace: dict[str, Any], colours: tex.Colours) -> Iterator[str]:
    """The lines of code that draw a heat map, one per cell. Its value stands behind it, in a comment."""
    rows = [listed(row) for row in trace.get("z", ())]
    x = [panel.x.at(one) for one in listed(trace.get("x")) or range(len(rows[0]) if rows else 0)]
    y = [panel.y.at(one) for one in listed(trace.get("y")) or range(len(rows))]
    words = [listed(row) for row in trace.get("text", ())] if trace.get("texttemplate") else []
    low, high = limits(trace)
    scale = _scale(trace)
    for row, (up, values) in enumerate(zip(y, rows, strict=True)):
        for column, (across, value) in enumerate(zip(x, values, strict=True)):
            if value is None:
                continue
            share = min(max((float(value) - low) / ((high - low) or 1), 0), 1)
            shade = _shade(scale, share)
            name, alpha = colours(shade)
            (left, right), (bottom, top) = _cell(x, column), _cell(y, row)
            alpha *= float(trace.get("opacity", 1))
            box = f"{panel.place(left, bottom)} rectangle {panel.place(right, top)}"
            edge = ", draw=white, line width=0.6bp" if trace.get("xgap") or trace.get("ygap") else ""
            yield f"\\path[fill={name}, fill opacity={alpha:.3g}{edge}] {box}; % {tex.number(value)}"
            if words and words[row][column]:
                red, green, blue, _ = tex.rgba(shade)
                ink, _ = colours(theme.ink_on(f"#{red:02X}{green:02X}{blue:02X}"))
                yield f"\\node[text={ink}, align=center, inner sep=0] at {panel.place(across, up)} {{{tex.text(words[row][column])}}};"


def limits(trace: dict[str, Any]) -> tuple[float, float]:
    """The values at the ends of the colours of a heat map."""
    there = [float(one) for row in trace.get("z", ()) for one in listed(row) if one is not None]
    low = trace["zmin"] if trace.get("zmin") is not None else min(there, default=0.0)
    high = trace["zmax"] if trace.get("zmax") is not None else max(there, default=1.0)
    return float(low), float(high)


def colour_bar(trace: dict[str, Any]) -> list[str]:
    """The options of the axes for the bar of colours of a heat map; none if it shows none."""
    if trace.get("showscale") is False:
        return []
    low, high = limits(trace)
    made = trace.get("colorbar") or {}
    named = " ".join(f"rgb255({round(at * 1000)})=({red},{green},{blue})" for at, (red, green, blue) in _scale(trace))
    flat = made.get("orientation") == "h"
    style = ["height=5bp", "at={(0,1)}", "anchor=south west", "yshift=4bp", "xticklabel pos=upper"] if flat else ["width=6bp"]
    axis = "x" if flat else "y"
    if (places := made.get("tickvals")) is not None:
        style.append(f"{axis}tick={{{','.join(tex.number(one) for one in places)}}}")
        if (names := made.get("ticktext")) is not None:
            style.append(f"{axis}ticklabels={{{','.join(f'{{{tex.text(name)}}}' for name in names)}}}")
    if title := (made.get("title") or {}).get("text"):
        style.append(f"{axis}label={{{tex.text(title)}}}")
    return [
        f"colormap={{figure}}{{{named}}}",
        f"point meta min={tex.number(low)}",
        f"point meta max={tex.number(high)}",
        "colorbar horizontal" if flat else "colorbar",
        f"colorbar style={{{', '.join(style)}}}",
    ]


def _scale(trace: dict[str, Any]) -> list[tuple[float, tuple[int, int, int]]]:
    """The colours of a heat map with their places from 0 to 1."""
    given = trace.get("colorscale") or "Viridis"
    stops = [(float(at), tex.rgba(colour)[:3]) for at, colour in (get_colorscale(given) if isinstance(given, str) else given)]
    return [(1 - at, colour) for at, colour in reversed(stops)] if trace.get("reversescale") else stops


def _shade(scale: Sequence[tuple[float, tuple[int, int, int]]], share: float) -> str:
    """The colour at a place, between those next to it."""
    for (start, before), (end, after) in pairwise(scale):
        if share <= end:
            part = (share - start) / ((end - start) or 1)
            return "rgb(" + ",".join(str(round(a + (b - a) * part)) for a, b in zip(before, after, strict=True)) + ")"
    return "rgb(" + ",".join(map(str, scale[-1][1])) + ")"


def _cell(places: Sequence[float], at: int) -> tuple[float, float]:
    """The ends of a cell: halfway to its neighbours, and as far on the other side at an end."""
    if len(places) == 1:
        return places[0] - 0.5, places[0] + 0.5
    left = (places[at] - places[at - 1]) / 2 if at else (places[1] - places[0]) / 2
    right = (places[at + 1] - places[at]) / 2 if at + 1 < len(places) else (places[-1] - places[-2]) / 2
    return places[at] - left, places[at] + right


def _sides(panel: Panel, trace: dict[str, Any], layout: dict[str, Any], along: Any) -> list[tuple[float, float]]:
    """How far every bar reaches from its place to both sides, in units of the axis."""
    own_places = listed(trace.get("y" if trace.get("orientation") == "h" else "x"))
    if trace.get("width") is not None:
        widths = [float(marks.nth(trace["width"], at)) for at in range(len(own_places))]
        starts = [-width / 2 if trace.get("offset") is None else float(marks.nth(trace["offset"], at)) for at, width in enumerate(widths)]
        return [(start, start + width) for start, width in zip(starts, widths, strict=True)]
    others = [one for one in panel.traces if one.get("type") == "bar"]
    places = sorted({along.at(place) for one in others for place in listed(one.get("y" if one.get("orientation") == "h" else "x"))})
    unit = min((b - a for a, b in pairwise(places) if b > a), default=1.0)
    whole = unit * (1 - layout.get("bargap", 0.2))
    if layout.get("barmode", "group") != "group":
        return [(-whole / 2, whole / 2)] * len(own_places)
    groups = list(dict.fromkeys(one.get("offsetgroup") or id(one) for one in others))
    each = whole / len(groups)
    left = -whole / 2 + each * groups.index(trace.get("offsetgroup") or id(trace))
    gap = each * layout.get("bargroupgap", 0) / 2
    return [(left + gap, left + each - gap)] * len(own_places)


def _base(trace: dict[str, Any], at: int) -> float:
    base = marks.nth(trace.get("base"), at)
    return 0.0 if base is None else float(base)


def _label(panel: Panel, trace: dict[str, Any], colours: tex.Colours, at: int, bar: tuple[float, float, float, bool]) -> Iterator[str]:
    """The text of a bar, inside or at its end."""
    start, finish, middle, across = bar
    words, where = str(marks.nth(trace.get("text", ""), at) or ""), trace.get("textposition", "auto")
    if not words or where == "none":
        return
    inside = where != "outside"
    font = trace.get("insidetextfont" if inside else "outsidetextfont") or trace.get("textfont") or {}
    name, _ = colours(str(marks.nth(font.get("color") or "#000000", at)))
    place = (start + finish) / 2 if inside else finish
    forth = finish >= start
    side = "center" if inside else ("west" if forth else "east") if across else ("south" if forth else "north")
    spot = panel.place(place, middle) if across else panel.place(middle, place)
    yield f"\\node[anchor={side}, text={name}, inner sep=2bp] at {spot} {{{tex.text(words)}}};"
