"""The layer axis of every figure: 0 is the embeddings, 1 to L are transformer layers."""

from collections.abc import Iterable

import plotly.graph_objects as go

from probing.kernel.figures import theme
from probing.kernel.figures import theme_across as across

TITLE = "layer (0 = embeddings)"
ZERO = "emb."
#: Room left and right of the axes of figures that stand below each other on one layer axis, in pixels.
LEFT, RIGHT = 58, 164


def _ticks(last: int) -> list[int]:
    step = 1 if last <= 14 else 2 if last <= 28 else 4
    return sorted({*range(0, last + 1, step), last} - ({last - 1} if step > 1 and last % step == 1 else set()))


def horizontal(figure: go.Figure, last: int, **where) -> go.Figure:
    """Layers 0..``last`` from left to right, in place; layer 0 is named and on a shaded band."""
    _layers(figure, last, **where)
    return across.add(figure, [_embeddings(figure, **where)])


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
    return across.add(figure, shapes)


def _embeddings(figure: go.Figure, **where) -> across.Shape:
    """The band behind layer 0."""
    return across.band(
        figure, (-0.5, 0.5), **where, fillcolor=theme.NEUTRAL, opacity=0.13, line={"width": 0}, layer="below"
    )


def _layers(figure: go.Figure, last: int, **where) -> None:
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


def share_of_depth(figure: go.Figure, **where) -> go.Figure:
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
