"""Figures for a paper: sizes at final width, light colours, and what a caption explains."""

import json
from collections.abc import Callable

import pandas as pd
import plotly.graph_objects as go
import pytest

from probing.core.errors import FigureError
from probing.figures import theme
from probing.figures.knowledge.total_bars import total_bars
from probing.figures.paper import pdf
from probing.figures.paper.sizing import sized
from probing.figures.tokens.entropy import entropy_by_layer
from probing.figures.tokens.rank_lines import rank_lines
from probing.figures.tokens.token_grid import token_grid

from .test_figures import curve, curve_points, tokens

EIGHT_POINTS = 8 * 96 / 72


def bars() -> go.Figure:
    row = {"model": "a", "head": "tied", "probe_set": "trex", "last": 0.1, "total": 0.25, "total_low": 0.2, "total_high": 0.3}
    return total_bars(pd.DataFrame([row | {"intermediate": 0.6, "n": 100}]), k=1, colours={"a": "#0072B2"}, names={"trex": "T-REx"})


def heat_map() -> go.Figure:
    return theme.apply(go.Figure(go.Heatmap(z=[[1.5, None], [3.25, 4.125]], x=["a", "b"], y=["c", "d"], colorscale="Viridis")))


#: A figure of every kind that the pages draw.
PLANTED: dict[str, Callable[[], go.Figure]] = {
    "curves with bands, baselines and names": lambda: curve(curve_points(models=("nesia-mini", "other-bert"))),
    "panels": lambda: curve(curve_points(sets=("trex", "common_sense")), panels=True),
    "stacked bars with intervals": bars,
    "ranks on a logarithmic axis": lambda: rank_lines(pd.DataFrame({"name": ["a"] * 2, "layer": [0, 1], "rank": [5000.0, 1.0]})),
    "entropy": lambda: entropy_by_layer(pd.DataFrame({"layer": range(3), "entropy": [3.0, 2.0, 1.0]})),
    "tokens": lambda: token_grid(tokens("rome", "paris"), columns=2),
    "heat map": heat_map,
}
KINDS = pytest.mark.parametrize("kind", PLANTED)


def sizes(part: object) -> list[float]:
    """Every size of a font below a part of a figure."""
    found = []
    if isinstance(part, dict):
        for name, value in part.items():
            found += [value["size"]] if name.endswith("font") and isinstance(value, dict) and "size" in value else sizes(value)
    elif isinstance(part, list | tuple):
        for value in part:
            found += sizes(value)
    return found


@KINDS
@pytest.mark.parametrize(("columns", "inches"), [(1, 3.25), (2, 6.75)])
def test_text_has_eight_points_at_the_final_width(kind, columns, inches):
    content = sized(PLANTED[kind](), columns).to_plotly_json()
    assert content["layout"]["width"] == inches * 96
    content["layout"].pop("template")
    found = sizes(content)
    assert found and found == pytest.approx([EIGHT_POINTS] * len(found))


@KINDS
def test_a_paper_gets_light_colours_and_nothing_that_answers_a_mouse(kind):
    figure = sized(PLANTED[kind](), 1)
    written = figure.to_json()
    assert figure.layout.paper_bgcolor == figure.layout.plot_bgcolor == "#FFFFFF"
    assert "var(--" not in written and "hovertemplate" not in json.dumps(json.loads(written)["data"])
    assert figure.layout.hovermode is False
    assert all(trace.customdata is None for trace in figure.data)


def test_the_figure_of_the_page_is_not_changed():
    figure = curve(curve_points())
    before = json.loads(figure.to_json())
    sized(figure, 1)
    assert json.loads(figure.to_json()) == before


def test_the_axes_keep_their_height_so_that_names_at_the_ends_of_lines_stay_apart():
    figure = curve(curve_points(models=("nesia-mini", "other-bert")))
    layout = sized(figure, 1).layout
    assert layout.height - layout.margin.t - layout.margin.b == pytest.approx(figure.layout.height - 80 - figure.layout.margin.t, abs=1)


def test_a_long_legend_has_room_above_the_axes():
    figure = theme.apply(go.Figure([go.Scatter(x=[0], y=[0], name=f"a model with quite a long name {number}") for number in range(5)]))
    small, wide = sized(figure, 1).layout, sized(figure, 2).layout
    assert small.margin.t >= 5 * 19 > wide.margin.t


def test_a_number_of_columns_that_no_paper_has_is_refused():
    with pytest.raises(ValueError, match="got 3 columns; expected one of 1, 2"):
        sized(go.Figure(), 3)


def test_without_kaleido_pdf_names_the_line_to_type(monkeypatch):
    monkeypatch.setattr(pdf.importlib.util, "find_spec", lambda name: None)
    assert pdf.missing() == 'pip install "kaleido>=1.3,<2"'
    with pytest.raises(FigureError, match="this command installs what is missing: pip install"):
        pdf.pdf(curve(curve_points()), 1)
