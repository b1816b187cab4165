"""Fates, pairs and numbers of sentence-level probing against definitions in plain Python."""

import math
from itertools import product

import pytest
from scipy import stats

from probing.core.sentences import fates, numbers
from probing.core.sentences.fates import FATES, LEVEL, NOT_FOUND, Evidence, above_majority, fate_shares, holds, where_gone
from probing.core.sentences.pairs import Cell, best_layers, wanted_pairs
from probing.core.stats.paired import PairedCounts

HELD, LOST = PairedCounts(60, 5, 5, 30), PairedCounts(30, 0, 40, 30)
#: Evidence -> the fate that it decides on, in the order in which it is asked.
FIRST_THAT_HOLDS = ("frozen", "rescaled", "aligned", "own", "mean", "best", "mlp")


def evidence(**held: bool) -> Evidence:
    """Everything is lost but what is said to hold."""
    return Evidence(**{name: HELD if held.get(name) else LOST for name in Evidence.__annotations__})


@pytest.mark.parametrize(
    ("both", "only_tuned", "only_base", "neither", "expected"),
    [
        (50, 0, 0, 50, True),
        (50, 30, 0, 20, True),
        (98, 0, 1, 1, True),
        (98, 0, 2, 0, False),
        (500, 40, 50, 410, True),
        (9_000, 100, 190, 710, False),
        (9_000, 0, 20, 980, False),
    ],
)
def test_a_probe_holds_where_it_is_at_most_a_point_and_not_significantly_below(both, only_tuned, only_base, neither, expected):
    n = both + only_tuned + only_base + neither
    p = stats.binomtest(only_tuned, only_tuned + only_base).pvalue if only_tuned + only_base else 1.0
    slow = not (100 * (only_base - only_tuned) > n or (only_base > only_tuned and p <= LEVEL))
    assert holds(PairedCounts(both, only_tuned, only_base, neither)) == slow == expected


def test_every_fate_is_reached_and_is_the_first_that_holds():
    expected = {
        "unmoved": {"frozen": True}, "rescaled": {"rescaled": True}, "turned": {"aligned": True},
        "re-encoded": {"own": True, "quarter": True}, "dearer": {"own": True}, "other tokens": {"mean": True},
        "other layer": {"best": True},
        "not linear": {"mlp": True}, "not found": {},
    }  # fmt: skip
    assert tuple(expected) == FATES
    for fate, held in expected.items():
        assert where_gone(evidence(**held), "first") == fate
    names = ("frozen", "rescaled", "aligned", "own", "quarter", "mean", "best", "mlp")
    for values in product((False, True), repeat=len(names)):
        held = dict(zip(names, values, strict=True))
        first = next((name for name in FIRST_THAT_HOLDS if held[name]), None)
        slow = {
            "frozen": "unmoved", "rescaled": "rescaled", "aligned": "turned", "own": "re-encoded" if held["quarter"] else "dearer",
            "mean": "other tokens", "best": "other layer", "mlp": "not linear", None: "not found",
        }[first]  # fmt: skip
        assert where_gone(evidence(**held), "first") == slow


def test_the_mean_is_no_other_token_of_itself():
    assert where_gone(evidence(mean=True), "mean") == NOT_FOUND


@pytest.mark.parametrize("name", ["frozen", "aligned", "own", "best", "mlp"])
def test_without_what_decides_there_is_no_fate(name):
    lacking = Evidence(**{key: None if key == name else LOST for key in Evidence.__annotations__})
    assert where_gone(lacking, "first") is None
    assert where_gone(Evidence(**vars(lacking) | {"frozen": HELD}), "first") == "unmoved"


def test_shares_of_fates_sum_to_one():
    found = fate_shares(["turned", "turned", "not found"])
    assert found["turned"] == 2 / 3 and sum(found.values()) == pytest.approx(1) and list(found) == list(FATES)
    assert fate_shares([]) == {}


@pytest.mark.parametrize(("right", "n", "majority"), [(100, 200, 0.5), (116, 200, 0.5), (60, 100, 0.55), (0, 10, 0.0), (10, 10, 1.0)])
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
    base = {Cell(pooling, layer): layer for pooling in ("first", "mean") for layer in range(3)} | {Cell("first", 1, "own", 4): 1}
    assert best_layers(mine) == {"first": 0, "mean": 0} and best_layers(base) == {"first": 2, "mean": 2}
    found = {(pair.this, pair.other) for pair in wanted_pairs("tuned", mine, "base", base)}
    own = [Cell(pooling, layer) for pooling in ("first", "mean") for layer in range(3)]
    expected = {(cell, cell) for cell in own} | {(Cell("first", layer), Cell("mean", layer)) for layer in range(3)}
    expected |= {(Cell("first", layer, "frozen"), Cell("first", layer)) for layer in range(3)}
    expected |= {(Cell("first", 1, "own", 4),) * 2, (Cell("first", 0), Cell("first", 2)), (Cell("mean", 0), Cell("mean", 2))}
    assert found == expected
    assert {pair.with_model for pair in wanted_pairs("tuned", mine, "base", base)} == {"base"}
    alone = wanted_pairs("base", base)
    assert {(pair.this, pair.other) for pair in alone} == {(Cell("first", layer), Cell("mean", layer)) for layer in range(3)}
    mlp = {Cell("first", 2, "mlp"): 1}
    assert {(pair.this, pair.other) for pair in wanted_pairs("base", base | mlp)} - {(pair.this, pair.other) for pair in alone} == {
        (Cell("first", 2), Cell("first", 2, "mlp"))
    }
    assert {pair.with_model for pair in alone} == {"base"} and wanted_pairs("base", base, "base", base) == alone


def test_the_best_layer_is_the_lowest_of_those_that_dev_likes_most():
    dev = {"first": [1, 5, 5], "mean": [2, 2, 0]}
    assert best_layers({Cell(pooling, layer): right for pooling, of in dev.items() for layer, right in enumerate(of)}) == {
        "first": 1,
        "mean": 0,
    }
