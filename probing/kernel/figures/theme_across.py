"""Lines and bands across panels, added to a figure together.

Plotly's ``add_hline`` and its like check all shapes of a figure again whenever one is added: for a figure of many
panels that takes longer than everything else in it.
"""

from collections.abc import Iterable
from typing import Any

import plotly.graph_objects as go

Shape = dict[str, Any]


def _axes(figure: go.Figure, row: int | None, col: int | None) -> tuple[str, str]:
    """What a shape calls the axes of a panel, or of a figure without panels."""
    if row is None:
        return "x", "y"
    x, y = figure.get_subplot(row, col)
    return x.plotly_name.replace("axis", ""), y.plotly_name.replace("axis", "")


def horizontal(figure: go.Figure, y: float, row: int | None = None, col: int | None = None, **look: Any) -> Shape:
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
