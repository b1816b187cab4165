"""The number of replaced layers at which a lost answer is back."""

import pytest

from probing.core.knowledge.recovery import layers_to_recover


@pytest.mark.parametrize(
    ("ranks", "expected"),
    [
        ([9, 4, 1, 1], 2),
        ([9, 1, 3, 1], 1),
        ([1, 5, 1], None),
        ([9, 4, 2], None),
        ([9], None),
        ([], None),
    ],
)
def test_a_lost_answer_returns_at_the_smallest_n_with_rank_one(ranks, expected):
    assert layers_to_recover(ranks) == expected


def test_the_rank_that_counts_can_be_another():
    assert layers_to_recover([40, 12, 9, 1], k=10) == 2


def test_ranks_from_zero_are_refused():
    with pytest.raises(ValueError, match="from 1"):
        layers_to_recover([3, 0])
