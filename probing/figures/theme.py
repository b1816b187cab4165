"""One look for every figure: colours that survive colour blindness, neutral on light and on dark."""

import html
from collections.abc import Iterable

import plotly.graph_objects as go

#: Okabe and Ito (2008), without black and yellow, which vanish on a dark or a light page.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#7F7F7F")
#: Probe sets have colours of their own (after Paul Tol's "bright"), so that no model's colour means two things.
PROBE_SET_COLOURS = {
    "trex": "#6459C9",
    "google_re": "#E5606F",
    "conceptnet": "#B39B1E",
    "squad": "#2F9FC4",
    "common_sense": "#228833",
    "questions": "#AA3377",
}
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "triangle-down", "star", "hexagon", "cross")
HEAD_SUFFIX = {"tied": "", "lens": "-open", "full": "-dot"}
#: Readable on white and on near-black; used for baselines, grid marks and stamps.
NEUTRAL = "#808890"
GRID = "rgba(128,136,144,0.22)"
#: Text on white paper.
INK = "#46525E"

#: The models that ship, so that their colours never depend on what else was probed.
FIRST_MODELS = ("nesia-mini", "bert-base-uncased")


def model_colours(models: Iterable[str]) -> dict[str, str]:
    """One colour a model, the same on every page.

    Args:
        models: *all* models of the store, not only those shown, so that a filter never recolours a figure.

    Returns:
        Model name -> colour. From the eighth model on, colours repeat.
    """
    names = list(dict.fromkeys(models))
    ordered = [name for name in FIRST_MODELS if name in names] + sorted(set(names) - set(FIRST_MODELS))
    slots = {name: number for number, name in enumerate(FIRST_MODELS)}
    free = list(range(len(FIRST_MODELS), len(FIRST_MODELS) + len(ordered)))
    colours = {}
    for name in ordered:
        colours[name] = PALETTE[(slots[name] if name in slots else free.pop(0)) % len(PALETTE)]
    return colours


def probe_set_colour(probe_set: str) -> str:
    """The colour of a probe set; a user's own sets share one."""
    return PROBE_SET_COLOURS.get(probe_set, "#999933")


def faint(colour: str, alpha: float) -> str:
    """``#RRGGBB`` with an opacity, as Plotly wants it."""
    red, green, blue = (int(colour[start : start + 2], 16) for start in (1, 3, 5))
    return f"rgba({red},{green},{blue},{alpha:g})"


def plain(text: str) -> str:
    """Text that Plotly shows as it stands: its labels read a small HTML, in which a token like ``<b>`` would vanish."""
    return html.escape(str(text), quote=False)


def shorten(text: str, length: int) -> str:
    """At most ``length`` characters, the last an ellipsis where text was cut."""
    return text if len(text) <= length else text[: length - 1] + "…"


def apply(figure: go.Figure, *, height: int = 420) -> go.Figure:
    """Gives a figure the common layout. Colours of text and background are left to the page's theme."""
    figure.update_layout(
        template="plotly_white",
        height=height,
        margin={"l": 8, "r": 8, "t": 36, "b": 8, "pad": 2},
        legend={"orientation": "h", "yanchor": "bottom", "y": 1.02, "xanchor": "left", "x": 0, "title": {"text": ""}},
        hoverlabel={"align": "left"},
        hovermode="closest",
        dragmode=False,
        colorway=list(PALETTE),
    )
    figure.update_xaxes(automargin=True, gridcolor=GRID, zeroline=False, fixedrange=True)
    figure.update_yaxes(automargin=True, gridcolor=GRID, zeroline=False, fixedrange=True)
    return figure


def stamp(figure: go.Figure, text: str, width: int = 58) -> go.Figure:
    """A copy with its origin written small below it, so that a saved image keeps it.

    Args:
        figure: the figure; it is not changed.
        text: filters and fingerprint.
        width: characters a line; 58 fit a telephone.
    """
    lines, line = [], ""
    for word in text.split():
        if line and len(line) + 1 + len(word) > width:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}".strip()
    lines.append(line)
    copy = go.Figure(figure)
    room = 14 * len(lines)
    bottom = 90 + room
    copy.update_layout(margin_b=bottom, height=(figure.layout.height or 420) + room + 10)
    copy.add_annotation(
        name="stamp",
        text="<br>".join(plain(shorten(part, 90)) for part in lines),
        xref="paper",
        yref="paper",
        x=0,
        y=0,
        yshift=-76,
        xanchor="left",
        yanchor="top",
        align="left",
        showarrow=False,
        font={"size": 9, "color": NEUTRAL},
    )
    return copy


def ink(figure: go.Figure) -> go.Figure:
    """Colours the text that is left to the page's theme for white paper, in place.

    On a page such text must have no colour of its own: Streamlit then recolours it when the visitor switches between light
    and dark, which the server is not told.
    """
    figure.update_layout(font_color=INK, legend_font_color=INK)
    for axes in (figure.update_xaxes, figure.update_yaxes):
        axes(tickfont_color=INK, title_font_color=INK)
    return figure


def empty(message: str) -> go.Figure:
    """A figure that says in words why it is empty."""
    figure = apply(go.Figure(), height=200)
    figure.update_xaxes(visible=False)
    figure.update_yaxes(visible=False)
    figure.add_annotation(text=plain(message), x=0.5, y=0.5, xref="paper", yref="paper", showarrow=False)
    return figure
