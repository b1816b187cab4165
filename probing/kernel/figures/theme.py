"""One look for every figure: colours safe for colour blindness on light and dark pages, bands, rows with whole
names.
"""

import base64
import html
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any
from zlib import crc32

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from probing.kernel.errors import FigureError, OptionError
from probing.kernel.fact import DECLARED, ProbeSet
from probing.kernel.models.names import HEAD_KINDS, KnownModel
from probing.kernel.objectives import task_of

#: Okabe and Ito (2008), without black and yellow, which are invisible on a dark or a light page.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#7F7F7F")
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "triangle-down", "star", "hexagon", "cross")
HEAD_SUFFIX = {name: kind.suffix for name, kind in HEAD_KINDS.items()}
#: Symbols without a crossed form in Plotly -> the symbol that replaces it.
_CROSSED = {
    "triangle-up": "star-triangle-up",
    "triangle-down": "star-triangle-down",
    "star": "star-diamond",
    "hexagon": "hexagram",
    "cross": "star-square",
}
#: Readable on white and on near-black; used for baselines, grid marks and stamps.
NEUTRAL = "#808890"
GRID = "rgba(128,136,144,0.22)"
#: The Plotly template that ours extends.
TEMPLATE = "plotly_white"
DARK_TEMPLATE = "plotly_dark"
#: Text on white paper.
INK = "#46525E"
#: Text on dark paper.
LIGHT_INK = "#D7DCE1"
#: The looks of a page's figures. Its style sheet gives what has ``INK`` the colour of the page's text.
_PAGE = {
    "font": {"family": '"Source Sans", sans-serif', "size": 12, "color": INK},
    "paper_bgcolor": "rgba(0,0,0,0)",
    "plot_bgcolor": "rgba(0,0,0,0)",
    "hoverlabel": {"bgcolor": "#1F2933", "bordercolor": "#1F2933", "font": {"color": "#FFFFFF"}},
    "modebar": {"bgcolor": "rgba(0,0,0,0)", "color": NEUTRAL},
    "autotypenumbers": "strict",
}
_AXIS = {
    "linecolor": GRID,
    "ticks": "",
    "tickfont": {"size": 12},
    "title": {"standoff": 20, "font": {"size": 14}},
}
_TRACES: dict[str, dict[str, Any]] = {
    "bar": {"marker": {"line": {"color": "white", "width": 0.5}}, "error_x": {"color": INK}, "error_y": {"color": INK}},
    "heatmap": {"colorbar": {"outlinewidth": 0, "ticks": ""}},
}
#: Per cent of known facts -> colour on a light and on a dark page, where the most is the lightest; steep at first,
#: because most cells are small.
_KNOWN = {
    False: {0: "#F2F5F8", 10: "#C6DDF0", 45: "#4F9BD3", 100: "#08406F"},
    True: {0: "#18212B", 10: "#1D4765", 45: "#3E93D1", 100: "#E6F4FF"},
}

#: Objective -> the hue of its models, one shade per family. The first family has the colours above; those of
#: ``OTHER_COLOURS`` and the further shades have a contrast of at least 3 with a light and with a dark page. The
#: control, which learned no task, is grey; its lines are dashed.
OBJECTIVE_COLOURS = {
    "pre-training": ("#0072B2", "#2070E8", "#4090B8"),
    "QA-SQuAD-1": ("#D55E00", "#D08058", "#C82800"),
    "QA-SQuAD-2": ("#E69F00", "#887000", "#A09058"),
    "MLM-SQuAD": ("#009E73", "#007545", "#508058"),
    "RANK-MSMARCO": ("#CC79A7", "#AE3384", "#E04078"),
    "MLM-MSMARCO": ("#56B4E9", "#336D7D", "#1090F8"),
    "NER-CoNLL": ("#A0522D", "#A87068", "#F86048"),
    "CoLA": ("#8448B4", "#9048D8", "#B46CE4"),
    "SST-2": ("#CC189C", "#E454C0", "#A830A8"),
    "RTE": ("#6C8424", "#3C9C18", "#848454"),
    "POS-EWT": ("#5B4FDB", "#685C96", "#7865FF"),
    "control": ("#6F767D", "#9890A0", "#6E6654"),
}
#: For models of other objectives, in turn, and for those of further families.
OTHER_COLOURS = ("#74991C", "#C2185B", "#00A0A0", "#9A8700", "#B05CA5", "#C97B3B", "#5F8BD8", "#8A5A6B")
#: One colour per meaning, the same on every page (after Okabe and Ito, and Paul Tol's "muted").
KEPT, BACK, NOT_BACK, GAINED = "#3DAA8C", "#DDAA33", "#CC6677", "#6F9BE8"
CONTROL, YARDSTICK = "#6F767D", NEUTRAL
#: Outcomes of a fact (after Paul Tol's "muted"): no model's and no probe set's colour, so that no colour means two
#: things.
PART_COLOURS = {
    "kept": KEPT,
    "gained": GAINED,
    "lost": NOT_BACK,
    "never": "#9AA1A8",
    "still_inside": BACK,
    "moved": "#A8A03C",
    "suppressed": "#C97B3B",
    "displaced": "#B05CA5",
    "not_read": "#8A5A6B",
}


def head_symbol(place: int, head: str) -> str:
    """The marker of a line: its symbol by place, its form by kind of head."""
    symbol, suffix = SYMBOLS[place % len(SYMBOLS)], HEAD_SUFFIX.get(head, "")
    return _CROSSED.get(symbol, f"{symbol}{suffix}") if suffix == "-x" else f"{symbol}{suffix}"


def head_colour(head: str) -> str:
    """The colour of a kind of head, for figures that distinguish lines of one model by it."""
    return dict(zip(HEAD_SUFFIX, PALETTE, strict=False)).get(head, NEUTRAL)


def model_colours(models: Iterable[KnownModel], registered: Iterable[KnownModel]) -> dict[str, str]:
    """One colour per model, in the order of menus: the hue is its objective, the shade its family.

    ``registered`` are all of the registry, whose colours depend on nothing else; no two that ship share one. Further
    seeds, controls and kinds have a pale shade of their task's. An own model has its name's place among
    ``OTHER_COLOURS``, or the next that is free: it never changes a registered model's.
    """
    places = {objective: place for place, objective in enumerate(OBJECTIVE_COLOURS)}

    def order(model: KnownModel) -> tuple[Any, ...]:
        objective = places.get(model.objective, len(places))
        return model.place, model.family, model.results_only, objective, model.name

    fixed: dict[str, str] = {}
    known = sorted(registered, key=order)
    for model in sorted(known, key=lambda model: (not model.shipped, not model.colour)):
        shades = OBJECTIVE_COLOURS.get(model.objective, ())
        turn = model.place % len(shades) if shades else 0
        fixed[model.name] = model.colour or _free((*shades[turn:], *OTHER_COLOURS, *shades[:turn]), fixed.values())
    ordered = sorted(set(models), key=order)
    colours = {model.name: fixed[model.name] for model in ordered if model.name in fixed}
    shipped = [model for model in known if model.shipped]
    taken = {fixed[model.name] for model in shipped} | set(colours.values())
    for model in ordered:
        alike = [fixed[other.name] for other in shipped if model.results_only and _of_task(model, other)]
        if alike:
            colours[model.name] = pale(alike[0])
        elif model.name not in fixed:
            turn = crc32(model.name.encode()) % len(OTHER_COLOURS)
            shades = OBJECTIVE_COLOURS.get(model.objective, ()) if model.listed else ()
            own = _free((*shades, *OTHER_COLOURS[turn:], *OTHER_COLOURS[:turn]), taken)
            colours[model.name] = own
            taken.add(own)
    return {model.name: colours[model.name] for model in ordered}


def _free(colours: Sequence[str], taken: Collection[str]) -> str:
    return next((colour for colour in colours if colour not in taken), colours[0])


def _of_task(model: KnownModel, other: KnownModel) -> bool:
    """Whether a model without weights was trained for another's task: its objective says more in brackets."""
    return model.base == other.base and bool(other.objective) and task_of(model.objective) == other.objective


def pale(colour: str) -> str:
    """``#RRGGBB`` half way to grey."""
    mixed = ((int(colour[start : start + 2], 16) + 0x9A) // 2 for start in (1, 3, 5))
    return "#" + "".join(f"{channel:02X}" for channel in mixed)


def line_dash(control: bool) -> str:
    """The dash of a model's or a control's line; short dashes and dots are reserved for baselines."""
    return "longdash" if control else "solid"


def probe_set_colour(probe_set: str) -> str:
    """The colour of a probe set; a user's own sets share one."""
    return {one.name: one.colour for one in DECLARED}.get(probe_set, ProbeSet.colour)


def faint(colour: str, alpha: float) -> str:
    """``#RRGGBB`` with an opacity, in Plotly's notation."""
    red, green, blue = (int(colour[start : start + 2], 16) for start in (1, 3, 5))
    return f"rgba({red},{green},{blue},{alpha:g})"


def interval_band(
    figure: go.Figure, x: pd.Series, low: pd.Series, high: pd.Series, colour: str, name: str = "", **more: Any
) -> None:
    """Adds a line's 95 % intervals as a faint band, in place, where there are any; ``colour`` is ``#RRGGBB``."""
    known = low.notna() & high.notna()
    if not known.any():
        return
    xs, lows, highs = (list(values[known]) for values in (x, low, high))
    figure.add_scatter(
        x=[*xs, *xs[::-1]],
        y=[*highs, *lows[::-1]],
        fill="toself",
        mode="lines",
        fillcolor=faint(colour, 0.15),
        line={"width": 0},
        hoverinfo="skip",
        showlegend=False,
        name=f"{name}: 95 % interval" if name else "95 % interval",
        **more,
    )


def ink_on(colour: str) -> str:
    """Black or white, whichever has more contrast with ``#RRGGBB`` (WCAG)."""
    parts = (int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5))
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    return "#000000" if (luminance + 0.05) ** 2 > 1.05 * 0.05 else "#FFFFFF"


def plain(text: str) -> str:
    """Text that Plotly shows unchanged: its labels interpret some HTML, so a token like ``<b>`` would vanish."""
    return html.escape(str(text), quote=False)


def shorten(text: str, length: int) -> str:
    """At most ``length`` characters, the last an ellipsis if text was cut."""
    return text if len(text) <= length else text[: length - 1] + "…"


def row_name(name: str, length: int) -> str:
    """The name of a row on one line: a name that is too long ends before its first comma, slash or "or"."""
    return plain(shorten(re.split(r",| /| or ", name)[0] if len(name) > length else name, length))


def breakable(name: str, width: int = 14) -> str:
    """A model's name on lines for a phone, broken with ``<br>`` before brackets, after commas, else hyphens."""
    lines: list[str] = []
    for words in re.split(r"(?<=,) | (?=\()", name):
        first = True
        for part in [words] if len(words) <= width or "(" in words else words.replace("-", "-\n").split("\n"):
            space = " " if first and lines else ""
            if lines and len(lines[-1]) + len(space) + len(part) <= width:
                lines[-1] += space + part
            else:
                lines.append(part)
            first = False
    return "<br>".join(plain(line) for line in lines)


def known_scale(dark: bool) -> list[tuple[float, str]]:
    """The colours of shares from 0 to 1 of known facts; the same in every map, so that a shade means the same."""
    return [(share / 100, colour) for share, colour in _KNOWN[dark].items()]


def apply(figure: go.Figure, *, height: int = 420) -> go.Figure:
    """Gives a figure the common layout. Colours of text and background are left to the page's theme."""
    figure.update_layout(
        # ``finished`` fills it in: otherwise Plotly checks all of a template's thousand values for every figure.
        template="none",
        height=height,
        # A tick label at the right end that does not fit into the margin is left out.
        margin={"l": 8, "r": 20, "t": 36, "b": 8, "pad": 2},
        legend={
            "orientation": "h",
            "yanchor": "bottom",
            "y": 1.02,
            "xanchor": "left",
            "x": 0,
            "title": {"text": ""},
            "tracegroupgap": 0,
        },
        hoverlabel={"align": "left"},
        hovermode="closest",
        dragmode=False,
        colorway=list(PALETTE),
    )
    figure.update_xaxes(automargin=True, gridcolor=GRID, zeroline=False, fixedrange=True)
    figure.update_yaxes(automargin=True, gridcolor=GRID, zeroline=False, fixedrange=True)
    return figure


def stamp(figure: go.Figure, text: str, width: int = 58) -> go.Figure:
    """A copy with its origin written below it; the figure is not changed."""
    return stamped(go.Figure(figure), text, width)


def stamped(figure: go.Figure, text: str, width: int = 58) -> go.Figure:
    """The figure itself with its origin written small below it, so that a saved image keeps it; 58 fit a phone."""
    lines, line = [], ""
    for word in text.split():
        if line and len(line) + 1 + len(word) > width:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}".strip()
    lines.append(line)
    room = 14 * len(lines)
    bottom = 90 + room
    # At the right end of the plot: long names of rows would push it out of a phone's screen from the left end.
    figure.update_layout(margin_b=bottom, height=(figure.layout.height or 420) + room + 10)
    figure.add_annotation(
        name="stamp",
        text="<br>".join(plain(shorten(part, 90)) for part in lines),
        xref="paper",
        yref="paper",
        x=1,
        y=0,
        yshift=-76,
        xanchor="right",
        yanchor="top",
        align="right",
        showarrow=False,
        font={"size": 9, "color": NEUTRAL},
    )
    return figure


def finished(figure: go.Figure) -> dict[str, Any]:
    """The figure as Plotly's JSON has it, with the looks of a page where it has none of its own.

    They are no template: a browser is given each figure again once its width is known, and Plotly draws it anew if
    there is a template, or an encoded array.
    """
    content: dict[str, Any] = figure.to_dict()
    for trace in content["data"]:
        if trace.get("type", "scatter") in ("scatter", "bar"):
            # A click on a point leaves the others as they are; Plotly would fade them until the next click.
            trace["unselected"] = {"marker": {"opacity": trace.get("marker", {}).get("opacity", 1)}}
    if any(list(trace.get("x", ())) == [None] and not trace.get("legendgroup") for trace in content["data"]):
        # An entry without a line is a key: a click on it would only make it faint.
        content["layout"].setdefault("legend", {}).update(itemclick=False, itemdoubleclick=False)
    content["layout"].pop("template", None)
    for name, axis in content["layout"].items():
        if re.fullmatch(r"[xy]axis\d*", name):
            content["layout"][name] = _under(_AXIS | {"showgrid": name[0] == "y"}, axis)
    content["layout"] = _under(_PAGE, content["layout"])
    content["data"] = [_under(_TRACES.get(trace.get("type", ""), {}), trace) for trace in content["data"]]
    return content


def _under(looks: Mapping[str, Any], given: Any) -> Any:
    """Plotly's JSON with its encoded arrays as lists, and with the looks that are not given."""
    if isinstance(given, dict) and "bdata" in given:
        array = np.frombuffer(base64.b64decode(given["bdata"]), given["dtype"])
        array = array.reshape([int(length) for length in str(given.get("shape", -1)).split(",")])
        values = array.astype(object)
        values[np.isnan(array)] = None
        return values.tolist()
    if isinstance(given, dict):
        below = {name: one for name, one in looks.items() if isinstance(one, dict)}
        return {**looks, **{name: _under(below.get(name, {}), one) for name, one in given.items()}}
    return [_under({}, one) for one in given] if isinstance(given, (list, tuple, np.ndarray)) else given


def ink(figure: go.Figure, *, dark: bool = False) -> go.Figure:
    """Puts the figure on white paper, or on dark, in place: the template, and a colour for the text left to the theme.

    On a page such text must have no colour: Streamlit then recolours it when the user switches between light and dark,
    which the server does not see.
    """
    template, colour = (DARK_TEMPLATE, LIGHT_INK) if dark else (TEMPLATE, INK)
    figure.update_layout(template=template, font_color=colour, legend_font_color=colour)
    for axes in (figure.update_xaxes, figure.update_yaxes):
        axes(tickfont_color=colour, title_font_color=colour)
    return figure


def for_notebook(figure: go.Figure, dark: bool = False, width: str = "") -> go.Figure:
    """The figure on white or dark paper, in place, or with a width of ``paper.NAMES`` a copy as *Save* has it.

    Raises:
        OptionError: for another width.
        FigureError: if Pillow, which measures texts for a width, is not installed.
    """
    if not width:
        return ink(figure, dark=dark)
    try:
        from probing.kernel.figures.paper import NAMES, WIDTHS, sized
    except ImportError as error:
        raise FigureError(f"width={width!r} needs {error.name}; install it with: pip install pillow") from error
    if width not in NAMES:
        known = " or ".join(f"{name!r} ({WIDTHS[columns]} in)" for name, columns in NAMES.items())
        raise OptionError(f"got width={width!r}; expected {known}, or leave it out")
    return sized(figure, NAMES[width])


def clickable_last(figure: go.Figure) -> go.Figure:
    """Draws clickable traces over the others, in place: a click selects the one drawn last."""
    figure.data = tuple(sorted(figure.data, key=lambda trace: trace.customdata is not None))
    return figure


def empty(message: str) -> go.Figure:
    """An empty figure with a message that explains why."""
    figure = apply(go.Figure(), height=200)
    figure.update_xaxes(visible=False)
    figure.update_yaxes(visible=False)
    figure.add_annotation(text=plain(message), x=0.5, y=0.5, xref="paper", yref="paper", showarrow=False)
    return figure


Shape = dict[str, Any]


def _axes(figure: go.Figure, row: int | None, col: int | None) -> tuple[str, str]:
    """What a shape calls the axes of a panel, or of a figure without panels."""
    if row is None:
        return "x", "y"
    x, y = figure.get_subplot(row, col)
    return x.plotly_name.replace("axis", ""), y.plotly_name.replace("axis", "")


def horizontal_line(figure: go.Figure, y: float, row: int | None = None, col: int | None = None, **look: Any) -> Shape:
    """A line across a panel at a value; ``look`` is as for ``add_shape``."""
    x_axis, y_axis = _axes(figure, row, col)
    return {"type": "line", "x0": 0, "x1": 1, "xref": f"{x_axis} domain", "y0": y, "y1": y, "yref": y_axis, **look}


def vertical(figure: go.Figure, x: float, row: int | None = None, col: int | None = None, **look: Any) -> Shape:
    """A line from the bottom of a panel to its top."""
    x_axis, y_axis = _axes(figure, row, col)
    return {"type": "line", "x0": x, "x1": x, "xref": x_axis, "y0": 0, "y1": 1, "yref": f"{y_axis} domain", **look}


def band(
    figure: go.Figure, x: tuple[float, float], row: int | None = None, col: int | None = None, **look: Any
) -> Shape:
    """A band from the bottom of a panel to its top, between two values."""
    x_axis, y_axis = _axes(figure, row, col)
    return {
        "type": "rect",
        "x0": x[0],
        "x1": x[1],
        "xref": x_axis,
        "y0": 0,
        "y1": 1,
        "yref": f"{y_axis} domain",
        **look,
    }


def add(figure: go.Figure, shapes: Iterable[Shape]) -> go.Figure:
    """Adds the shapes after those that the figure has, in place."""
    figure.layout.shapes = [*(shape.to_plotly_json() for shape in figure.layout.shapes), *shapes]
    return figure


def stacked(rows: int, titles: Sequence[str] | None, gap: float, **more: Any) -> go.Figure:
    """Panels below each other, with a ``gap`` in shares of the axes; ``more`` is as for ``make_subplots``."""
    return make_subplots(rows=rows, cols=1, vertical_spacing=gap if rows > 1 else 0, subplot_titles=titles, **more)


def label_rows(
    figure: go.Figure,
    names: Sequence[str],
    places: Sequence[float] | None = None,
    ends: tuple[float, float] | None = None,
    **more: Any,
) -> None:
    """Names rows from the top, in place: one unit each, or at ``places`` of an axis whose ``ends`` are below and above.

    ``more`` is as for ``update_yaxes``.
    """
    figure.update_yaxes(
        tickmode="array",
        tickvals=list(range(len(names))) if places is None else places,
        ticktext=names,
        range=ends or [len(names) - 0.5, -0.5],
        showgrid=False,
        **more,
    )


def heading(figure: go.Figure, text: str, x: float = 0, y: float = 1, **more: Any) -> None:
    """Writes above a place, from it to the right, in place; ``more`` is as for ``add_annotation``."""
    usual = {"yref": "paper", "xanchor": "left", "yanchor": "bottom", "showarrow": False}
    figure.add_annotation(**{"text": text, "x": x, "y": y, **usual, **more})


def add_legend(figure: go.Figure, name: str, marker: Mapping[str, Any]) -> None:
    """A legend entry that no trace has, in place; its ``marker`` is grey unless it says otherwise."""
    figure.add_scatter(x=[None], y=[None], mode="markers", name=name, marker={"size": 9, "color": NEUTRAL, **marker})


def outlined(symbol: str, colour: str | list[str], size: float, width: float) -> dict[str, Any]:
    """A marker whose line has its colour, so that an open symbol has, too; ``size`` and ``width`` are in pixels."""
    return {"symbol": symbol, "size": size, "color": colour, "line": {"width": width, "color": colour}}


def whiskers(up: Any, down: Any, **look: Any) -> dict[str, Any]:
    """Error bars of the lengths ``up`` and ``down``; ``look`` is as for ``error_y``."""
    return {"type": "data", "symmetric": False, "array": up, "arrayminus": down, **look}
