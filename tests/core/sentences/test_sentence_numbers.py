"""Fates, pairs and numbers of sentence-level probing against definitions in plain Python."""

import math
from itertools import product

import pytest
from scipy import stats

from probing.core.sentences import fates, numbers
from probing.core.sentences.fates import (
    AS_BEFORE,
    BOUND,
    ELSEWHERE,
    FATES,
    LEVEL,
    NEW_READER,
    NOT_FOUND,
    SAME_LAYER,
    UNDECIDED,
    Fate,
    above_majority,
    fate_shares,
    outcome,
    property_fate,
    sentences_needed,
)
from probing.core.sentences.pairs import Cell, best_layers, neural, stored_pairs
from probing.core.stats.paired_tests import PairedCounts, paired_difference

#: A probe that surely holds, one that has surely lost, and one that cannot be decided (the interval is -2.2 to 0.2
#: points).
HELD, LOST, OPEN = (
    PairedCounts(1900, 30, 30, 1040),
    PairedCounts(1500, 50, 400, 1050),
    PairedCounts(1580, 150, 180, 1090),
)
STEPS = {"frozen": AS_BEFORE, "own": NEW_READER, "mlp": NEW_READER, "mean": ELSEWHERE, "best": ELSEWHERE}


def fate(**found: PairedCounts) -> Fate:
    """Where all probes have lost except for those that are named."""
    return property_fate(dict.fromkeys(STEPS, LOST) | found, 0.5)


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ((20, 0, 0, 20), "undecided"),
        ((1500, 0, 0, 1500), "holds"),
        ((1500, 300, 0, 1200), "holds"),
        ((20_000, 100, 400, 9_500), "holds"),
        ((20_000, 100, 800, 9_100), "lost"),
        ((150, 0, 10, 40), "lost"),
        ((150, 10, 13, 27), "undecided"),
        ((0, 0, 0, 0), "undecided"),
    ],
)
def test_a_probe_holds_above_the_bound_and_has_lost_below_zero(counts, expected):
    assert outcome(PairedCounts(*counts), 0.4) == expected
    if sum(counts):
        found = paired_difference(PairedCounts(*counts))
        assert (found.low > BOUND) == (expected == "holds") and (found.high < 0 or expected != "lost")


def test_a_sure_loss_of_less_than_two_points_holds():
    counts = PairedCounts(20_000, 100, 400, 9_500)
    assert paired_difference(counts).high < 0 and outcome(counts, 0.5) == "holds"


def test_guessing_next_to_a_base_that_is_little_better_does_not_hold():
    # The base has 1,560 of 3,000 right, above 50 %; the other has 1,540, which is not.
    near = PairedCounts(1530, 10, 30, 1430)
    for majority, expected in ((0.45, "holds"), (0.5, "lost")):
        assert outcome(near, majority) == expected
    # Equal counts at chance have surely lost nothing and hold nothing.
    assert outcome(PairedCounts(1490, 20, 20, 1470), 0.5) == "undecided"


def test_the_fate_is_the_first_step_that_holds():
    assert [outcome(one, 0.5) for one in (HELD, LOST, OPEN)] == ["holds", "lost", "undecided"]
    reached = set()
    for values in product((HELD, LOST, OPEN), repeat=len(STEPS)):
        found = dict(zip(STEPS, values, strict=True))
        first = next((step for step in STEPS if found[step] is HELD), None)
        undecided = [step for step in STEPS if found[step] is OPEN]
        slow = STEPS[first] if first else UNDECIDED if undecided else NOT_FOUND
        got = fate(**found)
        assert got.name == slow and got.step == (undecided[0] if slow == UNDECIDED else "")
        reached.add(slow)
    assert reached == set(FATES) and tuple(dict.fromkeys([*STEPS.values()][:3])) == SAME_LAYER


def test_an_undecided_fate_names_the_step_that_takes_most_sentences():
    more = PairedCounts(1500, 235, 265, 1000)
    found = fate(own=OPEN, best=more)
    assert (found.name, found.step, found.needed) == (UNDECIDED, "best", math.ceil(9604 * 500 / 3000))
    assert sentences_needed(OPEN) == math.ceil(9604 * 330 / 3000)
    # At that number half the interval of two equal probes is two points.
    n = sentences_needed(more)
    equal = PairedCounts(round(0.55 * n), round(n * 500 / 6000), round(n * 500 / 6000), round(0.28 * n))
    assert paired_difference(equal).low == pytest.approx(BOUND, abs=0.002)


def test_the_neural_probe_contains_the_linear_one():
    own, mlp = Cell("first", 2), Cell("first", 2, "mlp")
    assert [neural(own, {own: right, mlp: 7}) for right in (6, 7, 8)] == [mlp, own, own]
    assert neural(own, {own: 8}) == mlp, "an MLP probe that was not trained is missing, not replaced"


def test_shares_of_fates_sum_to_one():
    found = fate_shares([ELSEWHERE, ELSEWHERE, UNDECIDED])
    assert found[ELSEWHERE] == 2 / 3 and sum(found.values()) == pytest.approx(1) and list(found) == list(FATES)
    assert fate_shares([]) == {}


@pytest.mark.parametrize(
    ("right", "n", "majority"), [(100, 200, 0.5), (116, 200, 0.5), (60, 100, 0.55), (0, 10, 0.0), (10, 10, 1.0)]
)
def test_the_base_is_above_its_majority_by_an_exact_binomial_test(right, n, majority):
    p = stats.binomtest(right, n, majority, alternative="greater").pvalue
    assert fates.majority_p(right, n, majority) == pytest.approx(p, abs=1e-12)
    assert above_majority(right, n, majority) == (p <= LEVEL)


def test_the_family_is_all_p_values_that_there_are():
    found = numbers.family_q([0.01, math.nan, 0.04, 0.03])
    assert math.isnan(found[1]) and found[[0, 2, 3]].tolist() == pytest.approx([0.03, 0.04, 0.04])
    assert numbers.family_q([]).size == 0


def test_lower_layers_are_those_of_the_papers_tables():
    assert [numbers.layer_group(layer, 12) for layer in (0, 6, 7, 12)] == ["lower", "lower", "upper", "upper"]
    assert [numbers.layer_group(layer, 8) for layer in (4, 5)] == ["lower", "upper"]
    assert math.isnan(numbers.group_mean([])) and numbers.group_mean([0.25, -0.75]) == -0.25


def test_numbers_without_sentences_are_none():
    assert all(math.isnan(value) for value in numbers.accuracy(0, 0))
    assert all(math.isnan(value) for value in numbers.change(PairedCounts(0, 0, 0, 0))[:3])


def test_the_pairs_of_a_run_are_those_that_reports_need():
    mine = {Cell(pooling, layer): 5 - layer for pooling in ("first", "mean") for layer in range(3)}
    mine |= {Cell("first", layer, reading): 0 for layer in range(3) for reading in ("frozen", "mlp")}
    mine |= {Cell("first", layer, "own", portion): 9 for layer in range(3) for portion in (4, 16)}
    base = {Cell(pooling, layer): layer for pooling in ("first", "mean") for layer in range(3)} | {
        Cell("first", 1, "own", 4): 1
    }
    assert best_layers(mine) == {"first": 0, "mean": 0} and best_layers(base) == {"first": 2, "mean": 2}
    found = {(pair.this, pair.other) for pair in stored_pairs("tuned", mine, "base", base)}
    own = [Cell(pooling, layer) for pooling in ("first", "mean") for layer in range(3)]
    expected = {(cell, cell) for cell in own} | {(Cell("first", layer), Cell("mean", layer)) for layer in range(3)}
    expected |= {(Cell("first", layer, "frozen"), Cell("first", layer)) for layer in range(3)}
    # Against the cell also the best layer of each pooling, the mean, and the MLP probe where dev prefers it.
    expected |= {(Cell(pooling, 0), Cell(pooling, layer)) for pooling in ("first", "mean") for layer in range(3)}
    expected |= {(Cell("mean", layer), Cell("first", layer)) for layer in range(3)}
    assert found == expected
    assert {pair.with_model for pair in stored_pairs("tuned", mine, "base", base)} == {"base"}
    better = {
        pair.this: pair.other for pair in stored_pairs("tuned", mine | {Cell("first", 2, "mlp"): 9}, "base", base)
    }
    assert better[Cell("first", 2, "mlp")] == Cell("first", 2) and Cell("first", 1, "mlp") not in better
    alone = stored_pairs("base", base)
    assert {(pair.this, pair.other) for pair in alone} == {
        (Cell("first", layer), Cell("mean", layer)) for layer in range(3)
    }
    mlp = {Cell("first", 2, "mlp"): 1}
    assert {(pair.this, pair.other) for pair in stored_pairs("base", base | mlp)} - {
        (pair.this, pair.other) for pair in alone
    } == {(Cell("first", 2), Cell("first", 2, "mlp"))}
    assert {pair.with_model for pair in alone} == {"base"} and stored_pairs("base", base, "base", base) == alone


def test_the_best_layer_is_the_lowest_of_those_that_dev_likes_most():
    dev = {"first": [1, 5, 5], "mean": [2, 2, 0]}
    assert best_layers(
        {Cell(pooling, layer): right for pooling, of in dev.items() for layer, right in enumerate(of)}
    ) == {
        "first": 1,
        "mean": 0,
    }
