"""Figures for a paper: sizes at final width, light colours, and what a caption explains."""

import json
import re
from collections.abc import Callable

import pandas as pd
import plotly.graph_objects as go
import pytest

from probing.figures import theme
from probing.figures.changes.panels import evidence_panels
from probing.figures.knowledge.total_bars import total_bars
from probing.figures.paper.sizing import long, shortened, sized
from probing.figures.paper.words import MARKS, MOST, caption, marks
from probing.figures.tokens.entropy import entropy_lines
from probing.figures.tokens.rank_lines import rank_lines
from probing.figures.tokens.token_grid import token_grid

from .test_fact_figures import curve, curve_points, tokens
from .test_fine_tuning_figures import LOOKS, evidence

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


def test_the_figure_of_the_page_is_not_changed():
    figure = curve(curve_points())
    before = json.loads(figure.to_json())
    sized(figure, 1)
    assert json.loads(figure.to_json()) == before


def test_in_two_columns_the_axes_keep_their_height_so_that_names_at_the_ends_of_lines_stay_apart():
    figure = curve(curve_points(models=("nesia-mini", "other-bert")))
    layout = sized(figure, 2).layout
    assert layout.height - layout.margin.t - layout.margin.b == pytest.approx(
        figure.layout.height - 80 - figure.layout.margin.t, abs=1
    )


@KINDS
def test_a_figure_of_one_column_is_at_most_2_4_inches_high_and_nothing_stands_beside_its_axes(kind):
    layout = sized(PLANTED[kind](), 1).layout
    assert layout.height <= 2.4 * 96 and layout.margin.r <= 26
    assert not [note for note in layout.annotations if note.name == "end label"]


@KINDS
def test_labels_leave_the_axes_65_per_cent_of_a_column(kind):
    figure = sized(PLANTED[kind](), 1)
    beside = [
        max(map(long, axis.ticktext or [""])) + 1.3 * EIGHT_POINTS * bool(axis.title.text)
        for axis in figure.select_yaxes()
    ]
    assert max(beside) + figure.layout.margin.r <= 0.35 * 312


def test_panels_on_one_axis_stand_in_a_grid_with_an_axis_each():
    layout = sized(PLANTED["panels on one axis"](), 1).layout
    places = [(layout[f"xaxis{n}"].domain[0], layout[f"yaxis{n}"].domain[1]) for n in ("", 2, 3, 4)]
    assert len(set(places)) == 4 and len({left for left, _ in places}) == len({top for _, top in places}) == 2
    titles = {(note.x, note.y): note.text for note in layout.annotations if note.name == "panel"}
    assert set(titles) == set(places) and all(long(text) < 312 / 2 for text in titles.values())


def test_names_at_the_ends_of_lines_are_in_the_legend_of_a_column():
    points = curve_points(models=("nesia-mini", "other-bert"))
    points.loc[points["model"] == "other-bert", "swapped"] *= 1.5
    small = sized(curve(points), 1)
    assert {"nesia-mini", "other-bert", "blind guess"} <= {trace.name for trace in small.data if trace.showlegend}


def test_a_long_title_of_an_axis_breaks_before_its_unit():
    title = "right answers of a model, % (precision at 1, macro)"
    assert sized(curve(curve_points(), title=title), 1).layout.yaxis.title.text == title.replace(" (", "<br>(")


def test_an_open_marker_is_explained_only_where_others_are_filled():
    figure = go.Figure(go.Scatter(x=[1], y=[1], mode="markers", name="a", marker_symbol="circle-open"))
    assert "open" not in marks(figure)
    assert marks(figure.add_scatter(x=[1], y=[2], mode="markers"))["open"] == ["a"]


def test_long_labels_are_shortened_in_the_middle_to_the_room_that_they_have():
    assert shortened("a short one", 100) == "a short one"
    cut = shortened("a name that begins like others and ends as number 5", 100)
    assert cut.startswith("a name") and cut.endswith(" 5") and long(cut) <= 100


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
