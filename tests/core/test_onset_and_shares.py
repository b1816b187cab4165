"""From which layer on a relation is known, and shares with the counts behind them."""

import math

import pytest

from probing.core.knowledge.onset import onset
from probing.core.knowledge.shares import hits_of


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([0.9, 0.1, 0.2, 0.4], 2),  # The embeddings do not count; half exactly does.
        ([0.0, 0.0, 0.0, 0.4], 3),
        ([0.0, 0.8, 0.1, 0.4], 1),  # What is lost again in between was reached.
        ([0.0, 0.5, 0.5, 0.0], None),
        ([0.0, 0.5, 0.5, math.nan], None),
    ],
)
def test_onset_is_the_first_layer_with_half_of_the_last_ones_value(values, expected):
    assert onset(dict(enumerate(values)), 3) == expected


def test_a_relation_without_a_value_at_the_last_layer_has_no_onset():
    assert onset({0: 0.5, 1: 0.5}, 3) is None
    assert onset({0: 0.5}, 0) is None


def test_the_count_behind_a_share_is_whole():
    assert all(hits_of(hits / n, n) == hits for n in (1, 3, 7, 1000) for hits in range(n + 1))
