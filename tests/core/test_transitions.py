"""Parts and fates of single facts, at their bounds."""

import itertools

import pytest

from probing.core.knowledge.transitions import FATES, PARTS, Transitions, fate_of, first_known_by_both, part_of
from probing.core.stats.paired_tests import mcnemar_exact


def test_a_fact_is_known_up_to_rank_k_and_not_beyond():
    assert [part_of(1, 1, 1), part_of(2, 1, 1), part_of(1, 2, 1), part_of(2, 2, 1)] == [
        "kept",
        "gained",
        "lost",
        "never",
    ]
    assert [part_of(10, 10, 10), part_of(11, 10, 10), part_of(10, 11, 10), part_of(11, 11, 10)] == [
        "kept",
        "gained",
        "lost",
        "never",
    ]


#: Ranks of a base that has the fact first at the last layer only.
BASE = [9, 9, 9, 1]


def test_the_first_fate_that_holds_counts():
    assert fate_of([9, 1, 1, 1], [9, 2, 1, 50]) == "still_inside"
    assert fate_of([9, 1, 9, 1], [9, 1, 1, 50]) == "still_inside"
    assert fate_of([9, 1, 9, 1], [9, 9, 1, 50]) == "moved"
    assert fate_of(BASE, [9, 1, 9, 50]) == "moved"
    assert fate_of(BASE, [9, 2, 9, 100]) == "suppressed"
    assert fate_of(BASE, [9, 100, 9, 101]) == "displaced"
    assert fate_of(BASE, [9, 101, 101, 101]) == "not_read"


def test_the_embeddings_hold_nothing_and_the_last_layer_is_not_inner():
    assert fate_of([1, 9, 9, 1], [1, 101, 101, 101]) == "not_read"
    assert fate_of([1, 9, 9, 1], [1, 2, 2, 100]) == "suppressed"
    # Of a base with one layer less, layer 2 is the last.
    assert fate_of([9, 9, 1], [9, 9, 1, 50]) == "moved"


def test_first_known_by_both_means_the_same_inner_layer():
    assert first_known_by_both([9, 9, 1, 1], [9, 9, 1, 9]) == 2
    assert first_known_by_both([9, 1, 9, 1], [9, 9, 1, 9]) is None
    assert first_known_by_both([1, 9, 9, 1], [1, 1, 9, 1]) is None


def test_every_lost_fact_has_one_fate_and_every_fact_one_part():
    ranks = (1, 2, 100, 101)
    for base, *model in itertools.product(ranks, repeat=4):
        assert part_of(base, model[-1], 1) in PARTS
        assert fate_of([1, base, *model], [1, *model]) in FATES


def test_difference_is_that_of_the_fine_tuned_model_to_its_base():
    found = Transitions(
        kept=5, gained=2, lost=8, never=5, still_inside=3, moved=1, suppressed=2, displaced=1, not_read=1
    )
    assert found.n == 20
    assert found.difference.value == (2 - 8) / 20
    assert found.difference.p == mcnemar_exact(2, 8)


def test_fates_that_do_not_add_up_are_refused():
    with pytest.raises(ValueError, match="do not add up to lost"):
        Transitions(5, 2, 8, 5, 3, 1, 2, 1, 0)
