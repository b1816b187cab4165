"""Lines and bands that are added together are those that plotly adds one by one."""

import pandas as pd
import plotly.graph_objects as go
import pytest
from plotly.subplots import make_subplots

from probing.figures import across, layer_axis
from probing.figures.sentences.reproduced_lines import Drawn, reproduced_lines


def panels() -> go.Figure:
    """Two panels, of which the second has no trace."""
    return make_subplots(rows=2, cols=1).add_scatter(x=[0, 1], y=[0, 1], row=1, col=1)


def shapes(figure: go.Figure) -> list[dict]:
    return [shape.to_plotly_json() for shape in figure.layout.shapes]


@pytest.mark.parametrize("row", [1, 2])
def test_shapes_are_those_of_plotly_in_any_panel(row):
    look, where = {"line": {"color": "red", "width": 2}, "layer": "below"}, {"row": row, "col": 1}
    expected = panels()
    expected.add_hline(y=0.5, **look, **where, exclude_empty_subplots=False)
    expected.add_vline(x=0.2, **look, **where, exclude_empty_subplots=False)
    expected.add_vrect(x0=-0.5, x1=0.5, fillcolor="grey", **look, **where, exclude_empty_subplots=False)
    found = panels()
    lines = [across.horizontal(found, 0.5, row, 1, **look), across.vertical(found, 0.2, row, 1, **look)]
    across.add(found, [*lines, across.band(found, (-0.5, 0.5), row, 1, fillcolor="grey", **look)])
    assert shapes(found) == shapes(expected)


def test_only_a_panel_with_traces_has_the_band_of_the_embeddings():
    (band,) = shapes(layer_axis.horizontal_panels(panels(), 4, [(1, 1), (2, 1)]))
    assert (band["type"], band["xref"], band["x0"], band["x1"]) == ("rect", "x", -0.5, 0.5)


def test_the_reproduced_figures_have_their_levels():
    points = pd.DataFrame(
        [(panel, "m", False, layer, 0.5, None, None) for panel in ("a", "b") for layer in (0, 1)],
        columns=["panel", "line", "dashed", "x", "value", "low", "high"],
    )
    levels = pd.DataFrame({"panel": ["a", "b"], "name": ["majority", "majority"], "value": [0.25, 0.75]})
    figure = reproduced_lines(points, levels, points.iloc[:0], drawn=Drawn("accuracy (%)", 100.0), colours={})
    assert [shape["y0"] for shape in shapes(figure) if shape["type"] == "line"] == [25, 75]
    assert [note.text for note in figure.layout.annotations].count("majority") == 2
