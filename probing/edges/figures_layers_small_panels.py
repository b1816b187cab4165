"""Small panels in two columns, one per task."""

from collections.abc import Sequence

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from probing.kernel.figures import theme

#: Size of the panels' titles.
TITLE = 13


def small_panels(
    titles: Sequence[str], *, panel: int, gap: int, frame: int, shared: bool = True
) -> tuple[go.Figure, list[tuple[int, int]]]:
    """An empty figure, and row and column of each panel; heights of panel, gap and frame in pixels.

    ``shared``: only the lowest panels have layers below them.
    """
    columns = min(2, len(titles))
    rows = -(-len(titles) // columns)
    places = [(number // columns + 1, number % columns + 1) for number in range(len(titles))]
    height = frame + panel * rows + gap * (rows - 1)
    figure = make_subplots(
        rows=rows,
        cols=columns,
        horizontal_spacing=0.1,
        vertical_spacing=gap / (height - frame) if rows > 1 else 0,
        subplot_titles=[theme.plain(title) for title in titles],
    )
    for note, (row, col) in zip(figure.layout.annotations, places, strict=True):
        note.update(font_size=TITLE, xanchor="left", x=figure.get_subplot(row, col).xaxis.domain[0])
    theme.apply(figure, height=height)
    figure.update_layout(margin_t=60, legend_y=1 + 28 / (height - frame))
    if shared:
        for row, col in places:
            below = (row + 1, col) in places
            figure.update_xaxes(showticklabels=not below, title_text="" if below else "layer", row=row, col=col)
    return figure, places
