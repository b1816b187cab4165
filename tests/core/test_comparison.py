"""Paired comparison against slow versions in plain Python."""

import math
import random

import numpy as np
import pytest
from scipy import stats

from probing.core.stats.paired_tests import (
    PairedCounts,
    benjamini_hochberg,
    macro_difference,
    mcnemar_exact,
    mcnemar_exact_many,
    paired_difference,
    together_counted,
)


def slow_wilson(hits, n, z=1.959963984540054):
    middle, half = hits + z * z / 2, z * math.sqrt(hits * (n - hits) / n + z * z / 4)
    return (middle - half) / (n + z * z), (middle + half) / (n + z * z)


def slow_benjamini_hochberg(p_values):
    """Smallest m p / rank over all p-values that are at least as large."""
    m, ordered = len(p_values), sorted(p_values)
    return [min([1.0, *(q * m / (i + 1) for i, q in enumerate(ordered) if q >= p)]) for p in p_values]


def test_six_to_none_by_hand():
    assert mcnemar_exact(6, 0) == 2 / 2**6


def test_sides_that_agree_everywhere_have_p_1():
    assert mcnemar_exact(0, 0) == 1.0


def test_many_tests_at_once_are_the_single_ones():
    first, second = [0, 6, 12, 3, 900, 5], [0, 0, 2, 3, 1500, 5]
    found = mcnemar_exact_many(first, second)
    assert found.tolist() == [mcnemar_exact(b, c) for b, c in zip(first, second, strict=True)]
    expected = [stats.binomtest(b, b + c, 0.5).pvalue if b + c else 1.0 for b, c in zip(first, second, strict=True)]
    assert found == pytest.approx(expected, rel=1e-9)
    assert mcnemar_exact(0, 5000) == 0


def test_mcnemar_does_not_mind_which_side_is_first():
    assert mcnemar_exact(12, 2) == mcnemar_exact(2, 12)


def test_counts_below_zero_are_an_error():
    with pytest.raises(ValueError, match="none below 0"):
        mcnemar_exact(-1, 2)
    with pytest.raises(ValueError, match="none below 0"):
        PairedCounts(1, -1, 0, 0)


def test_the_difference_is_first_minus_second():
    found = paired_difference(PairedCounts(both=20, first_only=12, second_only=2, neither=16))
    assert found.value == (20 + 12) / 50 - (20 + 2) / 50 == pytest.approx((12 - 2) / 50)
    assert found.p == mcnemar_exact(12, 2)


def test_the_interval_equals_newcombes_method_10_by_hand():
    found = paired_difference(PairedCounts(both=20, first_only=12, second_only=2, neither=16))
    (low_1, high_1), (low_2, high_2) = slow_wilson(20 + 12, 50), slow_wilson(20 + 2, 50)
    # 20 * 16 - 12 * 2 = 296 is positive, so half of the 50 facts is taken from it.
    phi = (20 * 16 - 12 * 2 - 50 / 2) / math.sqrt(32 * 18 * 22 * 28)
    below, above = 32 / 50 - low_1, high_2 - 22 / 50
    assert found.low == pytest.approx(10 / 50 - math.sqrt(below**2 - 2 * phi * below * above + above**2))
    below, above = 22 / 50 - low_2, high_1 - 32 / 50
    assert found.high == pytest.approx(10 / 50 + math.sqrt(below**2 - 2 * phi * below * above + above**2))


def test_exchanged_sides_mirror_the_interval():
    one, other = paired_difference(PairedCounts(20, 12, 2, 16)), paired_difference(PairedCounts(20, 2, 12, 16))
    assert (one.value, one.low, one.high) == pytest.approx((-other.value, -other.high, -other.low))


def test_equal_sides_have_no_difference():
    found = paired_difference(PairedCounts(5, 0, 0, 5))
    assert (found.value, found.p) == (0.0, 1.0)
    assert found.low == pytest.approx(-found.high)


def test_the_interval_stays_within_minus_1_and_1():
    found = paired_difference(PairedCounts(0, 5, 0, 0))
    assert (found.value, found.high) == (1.0, 1.0)
    assert 0 < found.low < 1


def test_without_facts_there_is_no_difference():
    found = paired_difference(PairedCounts(0, 0, 0, 0))
    assert (found.value, found.low, found.high, found.p) == (None, None, None, 1.0)


def test_the_interval_covers_the_true_difference_about_as_often_as_it_says():
    rng, covered = random.Random(0), 0
    for _ in range(200):
        cells = rng.choices(range(4), weights=(0.3, 0.2, 0.1, 0.4), k=60)
        found = paired_difference(PairedCounts(*(cells.count(i) for i in range(4))))
        covered += found.low <= 0.2 - 0.1 <= found.high
    assert 0.91 <= covered / 200 <= 0.99


def test_benjamini_hochberg_by_hand():
    assert benjamini_hochberg([0.01, 0.02, 0.9]).tolist() == pytest.approx([0.01 * 3 / 1, 0.02 * 3 / 2, 0.9 * 3 / 3])


def test_benjamini_hochberg_equals_the_slow_version():
    rng = random.Random(1)
    p_values = [rng.random() ** 3 for _ in range(100)] + [0.0, 1.0, 0.5, 0.5]
    assert benjamini_hochberg(p_values).tolist() == pytest.approx(slow_benjamini_hochberg(p_values))


def test_an_empty_family_stays_empty():
    assert benjamini_hochberg([]).tolist() == []


@pytest.mark.parametrize("p_values", [[0.5, math.nan], [1.1], [-0.1]])
def test_p_values_that_are_none_are_an_error(p_values):
    with pytest.raises(ValueError, match="expected 0 to 1"):
        benjamini_hochberg(p_values)


def test_the_macro_difference_is_the_mean_over_relations():
    counts = {"P19": PairedCounts(10, 30, 10, 50), "P36": PairedCounts(0, 5, 0, 5), "none": PairedCounts(0, 0, 0, 0)}
    found = macro_difference(counts)
    assert found.value == pytest.approx(((30 - 10) / 100 + 5 / 10) / 2)
    assert found.counts == together_counted(counts.values()) == PairedCounts(10, 35, 10, 55)
    assert found.p == mcnemar_exact(35, 10)
    assert found.low < found.value < found.high
    assert macro_difference(dict(reversed(counts.items()))) == found
    assert macro_difference({"P19": counts["P19"]}) == paired_difference(counts["P19"])
    assert macro_difference({}).value is None


@pytest.mark.parametrize(
    ("sizes", "cells"),
    [
        ([300] * 41, [(0.03, 0.18, 0.01)] * 41),
        ([20] * 5, [(0.1, 0.3, 0.1)] * 5),
        ([20] * 41, [(0.0, 0.02, 0.01)] * 41),
        ([8, 30, 150, 900], [(0.1, 0.5, 0.1), (0.0, 0.02, 0.02), (0.2, 0.2, 0.1), (0.0, 0.01, 0.0)]),
    ],
    ids=["as T-REx", "few", "rare", "uneven"],
)
def test_about_95_of_100_macro_differences_hold_the_truth(sizes, cells):
    """Cells: the true shares of both, first only, second only."""
    rng, held, times = np.random.default_rng(3), 0, 600
    truth = np.mean([first - second for _, first, second in cells])
    for _ in range(times):
        drawn = [rng.multinomial(n, [*cell, 1 - sum(cell)]) for n, cell in zip(sizes, cells, strict=True)]
        found = macro_difference({f"P{n}": PairedCounts(*map(int, one)) for n, one in enumerate(drawn)})
        held += found.low <= truth <= found.high
    assert 0.92 <= held / times <= 0.99


def test_relations_without_discordant_facts_are_no_certainty():
    found = macro_difference({f"P{n}": PairedCounts(0, 0, 0, 20) for n in range(41)})
    assert found.value == 0 and found.low < 0 < found.high < 0.01
