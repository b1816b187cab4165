"""A model is fit to be a demonstration under five conditions, whose numbers can be worked out by hand."""

import re
from dataclasses import replace

import numpy as np
import pytest

from data.making.quality import LayerCounts, conditions, contrast, contrasts, subject_points
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
        seen = [
            RelationCounts(str(r), int(n), int(random.binomial(n, p)))
            for r, (n, p) in enumerate(zip(n_seen, truth, strict=True))
        ]
        held = [
            RelationCounts(str(r), int(n), int(random.binomial(n, p)))
            for r, (n, p) in enumerate(zip(n_held, held_truth, strict=True))
        ]
        _, low, high = standardised_difference(seen, held, draws=400)
        hits += low <= 0.05 <= high
    assert 0.91 <= hits / 300 <= 0.99


def test_stated_and_evidence_are_set_against_held_out_facts_one_by_one_and_by_relation():
    # Pooled, seen facts are known more often: most are of the easy relation. Within each relation evidence makes no
    # difference.
    stated = [counts("easy", 400, 320), counts("hard", 400, 120)]
    evidence = [counts("easy", 900, 630), counts("hard", 100, 20)]
    held = [counts("easy", 100, 70), counts("hard", 400, 80)]
    of_stated, of_evidence = contrasts({"stated": stated, "evidence": evidence, "held out": held})
    assert of_stated.value == pytest.approx(0.1) and of_stated.shown
    assert of_evidence.value == pytest.approx(0) and not of_evidence.shown and "not shown" in str(of_evidence)
    assert conditions({8: stated}, by_layer(stated=stated, evidence=evidence, held_out=held))[4].holds
    unmoved = conditions({8: stated}, by_layer(stated=held, evidence=stated, held_out=held))[4]
    assert not unmoved.holds, "the condition rests on stated facts, which were chosen by hash"


def test_facts_held_out_in_part_are_counted_apart_and_together():
    stated, whole, part = [counts("P1", 200, 80)], [counts("P1", 100, 20)], [counts("P1", 50, 25), counts("P2", 10, 5)]
    found = contrasts({"stated": stated, "evidence": [], "held out": whole, "held out in part": part})
    assert [(one.exposure, one.held, one.n_held) for one in found] == [
        ("stated", "held out", 100),
        ("evidence", "held out", 100),
        ("stated", "held out whole or in part", 160),
        ("evidence", "held out whole or in part", 160),
    ]
    assert found[0].value == pytest.approx(0.4 - 0.2) and found[2].value == pytest.approx(0.4 - 45 / 150)
    assert "no relation has facts of both kinds" in str(found[1])


def by_layer(**parts):
    """Exposure -> layer -> counts, the same at layers 0 to 8."""
    return {name.replace("_", " "): dict.fromkeys(range(9), rows) for name, rows in parts.items()}


KNOWN = [counts(f"P{number}", hits_1=60) for number in range(15)]
HELD = [counts("P1", n=100, hits_1=5)]


def test_all_conditions_hold_for_a_model_that_knows_what_it_was_told_at_inner_layers_too():
    found = conditions(dict.fromkeys(range(9), KNOWN), by_layer(stated=KNOWN, held_out=HELD))
    assert [condition.holds for condition in found] == [True] * 5
    assert [re.search(r"layer (\d)", condition.name)[1] for condition in found] == ["8", "6", "4", "8", "8"]
    assert found[0].measured.startswith("60.0 - 10.0 = 50.0 points, 95 % interval 4")
    assert found[3].measured.startswith("60.0 - 20.0 = 40.0 points")
    assert found[4].measured.startswith("stated minus held out: 55.0 points")


@pytest.mark.parametrize(
    ("failing", "layers", "stated", "held"),
    [
        (0, {}, {8: [counts(f"P{n}", hits_1=49) for n in range(15)]}, HELD),
        (1, {}, {6: [counts(f"P{n}", hits_1=34) for n in range(15)]}, HELD),
        (2, {}, {4: [counts(f"P{n}", hits_1=24) for n in range(15)]}, HELD),
        (3, {8: [counts(f"P{n}", hits_1=27) for n in range(15)]}, {}, HELD),
        (4, {}, {}, [counts("P1", hits_1=60)]),
    ],
)
def test_each_condition_fails_by_itself(failing, layers, stated, held):
    every = dict.fromkeys(range(9), KNOWN)
    found = conditions({**every, **layers}, {"stated": {**every, **stated}, "held out": dict.fromkeys(range(9), held)})
    assert [number for number, condition in enumerate(found) if not condition.holds] == [failing]


def test_a_model_whose_swapped_subject_is_not_measured_does_not_pass():
    unmeasured = [replace(counts(), other_n=0, other_1=0)]
    first, *_ = conditions({8: unmeasured}, by_layer(stated=unmeasured))
    assert not first.holds and "not measured" in first.measured


def test_the_points_over_the_swapped_subject_have_an_interval_that_holds_the_truth():
    random = np.random.default_rng(5)
    own, swapped, sizes = random.uniform(0.1, 0.7, 20), random.uniform(0.0, 0.1, 20), random.integers(40, 600, 20)
    hits = 0
    for _ in range(200):
        drawn = zip(
            sizes.tolist(), random.binomial(sizes, own).tolist(), random.binomial(sizes, swapped).tolist(), strict=True
        )
        found = subject_points([counts(f"P{r}", n=n, hits_1=a, other_1=b) for r, (n, a, b) in enumerate(drawn)])
        hits += found.low <= (own - swapped).mean() <= found.high
    assert 0.91 <= hits / 200 <= 1


def test_a_model_without_held_out_facts_does_not_pass():
    assert not conditions({8: [counts()]}, by_layer(stated=[counts()]))[4].holds
    assert contrast("stated", [counts()], []).value is None
