"""A figure for a paper: one or two columns wide, light, 8 pt, as PDF by kaleido and a browser of this machine."""

import base64
import html
import importlib.util
import math
import re
import textwrap
from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
import plotly.graph_objects as go
import plotly.io as pio
from PIL import ImageFont

from probing.kernel.errors import FigureError
from probing.kernel.figures import theme
from probing.kernel.figures.axis import ZERO

Columns = Literal[1, 2]
#: Columns -> width in inches, as in the style files of ACL and NeurIPS.
WIDTHS: dict[Columns, float] = {1: 3.25, 2: 6.75}
#: Width in words -> columns.
NAMES: dict[str, Columns] = {"column": 1, "text": 2}
#: Size of all text at the final width, in points.
POINTS = 8
#: Pixels per inch of CSS, Plotly and SVG.
PER_INCH = 96
#: Size of all text, in pixels.
TEXT = POINTS * PER_INCH / 72
#: Text is black; what is grey on a page is dark enough for print.
BLACK, GREY = "#000000", "#4D4D4D"
#: Height of a figure in one column is at most that in inches, and its axes take at least that share of its width.
HIGHEST, LEAST = 2.4, 0.65
#: Height of a page's figure that its axis titles and its stamp take, in pixels; see ``theme.stamped``.
_BELOW = 80
#: Lines, markers and caps, in proportion to those on a page.
_LOOKS = {1: 0.75, 2: 0.85}
#: Of a legend: the symbol with its gaps, and the height of a row without its text's further lines.
_SYMBOL, _ROW = 46, 19
#: Height of a line of text, in pixels.
_LINE = 1.3 * TEXT
_GAP = 6
#: Columns -> room for the labels and the title of a horizontal axis, in pixels.
_FOOT: dict[Columns, int] = {1: 38, 2: 58}
#: As wide as Helvetica within some per cent.
_FONT = ImageFont.load_default(TEXT)


def width(columns: Columns) -> int:
    """Width in pixels; ValueError for a number of columns other than 1 and 2."""
    if columns not in WIDTHS:
        raise ValueError(f"got {columns!r} columns; expected one of {', '.join(map(str, WIDTHS))}")
    return round(WIDTHS[columns] * PER_INCH)


def sized(figure: go.Figure, columns: Columns) -> go.Figure:
    """A copy of a figure for a paper: 3.25 or 6.75 inches wide at 96 pixels per inch, its text of 8 pt there.

    What answers a mouse is left out, as is the stamp: a paper has both in its caption.
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
    if columns == 1:
        _in_a_column(content)
    _heights(content, columns)
    _flat(layout, wide)
    return go.Figure(content, layout_template=theme.TEMPLATE)


def _plain(value: Any) -> Any:
    """A copy with lists for arrays, which Plotly also writes as base64."""
    if isinstance(value, dict):
        if "bdata" in value:
            shape = [int(size) for size in str(value.get("shape", "-1")).split(",")]
            return np.frombuffer(base64.b64decode(value["bdata"]), dtype=value["dtype"]).reshape(shape).tolist()
        return {name: _plain(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    return value.tolist() if isinstance(value, np.ndarray) else value


def _flat(layout: dict[str, Any], wide: int) -> None:
    """Keeps short labels of layers upright; where they would meet, every second one is left out."""
    room = wide - layout["margin"]["l"] - layout["margin"]["r"] - 45
    for name, axis in _axes(layout):
        texts = axis.get("ticktext")
        if not name.startswith("x") or texts is None or axis.get("tickangle") not in (None, "auto", 0):
            continue
        lengths = [long(text) for text in texts]
        if max(lengths, default=99) > 30:
            continue
        start, end = axis.get("domain") or (0, 1)
        step = math.ceil(sum(length + 8 for length in lengths) / max(room * (end - start), 1))
        axis.update(tickangle=0, ticktext=[text if place % step == 0 else "" for place, text in enumerate(texts)])


def legend_entries(content: dict[str, Any]) -> list[dict[str, Any]]:
    """The traces that the legend of a figure shows, in order; each name of a group once."""
    layout, entries, groups = content["layout"], [], set()
    drawn = [trace for trace in content["data"] if trace.get("visible", True) is True]
    if layout.get("showlegend") is False or (len(drawn) < 2 and not layout.get("showlegend")):
        return []
    for trace in drawn:
        group = trace.get("legendgroup") or ""
        if (
            trace.get("showlegend", trace.get("type") != "heatmap") is False
            or not trace.get("name")
            or (group, trace["name"]) in groups
        ):
            continue
        groups.add((group, trace["name"]))
        entries.append(trace)
    return entries


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
    of_mouse = (
        "hovertemplate",
        "hovertext",
        "hoverlabel",
        "hoveron",
        "customdata",
        "selected",
        "unselected",
        "selectedpoints",
        "ids",
    )
    printed = {name: value for name, value in trace.items() if name not in of_mouse}
    if trace.get("type", "scatter") == "scatter" and "text" not in trace.get("mode", ""):
        printed.pop("text", None)
    return {**printed, "hoverinfo": "skip"}


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
            inner.update(
                {size: _times(inner[size], factor) for size in ("width", "size", "thickness") if size in inner}
            )
            _scale(inner, factor)


def _times(value: Any, factor: float) -> Any:
    if isinstance(value, int | float):
        return value * factor
    return (
        [_times(entry, factor) for entry in value]
        if hasattr(value, "__iter__") and not isinstance(value, str | dict)
        else value
    )


def _in_a_column(content: dict[str, Any]) -> None:
    """Makes room in a figure of one column: what stands beside its axes goes above them, texts lose their last line."""
    layout = content["layout"]
    layout.setdefault("margin", {})["r"] = (
        26 if any("text" in trace.get("mode", "") and trace.get("textposition") for trace in content["data"]) else 12
    )
    for trace in content["data"]:
        texts = trace.get("text")
        if isinstance(texts, list) and trace.get("type") != "heatmap":
            trace["text"] = [text.rpartition("<br>")[0] or text if isinstance(text, str) else text for text in texts]
        if trace.get("type") == "heatmap" and trace.get("showscale") is not False:
            bar = trace.setdefault("colorbar", {})
            bar.update(
                orientation="h",
                x=0,
                xanchor="left",
                y=1,
                yanchor="bottom",
                thickness=8,
                len=1,
                lenmode="fraction",
                ypad=0,
            )
            bar.setdefault("title", {}).update(side="top")
    for _, axis in _axes(layout):
        if axis.get("ticktext") is not None:
            axis["ticktext"] = [str(text).removesuffix(f"<br>{ZERO}") for text in axis["ticktext"]]
    _end_labels(content)
    _side_by_side(content)


def _end_labels(content: dict[str, Any]) -> None:
    """Puts the names at the ends of lines into the legend."""
    layout, named = content["layout"], set()
    for note in [note for note in layout["annotations"] if note.get("name") == "end label"]:
        layout["annotations"].remove(note)
        text = one_line(note["text"])
        # A note on a logarithmic axis is placed by its exponent.
        logarithmic = layout[note["xref"].replace("x", "xaxis")].get("type") == "log"
        end = (10 ** note["x"] if logarithmic else note["x"], note["y"])
        ends_here = []
        for trace in content["data"]:
            here = (trace.get("xaxis", "x"), trace.get("yaxis", "y")) == (note["xref"], note["yref"]) and trace.get(
                "fill"
            ) != "toself"
            points = zip(trace.get("x", ()), trace.get("y", ()), strict=False)
            if here and any(None not in point and math.dist(point, end) < 1e-6 for point in points):
                ends_here.append(trace)
        # Several lines may end in one place.
        for trace in sorted(ends_here, key=lambda candidate: one_line(candidate.get("name", "")) != text)[:1]:
            trace.update(name=text, showlegend=text not in named)
            named.add(text)
            layout["showlegend"] = True


def _side_by_side(content: dict[str, Any]) -> None:
    """Lays rows of panels in a grid; only outer axes have titles, and labels where they are alike."""
    layout = content["layout"]
    pairs = list(dict.fromkeys((trace.get("xaxis") or "x", trace.get("yaxis") or "y") for trace in content["data"]))
    panels = [(layout[x.replace("x", "xaxis")], layout[y.replace("y", "yaxis")]) for x, y in pairs]
    titled = {round(note["y"], 3) for note in layout["annotations"] if note.get("yref") == "paper"}
    tops = {round((y.get("domain") or (0, 1))[1], 3) for _, y in panels}
    if len(tops) < 2 or (titled and not titled <= tops):
        return
    if len({x for x, _ in pairs}) == 1:
        for trace in content["data"]:
            trace["xaxis"] = (trace.get("yaxis") or "y").replace("y", "x")
        pairs = [(y.replace("y", "x"), y) for _, y in pairs]
        panels = [
            (layout.setdefault(x.replace("x", "xaxis"), _plain(panels[0][0])), y)
            for (x, _), (_, y) in zip(pairs, panels, strict=True)
        ]
        layout["shapes"] = [shape for shape in layout.get("shapes", ()) if shape.get("yref") != "paper"]
    abreast = 2 if len(panels) <= 4 else 3
    rows = math.ceil(len(panels) / abreast)
    alike = len({str(y.get("range")) for _, y in panels}) == 1 and "range" in panels[0][1]
    column_gap, between = (0.04 if alike else 0.14), 0.13
    high, wide = (1 - between * (rows - 1)) / rows, (1 - column_gap * (abreast - 1)) / abreast
    sides = [y["title"].get("text") or "" for _, y in panels]
    below = next((x["title"]["text"] for x, _ in panels if x["title"].get("text")), "")
    for place, (x, y) in enumerate(panels):
        row, column = divmod(place, abreast)
        left, top, start = column * (wide + column_gap), 1 - row * (high + between), (x.get("domain") or (0, 1))[0]
        over = [
            note
            for note in layout["annotations"]
            if note.get("yref") == "paper"
            and abs(note["y"] - y["domain"][1]) < 0.001
            and start - 0.001 <= note["x"] <= start + 1 / abreast
        ]
        if not over and len(set(sides) - {""}) > 1:
            over = [
                {"text": sides[place], "showarrow": False, "yanchor": "bottom", "xref": "paper", "font": {"size": TEXT}}
            ]
            layout["annotations"] += over
        for note in over:
            text = shortened(note["text"].partition("<br><span")[0], (wide + column_gap / 2) * width(1) * 0.78 - _GAP)
            note.update(x=left, y=top, xanchor="left", yref="placed", yshift=0, text=text)
        for axis in (x, y):
            axis.pop("matches", None)
            if axis.get("ticktext") is None:
                for name in ("dtick", "tickvals", "tickmode"):
                    axis.pop(name, None)
        x.update(
            domain=[left, min(left + wide, 1)],
            showticklabels=place + abreast >= len(panels),
            automargin=row == rows - 1,
        )
        x.update(anchor=pairs[place][1], side="bottom", nticks=4, tickangle=0)
        y.update(
            domain=[max(top - high, 0), top], showticklabels=not alike or column == 0, nticks=3, automargin=column == 0
        )
        y.update(anchor=pairs[place][0])
        x["title"]["text"] = below if (row, column) == (rows - 1, 0) else ""
        y["title"]["text"] = sides[0] if (row, column) == ((rows - 1) // 2, 0) and len(set(sides) - {""}) == 1 else ""
    for note in layout["annotations"]:
        note["yref"] = "paper" if note.get("yref") == "placed" else note.get("yref")


def _heights(content: dict[str, Any], columns: Columns) -> None:
    """Sets margins and height; two columns keep the axes' pixels, by which names at the ends of lines are placed."""
    layout = content["layout"]
    margin = {"l": 8, "r": 8, "t": 36, "b": 8, "pad": 2, **layout.get("margin", {})}
    axes = max((layout.get("height") or 420) - _BELOW - margin["t"], 40)
    above = _above(layout, axes, columns)
    if any(trace.get("colorbar", {}).get("orientation") == "h" for trace in content["data"]):
        above += 3 * _LINE + 2 * _GAP
    margin["t"] = max(above, _GAP) + 2
    entries = legend_entries(content)
    for trace in content["data"]:
        trace["showlegend"] = any(trace is entry for entry in entries)
        trace.pop("legendgroup", None)
    layout["showlegend"] = bool(entries)
    if entries:
        margin["t"] = above + 4 + _legend(layout, entries, width(columns) - _GAP)
    margin["b"] = (
        _FOOT[columns]
        if any(name.startswith("x") and axis.get("visible", True) for name, axis in _axes(layout))
        else _GAP
    )
    height = math.ceil(axes + margin["t"] + margin["b"])
    if columns == 1:
        height = min(height, int(HIGHEST * PER_INCH))
        axes = height - margin["t"] - margin["b"]
        margin["b"] = _GAP
        for name, axis in _axes(layout):
            if name.startswith("y"):
                _rows(content, name, axes)
            _titled(axis, width(1) * LEAST if name.startswith("x") else axes)
    layout.update(margin=margin, height=height)


def _titled(axis: dict[str, Any], room: float) -> None:
    """Brings a title close to its axis, and breaks it where it is longer."""
    if text := one_line(axis["title"].get("text") or ""):
        what, bracket, unit = text.rpartition(" (")
        if bracket and long(text) > room and max(long(what), long(f"({unit}")) <= room:
            first, *others = what, f"({unit}"
        else:
            first, *others = textwrap.wrap(text, max(int(len(text) * room / max(long(text), 1)), 12))
        lines = [first, shortened(" ".join(others), room)] if others else [first]
        axis["title"].update(text="<br>".join(lines), standoff=4)


def _legend(layout: dict[str, Any], entries: list[dict[str, Any]], room: float) -> float:
    """Lays the legend out in columns above the axes and gives its height; names too long for one are shortened.

    Each column is a legend of its own: Plotly breaks the rows of one legend at the width of the axes, known once drawn.
    """
    longest = max(long(one_line(trace["name"])) for trace in entries)
    abreast = max(min(int(room / (_SYMBOL + longest)), len(entries)), 1)
    if math.ceil(len(entries) / abreast) > 2:
        abreast = max(abreast, 3 if len(entries) > 8 else 2)
    rows = math.ceil(len(entries) / abreast)
    for place, trace in enumerate(entries):
        column = place // rows
        trace["name"] = shortened(trace["name"], room / abreast - _SYMBOL)
        trace["legend"] = f"legend{column + 1}" if column else "legend"
        # At the edges of the picture, not of the axes: so it has the whole width, and its size does not move the axes.
        layout[trace["legend"]] = {
            "orientation": "h",
            "entrywidth": 1,
            "entrywidthmode": "fraction",
            "xref": "container",
            "x": column / abreast,
            "xanchor": "left",
            "yref": "container",
            "y": 1,
            "yanchor": "top",
            "font": {"size": TEXT, "color": BLACK},
            "itemwidth": 30,
            "tracegroupgap": 0,
            "bgcolor": "rgba(255,255,255,0)",
        }
    return _ROW * rows


def _rows(content: dict[str, Any], name: str, height: float) -> None:
    """Shortens a vertical axis's labels to their column; of rows lower than a line, every second or third has one."""
    layout = content["layout"]
    axis = layout[name]
    texts, places = axis.get("ticktext"), axis.get("tickvals")
    if texts is None or places is None:
        names = [
            category
            for trace in content["data"]
            if trace.get("yaxis", "y") == name.replace("axis", "")
            for category in trace.get("y") or ()
        ]
        texts = places = list(dict.fromkeys(category for category in names if isinstance(category, str)))
    if places is None or not len(texts):
        return
    start, end = axis.get("domain") or (0, 1)
    # Margins, ticks and what overhangs take the other 12 % beside the axes.
    room = (1 - LEAST - 0.12) * layout["width"] - (_LINE + _GAP if axis["title"].get("text") else 0)
    step = math.ceil(0.95 * TEXT * len(texts) / max(height * (end - start), 1))
    short = [shortened(str(text).partition("  <b>")[0], room) for text in texts]
    axis.update(
        tickmode="array",
        tickvals=list(places),
        ticktext=[text if place % step == 0 else "" for place, text in enumerate(short)],
    )


def long(text: object) -> float:
    """Width of a text of Plotly on its longest line, in pixels at the size of a paper."""
    return max(_FONT.getlength(html.unescape(line)) for line in lines_of(text))


def one_line(text: object) -> str:
    """A text of Plotly in one line, without markup."""
    return re.sub(r"<[^>]+>", "", re.sub(r"\s*<br\s*/?>\s*", " ", re.sub(r"-<br\s*/?>", "-", str(text))))


def shortened(text: str, room: float) -> str:
    """A text in one line of ``room`` pixels; what stands before its end, which may tell it from others, is left out."""
    whole = html.unescape(one_line(text))
    short, length = whole, len(whole)
    while length > 3 and long(theme.plain(short)) > room:
        length -= 1
        short = f"{whole[: length * 2 // 3].rstrip()}…{whole[length * 2 // 3 - length :].lstrip()}"
    return theme.plain(short)


def _above(layout: dict[str, Any], axes: float, columns: Columns) -> float:
    """Pixels that titles of panels, and an axis on top, need above the axes."""
    height = 0.0
    for note in layout["annotations"]:
        if (
            note.get("yref") == "paper"
            and note.get("text")
            and note.get("yanchor") == "bottom"
            and note.get("y", 0) > 0.5
        ):
            lines = len(lines_of(note["text"]))
            height = max(height, (note["y"] - 1) * axes + note.get("yshift", 0) + lines * _LINE + 2)
    for name, axis in _axes(layout):
        if name.startswith("x") and axis.get("side") == "top":
            height = max(height, _FOOT[columns])
    return height


INSTALL_KALEIDO = 'pip install "kaleido>=1.3,<2"'
INSTALL_BROWSER = "plotly_get_chrome"


def missing() -> str:
    """The command that installs what is missing here for PDF; empty if nothing is."""
    if importlib.util.find_spec("kaleido") is None:
        return INSTALL_KALEIDO
    from choreographer.browsers.chromium import Chromium

    return "" if Chromium.find_browser(skip_local=False) else INSTALL_BROWSER


def pdf(figure: go.Figure, columns: Columns) -> bytes:
    """The figure as PDF; FigureError if kaleido or a browser is missing, or the browser fails."""
    if command := missing():
        raise FigureError(
            "PDF needs the package kaleido and a Chrome browser on the server; this command installs what is missing:"
            f" {command}"
        )
    drawn = sized(figure, columns)
    try:
        return bytes(pio.to_image(drawn, format="pdf", width=drawn.layout.width, height=drawn.layout.height, scale=1))
    except (RuntimeError, ValueError, OSError) as error:
        raise FigureError(f"the server's browser made no PDF: {error}. Save the figure as SVG") from error
