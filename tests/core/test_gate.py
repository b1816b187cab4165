"""The gate: four conditions whose sums can be done by hand."""

from dataclasses import replace

import pytest

from probing.core.nesia.quality import LayerCounts, conditions, difference
from probing.core.stats.intervals import RelationCounts, micro


def counts(relation="P1", n=100, hits_1=40, hits_10=60, answer_hits=50, majority_hits=20, other_1=10):
    return LayerCounts(relation, n, hits_1, hits_10, answer_hits, majority_hits, n, other_1)


def share(hits, n):
    return micro([RelationCounts("all", n, hits)])


def test_the_difference_of_independent_shares_has_newcombes_published_interval():
    value, low, high = difference(share(56, 70), share(48, 80))
    assert value == pytest.approx(0.2)
    assert (low, high) == (pytest.approx(0.0524, abs=5e-5), pytest.approx(0.3339, abs=5e-5))


def test_all_four_conditions_hold_for_a_model_that_knows_what_it_has_seen():
    last = [counts(f"P{number}") for number in range(15)]
    parts = {"stated": last, "held out": [counts(n=100, hits_1=5)]}
    found = conditions(last, parts)
    assert [condition.holds for condition in found] == [True] * 4
    assert found[0].measured == "40.0 - 10.0 = 30.0 points"
    assert found[2].measured == "15 of 15 relations"
    assert found[3].measured.startswith("35.0 points")


def test_each_condition_fails_by_itself():
    last = [counts(f"P{number}") for number in range(15)]
    parts = {"stated": last, "held out": [counts(hits_1=5)]}
    assert not conditions([counts(f"P{n}", other_1=36) for n in range(15)], parts)[0].holds
    assert not conditions([counts(f"P{n}", hits_10=29, hits_1=20) for n in range(15)], parts)[1].holds
    assert not conditions(last[:14], parts)[2].holds
    assert not conditions(last, {"stated": last, "held out": [counts(hits_1=40)]})[3].holds


def test_a_model_whose_swapped_subject_is_not_measured_does_not_pass():
    (first, *_) = conditions([replace(counts(), other_n=0, other_1=0)], {})
    assert not first.holds and first.measured == "the swapped subject is not measured"


def test_a_model_without_held_out_facts_does_not_pass():
    assert conditions([counts()], {"stated": [counts()]})[3].measured == "no held-out facts"
