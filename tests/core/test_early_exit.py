"""The layer is chosen on one half of the facts and scored on the other."""

import pytest

from probing.core.knowledge.early_exit import ExitCounts, best_layer, early_exit
from probing.core.stats.paired_tests import PairedCounts, mcnemar_exact


def test_shares_are_those_of_the_scored_half_at_the_chosen_layers():
    # Layers 1, 2 and 3 (the last); 10 scored facts a relation, of which the last layer knows 4 and 5.
    early = ExitCounts(
        "early",
        {1: 2, 2: 9, 3: 4},
        {1: PairedCounts(1, 0, 3, 6), 2: PairedCounts(3, 3, 1, 3), 3: PairedCounts(4, 0, 0, 6)},
        8,
    )
    late = ExitCounts(
        "late",
        {1: 0, 2: 3, 3: 6},
        {1: PairedCounts(0, 0, 5, 5), 2: PairedCounts(2, 1, 3, 4), 3: PairedCounts(5, 0, 0, 5)},
        6,
    )
    found = early_exit([early, late])
    assert found.layers == {"early": 2, "late": 3}
    assert found.n == 10 + 10
    assert found.last_layer == (4 + 5) / 20
    assert found.early_exit == (6 + 5) / 20
    assert found.union == (8 + 6) / 20
    assert found.difference.value == pytest.approx((11 - 9) / 20)
    assert found.difference.p == mcnemar_exact(3, 1)


def test_of_equal_layers_the_last_is_chosen():
    assert best_layer({1: 4, 2: 4, 3: 3}) == 2
    assert best_layer({1: 0, 2: 0, 3: 0}) == 3
    with pytest.raises(ValueError, match="no layers"):
        best_layer({})


def test_a_relation_without_facts_to_choose_on_exits_at_the_last_layer():
    found = early_exit([ExitCounts("small", {}, {1: PairedCounts(0, 1, 0, 0), 2: PairedCounts(0, 0, 0, 1)}, 1)])
    assert found.layers == {"small": 2}
    assert (found.last_layer, found.early_exit, found.union) == (0, 0, 1)


def test_without_scored_facts_there_is_no_value():
    found = early_exit([ExitCounts("empty", {1: 1, 2: 0}, {}, 0)])
    assert (found.n, found.last_layer, found.early_exit, found.union, found.difference.value) == (
        0,
        None,
        None,
        None,
        None,
    )


def test_a_union_that_cannot_be_is_refused():
    with pytest.raises(ValueError, match="at least those of one layer"):
        early_exit([ExitCounts("odd", {1: 1}, {1: PairedCounts(3, 0, 0, 0)}, 2)])
