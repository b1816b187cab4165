"""Bars of what is known, with what guessing gives as marks."""

import pandas as pd
import pytest

from probing.figures.knowledge.total_bars import MARKS, total_bars, with_null

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
NAMES = {"trex": "T-REx"}


def marks(*rows: dict) -> dict:
    figure = total_bars(pd.DataFrame(rows), k=1, colours={}, names=NAMES)
    return {trace.name: list(trace.x) for trace in figure.data if trace.type == "scatter"}


def test_every_yardstick_that_is_measured_is_a_mark_of_its_own():
    found = marks(ROW, ROW | {"model": "b", "seeds": 8, "seed_union": 0.22})
    assert list(found) == [name for name, _ in MARKS.values()]
    assert found[MARKS["majority"][0]] == [15, 15]
    assert found[MARKS["swapped_last"][0]] == [5, 5]
    # Of a gain of 10 points, 6 of 8 are found with a swapped subject too.
    assert found[MARKS["inner_null"][0]] == pytest.approx([20 + 10 * 6 / 8] * 2)
    assert found[MARKS["seed_union"][0]][1] == 22


def test_what_is_not_measured_has_no_mark():
    empty = dict.fromkeys(("majority", "swapped_last", "matched_last", "inner_own", "inner_swapped", "inner_n"))
    assert marks(ROW | empty) == {}
    half = marks(ROW, ROW | {"model": "b"} | empty)
    drawn = half[MARKS["majority"][0]]
    assert drawn[0] == 15 and pd.isna(drawn[1])


def test_the_two_bars_of_a_model_stack_to_its_total():
    last, inner, *_ = total_bars(pd.DataFrame([ROW]), k=1, colours={}, names=NAMES).data
    assert last.x[0] + inner.x[0] == pytest.approx(30)


def test_where_inner_layers_find_nothing_there_is_no_null():
    table = with_null(pd.DataFrame([ROW | {"inner_own": 0, "inner_swapped": 2}]))
    assert table["inner_null"].isna().all()


def test_every_bar_has_its_number_next_to_its_name_where_no_mark_can_cover_it():
    rows = pd.DataFrame([ROW, ROW | {"model": "b", "last": 0.0}])
    whole = total_bars(rows, k=1, colours={}, names=NAMES)
    assert list(whole.layout.yaxis.tickvals) == list(whole.data[0].y)
    assert [text.split("  ")[-1] for text in whole.layout.yaxis.ticktext] == ["<b>20.0</b>", "<b>0.0</b>"]
    assert whole.data[0].text is None, "a circle lay on the numbers inside the bars"
