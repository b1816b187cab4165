"""Names at the ends of lines: none over another, each near its line, readable on light and on dark."""

import itertools

import plotly.graph_objects as go
import pytest

from probing.figures import theme
from probing.figures.end_labels import EndLabel, readable, room, spread, write
from tests.figures.colours import contrast

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


SIXES = [f"{level:02X}" for level in range(0, 256, 51)]
COLOURS = {
    *theme.PROBE_SET_COLOURS.values(),
    *theme.PALETTE,
    theme.NEUTRAL,
    *(f"#{''.join(one)}" for one in itertools.product(SIXES, repeat=3)),
}


def test_a_names_colour_can_be_read_on_the_light_page_and_on_the_dark_one():
    for colour, page in itertools.product(sorted(COLOURS), (LIGHT, DARK)):
        assert contrast(readable(colour), page) >= 4, (colour, readable(colour), page)


def test_a_name_points_at_the_end_of_its_line_and_is_text():
    figure = theme.apply(go.Figure(), height=460)
    names = [EndLabel(8, 20.0, "a <b>"), EndLabel(8, 20.0, "majority answer", strong=False)]
    write(figure, names, ranges=[(0, 25)])
    first, second = figure.layout.annotations
    assert (first.x, first.y, first.xref, first.yref, first.xanchor) == (8, 20, "x", "y", "left")
    assert first.text == "<b>a &lt;b&gt;</b>" and second.text == "majority answer"
    assert abs(first.ay - second.ay) >= 13, "they stand apart though their lines end in one place"
    assert figure.layout.yaxis.range == (0, 25) and figure.layout.margin.r == room(names)
