"""The excess over a yardstick: by hand, at equal confidence, and with an interval that holds the truth."""

import numpy as np
import pytest

from probing.core.forgetting.excess import (
    ABOVE,
    BELOW,
    POOLED,
    UNKNOWN,
    Outcomes,
    excess,
    excess_at_equal_confidence,
    pooled_relations,
    shares,
    verdict,
)


def outcomes(came_back, confidence=None, subjects=None):
    rows = np.atleast_2d(np.array(came_back, float))
    n = rows.shape[1]
    confidence = np.full(n, 0.5) if confidence is None else np.array(confidence)
    return Outcomes(np.arange(n) if subjects is None else np.array(subjects), rows, confidence, np.arange(n))


def test_an_excess_is_the_difference_of_two_shares():
    found = excess(outcomes([1, 1, 1, 0]), outcomes([1, 0, 0, 0], subjects=[4, 5, 6, 7]))
    assert (found.share, found.yardstick, found.value) == (0.75, 0.25, 0.5) and found.low <= 0.5 <= found.high
    assert excess(outcomes([1]), outcomes(np.empty((1, 0)))) is None


def test_equal_confidence_takes_away_what_confidence_explains():
    # Confident answers come back, others do not; the lost facts are the confident ones.
    lost = outcomes([1] * 80 + [0] * 20, [0.9] * 80 + [0.05] * 20)
    wrong = outcomes([1] * 20 + [0] * 80, [0.9] * 20 + [0.05] * 80, subjects=range(100, 200))
    assert excess(lost, wrong).value == pytest.approx(0.6)
    equal = excess_at_equal_confidence(lost, wrong)
    assert equal.value == pytest.approx(0) and (equal.share, equal.yardstick) == pytest.approx((0.8, 0.8))


def test_bins_that_one_side_lacks_take_no_part():
    lost, wrong = outcomes([1, 1, 0], [0.9, 0.9, 0.05]), outcomes([0, 0], [0.9, 0.4], subjects=[8, 9])
    found = excess_at_equal_confidence(lost, wrong)
    assert (found.share, found.yardstick, found.n, found.n_yardstick) == (1, 0, 2, 1)
    assert excess_at_equal_confidence(outcomes([1], [0.9]), outcomes([1], [0.05])) is None


def test_seeds_are_averaged_and_a_fact_that_a_seed_did_not_ask_is_left_out_of_it():
    found = shares(outcomes([[1, 0, np.nan], [1, 1, 1], [0, 0, 1]]))
    assert [(one.bin, one.n) for one in found] == [(None, 3), (4, 3)] and {one.value for one in found} == {5 / 8}
    assert shares(outcomes(np.empty((2, 0)))) == []


def test_shares_by_bin_add_up_and_lie_in_their_intervals():
    random = np.random.default_rng(3)
    confidence = random.uniform(size=300)
    every, *parts = shares(outcomes(random.uniform(size=(3, 300)) < confidence, confidence))
    assert every.bin is None and [one.bin for one in parts] == list(range(6)) and sum(one.n for one in parts) == every.n == 300
    assert sum(one.n * one.value for one in parts) == pytest.approx(300 * every.value)
    assert all(0 <= one.low <= one.value <= one.high <= 1 for one in (every, *parts))
    assert all(one.high - one.low > every.high - every.low for one in parts)


def test_the_interval_holds_the_truth_also_if_the_facts_of_a_subject_hang_together():
    random = np.random.default_rng(7)
    held, truth = 0, 0.7 - 0.4
    for _ in range(100):
        sides = []
        for number, chance in enumerate((0.7, 0.4)):
            by_subject = random.uniform(size=120) < chance
            seeds = np.stack([np.repeat(by_subject, 4)] * 3)
            subjects = np.repeat(np.arange(120) + 120 * number, 4)
            sides.append(outcomes(seeds, subjects=subjects))
        found = excess(*sides)
        held += found.low <= truth <= found.high
    assert 0.90 <= held / 100 <= 0.99


def test_relations_with_few_facts_on_one_side_are_pooled():
    names = pooled_relations(["P1"] * 30 + ["P2"] * 30 + ["P3"] * 5, ["P1"] * 25 + ["P2"] * 3 + ["P4"])
    assert names == {"P1": "P1", "P2": POOLED, "P3": POOLED, "P4": POOLED}


@pytest.mark.parametrize(
    ("intervals", "expected"),
    [
        (((0.1, 0.3), (0.2, 0.4), (0.5, 0.6)), ABOVE),
        (((-0.1, 0.3), (0.2, 0.4), (0.5, 0.6)), UNKNOWN),
        (((0.1, 0.3), (-0.2, 0.4), (0.5, 0.6)), UNKNOWN),
        (((-0.3, -0.1), (0.2, 0.4), (0.5, 0.6)), BELOW),
        (((0.1, 0.2), (-0.1, 0.0), (0.5, 0.6)), BELOW),
        # A random body with the base's layers put back answers as often.
        (((0.1, 0.2), (0.2, 0.4), (-0.2, -0.1)), BELOW),
        ((None, (0.2, 0.4), (0.5, 0.6)), UNKNOWN),
        (((0.1, 0.3), None, (0.5, 0.6)), UNKNOWN),
        (((0.1, 0.3), (0.2, 0.4), None), UNKNOWN),
    ],
)
def test_a_way_shows_facts_only_above_all_yardsticks(intervals, expected):
    assert verdict(*intervals) == expected
