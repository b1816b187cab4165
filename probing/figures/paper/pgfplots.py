"""A figure as code for LaTeX's package pgfplots, which compiles by itself and which an author can change."""

import math
import re
from collections.abc import Iterator
from typing import Any

import plotly.graph_objects as go

from probing.core.errors import FigureError
from probing.figures.paper import areas, marks, tex
from probing.figures.paper.panels import Panel, panels
from probing.figures.paper.sizing import PER_INCH, TEXT, WIDTHS, Columns, contents, legend_entries, lines_of

_KINDS = ("scatter", "scattergl", "bar", "heatmap")
_LINE = 1.3 * TEXT
_HEAD = r"""% {what}
% pdflatex or lualatex makes a PDF of this file; \input of the part between \begin{{tikzpicture}} and \end{{tikzpicture}}, with the
% lines before it in the preamble, puts it into a paper. Text of 8 pt, {width} in wide.
\documentclass[border=1pt]{{standalone}}
\usepackage{{amssymb,textcomp}}
\usepackage{{pgfplots}}
\pgfplotsset{{compat=1.16}}
\usetikzlibrary{{patterns,plotmarks}}
\usepgfplotslibrary{{colormaps}}
"""


def pgfplots(figure: go.Figure, columns: Columns, what: str = "") -> str:
    """The code of a figure: the axes, all values, and the colours by name.

    Args:
        figure: as ``probing.figures`` draws it.
        columns: 1 or 2, see ``sizing.sized``.
        what: a comment above the code.

    Raises:
        FigureError: if the figure has a kind of trace or look that there is no code for; the message names it.
    """
    content = contents(figure, columns)
    layout = content["layout"]
    if unknown := sorted({one.get("type", "scatter") for one in content["data"]} - set(_KINDS)):
        raise FigureError(f"got traces of the type {', '.join(unknown)}; expected {', '.join(_KINDS)}. Save the figure as SVG or PDF")
    found = panels(content)
    if not found:
        raise FigureError("got a figure without traces; there is nothing to write for LaTeX")
    colours = tex.Colours()
    margin = layout["margin"]
    width = layout["width"] - max((one.y.room() for one in found if one.corner(1, 1)[0] == 0), default=0) - margin["r"] - _bar_room(content)
    height = layout["height"] - margin["t"] - margin["b"]
    drawn = "".join(_panel(one, content, (max(width, 60), height), colours, first=one is _top_left(found)) for one in found)
    loose = "".join(f"{line}\n" for line in _loose(layout, (max(width, 60), height), colours))
    comment = re.sub(r"\s+", " ", what or "A figure")
    return (
        _HEAD.format(what=comment, width=tex.number(WIDTHS[columns])) + colours.defined() + "\\begin{document}\n"
        "\\begin{tikzpicture}[font=\\sffamily\\fontsize{8}{9.6}\\selectfont]\n" + drawn + loose + "\\end{tikzpicture}\n"
        "\\end{document}\n"
    )


def _panel(panel: Panel, content: dict[str, Any], size: tuple[float, float], colours: tex.Colours, *, first: bool) -> str:
    """One pair of axes with everything on it."""
    layout = content["layout"]
    left, bottom, wide, high = panel.corner(*size)
    options = [
        f"at={{({left:.4g}in,{bottom:.4g}in)}}", "anchor=south west", "scale only axis", f"width={wide:.4g}in", f"height={high:.4g}in",
        "clip=false", "axis on top=false", "scaled ticks=false", "tick align=outside", "tick pos=left", "axis line style={gray}",
        "grid style={gray!25}", "tick style={gray}", "label style={font=\\sffamily\\fontsize{8}{9.6}\\selectfont, align=center}",
        "tick label style={font=\\sffamily\\fontsize{8}{9.6}\\selectfont, align=center}", *panel.x.options(), *panel.y.options(),
    ]  # fmt: skip
    for trace in panel.traces:
        options += areas.colour_bar(trace) if trace.get("type") == "heatmap" else []
    lines = []
    if first and (entries := legend_entries(content)):
        options.append(_legend_style(layout, entries, size[1]))
        lines += [line for trace in entries for line in _entry(trace, colours)]
    shapes = [one for one in layout.get("shapes", ()) if _belongs(one, panel)]
    lines += [_shape(one, panel, colours) for one in shapes if one.get("layer") == "below"]
    for trace in panel.traces:
        lines += {"bar": lambda t: areas.bars(panel, t, layout, colours), "heatmap": lambda t: areas.cells(panel, t, colours)}.get(
            trace.get("type", "scatter"), lambda t: marks.draw(panel, t, colours)
        )(trace)
    lines += [_shape(one, panel, colours) for one in shapes if one.get("layer") != "below"]
    lines += [line for note in layout.get("annotations", ()) if _belongs(note, panel) for line in _note(note, panel, colours)]
    joined = ",\n  ".join(options)
    return f"\\begin{{axis}}[\n  {joined}]\n" + "".join(f"{line}\n" for line in lines) + "\\end{axis}\n"


def _top_left(found: list[Panel]) -> Panel:
    return min(found, key=lambda one: (-one.corner(1, 1)[1], one.corner(1, 1)[0]))


def _bar_room(content: dict[str, Any]) -> float:
    """Pixels for bars of colours on the right."""
    upright = [one for one in content["data"] if one.get("type") == "heatmap" and one.get("showscale") is not False]
    return 44.0 if any((one.get("colorbar") or {}).get("orientation") != "h" for one in upright) else 0.0


def _legend_style(layout: dict[str, Any], entries: list[dict[str, Any]], height: float) -> str:
    """The legend above the axes, as high above them as titles of panels need."""
    widest = max(42 + 0.53 * TEXT * max(map(len, lines_of(one["name"]))) for one in entries)
    total = sum(42 + 0.53 * TEXT * max(map(len, lines_of(one["name"]))) for one in entries)
    abreast = len(entries) if total <= layout["width"] else max(int(layout["width"] / widest), 1)
    over = [
        (note["y"] - 1) * height + note.get("yshift", 0) + _LINE * len(lines_of(note.get("text")))
        for note in layout.get("annotations", ())
        if note.get("yref") == "paper" and note.get("yanchor") == "bottom" and note.get("y", 0) > 0.5
    ]
    up = tex.points(max([6.0, *over]))
    return (
        f"legend columns={abreast}, legend cell align=left, legend style={{at={{(0,1)}}, anchor=south west, yshift={up}, draw=none, "
        "fill=none, cells={align=left}, /tikz/every even column/.append style={column sep=6bp}}"
    )


def _entry(trace: dict[str, Any], colours: tex.Colours) -> Iterator[str]:
    """The entry of a trace in the legend."""
    kind, mode = trace.get("type", "scatter"), trace.get("mode") or "lines"
    if kind == "bar":
        look = f"area legend, {areas.looks(trace, colours)[-1]}"
    elif trace.get("fill") == "toself" and "markers" not in mode and not (trace.get("line") or {}).get("width"):
        name, alpha = colours(trace.get("fillcolor") or "#808080")
        look = f"area legend, draw=none, fill={name}, fill opacity={alpha:.3g}"
    else:
        parts = marks.line_options(trace, colours) if "lines" in mode else ["only marks"]
        look = ", ".join(parts + (marks.mark_options(trace, colours) if "markers" in mode else []))
    yield f"\\addlegendimage{{{look}}}"
    yield f"\\addlegendentry{{{tex.text(trace['name'])}}}"


def _belongs(part: dict[str, Any], panel: Panel) -> bool:
    """Whether a shape or note is placed by the axes of a panel; one that is placed by the picture belongs to none."""
    refs = [str(part.get(f"{letter}ref") or letter).removesuffix(" domain") for letter in "xy"]
    names = [one.key.replace("axis", "") for one in (panel.x, panel.y)]
    if refs == ["paper", "paper"]:
        return False
    return all(ref in (name, "paper") for ref, name in zip(refs, names, strict=True))


def _at(part: dict[str, Any], which: str, panel: Panel, note: bool = False) -> float:
    """A coordinate of a shape or note in units of its axis. A note on a logarithmic axis is placed by its exponent."""
    letter = which[0]
    axis = panel.x if letter == "x" else panel.y
    reference = str(part.get(f"{letter}ref") or letter)
    if reference.endswith(" domain") or reference == "paper":
        return axis.within(float(part[which]))
    return 10.0 ** float(part[which]) if note and axis.log else axis.at(part[which])


def _shape(part: dict[str, Any], panel: Panel, colours: tex.Colours) -> str:
    corners = [panel.place(_at(part, f"x{end}", panel), _at(part, f"y{end}", panel)) for end in "01"]
    line = part.get("line") or {}
    options = []
    if line.get("width", 2) > 0:
        name, alpha = colours(line.get("color") or "#444444")
        alpha *= float(part.get("opacity", 1))
        options += [f"draw={name}", f"line width={tex.points(line.get('width', 2))}", marks.dash(line.get("dash") or "solid")]
        options += [f"draw opacity={alpha:.3g}"]
    if part.get("type") == "rect" and part.get("fillcolor"):
        name, alpha = colours(part["fillcolor"])
        options += [f"fill={name}", f"fill opacity={alpha * float(part.get('opacity', 1)):.3g}"]
    if part.get("type") not in ("line", "rect"):
        raise FigureError(f"got a shape of the type {part.get('type')!r}; expected line or rect. Save the figure as SVG or PDF")
    return f"\\path[{', '.join(options)}] {corners[0]} {'--' if part['type'] == 'line' else 'rectangle'} {corners[1]};"


def _note(note: dict[str, Any], panel: Panel, colours: tex.Colours) -> Iterator[str]:
    """A text at a point of the axes; if it has moved away from its point, with a line to it."""
    x, y = (_at(note, letter, panel, note=True) for letter in "xy")
    if not (math.isfinite(x) and math.isfinite(y)) or not note.get("text"):
        return
    away = (float(note.get("ax") or 0), -float(note.get("ay") or 0)) if note.get("showarrow", True) else (0.0, 0.0)
    shift = (away[0] + float(note.get("xshift") or 0), away[1] + float(note.get("yshift") or 0))
    if note.get("showarrow", True) and note.get("arrowwidth", 1):
        name, alpha = colours(note.get("arrowcolor") or "#808080")
        bend = f"++({tex.points(away[0])},{tex.points(away[1])})"
        yield f"\\draw[{name}, opacity={alpha:.3g}, line width=0.5bp, shorten <=3bp] {panel.place(x, y)} -- {bend};"
    yield f"\\node[{_words(note, colours, shift)}] at {panel.place(x, y)} {{{tex.text(note['text'])}}};"


def _loose(layout: dict[str, Any], size: tuple[float, float], colours: tex.Colours) -> Iterator[str]:
    """Texts and shapes that are placed by the whole picture, such as titles of panels."""
    width, height = size[0] / PER_INCH, size[1] / PER_INCH
    for part in layout.get("shapes", ()):
        if str(part.get("xref")) == str(part.get("yref")) == "paper":
            ends = [f"({part[f'x{end}'] * width:.4g}in,{part[f'y{end}'] * height:.4g}in)" for end in "01"]
            line = part.get("line") or {}
            name, _ = colours(line.get("color") or "#444444")
            look = f"draw={name}, line width={tex.points(line.get('width', 2))}, {marks.dash(line.get('dash') or 'solid')}"
            yield f"\\path[{look}] {ends[0]} {'--' if part.get('type') == 'line' else 'rectangle'} {ends[1]};"
    for note in layout.get("annotations", ()):
        if str(note.get("xref")) == str(note.get("yref")) == "paper" and note.get("text"):
            shift = (float(note.get("xshift") or 0), float(note.get("yshift") or 0))
            spot = f"({note['x'] * width:.4g}in,{note['y'] * height:.4g}in)"
            yield f"\\node[{_words(note, colours, shift)}] at {spot} {{{tex.text(note['text'])}}};"


def _words(note: dict[str, Any], colours: tex.Colours, shift: tuple[float, float]) -> str:
    """The options of a text: anchor, alignment, colour and shift."""
    sides = {"top": "north", "bottom": "south", "left": "west", "right": "east"}
    anchor = " ".join(sides[one] for one in (note.get("yanchor"), note.get("xanchor")) if one in sides) or "center"
    name, _ = colours((note.get("font") or {}).get("color") or "#000000")
    align = note.get("align") or ("left" if note.get("xanchor") == "left" else "center")
    turned = f", rotate={tex.number(-note['textangle'])}" if note.get("textangle") else ""
    moved = f", xshift={tex.points(shift[0])}, yshift={tex.points(shift[1])}" if any(shift) else ""
    return f"anchor={anchor}, align={align}, text={name}, inner sep=1bp{moved}{turned}"
