"""A model is fit to be an instrument under four conditions, whose numbers can be worked out by hand."""

from dataclasses import replace

import numpy as np
import pytest

from probing.core.nesia.quality import LayerCounts, conditions, contrast, contrasts
from probing.core.stats.intervals import RelationCounts, standardised_difference


def counts(relation="P1", n=100, hits_1=40, hits_10=60, answer_hits=50, majority_hits=20, other_1=10):
    return LayerCounts(relation, n, hits_1, hits_10, answer_hits, majority_hits, n, other_1)


def test_the_standardised_difference_gives_every_relation_the_weight_it_has_among_the_second_facts():
    seen = [RelationCounts("easy", 900, 720), RelationCounts("hard", 100, 20), RelationCounts("unpaired", 50, 50)]
    held = [RelationCounts("easy", 10, 7), RelationCounts("hard", 30, 3), RelationCounts("empty", 0, 0)]
    value, low, high = standardised_difference(seen, held)
    assert value == pytest.approx((10 * (0.8 - 0.7) + 30 * (0.2 - 0.1)) / 40)
    assert -1 < low < value < high < 1
    assert standardised_difference(seen, [RelationCounts("other", 9, 1)]) is None


def test_the_interval_of_a_standardised_difference_holds_the_truth_as_often_as_it_says():
    random = np.random.default_rng(3)
    easy, n_seen, n_held = random.uniform(0.05, 0.6, 20), random.integers(50, 900, 20), random.integers(4, 40, 20)
    truth, held_truth = easy + 0.05, easy
    hits = 0
    for _ in range(300):
        seen = [RelationCounts(str(r), int(n), int(random.binomial(n, p))) for r, (n, p) in enumerate(zip(n_seen, truth, strict=True))]
        held = [RelationCounts(str(r), int(n), int(random.binomial(n, p))) for r, (n, p) in enumerate(zip(n_held, held_truth, strict=True))]
        _, low, high = standardised_difference(seen, held, draws=400)
        hits += low <= 0.05 <= high
    assert 0.91 <= hits / 300 <= 0.99


def test_stated_and_evidence_are_set_against_held_out_facts_one_by_one_and_by_relation():
    # Pooled, seen facts are known more often: most are of the easy relation. Within each relation evidence makes no difference.
    stated = [counts("easy", 400, 320), counts("hard", 400, 120)]
    evidence = [counts("easy", 900, 630), counts("hard", 100, 20)]
    held = [counts("easy", 100, 70), counts("hard", 400, 80)]
    of_stated, of_evidence = contrasts({"stated": stated, "evidence": evidence, "held out": held})
    assert of_stated.value == pytest.approx(0.1) and of_stated.shown
    assert of_evidence.value == pytest.approx(0) and not of_evidence.shown and "not shown" in str(of_evidence)
    assert conditions(stated, {"stated": stated, "evidence": evidence, "held out": held})[3].holds
    unmoved = conditions(stated, {"stated": held, "evidence": stated, "held out": held})[3]
    assert not unmoved.holds, "the condition rests on stated facts, which were chosen by hash"


def test_facts_held_out_in_part_are_counted_apart_and_together():
    stated, whole, part = [counts("P1", 200, 80)], [counts("P1", 100, 20)], [counts("P1", 50, 25), counts("P2", 10, 5)]
    found = contrasts({"stated": stated, "evidence": [], "held out": whole, "held out in part": part})
    assert [(one.exposure, one.held, one.n_held) for one in found] == [
        ("stated", "held out", 100), ("evidence", "held out", 100),
        ("stated", "held out whole or in part", 160), ("evidence", "held out whole or in part", 160),
    ]  # fmt: skip
    assert found[0].value == pytest.approx(0.4 - 0.2) and found[2].value == pytest.approx(0.4 - 45 / 150)
    assert "no relation has facts of both kinds" in str(found[1])


def test_all_four_conditions_hold_for_a_model_that_knows_what_it_has_seen():
    last = [counts(f"P{number}") for number in range(15)]
    parts = {"stated": last, "held out": [counts("P1", n=100, hits_1=5)]}
    found = conditions(last, parts)
    assert [condition.holds for condition in found] == [True] * 4
    assert found[0].measured == "40.0 - 10.0 = 30.0 points"
    assert found[2].measured == "15 of 15 relations"
    assert found[3].measured.startswith("stated minus held out: 35.0 points")


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
    assert not conditions([counts()], {"stated": [counts()]})[3].holds
    assert contrast("stated", [counts()], []).value is None
