"""Yardsticks, bands and names at the ends of lines: one line each, none over another, and those that plotly adds one by
one.
"""

import itertools

import pandas as pd
import plotly.graph_objects as go
import pytest
from plotly.subplots import make_subplots

from probing.facts.figures_pairs import paired_curve
from probing.facts.figures_relations import MARK, not_above_majority, relation_map
from probing.kernel.figures import theme
from probing.kernel.figures import theme as across
from probing.kernel.figures.axis import spread
from probing.kernel.figures.yardsticks import above, pair_above
from tests.facts.test_figures import BASE, MODEL, PAIR_COLOURS, curve, curve_points, lines, paired
from tests.facts.test_figures import points as relation_points


def ends(figure) -> dict[str, list]:
    """Name at an end, in plain words -> the values it points at."""
    found: dict[str, list] = {}
    for note in figure.layout.annotations:
        if note.name == "end label":
            text = (
                note.text.replace("<b>", "")
                .replace("</b>", "")
                .replace("-<br>", "-")
                .replace("<br>", " ")
                .replace("\u00a0", " ")
            )
            found.setdefault(text, []).append(note.y)
    return found


def dashed(figure, dash: str) -> list:
    return [trace for trace in figure.data if trace.mode == "lines" and trace.line.dash == dash]


def family(models: int = 8, **more) -> pd.DataFrame:
    return curve_points(models=[f"model-{number}" for number in range(models)]).assign(**more)


def test_the_majority_answer_is_drawn_once_however_many_models_share_it_and_in_no_models_colour():
    figure = curve(family(8))
    (line,) = dashed(figure, "dash")
    assert set(line.y) == {24.0} and line.line.color == theme.NEUTRAL
    assert ends(figure)["commonest answer"] == [24.0]


def differences() -> dict:
    return {
        "above_majority": -0.04,
        "above_majority_low": -0.05,
        "above_majority_high": -0.03,
        "above_swapped": 0.06,
        "above_swapped_low": 0.05,
        "above_swapped_high": 0.07,
        "swapped_n": 40,
    }


@pytest.mark.parametrize(
    ("mode", "zero", "value"), [("majority", "commonest answer", -4), ("swapped", "blind guess", 6)]
)
def test_what_is_above_a_yardstick_is_drawn_around_a_zero_line_with_its_name(mode, zero, value):
    table = above(curve_points().assign(**differences()), mode)
    figure = curve(table)
    (line,) = lines(figure)
    assert list(line.y) == pytest.approx([value] * 3)
    assert ends(figure)[zero] == [0.0] and set(ends(figure)) == {zero, "nesia-mini · retrained reader"}
    (level,) = dashed(figure, "dash") + dashed(figure, "dot")
    assert set(level.y) == {0.0} and level.line.color == theme.NEUTRAL
    low, high = figure.layout.yaxis.range
    assert low < 0 < high and not figure.layout.yaxis.ticksuffix
    assert ("40 facts" if mode == "swapped" else "50 facts") in line.hovertext[0] and zero in line.hovertext[0]


def yard_pair() -> pd.DataFrame:
    more = {
        "majority": 0.22,
        "base_swapped": 0.03,
        "swapped": 0.02,
        "swapped_n": 80,
        "more": 0.05,
        "more_low": 0.01,
        "more_high": 0.09,
        "base_swapped_n": 70,
    }
    sides = {
        f"{run}above_{mode}{end}": 0.1 + 0.05 * (run == "")
        for run in ("base_", "")
        for mode in ("majority", "swapped")
        for end in ("", "_low", "_high")
    }
    return paired().assign(**more, **sides)


def pair(table: pd.DataFrame):
    return paired_curve(table, k=1, base=BASE, model=MODEL, colours=PAIR_COLOURS, labels={MODEL: "QA"})


def test_two_models_share_one_majority_line_and_have_a_swapped_subject_each():
    figure = pair(yard_pair())
    (level,) = dashed(figure, "dash")
    assert set(level.y) == {22.0} and level.line.color == theme.NEUTRAL
    assert [line.line.color for line in dashed(figure, "dot")] == [PAIR_COLOURS[BASE], PAIR_COLOURS[MODEL]]
    assert ends(figure) == {BASE: [20.0], "QA": [20.0], "commonest answer": [22.0], "blind guess": [3.0, 2.0]}


def test_above_the_swapped_subject_the_difference_is_how_much_more_comes_from_the_subject():
    plain, moved = pair(pair_above(yard_pair(), "majority")), pair(pair_above(yard_pair(), "swapped"))
    shown = {
        name: next(list(trace.y) for trace in moved.data if trace.name == name) for name in (BASE, "QA", "difference")
    }
    assert (
        shown[BASE] == pytest.approx([10] * 3)
        and shown["QA"] == pytest.approx([15] * 3)
        and shown["difference"] == [5.0] * 3
    )
    assert list(next(trace.y for trace in plain.data if trace.name == "difference")) == pytest.approx(
        list(paired()["difference"] * 100)
    )
    assert ends(moved)["blind guess"] == [0.0] and ends(plain)["commonest answer"] == [0.0]


def test_relations_not_above_their_majority_answer_are_marked():
    low = [0.1] * 11 + [-0.01]
    table = relation_points(above_majority_low=low)
    assert not_above_majority(table) == ["P3"]
    assert [name.endswith(MARK) for name in relation_map(table, k=1, order="name").layout.yaxis.ticktext] == [
        False,
        False,
        True,
    ]
    assert not_above_majority(relation_points(above_majority_low=float("nan"))) == []


LIGHT, DARK = "#FFFFFF", "#11161C"


def overlaps(places, heights) -> list:
    boxes = sorted(zip(places, heights, strict=True))
    return [(a, b) for a, b in itertools.pairwise(boxes) if b[0] - a[0] < (a[1] + b[1]) / 2 - 1e-6]


@pytest.mark.parametrize(
    ("wanted", "heights"),
    [
        ([50, 50, 50], [12, 12, 12]),
        ([300, 2, 1, 0, 299], [12, 24, 12, 12, 24]),
        ([0.0] * 10, [12] * 10),
        ([300.0] * 10, [26] * 5 + [12] * 5),
        ([10, 20, 21, 80, 79, 150], [12] * 6),
    ],
)
def test_names_never_overlap_keep_their_order_and_stay_inside(wanted, heights):
    places = spread(wanted, heights, 0, 310)
    assert not overlaps(places, heights)
    order = sorted(range(len(wanted)), key=lambda one: wanted[one])
    assert [places[one] for one in order] == sorted(places)
    assert min(p - h / 2 for p, h in zip(places, heights, strict=True)) >= -1e-6
    assert max(p + h / 2 for p, h in zip(places, heights, strict=True)) <= 310 + 1e-6


def test_names_that_do_not_meet_stay_where_they_are_and_others_move_by_equal_parts():
    assert spread([20, 100, 200], [12, 12, 12], 0, 300) == [20, 100, 200]
    assert spread([100, 100], [12, 12], 0, 300) == [94, 106]
    assert spread([100, 104, 250], [12, 12, 12], 0, 300) == [96, 108, 250]
    assert spread([], [], 0, 300) == []


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
    lines = [across.horizontal_line(found, 0.5, row, 1, **look), across.vertical(found, 0.2, row, 1, **look)]
    across.add(found, [*lines, across.band(found, (-0.5, 0.5), row, 1, fillcolor="grey", **look)])
    assert shapes(found) == shapes(expected)
