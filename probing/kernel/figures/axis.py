"""The layer axis (0 is the embeddings, 1 to L are transformer layers), lines over it, and names at their ends."""

import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from probing.kernel.figures import theme
from probing.kernel.figures.theme import Shape, add, band
from probing.kernel.joined import joined

TITLE = "layer (0 = embeddings)"
ZERO = "emb."
#: Room left and right of the axes of figures that stand below each other on one layer axis, in pixels.
LEFT, RIGHT = 58, 164


def _ticks(last: int) -> list[int]:
    step = 1 if last <= 14 else 2 if last <= 28 else 4
    return sorted({*range(0, last + 1, step), last} - ({last - 1} if step > 1 and last % step == 1 else set()))


def horizontal(figure: go.Figure, last: int, **where: int) -> go.Figure:
    """Layers 0..``last`` from left to right, in place; layer 0 is named and on a shaded band."""
    _layers(figure, last, **where)
    return add(figure, [_embeddings(figure, **where)])


def aligned(figure: go.Figure) -> go.Figure:
    """Gives a figure the margins that align its layers with those of the figures above and below it, in place."""
    figure.update_layout(margin={"l": LEFT, "r": RIGHT})
    figure.update_yaxes(automargin=False)
    return figure


def horizontal_panels(figure: go.Figure, last: int, places: Iterable[tuple[int, int]]) -> go.Figure:
    """Layers from left to right in several panels, given as row and column; a panel without traces has no band."""
    drawn = {(trace.xaxis or "x").replace("x", "xaxis") for trace in figure.data}
    shapes = []
    for row, col in places:
        _layers(figure, last, row=row, col=col)
        if figure.get_subplot(row, col).xaxis.plotly_name in drawn:
            shapes.append(_embeddings(figure, row=row, col=col))
    return add(figure, shapes)


def _embeddings(figure: go.Figure, **where: int) -> Shape:
    """The band behind layer 0."""
    return band(figure, (-0.5, 0.5), **where, fillcolor=theme.NEUTRAL, opacity=0.13, line={"width": 0}, layer="below")


def _layers(figure: go.Figure, last: int, **where: int) -> None:
    ticks = _ticks(last)
    figure.update_xaxes(
        title={"text": TITLE},
        tickmode="array",
        tickvals=ticks,
        ticktext=[f"0<br>{ZERO}" if tick == 0 else str(tick) for tick in ticks],
        tickangle=0,
        range=[-0.5, last + 0.5],
        showgrid=False,
        **where,
    )


def vertical(figure: go.Figure, last: int) -> go.Figure:
    """Layers from bottom to top, as the model computes them."""
    figure.update_yaxes(
        title={"text": "layer"},
        tickmode="array",
        tickvals=list(range(last + 1)),
        ticktext=[f"{ZERO} 0" if layer == 0 else str(layer) for layer in range(last + 1)],
        range=[-0.5, last + 0.5],
        showgrid=False,
    )
    return figure


def share_of_depth(figure: go.Figure, **where: int) -> go.Figure:
    """Layers of models of different depth, in place: 0 is the embeddings, 1 the last layer of each."""
    figure.update_xaxes(
        title={"text": "share of depth (0 = embeddings)"},
        tickmode="array",
        tickvals=[0, 0.25, 0.5, 0.75, 1],
        ticktext=[f"0<br>{ZERO}", "0.25", "0.5", "0.75", "1"],
        range=[-0.05, 1.05],
        showgrid=True,
        **where,
    )
    return figure


def layer_lines(
    lines: pd.DataFrame,
    column: str,
    value_format: str,
    *,
    colours: Mapping[str, str] | None = None,
    dashes: Mapping[str, str] | None = None,
    steps: str = "",
) -> go.Figure:
    """One line per name of a ``column`` by layer; columns: ``name, layer`` and that one.

    ``value_format``: of the hover text. Names without a colour take the palette in turn; lines of one colour have one
    marker. ``steps``: what ``layer`` counts if it does not count layers.
    """
    if lines.empty:
        return theme.empty("Nothing to draw: no answer is followed.")
    figure = go.Figure()
    hues = list(dict.fromkeys((colours or {}).values()))
    for number, (name, line) in enumerate(lines.groupby("name", sort=False)):
        line = line.sort_values("layer")
        colour = (colours or {}).get(str(name), theme.PALETTE[number % len(theme.PALETTE)])
        dash = (dashes or {}).get(str(name), "solid")
        symbol = hues.index(colour) if colour in hues else number
        label = theme.plain(str(name))
        figure.add_scatter(
            x=line["layer"],
            y=line[column],
            name=label,
            mode="lines+markers",
            line={"color": colour, "width": 2.5, "dash": dash},
            marker={"size": 8, "symbol": theme.SYMBOLS[symbol % len(theme.SYMBOLS)]},
            showlegend=True,
            hovertemplate=f"<b>{label}</b><br>{'replaced' if steps else 'layer'} %{{x}}: {value_format}<extra></extra>",
        )
    # On a phone every name takes its own line.
    theme.apply(figure, height=380 + 14 * max(lines["name"].nunique() - 3, 0))
    last = int(lines["layer"].max())
    if not steps:
        return horizontal(figure, last)
    figure.update_xaxes(
        title_text=theme.plain(steps), dtick=1 if last <= 14 else 2, range=[-0.5, last + 0.5], showgrid=False
    )
    return figure


#: More names than this do not fit next to a figure.
MAX_LABELS = 10
#: Maximum characters per line of a name, so that the curve keeps enough width on a phone.
_WIDEST = 17
_LINE, _GAP, _CHARACTER, _AWAY, _SIZE = 14.5, 2, 6.8, 14, 12
#: Height that ``theme.stamped`` and the axis title need below a figure, minus what ``stamped`` adds to the figure.
_BELOW = 80
#: Luminance with the same contrast against the light page (white) and the dark one (#11161C).
_MIDDLE = 0.195


@dataclass(frozen=True)
class EndLabel:
    """The plain name of a line, and where it ends, in the units of its axes."""

    x: float
    y: float
    text: str
    colour: str = theme.NEUTRAL
    strong: bool = True  #: whether it names a measured line; baselines are lighter
    row: int = 1  #: the panel

    @property
    def lines(self) -> list[str]:
        """The name, broken into lines that fit a phone."""
        # A dot that separates two names stays with the first, and a mark with the last word of its name.
        bound = re.sub(r" (?=[^\w\s]( |$))", "\u00a0", self.text)
        return [line.replace("\u00a0", " ") for line in textwrap.wrap(bound, _WIDEST)] or [""]


def spread(centres: Sequence[float], heights: Sequence[float], low: float, high: float) -> list[float]:
    """Centres, in pixels, as close as possible to those wanted, without overlap and in the same order.

    Neighbours that would overlap are moved by equal amounts (isotonic regression by pooling); then all are kept within
    the ends, or go beyond ``high`` if they need more.
    """
    if not centres:
        return []
    order = np.argsort(centres, kind="stable")
    tall = np.asarray(heights, dtype=float)[order]
    # Distance of each centre from the first if all are as close as possible.
    offsets = np.concatenate([[0.0], np.cumsum((tall[1:] + tall[:-1]) / 2)])
    pools: list[list[float]] = []
    for place in np.asarray(centres, dtype=float)[order] - offsets:
        pools.append([place, 1])
        while len(pools) > 1 and pools[-2][0] > pools[-1][0]:
            (first, n), (second, m) = pools[-2:]
            pools[-2:] = [[(first * n + second * m) / (n + m), n + m]]
    places = np.concatenate([np.full(int(n), place) for place, n in pools])
    places = np.maximum(np.minimum(places, high - tall[-1] / 2 - offsets[-1]), low + tall[0] / 2) + offsets
    placed = np.empty(len(places))
    placed[order] = places
    return [float(place) for place in placed]


def readable(colour: str) -> str:
    """The colour's hue, at a lightness that is readable on the light and on the dark page."""
    parts = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    if luminance > _MIDDLE:
        linear = [part * _MIDDLE / luminance for part in linear]
    else:
        linear = [part + (1 - part) * (_MIDDLE - luminance) / (1 - luminance) for part in linear]
    encoded = [12.92 * part if part <= 0.0031308 else 1.055 * part ** (1 / 2.4) - 0.055 for part in linear]
    return "#" + "".join(f"{round(part * 255):02X}" for part in encoded)


def room(labels: Sequence[EndLabel]) -> float:
    """Pixels that the names need to the right of the axes."""
    return max((_AWAY + _CHARACTER * max(map(len, label.lines)) + 4 for label in labels), default=8)


def write(
    figure: go.Figure, labels: Sequence[EndLabel], *, ranges: Sequence[tuple[float, float]], top: int = 20
) -> go.Figure:
    """Writes names at the ends of lines, in place, with a thin line to those that had to move.

    Vertical axes are set to ``ranges``, by panel, so that positions are known; ``top`` is the margin above.
    """
    figure.update_layout(margin_r=room(labels), margin_t=top)
    whole = figure.layout.height - _BELOW - top
    written = []
    for row, (low, high) in enumerate(ranges, start=1):
        axis = next(iter(figure.select_yaxes(row=row, col=1))) if len(ranges) > 1 else figure.layout.yaxis
        axis.range = (low, high)
        start, end = axis.domain or (0, 1)
        scale = whole * (end - start) / (high - low)
        # Lines that end at different layers have their names side by side.
        for x in dict.fromkeys(label.x for label in labels if label.row == row):
            labels_here = [label for label in labels if label.row == row and label.x == x]
            centres = [(label.y - low) * scale for label in labels_here]
            places = spread(
                centres, [_LINE * len(label.lines) + _GAP for label in labels_here], 0, (high - low) * scale
            )
            for label, was, place in zip(labels_here, centres, places, strict=True):
                written.append(_annotation(label, was - place, axis.plotly_name.removeprefix("yaxis")))
    # Together: Plotly checks all annotations of a figure again for each that is added.
    figure.layout.annotations = [*(note.to_plotly_json() for note in figure.layout.annotations), *written]
    return figure


def _annotation(label: EndLabel, down: float, axis: str) -> dict[str, Any]:
    text = "<br>".join(theme.plain(line) for line in label.lines)
    hover = [line for meaning in joined("terms").meanings(label.text) for line in textwrap.wrap(meaning, 50)]
    return {
        "hovertext": "<br>".join(map(theme.plain, hover)),
        "name": "end label",
        "x": label.x,
        "y": label.y,
        "xref": f"x{axis}",
        "yref": f"y{axis}",
        "ax": _AWAY,
        "ay": down,
        "xanchor": "left",
        "yanchor": "middle",
        "align": "left",
        "text": f"<b>{text}</b>" if label.strong else text,
        "font": {"size": _SIZE, "color": readable(label.colour)},
        "showarrow": True,
        "arrowhead": 0,
        "arrowwidth": 1,
        "arrowcolor": theme.faint(label.colour, 0.6),
        "standoff": 5,
        "borderpad": 0,
    }
