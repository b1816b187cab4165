"""Figures for a paper: sizes at final width, light colours, and what a caption explains."""

import json
import re
from collections.abc import Callable

import pandas as pd
import plotly.graph_objects as go
import pytest

from probing.changes.figures import evidence_panels
from probing.facts.figures import total_bars
from probing.kernel.figures import theme
from probing.kernel.figures.paper import sized
from probing.kernel.figures.paper_words import MARKS, MOST, caption, marks
from probing.live.figures import entropy_lines, rank_lines, token_grid
from tests.facts.test_figures import curve, curve_points, tokens
from tests.finetuning.test_figures import LOOKS, evidence

EIGHT_POINTS = 8 * 96 / 72


def bars(model: str = "a") -> go.Figure:
    row = {
        "model": model,
        "head": "tied",
        "probe_set": "trex",
        "last": 0.1,
        "total": 0.25,
        "total_low": 0.2,
        "total_high": 0.3,
    }
    return total_bars(
        pd.DataFrame([row | {"intermediate": 0.6, "n": 100}]), k=1, colours={model: "#0072B2"}, names={"trex": "T-REx"}
    )


def heat_map() -> go.Figure:
    return theme.apply(
        go.Figure(go.Heatmap(z=[[1.5, None], [3.25, 4.125]], x=["a", "b"], y=["c", "d"], colorscale="Viridis"))
    )


#: A figure of every kind that the pages draw.
PLANTED: dict[str, Callable[[], go.Figure]] = {
    "curves with bands, baselines and names": lambda: curve(curve_points(models=("nesia-mini", "other-bert"))),
    "panels": lambda: curve(curve_points(sets=("trex", "common_sense")), panels=True),
    "stacked bars with intervals": bars,
    "ranks on a logarithmic axis": lambda: rank_lines(
        pd.DataFrame({"name": ["a"] * 2, "layer": [0, 1], "rank": [5000.0, 1.0]})
    ),
    "entropy": lambda: entropy_lines(
        pd.DataFrame({"name": "a", "layer": range(3), "entropy": [3.0, 2.0, 1.0]}), colours={}
    ),
    "tokens": lambda: token_grid(tokens("rome", "paris"), columns=2),
    "heat map": heat_map,
    "panels on one axis": lambda: evidence_panels(evidence(), **LOOKS),
    "bars with long names": lambda: bars("a model whose name is longer than its row"),
}
KINDS = pytest.mark.parametrize("kind", PLANTED)


def sizes(part: object) -> list[float]:
    """Every size of a font below a part of a figure."""
    found: list[float] = []
    if isinstance(part, dict):
        for name, value in part.items():
            found += (
                [value["size"]]
                if name.endswith("font") and isinstance(value, dict) and "size" in value
                else sizes(value)
            )
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


@KINDS
def test_a_figure_of_one_column_is_at_most_2_4_inches_high_and_nothing_stands_beside_its_axes(kind):
    layout = sized(PLANTED[kind](), 1).layout
    assert layout.height <= 2.4 * 96 and layout.margin.r <= 26
    assert not [note for note in layout.annotations if note.name == "end label"]


@KINDS
def test_a_caption_has_at_most_60_words_and_explains_the_marks_of_the_figure_and_no_others(kind):
    figure = PLANTED[kind]()
    every = (
        "Dotted: one. Dashed: two. Bands are 95 % intervals. Whiskers: three. Hatched: four. Diamond: five. Cross: six."
        " Open: seven. "
    )
    words = caption(
        every + "And so on and on. " * 30,
        "P@1; by far too long " * 9,
        pd.DataFrame({"n": [4, 5]}),
        figure,
        "data 1a2b · runs c",
    )
    shown = marks(figure)
    assert len(words.split()) <= MOST == 60 and words.endswith("n = 4 to 5. BERTnesia Explorer, data 1a2b.")
    assert {mark for mark, spoken in MARKS.items() if re.search(spoken, words, re.IGNORECASE)} == set(shown)
