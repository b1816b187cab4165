"""Events from the browser are checked, and lists of words become spans."""

import pytest

from probing.ui.live.picker import changed_spans, hull, replaced

SPANS = [(1, 3), (4, 5)]


@pytest.mark.parametrize(
    ("event", "spans"),
    [
        ({"span": 1, "start": 0, "end": 6}, [(0, 6), (4, 5)]),
        ({"span": 2, "start": 2, "end": 3}, [(1, 3), (2, 3)]),
        ({"span": 1}, [(4, 5)]),
        ({"span": 2}, [(1, 3)]),
        ({"swap": True}, [(4, 5), (1, 3)]),
    ],
)
def test_what_the_component_sends_changes_the_spans(event, spans):
    assert changed_spans({"words": 6, **event}, 6, SPANS) == spans


@pytest.mark.parametrize(
    "event",
    [
        None,
        "span",
        [],
        {},
        {"words": 5, "span": 1, "start": 0, "end": 1},
        *(
            {"words": 6, **event}
            for event in (
                {},
                {"span": 0},
                {"span": 4, "start": 0, "end": 1},
                {"span": True, "start": 0, "end": 1},
                {"span": [1]},
                {"span": "1", "start": 0, "end": 1},
                {"span": 1, "start": 0},
                {"span": 1, "start": 3, "end": 3},
                {"span": 1, "start": -1, "end": 2},
                {"span": 1, "start": 0, "end": 7},
                {"span": 1, "start": 0.0, "end": 1.0},
                {"span": 1, "start": True, "end": 2},
                {"span": 1, "start": "<b>", "end": None},
                {"swap": "yes"},
            )
        ),
    ],
)
def test_an_invalid_event_changes_nothing(event):
    assert changed_spans(event, 6, SPANS) is None


def test_a_second_span_needs_a_first_one_and_two_to_change_places():
    assert changed_spans({"words": 6, "span": 2, "start": 0, "end": 1}, 6, []) is None
    assert changed_spans({"words": 6, "swap": True}, 6, [(0, 1)]) is None
    assert changed_spans({"words": 6, "span": 2, "start": 0, "end": 1}, 6, [(3, 4)]) == [(3, 4), (0, 1)]


def test_a_list_of_words_is_the_span_from_the_first_to_the_last():
    assert hull([], None) is None and hull([4], None) == (4, 5) and hull([5, 2], (2, 3)) == (2, 6)


def test_removing_a_word_from_the_middle_leaves_the_longer_part():
    assert hull([1, 2, 4], (1, 5)) == (1, 3)
    assert hull([1, 3, 4], (1, 5)) == (3, 5)
    assert hull([2, 3], (1, 4)) == (2, 4)


def test_removing_the_first_span_makes_the_second_one_the_first():
    assert (
        replaced(SPANS, 0, None) == [(4, 5)]
        and replaced([], 0, (1, 2)) == [(1, 2)]
        and replaced([(1, 2)], 1, None) == [(1, 2)]
    )
