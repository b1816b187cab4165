"""Lines, points and filled bands of Plotly for pgfplots."""

import math
import re
from collections.abc import Iterator
from typing import Any

from probing.core.errors import FigureError
from probing.figures.paper import tex
from probing.figures.paper.panels import Panel, listed, whiskers

#: Dash of Plotly -> option of TikZ.
_DASHES = {
    "solid": "solid", "dash": "dashed", "dot": "dotted", "dashdot": "dash dot",
    "longdash": "dash pattern=on 6bp off 3bp", "longdashdot": "dash pattern=on 6bp off 2bp on 1bp off 2bp",
}  # fmt: skip
#: Symbol of Plotly without "-open" and "-dot" -> mark of pgfplots when filled, when open, and its further option.
_MARKS = {
    "circle": ("*", "o", ""),
    "square": ("square*", "square", ""),
    "diamond": ("diamond*", "diamond", ""),
    "triangle-up": ("triangle*", "triangle", ""),
    "triangle-down": ("triangle*", "triangle", "rotate=180"),
    "triangle-right": ("triangle*", "triangle", "rotate=270"),
    "triangle-left": ("triangle*", "triangle", "rotate=90"),
    "pentagon": ("pentagon*", "pentagon", ""),
    "hexagon": ("halfcircle*", "halfcircle", ""),
    "star": ("10-pointed star", "star", ""),
    "cross": ("+", "+", ""),
    "x": ("x", "x", ""),
    "cross-thin": ("+", "+", ""),
    "x-thin": ("x", "x", ""),
    "circle-x": ("otimes*", "otimes", ""),
    "square-x": ("halfsquare*", "halfsquare*", ""),
    "diamond-x": ("halfdiamond*", "halfdiamond*", ""),
    "star-triangle-up": ("Mercedes star", "Mercedes star", ""),
    "star-triangle-down": ("Mercedes star flipped", "Mercedes star flipped", ""),
    "star-diamond": ("asterisk", "asterisk", ""),
    "hexagram": ("star", "star", ""),
    "star-square": ("oplus*", "oplus", ""),
    "line-ew": ("-", "-", ""),
    "line-ns": ("|", "|", ""),
}
_SHAPES = {"hv": "const plot", "vh": "const plot mark right", "hvh": "const plot mark mid", "spline": "smooth", "linear": ""}
#: Place of a text of Plotly -> anchor of TikZ, which is the side of the text at its point.
_SIDES = {"top": "south", "bottom": "north", "middle": ""}
_ENDS = {"left": "east", "right": "west", "center": ""}


def draw(panel: Panel, trace: dict[str, Any], colours: tex.Colours) -> Iterator[str]:
    """The lines of code that draw a scatter trace.

    Raises:
        FigureError: for a look that pgfplots has no code for.
    """
    x, y = [panel.x.at(one) for one in listed(trace.get("x"))], [panel.y.at(one) for one in listed(trace.get("y"))]
    if not any(math.isfinite(a) and math.isfinite(b) for a, b in zip(x, y, strict=True)):
        return
    mode = trace.get("mode") or "lines"
    if fill := trace.get("fill"):
        if fill not in ("toself", "none"):
            raise FigureError(f"got an area of the kind {fill!r}; code for LaTeX is written for closed ones. Save the figure as SVG or PDF")
        yield from _areas(panel, trace, colours, list(zip(x, y, strict=True)))
    ends = "".join(_with_errors(panel, trace, x, y))
    if "lines" in mode and (trace.get("line") or {}).get("width", 2) > 0:
        points = " ".join(_pairs(x, y, jump=not trace.get("connectgaps")))
        yield f"\\addplot[{', '.join(line_options(trace, colours))}, forget plot, unbounded coords=jump] coordinates {{{points}}};"
    if ends:
        line = (trace.get("error_y") or trace.get("error_x") or {}).get("color") or _first_colour(trace)
        yield f"\\addplot[{_colour(line, colours, trace)}, only marks, mark=none, forget plot, {_bars(trace)}] coordinates {{{ends}}};"
    if "markers" in mode:
        yield from _points(trace, colours, x, y)
    if "text" in mode:
        yield from _texts(panel, trace, colours, x, y)


def line_options(trace: dict[str, Any], colours: tex.Colours) -> list[str]:
    """Colour, width, dash and shape of a line."""
    line = trace.get("line") or {}
    found = [_colour(_first_colour(trace), colours, trace), f"line width={tex.points(line.get('width', 2))}"]
    shape = line.get("shape", "linear")
    if shape not in _SHAPES:
        raise FigureError(f"got a line of the shape {shape!r}; expected one of {', '.join(_SHAPES)}")
    return [*found, dash(line.get("dash", "solid")), *([_SHAPES[shape]] if _SHAPES[shape] else [])]


def dash(of: str) -> str:
    """The option of TikZ for a dash of Plotly, by its name or as lengths in pixels."""
    if of in _DASHES:
        return _DASHES[of]
    lengths = [tex.points(float(one)) for one in re.findall(r"[\d.]+", of)]
    if not lengths:
        raise FigureError(f"got the dash {of!r}; expected one of {', '.join(_DASHES)} or lengths such as 5px,2px")
    return "dash pattern=" + " ".join(f"{'off' if place % 2 else 'on'} {length}" for place, length in enumerate(lengths))


def mark_options(trace: dict[str, Any], colours: tex.Colours, at: int = 0) -> list[str]:
    """Mark, size and colours of a point of a trace.

    Raises:
        FigureError: for a symbol that pgfplots has no mark for, or a colour that is a number.
    """
    marker = trace.get("marker") or {}
    symbol, size = str(nth(marker.get("symbol", "circle"), at)), float(nth(marker.get("size", 6), at))
    colour = nth(marker.get("color", _first_colour(trace)), at)
    stem = symbol.replace("-open", "").replace("-dot", "")
    if stem not in _MARKS or not isinstance(colour, str):
        got = f"the symbol {symbol!r}" if stem not in _MARKS else f"{colour!r} as a colour"
        raise FigureError(f"got {got} of points; code for LaTeX has none for it. Save the figure as SVG or PDF")
    whole, hollow, further = _MARKS[stem]
    is_open = "-open" in symbol
    name, alpha = colours(colour)
    edge = marker.get("line") or {}
    drawn = colours(str(nth(edge["color"], at)))[0] if edge.get("color") is not None else name
    alpha *= float(nth(marker.get("opacity", 1), at)) * float(trace.get("opacity", 1))
    inner = [f"draw={drawn}", f"fill={'white' if is_open and '-dot' in symbol else 'none' if is_open else name}", "solid"]
    inner += [f"line width={tex.points(float(nth(edge.get('width', 1), at)))}"] + ([f"opacity={alpha:.3g}"] if alpha < 1 else [])
    mark = "oplus" if is_open and "-dot" in symbol else hollow if is_open else whole
    return [f"mark={mark}", f"mark size={tex.points(size / 2)}", f"mark options={{{', '.join([*inner, *([further] if further else [])])}}}"]


def _points(trace: dict[str, Any], colours: tex.Colours, x: list[float], y: list[float]) -> Iterator[str]:
    """Points of one look are one plot."""
    groups: dict[str, list[str]] = {}
    for at, (across, up) in enumerate(zip(x, y, strict=True)):
        if math.isfinite(across) and math.isfinite(up):
            groups.setdefault(", ".join(mark_options(trace, colours, at)), []).append(f"({tex.number(across)},{tex.number(up)})")
    for look, points in groups.items():
        yield f"\\addplot[only marks, {look}, forget plot] coordinates {{{' '.join(points)}}};"


def _areas(panel: Panel, trace: dict[str, Any], colours: tex.Colours, points: list[tuple[float, float]]) -> Iterator[str]:
    """Closed areas; a gap ends one and begins the next."""
    given = trace.get("fillcolor") or _first_colour(trace)
    name, alpha = colours(given)
    alpha *= float(trace.get("opacity", 1)) * (1 if trace.get("fillcolor") else 0.5)
    runs: list[list[str]] = [[]]
    for across, up in points:
        if math.isfinite(across) and math.isfinite(up):
            runs[-1].append(panel.place(across, up))
        elif runs[-1]:
            runs.append([])
    for run in runs:
        if len(run) > 2:
            yield f"\\fill[{name}, fill opacity={alpha:.3g}] {' -- '.join(run)} -- cycle;"


def _with_errors(panel: Panel, trace: dict[str, Any], x: list[float], y: list[float]) -> Iterator[str]:
    sides = {letter: whiskers(trace, letter, len(x)) for letter in "xy"}
    if not any(low or high for low, high in sides.values()):
        return
    for at, (across, up) in enumerate(zip(x, y, strict=True)):
        if not (math.isfinite(across) and math.isfinite(up)):
            continue
        (left, right), (below, above) = ([side[at] if side else 0.0 for side in sides[letter]] for letter in "xy")
        plus, minus = f"({tex.number(right)},{tex.number(above)})", f"({tex.number(left)},{tex.number(below)})"
        yield f"({tex.number(across)},{tex.number(up)}) += {plus} -= {minus} "


def _bars(trace: dict[str, Any]) -> str:
    directions = [f"{letter} dir=both, {letter} explicit" for letter in "xy" if trace.get(f"error_{letter}")]
    error = trace.get("error_y") or trace.get("error_x") or {}
    look = f"error bar style={{line width={tex.points(error.get('thickness', 2))}, solid}}"
    cap = f"error mark options={{rotate=90, mark size={tex.points(error.get('width', 4))}, solid}}"
    return f"error bars/.cd, {', '.join(directions)}, {look}, {cap}"


def error_bars(panel: Panel, trace: dict[str, Any], colours: tex.Colours, ends: tuple[list[float], list[float]]) -> Iterator[str]:
    """The error bars of a trace whose values end at other places than its data says, such as bars on others."""
    found = "".join(_with_errors(panel, trace, *ends))
    if found:
        colour = (trace.get("error_y") or trace.get("error_x") or {}).get("color") or "#000000"
        yield f"\\addplot[{_colour(colour, colours, {})}, only marks, mark=none, forget plot, {_bars(trace)}] coordinates {{{found}}};"


def _texts(panel: Panel, trace: dict[str, Any], colours: tex.Colours, x: list[float], y: list[float]) -> Iterator[str]:
    for at, (across, up) in enumerate(zip(x, y, strict=True)):
        words = str(nth(trace.get("text", ""), at) or "")
        if not words or not (math.isfinite(across) and math.isfinite(up)):
            continue
        upright, _, end = str(nth(trace.get("textposition") or "middle center", at)).partition(" ")
        anchor = f"{_SIDES[upright]} {_ENDS[end]}".strip() or "center"
        name, _ = colours(str(nth((trace.get("textfont") or {}).get("color") or "#000000", at)))
        yield f"\\node[anchor={anchor}, align=left, text={name}, inner sep=2bp] at {panel.place(across, up)} {{{tex.text(words)}}};"


def _pairs(x: list[float], y: list[float], jump: bool) -> Iterator[str]:
    for across, up in zip(x, y, strict=True):
        there = math.isfinite(across) and math.isfinite(up)
        if there or jump:
            yield f"({tex.number(across)},{tex.number(up)})" if there else f"({tex.number(across if math.isfinite(across) else 0)},nan)"


def _first_colour(trace: dict[str, Any]) -> str:
    for part in (trace.get("line"), trace.get("marker")):
        if part and isinstance(part.get("color"), str):
            return part["color"]
    return "#000000"


def _colour(colour: str, colours: tex.Colours, trace: dict[str, Any]) -> str:
    name, alpha = colours(colour)
    alpha *= float(trace.get("opacity", 1))
    return f"{name}, opacity={alpha:.3g}" if alpha < 1 else name


def nth(value: Any, at: int) -> Any:
    """A value for all points, or the value of a point."""
    if hasattr(value, "__len__") and not isinstance(value, str | dict):
        return value[at] if at < len(value) else None
    return value
