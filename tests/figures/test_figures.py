"""Figures: what is drawn is what the table says, and strangers' tokens are text."""

import math
from itertools import pairwise

import pandas as pd
import plotly.graph_objects as go
import pytest

from probing.figures import layer_axis, theme
from probing.figures.knowledge.layer_curve import layer_curve
from probing.figures.knowledge.relation_slopes import relation_slopes
from probing.figures.knowledge.total_bars import total_bars
from probing.figures.tokens.entropy import entropy_lines
from probing.figures.tokens.rank_lines import probability_lines, rank_lines
from probing.figures.tokens.token_grid import RIGHT, token_grid

from .colours import colours_of, contrast, luminance

COLOURS = colours_of("nesia-mini", "other-bert")
NAMES = {"trex": "T-REx", "common_sense": "common sense (ours)"}


def curve_points(models=("nesia-mini",), sets=("trex",), heads=("tied",), layers=3) -> pd.DataFrame:
    rows = [
        {
            "run_id": f"{model}-{head}-{probe_set}",
            "model": model,
            "head": head,
            "probe_set": probe_set,
            "layer": layer,
            "value": layer / 10,
            "low": layer / 10 - 0.01,
            "high": layer / 10 + 0.01,
            "n": 50,
            "relations": 3,
            "majority": 0.24,
            "swapped": layer / 20,
        }
        for model in models
        for head in heads
        for probe_set in sets
        for layer in range(layers)
    ]
    return pd.DataFrame(rows)


def curve(points: pd.DataFrame, **more) -> go.Figure:
    return layer_curve(points, **{"title": "P@1, macro", "unit": "share", "colours": COLOURS, "names": NAMES} | more)


def lines(figure: go.Figure) -> list:
    return [trace for trace in figure.data if trace.customdata is not None]


def test_a_curve_shows_shares_in_per_cent_with_its_run_and_layer_behind_every_point():
    (line,) = lines(curve(curve_points()))
    assert list(line.y) == pytest.approx([0, 10, 20])
    assert [list(point) for point in line.customdata] == [
        ["nesia-mini-tied-trex", 0],
        ["nesia-mini-tied-trex", 1],
        ["nesia-mini-tied-trex", 2],
    ]


def test_a_mean_reciprocal_rank_is_no_percentage():
    (line,) = lines(curve(curve_points(), unit="mean of 1 / rank"))
    assert list(line.y) == pytest.approx([0, 0.1, 0.2])


def test_models_keep_their_colour_and_probe_sets_get_theirs_only_when_there_is_one_model():
    both = curve(curve_points(models=("nesia-mini", "other-bert"), sets=("trex", "common_sense")))
    assert {line.line.color for line in lines(both)} == set(COLOURS.values())
    one = curve(curve_points(sets=("trex", "common_sense")))
    assert [line.line.color for line in lines(one)] == [
        theme.probe_set_colour("trex"),
        theme.probe_set_colour("common_sense"),
    ]


def test_panels_give_each_probe_set_its_own_axes():
    figure = curve(curve_points(sets=("trex", "common_sense")), panels=True)
    assert {line.xaxis for line in lines(figure)} == {"x", "x2"}
    assert {note.text for note in figure.layout.annotations} >= {"T-REx", "common sense (ours)"}


@pytest.mark.parametrize("last", [2, 12, 13, 24, 36])
def test_layer_ticks_hold_first_and_last_and_fit(last):
    ticks = layer_axis.horizontal(go.Figure(), last).layout.xaxis.tickvals
    assert ticks[0] == 0 and ticks[-1] == last and len(ticks) <= 16


def test_ranks_have_the_best_on_top_of_a_logarithmic_axis():
    axis = rank_lines(pd.DataFrame({"name": ["a"] * 2, "layer": [0, 1], "rank": [5000.0, 1.0]})).layout.yaxis
    assert axis.type == "log" and axis.range[0] >= math.log10(5000) and axis.range[1] < 0


def test_probabilities_are_drawn_in_per_cent():
    (line,) = probability_lines(pd.DataFrame({"name": ["a"], "layer": [1], "probability": [0.25]})).data
    assert list(line.y) == [25]


def tokens(*words: str) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "layer": 0,
            "place": range(1, len(words) + 1),
            "token": words,
            "probability": [0.5 / (n + 1) for n in range(len(words))],
        }
    )


def test_the_right_answer_has_its_colour_wherever_it_stands_and_not_what_is_spelt_alike():
    figure = token_grid(tokens("paris", "Paris", "Berlin").assign(framed=[False, True, False]))
    right = figure.data[1]
    assert [value == 1 for value in right.z[0]] == [False, True, False] and {
        colour for _, colour in right.colorscale
    } == {RIGHT}
    assert [trace.type for trace in token_grid(tokens("paris")).data] == ["heatmap", "scatter"]


def test_tokens_that_look_like_markup_are_shown_as_they_stand():
    figure = token_grid(tokens("<b>", "&amp;", "<a href='x'>y"))
    text = figure.data[1].text
    assert text[0].startswith("&lt;b&gt;") and text[1].startswith("&amp;amp;")
    assert "<a" not in "".join(text)


@pytest.mark.parametrize(
    "figure",
    [
        lambda: curve(curve_points().assign(value=float("nan"))),
        lambda: token_grid(tokens()),
        lambda: rank_lines(pd.DataFrame({"name": [], "layer": [], "rank": []})),
        lambda: probability_lines(pd.DataFrame({"name": [], "layer": [], "probability": []})),
        lambda: entropy_lines(pd.DataFrame({"name": [], "layer": [], "entropy": []}), colours={}),
        lambda: total_bars(
            pd.DataFrame({"last": [None], "total": [None], "model": ["a"], "head": ["b"]}), k=1, colours={}, names={}
        ),
    ],
)
def test_a_figure_without_data_says_so_in_words(figure):
    assert any(note.text for note in figure().layout.annotations)


def test_the_stamp_is_part_of_the_figure_and_leaves_the_original_alone():
    figure = curve(curve_points())
    before = len(figure.layout.annotations)
    stamped = theme.stamp(figure, "filters <b> · data 1a2b")
    assert len(figure.layout.annotations) == before
    (note,) = [note for note in stamped.layout.annotations if note.name == "stamp"]
    assert note.text == "filters &lt;b&gt; · data 1a2b"
    assert (note.x, note.xanchor) == (1, "right"), (
        "long names of rows would push it out of a narrow window from the left"
    )


def test_colours_are_distinct_and_none_is_close_to_white_or_black():
    models = {colour for shades in theme.OBJECTIVE_COLOURS.values() for colour in shades}
    for colour in {*theme.PALETTE, *theme.PROBE_SET_COLOURS.values(), *theme.PART_COLOURS.values(), *models}:
        light = luminance(colour)
        assert (light + 0.05) / (0.008 + 0.05) >= 2.6, f"{colour} vanishes on a dark page"
        assert 1.05 / (light + 0.05) >= 2, f"{colour} vanishes on a light page"
    assert len(set(theme.PALETTE)) == len(theme.PALETTE)


def test_text_is_left_to_the_page_and_inked_for_white_paper():
    figure = curve(curve_points())
    assert figure.layout.font.color is None and figure.layout.xaxis.tickfont.color is None
    inked = theme.ink(go.Figure(figure))
    assert inked.layout.font.color == inked.layout.xaxis.tickfont.color == theme.INK


#: Every probability that a cell is likely to have.
PROBABILITIES = [10 ** (-6 + 0.01 * n) for n in range(601)]


def cells(*probabilities: float, dark: bool) -> list[tuple[str, str]]:
    """Colour and ink of each cell of a grid, the colour mixed from the figure's own scale."""
    words = pd.DataFrame(
        {"layer": 0, "place": range(1, len(probabilities) + 1), "token": "rome", "probability": probabilities}
    )
    figure = token_grid(words, columns=len(probabilities), dark=dark)
    scale = figure.data[0].colorscale
    steps = [float(z) for z in figure.data[0].z[0]]
    mixed = []
    for z in steps:
        (low, first), (high, second) = next(
            pair for pair in pairwise(scale) if z < pair[1][0] + 1e-9 and pair[0][0] < pair[1][0]
        )
        share = (z - low) / (high - low)
        parts = [(int(first[at : at + 2], 16), int(second[at : at + 2], 16)) for at in (1, 3, 5)]
        mixed.append("#" + "".join(f"{round(one + share * (other - one)):02X}" for one, other in parts))
    return list(zip(mixed, figure.data[1].textfont.color, strict=True))


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_a_grids_words_can_be_read_on_every_cell_whatever_its_probability(dark):
    for colour, ink in cells(*PROBABILITIES, dark=dark):
        assert contrast(colour, ink) >= 4.5


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_cells_of_less_than_five_per_cent_are_as_the_page_and_then_each_is_further_from_it(dark):
    shown = [luminance(colour) for colour, _ in cells(*PROBABILITIES, dark=dark)]
    faint = [share for share, probability in zip(shown, PROBABILITIES, strict=True) if probability < 0.05]
    assert len(set(faint)) == 1 and sorted(shown, reverse=not dark) == shown
    assert abs(luminance(cells(0.5, dark=dark)[0][0]) - faint[0]) > 0.08


def test_relations_of_which_too_few_facts_are_known_are_below_a_gap_that_says_so():
    columns = ["relation", "label", "n", "kept", "lost", "gained", "base_value", "value", "share_lost"]
    many, few = (
        ["P19", "birthplace", 100, 10, 40, 0, 0.5, 0.1, 0.8],
        ["P103", "native language", 100, 0, 2, 0, 0.02, 0.0, 1.0],
    )
    drawn = {
        len(rows): relation_slopes(pd.DataFrame(rows, columns=columns), base="a", model="b", k=1, fewest=30)
        for rows in ([many, few], [few])
    }
    notes = [note for note in drawn[2].layout.annotations if "known facts" in note.text]
    assert (
        list(drawn[2].layout.yaxis.tickvals) == [0.5, 2.5]
        and [note.y for note in notes] == [1.5]
        and "30" in notes[0].text
    )
    assert list(drawn[1].layout.yaxis.tickvals) == [0.5] and not any(
        "known facts" in note.text for note in drawn[1].layout.annotations
    )
