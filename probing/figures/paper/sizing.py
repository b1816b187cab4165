"""A figure at the width of one or two columns of a paper: text of 8 pt at final size, light, without anything that only a page needs."""

import base64
import math
import re
from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
import plotly.graph_objects as go

from probing.figures import theme

Columns = Literal[1, 2]
#: Columns -> width in inches, as in the style files of ACL and NeurIPS.
WIDTHS: dict[Columns, float] = {1: 3.25, 2: 6.75}
#: Size of all text at the final width, in points.
POINTS = 8
#: Pixels per inch of CSS, Plotly and SVG.
PER_INCH = 96
#: Size of all text, in pixels.
TEXT = POINTS * PER_INCH / 72
#: Text is black; what is grey on a page is dark enough for print.
BLACK, GREY = "#000000", "#4D4D4D"
#: Height of a page's figure that its axis titles and its stamp take, in pixels; see ``theme.stamped``.
_BELOW = 80
#: Lines, markers and caps, in proportion to those on a page.
_LOOKS = {1: 0.75, 2: 0.85}
#: Of a legend: the symbol with its gaps, and the height of a row without its text's further lines.
_SYMBOL, _ROW = 42, 19
#: Mean width of a character and height of a line, in pixels.
_CHARACTER, _LINE = 0.53 * TEXT, 1.3 * TEXT
_GAP = 6


def width(columns: Columns) -> int:
    """Width in pixels.

    Raises:
        ValueError: for a number of columns other than 1 and 2.
    """
    if columns not in WIDTHS:
        raise ValueError(f"got {columns!r} columns; expected one of {', '.join(map(str, WIDTHS))}")
    return round(WIDTHS[columns] * PER_INCH)


def sized(figure: go.Figure, columns: Columns) -> go.Figure:
    """A copy of a figure for a paper.

    Its width is 3.25 or 6.75 inches at 96 pixels per inch, its text has 8 pt there, and its colours are those of white paper. What answers
    a mouse is left out, as is the stamp: a paper has both in its caption.

    Args:
        figure: as ``probing.figures`` draws it; it is not changed.
        columns: 1 or 2.

    Raises:
        ValueError: for another number of columns.
    """
    return go.Figure(contents(figure, columns), layout_template=theme.TEMPLATE)


def contents(figure: go.Figure, columns: Columns) -> dict[str, Any]:
    """The data and the layout of ``sized``, with plain lists for arrays and without a template.

    Raises:
        ValueError: as ``sized``.
    """
    wide = width(columns)
    made = theme.ink(go.Figure(figure)).to_plotly_json()
    content: dict[str, Any] = {name: _plain(made[name]) for name in ("data", "layout")}
    content["data"] = [_still(trace) for trace in content["data"] if not _unseen(trace)]
    layout = content["layout"]
    layout.pop("template", None)
    layout["annotations"] = [note for note in layout.get("annotations", ()) if note.get("name") != "stamp"]
    _text(layout)
    for trace in content["data"]:
        _text(trace)
        _written_out(trace)
        _scale(trace, _LOOKS[columns])
    for shape in layout.get("shapes", ()):
        _scale(shape, _LOOKS[columns])
    layout.update(width=wide, hovermode=False, dragmode=False, paper_bgcolor="#FFFFFF", plot_bgcolor="#FFFFFF")
    layout["font"] = {"family": "Helvetica, Arial, sans-serif", "size": TEXT, "color": BLACK}
    for _, axis in _axes(layout):
        _axis_text(axis)
        axis.update(showspikes=False, automargin=True, fixedrange=True)
    _heights(content, wide)
    _flat(layout, wide)
    return content


def _plain(value: Any) -> Any:
    """A copy with lists for arrays, which Plotly also writes as base64."""
    if isinstance(value, dict):
        if "bdata" in value:
            shape = [int(one) for one in str(value.get("shape", "-1")).split(",")]
            return np.frombuffer(base64.b64decode(value["bdata"]), dtype=value["dtype"]).reshape(shape).tolist()
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return value.tolist() if isinstance(value, np.ndarray) else value


def _flat(layout: dict[str, Any], wide: int) -> None:
    """Keeps short labels of layers upright; where they would meet, every second one is left out."""
    room = wide - layout["margin"]["l"] - layout["margin"]["r"] - 45
    for name, axis in _axes(layout):
        texts = axis.get("ticktext")
        if not name.startswith("x") or texts is None or axis.get("tickangle") not in (None, "auto"):
            continue
        lengths = [max(map(len, lines_of(text))) for text in texts]
        if max(lengths, default=9) > 5:
            continue
        start, end = axis.get("domain") or (0, 1)
        step = math.ceil(sum(one + 0.8 for one in lengths) * _CHARACTER / max(room * (end - start), 1))
        axis.update(tickangle=0, ticktext=[text if place % step == 0 else "" for place, text in enumerate(texts)])


def legend_entries(content: dict[str, Any]) -> list[dict[str, Any]]:
    """The traces that the legend of a figure shows, in order; each name of a group once."""
    layout, found, groups = content["layout"], [], set()
    drawn = [trace for trace in content["data"] if trace.get("visible", True) is True]
    if layout.get("showlegend") is False or (len(drawn) < 2 and not layout.get("showlegend")):
        return []
    for trace in drawn:
        group = trace.get("legendgroup") or ""
        if trace.get("showlegend", trace.get("type") != "heatmap") is False or not trace.get("name") or (group, trace["name"]) in groups:
            continue
        groups.add((group, trace["name"]))
        found.append(trace)
    return found


def lines_of(text: object) -> list[str]:
    """The lines of a text of Plotly, without its markup."""
    return [re.sub(r"<[^>]+>", "", line) for line in re.split(r"<br\s*/?>", str(text or ""))]


def _axes(layout: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, axis in layout.items():
        if re.fullmatch(r"[xy]axis\d*", name):
            yield name, axis


def _unseen(trace: dict[str, Any]) -> bool:
    """Whether a trace has nothing to see: its markers are transparent and only answer the mouse."""
    return trace.get("mode") == "markers" and trace.get("marker", {}).get("opacity") == 0


def _still(trace: dict[str, Any]) -> dict[str, Any]:
    """The trace without what only a mouse asks for."""
    of_mouse = ("hovertemplate", "hovertext", "hoverlabel", "hoveron", "customdata", "selected", "unselected", "selectedpoints", "ids")
    kept = {name: value for name, value in trace.items() if name not in of_mouse}
    if trace.get("type", "scatter") == "scatter" and "text" not in trace.get("mode", ""):
        kept.pop("text", None)
    return {**kept, "hoverinfo": "skip"}


def _written_out(trace: dict[str, Any]) -> None:
    """Gives a trace the widths and sizes that Plotly would else fill in, so that they are scaled."""
    mode = trace.get("mode", "") if trace.get("type", "scatter") == "scatter" else ""
    if "lines" in mode:
        trace["line"] = {"width": 2, **trace.get("line", {})}
    if "markers" in mode:
        trace["marker"] = {"size": 6, **trace.get("marker", {})}
    for name in ("error_x", "error_y"):
        if isinstance(trace.get(name), dict):
            trace[name] = {"width": 4, "thickness": 2, **trace[name]}


def _text(part: Any) -> None:
    """Gives every text inside a part of a figure its size; grey text becomes darker."""
    if isinstance(part, dict):
        for name, value in part.items():
            if name.endswith("font") and isinstance(value, dict):
                value["size"] = TEXT
                if value.get("color") in (theme.NEUTRAL, theme.INK):
                    value["color"] = GREY if value["color"] == theme.NEUTRAL else BLACK
            else:
                _text(value)
        bar = part.get("colorbar")
        if isinstance(bar, dict):
            _axis_text(bar)
            bar.setdefault("thickness", 10)
    elif isinstance(part, list | tuple):
        for value in part:
            _text(value)


def _axis_text(axis: dict[str, Any]) -> None:
    """Gives an axis, or a bar of colours, its sizes of text, which Plotly would else derive from others."""
    title = axis.get("title")
    axis["title"] = dict(title) if isinstance(title, dict) else {"text": title or ""}
    axis["title"]["font"] = {**axis["title"].get("font", {}), "size": TEXT, "color": BLACK}
    axis["tickfont"] = {**axis.get("tickfont", {}), "size": TEXT}


def _scale(part: dict[str, Any], factor: float) -> None:
    """Scales lines, markers and caps in place; the width of a bar is in units of its axis."""
    for name in ("line", "marker", "error_x", "error_y", "pattern"):
        if isinstance(inner := part.get(name), dict):
            inner.update({size: _times(inner[size], factor) for size in ("width", "size", "thickness") if size in inner})
            _scale(inner, factor)


def _times(value: Any, factor: float) -> Any:
    if isinstance(value, int | float):
        return value * factor
    return [_times(one, factor) for one in value] if hasattr(value, "__iter__") and not isinstance(value, str | dict) else value


def _heights(content: dict[str, Any], wide: int) -> None:
    """Sets margins and height: the axes keep their height in pixels, by which names at the ends of lines are placed."""
    layout = content["layout"]
    margin = {"l": 8, "r": 8, "t": 36, "b": 8, "pad": 2, **layout.get("margin", {})}
    axes = max((layout.get("height") or 420) - _BELOW - margin["t"], 40)
    above = _above(layout, axes)
    if entries := legend_entries(content):
        legend = layout.setdefault("legend", {})
        gap = max((legend.get("y", 1.02) - 1) * axes, above)
        rows = _wrapped(entries, wide - _GAP)
        # At the edges of the picture, not of the axes: so it has the whole width, and its size does not move the axes.
        legend.update(
            {
                "orientation": "h",
                "xref": "container",
                "x": 0,
                "xanchor": "left",
                "yref": "container",
                "y": 1,
                "yanchor": "top",
                "font": {"size": TEXT, "color": BLACK},
                "title": {"text": ""},
                "itemwidth": 30,
                "bgcolor": "rgba(255,255,255,0)",
            }
        )
        margin["t"] = gap + rows + 4
    else:
        layout["showlegend"] = False
        margin["t"] = max(above, _GAP) + 2
    for trace in content["data"]:
        shown = any(trace is entry for entry in entries)
        trace["showlegend"] = shown
        trace.pop("legendgroup", None)
    margin["b"] = _below(layout)
    layout.update(margin=margin, height=math.ceil(axes + margin["t"] + margin["b"]))


def _wrapped(entries: list[dict[str, Any]], room: float) -> float:
    """Height of the legend, in pixels; names that are too long for its width are broken."""
    longest = max(int((room - _SYMBOL) / _CHARACTER), 8)
    for trace in entries:
        trace["name"] = "<br>".join(piece for line in re.split(r"<br\s*/?>", trace["name"]) for piece in _pieces(line, longest))
    sizes = [_SYMBOL + _CHARACTER * max(map(len, lines_of(trace["name"]))) for trace in entries]
    tallest = _ROW + _LINE * (max(len(lines_of(trace["name"])) for trace in entries) - 1)
    abreast = len(entries) if sum(sizes) <= room else max(int(room / max(sizes)), 1)
    return tallest * math.ceil(len(entries) / abreast)


def _pieces(line: str, longest: int) -> list[str]:
    """A line broken between words; markup counts as part of its word."""
    found = [""]
    for word in line.split(" "):
        if found[-1] and len(lines_of(f"{found[-1]} {word}")[0]) > longest:
            found.append(word)
        else:
            found[-1] = f"{found[-1]} {word}".strip()
    return found


def _above(layout: dict[str, Any], axes: float) -> float:
    """Pixels that titles of panels, and an axis on top, need above the axes."""
    found = 0.0
    for note in layout["annotations"]:
        if note.get("yref") == "paper" and note.get("text") and note.get("yanchor") == "bottom" and note.get("y", 0) > 0.5:
            lines = len(lines_of(note["text"]))
            found = max(found, (note["y"] - 1) * axes + note.get("yshift", 0) + lines * _LINE + 2)
    for name, axis in _axes(layout):
        if name.startswith("x") and axis.get("side") == "top":
            found = max(found, _ticks(axis) + _title(axis))
    return found


def _below(layout: dict[str, Any]) -> float:
    """Pixels that the axes' labels and titles, and notes, need below the axes."""
    found = 4.0
    for name, axis in _axes(layout):
        lowest = (layout.get(name.replace("x", "y", 1), {}).get("domain") or (0, 1))[0] < 0.01
        if name.startswith("x") and axis.get("side") != "top" and axis.get("visible", True) and lowest:
            found = max(found, _ticks(axis) + _title(axis))
    for note in layout["annotations"]:
        if note.get("yref") == "paper" and note.get("y") == 0 and note.get("yanchor") == "top":
            found = max(found, len(lines_of(note["text"])) * _LINE - note.get("yshift", 0))
    return found + 4


def _ticks(axis: dict[str, Any]) -> float:
    if axis.get("showticklabels") is False:
        return _GAP
    texts = axis.get("ticktext")
    texts = [] if texts is None else list(texts)
    steep = axis.get("tickangle") not in (None, 0, "auto")
    longest = max((len(line) for text in texts for line in lines_of(text)), default=0)
    return _GAP + (_CHARACTER * longest if steep else _LINE * max((len(lines_of(text)) for text in texts), default=1))


def _title(axis: dict[str, Any]) -> float:
    text = axis["title"].get("text")
    return _LINE * len(lines_of(text)) + _GAP if text else 0.0
