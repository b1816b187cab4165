"""The relation map and the curves of relations."""

from itertools import pairwise

import pandas as pd
import pytest

from probing.figures.knowledge.relation_curves import relation_curves
from probing.figures.knowledge.relation_map import ordered, relation_map, row_facts
from probing.figures.knowledge.relation_slopes import relation_slopes

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
        (row,) = [number for number, (top, bottom) in enumerate(pairwise(heat.y)) if top < y < bottom]
        assert heat.z[row][list(heat.x).index(x)] == pytest.approx(PLANTED[relation][2][layer] * 100)
    assert "capital" in cells.hovertext[0] and "1-1" in cells.hovertext[0] and "50 facts" in cells.hovertext[0]


def test_a_long_name_is_whole_on_several_lines_of_a_row_that_is_as_much_higher():
    long = "located in the administrative territorial entity"
    table = points(label=lambda rows: rows["label"].where(rows["relation"] != "P2", long))
    figure = relation_map(table, k=1, order="name")
    (name,) = [text for text in figure.layout.yaxis.ticktext if "<br>" in text]
    lines = name.split("<br>")
    assert " ".join(lines) == long
    heights = [bottom - top for top, bottom in pairwise(figure.data[0].y)]
    assert sorted(heights)[:2] == [1, 1] and max(heights) >= len(lines)
    slopes = relation_slopes(losses(long), base="a", model="b", k=1)
    assert long in [text.replace("<br>", " ") for text in slopes.layout.yaxis.ticktext]
    assert list(slopes.layout.yaxis.tickvals) == list(slopes.data[2].y)


def losses(label: str) -> pd.DataFrame:
    numbers = {"n": 9, "kept": 1, "lost": 2, "gained": 0, "base_value": 0.5, "value": 0.2, "share_lost": 0.6}
    return pd.DataFrame(
        [{"relation": "P2", "label": label} | numbers, {"relation": "P1", "label": "capital"} | numbers]
    )


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


def test_a_baseline_that_is_not_stored_is_not_drawn():
    figure = relation_curves(points(swapped=float("nan")), k=10)
    assert "dot" not in {trace.line.dash for trace in figure.data}


def test_lines_that_can_be_clicked_lie_over_those_that_cannot():
    clickable = [trace.customdata is not None for trace in relation_curves(points(), k=1).data]
    assert clickable == sorted(clickable) and sum(clickable) == len(PLANTED)
