"""Figures of facts: what is drawn is what the table says, strangers' tokens are text; models, relations, totals."""

from itertools import pairwise

import pandas as pd
import plotly.graph_objects as go
import pytest

from probing.facts.figures import MARKS, layer_curve, total_bars, with_total_null
from probing.facts.figures_pairs import alluvial, paired_curve, retention_bars
from probing.facts.figures_relations import ordered, relation_map, row_facts
from probing.facts.forgotten import outcome_words
from probing.kernel.figures import theme
from probing.live.figures import RIGHT, percent, token_grid
from tests.kernel.colours import colours_of

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


def test_no_probability_is_shown_as_certain_or_as_none():
    shown = {0.9951: ">99 %", 0.9949: ">99 %", 0.99: "99 %", 0.012: "1 %", 0.0042: "0.4 %", 0.0002: "<0.1 %"}
    assert {share: percent(share) for share in shown} == shown


def test_tokens_that_look_like_markup_are_shown_as_they_stand():
    figure = token_grid(tokens("<b>", "&amp;", "<a href='x'>y"))
    text = figure.data[1].text
    assert text[0].startswith("&lt;b&gt;") and text[1].startswith("&amp;amp;")
    assert "<a" not in "".join(text)


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


BASE, MODEL, CONTROL = "nesia-mini", "nesia-mini-qa-squad-1", "nesia-mini-control"
PAIR_COLOURS = colours_of(BASE, MODEL, CONTROL)
COUNTS = {
    "kept": 60,
    "lost": 40,
    "gained": 20,
    "never": 880,
    "still_inside": 11,
    "moved": 4,
    "suppressed": 12,
    "displaced": 8,
    "not_read": 5,
}


def flow(**counts):
    return alluvial(COUNTS | counts, base=BASE, model=MODEL, colours=PAIR_COLOURS)


def clickable(figure) -> set[str]:
    return {point[0] for trace in figure.data if trace.customdata is not None for point in trace.customdata}


def heights(figure) -> dict[str, float]:
    """Height of every block, by its label."""
    blocks = [trace for trace in figure.data if trace.fill == "toself" and len(trace.x) == 4]
    labels = [trace for trace in figure.data if trace.mode == "text"]
    return {
        label.text[0].split("</b>")[0][3:].replace("<br>", " "): max(block.y) - min(block.y)
        for block, label in zip(blocks, labels, strict=True)
    }


def test_every_part_of_the_flow_can_be_clicked_and_is_as_high_as_its_facts():
    figure = flow()
    assert clickable(figure) == set(COUNTS) - {"never"}
    assert heights(figure) == pytest.approx(
        {
            "known": 100,
            "not known": 20,
            "kept": 60,
            "lost": 40,
            "gained": 20,
            outcome_words("still_inside"): 11,
            outcome_words("moved"): 4,
            outcome_words("suppressed"): 12,
            outcome_words("displaced"): 8,
            outcome_words("not_read"): 5,
        }
    )


def test_the_flow_is_as_high_as_the_labels_of_its_longest_column_need():
    figure = flow(kept=1, lost=199, still_inside=12, moved=40, suppressed=10, displaced=125, not_read=12)
    names = {outcome_words(name) for name in ("still_inside", "moved", "suppressed", "displaced", "not_read")}
    labels = [trace for trace in figure.data if trace.mode == "text" and trace.text[0][3:].split("</b>")[0]]
    places = sorted(
        (float(trace.y[0]), 1 + trace.text[0].count("<br>"))
        for trace in labels
        if trace.text[0].split("</b>")[0][3:].replace("<br>", " ") in names
    )
    low, high = sorted(figure.layout.yaxis.range)
    pixels = (figure.layout.height - figure.layout.margin.t - figure.layout.margin.b) / (high - low)
    assert len(places) == 5 and pixels * (places[0][0] - low) > 7 * places[0][1]
    for (above, lines), (below, more) in pairwise(places):
        assert pixels * (below - above) > 14 * (lines + more) / 2


def models() -> pd.DataFrame:
    """Two models with single facts, one with counts only."""
    rows = [(CONTROL, 90, 10, 10), (MODEL, 30, 70, 5), ("nesia-mini-qa-squad-2", None, None, None)]
    table = pd.DataFrame(rows, columns=["model", "kept", "lost", "gained"]).assign(
        base=BASE, now_share=[1.0, 0.35, 0.07]
    )
    return table.assign(**{f"{part}_share": table[part] / 100 for part in ("kept", "lost", "gained")})


def test_a_bar_has_what_is_kept_lost_and_gained_and_of_counts_what_is_known_now():
    figure = retention_bars(models(), k=1)
    bars = {trace.name: trace for trace in figure.data}
    assert {name: list(bar.x) for name, bar in bars.items()} == {
        "kept": [90, 30],
        "lost": [10, 70],
        "gained": [10, 5],
        "known now, of counts only": [pytest.approx(7)],
    }
    assert [list(point) for point in bars["lost"].customdata] == [[CONTROL, "lost"], [MODEL, "lost"]]
    assert figure.layout.yaxis.ticktext[0] == "nesia-mini-control" and figure.layout.barmode == "stack"
    assert retention_bars(models().head(0), k=1).layout.annotations


def paired() -> pd.DataFrame:
    rows = [
        {
            "layer": layer,
            "n": 100,
            "base_value": 0.2,
            "base_low": 0.1,
            "base_high": 0.3,
            "value": 0.1 * layer,
            "low": 0.0,
            "high": 0.4,
            "difference": 0.1 * layer - 0.2,
            "difference_low": -0.3,
            "difference_high": 0.1,
            "p_value": 0.2 if layer else 0.01,
        }
        for layer in range(3)
    ]
    return pd.DataFrame(rows)


def test_the_difference_of_two_curves_is_the_first_minus_the_second_and_filled_where_it_is_sure():
    figure = paired_curve(paired(), k=1, base=BASE, model=MODEL, colours=PAIR_COLOURS)
    base, model = (next(trace for trace in figure.data if trace.name == name) for name in (BASE, MODEL))
    (difference,) = [trace for trace in figure.data if trace.name == "difference"]
    assert list(difference.y) == pytest.approx([m - b for m, b in zip(model.y, base.y, strict=True)])
    assert list(difference.marker.color) == [PAIR_COLOURS[MODEL], "rgba(0,0,0,0)", "rgba(0,0,0,0)"]
    assert [list(point) for point in model.customdata][-1] == [MODEL, 2]


#: Relation -> (label, cardinality, shares of layers 0 to 3).
PLANTED = {
    "P1": ("capital", "1-1", [0.9, 0.3, 0.5, 0.4]),
    "P2": ("born in", "N-1", [0.0, 0.0, 0.1, 0.8]),
    "P3": ("shares border", "N-M", [0.0, 0.0, 0.3, 0.0]),
}


def points(**more) -> pd.DataFrame:
    rows = [
        {
            "relation": relation,
            "label": label,
            "cardinality": kind,
            "layer": layer,
            "n": 50,
            "value": value,
            "low": value / 2,
            "high": (1 + value) / 2,
            "majority": 0.2,
            "swapped": 0.1,
        }
        for relation, (label, kind, values) in PLANTED.items()
        for layer, value in enumerate(values)
    ]
    return pd.DataFrame(rows).assign(**more)


def test_a_relations_onset_is_its_first_layer_from_1_with_half_of_the_last_value():
    rows = row_facts(points()).set_index("relation")
    # 0.4 / 2 = 0.2 is reached at layer 1, whatever layer 0 does; 0.8 / 2 = 0.4 at layer 3 only.
    assert (rows.loc["P1", "onset"], rows.loc["P2", "onset"]) == (1, 3)
    assert pd.isna(rows.loc["P3", "onset"])
    assert list(rows["drop"]) == pytest.approx([0.5 - 0.4, 0.1 - 0.8, 0.3 - 0.0])


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ("onset", ["P1", "P2", "P3"]),
        ("last", ["P2", "P1", "P3"]),
        ("drop", ["P3", "P1", "P2"]),
        ("name", ["P2", "P1", "P3"]),
        ("cardinality", ["P1", "P2", "P3"]),
    ],
)
def test_rows_stand_in_the_order_that_was_chosen(order, expected):
    assert ordered(points(), order) == expected
    figure = relation_map(points(), k=1, order=order)
    assert [label.split(" · ")[-1] for label in figure.layout.yaxis.ticktext] == [PLANTED[name][0] for name in expected]


def test_every_cell_of_the_map_carries_its_relation_and_layer_and_stands_on_its_shade():
    heat, cells = relation_map(points(), k=1, order="name").data
    assert len(cells.x) == 12
    for x, y, (relation, layer) in zip(cells.x, cells.y, cells.customdata, strict=True):
        assert x == layer
        assert heat.z[list(heat.y).index(y)][list(heat.x).index(x)] == pytest.approx(PLANTED[relation][2][layer] * 100)
    assert "capital" in cells.hovertext[0] and "1-1" in cells.hovertext[0] and "50 facts" in cells.hovertext[0]


@pytest.mark.parametrize(
    ("label", "shown"),
    [
        ("capital", "capital"),
        ("language of a film or of a show on TV", "language of a film"),
        ("position played in a team / speciality", "position played in a team"),
        ("located in the administrative unit", "located in the administrativ…"),
    ],
)
def test_names_of_relations_have_one_line_and_end_before_a_further_name(label, shown):
    assert set(relation_map(points(label=label), k=1).layout.yaxis.ticktext) == {shown}


def test_the_difference_to_the_base_is_signed_around_nought():
    heat = relation_map(points(base_value=0.5), k=1, base="nesia-mini").data[0]
    assert heat.zmin == -heat.zmax
    assert heat.z.min() == pytest.approx(-50) and heat.z.max() == pytest.approx(40)


def test_a_shade_means_the_same_for_a_model_that_knows_much_and_one_that_knows_little():
    def shade(factor: float, **more):
        table = points(**more)
        return relation_map(table.assign(value=table["value"] * factor), k=1, base="b" if more else "").data[0]

    for more in ({}, {"base_value": 0.0}):
        much, little = shade(1.0, **more), shade(0.02, **more)
        assert (much.zmin, much.zmax, much.colorscale) == (little.zmin, little.zmax, little.colorscale)
        assert little.z.max() < 2 < much.z.max() <= much.zmax == 100


def test_a_label_that_looks_like_markup_is_text():
    figure = relation_map(points(label="<b>x"), k=1)
    assert figure.layout.yaxis.ticktext[0] == "&lt;b&gt;x"
    assert "<b>x<" not in figure.data[1].hovertext[0]


ROW = {
    "model": "a",
    "head": "tied",
    "probe_set": "trex",
    "last": 0.2,
    "total": 0.3,
    "total_low": 0.28,
    "total_high": 0.32,
    "intermediate": 1 / 3,
    "n": 100,
    "majority": 0.15,
    "swapped_last": 0.05,
    "matched_last": 0.18,
    "inner_own": 8,
    "inner_swapped": 6,
    "inner_n": 70,
    "seeds": 1,
    "seed_union": None,
}
TOTAL_NAMES = {"trex": "T-REx"}


def marks(*rows: dict) -> dict:
    figure = total_bars(pd.DataFrame(rows), k=1, colours={}, names=TOTAL_NAMES)
    return {trace.name: list(trace.x) for trace in figure.data if trace.type == "scatter"}


def test_every_yardstick_that_is_measured_is_a_mark_of_its_own():
    found = marks(ROW, ROW | {"model": "b", "seeds": 8, "seed_union": 0.22})
    assert list(found) == [name for name, _ in MARKS.values()]
    assert found[MARKS["majority"][0]] == [15, 15]
    assert found[MARKS["swapped_last"][0]] == [5, 5]
    # Of a gain of 10 points, 6 of 8 are found with a swapped subject too.
    assert found[MARKS["total_null"][0]] == pytest.approx([20 + 10 * 6 / 8] * 2)
    assert found[MARKS["seed_union"][0]][1] == 22


def test_what_is_not_measured_has_no_mark():
    empty = dict.fromkeys(("majority", "swapped_last", "matched_last", "inner_own", "inner_swapped", "inner_n"))
    assert marks(ROW | empty) == {}
    half = marks(ROW, ROW | {"model": "b"} | empty)
    drawn = half[MARKS["majority"][0]]
    assert drawn[0] == 15 and pd.isna(drawn[1])


def test_the_two_bars_of_a_model_stack_to_its_total():
    last, inner, *_ = total_bars(pd.DataFrame([ROW]), k=1, colours={}, names=TOTAL_NAMES).data
    assert last.x[0] + inner.x[0] == pytest.approx(30)


def test_where_inner_layers_find_nothing_there_is_no_null():
    table = with_total_null(pd.DataFrame([ROW | {"inner_own": 0, "inner_swapped": 2}]))
    assert table["total_null"].isna().all()
