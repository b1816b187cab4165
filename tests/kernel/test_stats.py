"""Shares, means and paired comparisons by hand, and their intervals against slow versions in plain Python and scipy."""

import math
import random
import statistics

import numpy as np
import pytest
from scipy import stats

from probing.kernel.stats.intervals import (
    Estimate,
    RelationCounts,
    fisher,
    macro,
    macro_mean,
    micro,
    micro_mean,
    wilson,
)
from probing.kernel.stats.paired_tests import (
    PairedCounts,
    benjamini_hochberg,
    macro_difference,
    mcnemar_exact,
    mcnemar_exact_many,
    paired_difference,
    together_counted,
)

COUNTS = [RelationCounts("P19", 10, 1), RelationCounts("P36", 30, 15), RelationCounts("P103", 2, 2)]


def slow_wilson(hits, n, z=1.959963984540054):
    """The two shares p whose normal test just does not reject hits / n (Wilson 1927)."""
    middle = (hits / n + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(hits / n * (1 - hits / n) / n + z * z / (4 * n * n))
    return middle - half, middle + half


def of_values(relation, values):
    return RelationCounts(relation, len(values), 0, sum(values), sum(v * v for v in values))


def test_micro_pools_the_facts():
    found = micro(COUNTS)
    assert found.value == (1 + 15 + 2) / (10 + 30 + 2)
    assert (found.n, found.relations) == (42, 3)


def test_macro_is_the_mean_over_relations():
    found = macro(COUNTS)
    assert found.value == pytest.approx((1 / 10 + 15 / 30 + 2 / 2) / 3)
    assert (found.n, found.relations) == (42, 3)


@pytest.mark.parametrize("n", [1, 2, 7, 41, 1000, 52_364])
def test_wilson_gives_scipys_very_numbers(n):
    for hits in {0, 1, n // 3, n // 2, n - 1, n}:
        interval = stats.binomtest(hits, n).proportion_ci(0.95, method="wilson")
        assert wilson(hits, n) == (interval.low, interval.high)


def test_micro_has_wilsons_interval():
    found = micro(COUNTS)
    assert (found.low, found.high) == pytest.approx(slow_wilson(18, 42))


def test_no_hits_at_all_still_leave_room_above():
    found = micro([RelationCounts("P19", 20, 0)])
    assert found.value == found.low == 0.0
    assert found.high == pytest.approx(slow_wilson(0, 20)[1])


@pytest.mark.parametrize("estimate", [micro, macro, micro_mean, macro_mean])
@pytest.mark.parametrize("counts", [[], [RelationCounts("P19", 0, 0)]])
def test_without_facts_there_is_no_value(estimate, counts):
    assert estimate(counts) == Estimate(None, None, None, 0, 0)


def test_a_relation_without_facts_takes_no_part():
    assert macro([*COUNTS, RelationCounts("P1", 0, 0)]) == macro(COUNTS)


@pytest.mark.parametrize("estimate", [micro, macro])
def test_the_order_of_relations_changes_nothing(estimate):
    assert estimate(COUNTS[::-1]) == estimate(COUNTS)


def coverage(sizes, shares, times=300):
    """How often the interval of ``macro`` holds the true mean of the relations' shares."""
    rng, held = np.random.default_rng(7), 0
    for _ in range(times):
        hits = rng.binomial(sizes, shares)
        found = macro(
            [
                RelationCounts(f"P{n}", int(size), int(hit))
                for n, (size, hit) in enumerate(zip(sizes, hits, strict=True))
            ]
        )
        held += found.low <= np.mean(shares) <= found.high
    return held / times


#: A dozen relations of 8 to 1000 facts, of which hardly anything to two thirds is known.
UNEVEN = (
    [8, 12, 20, 35, 60, 90, 150, 250, 400, 600, 900, 1000],
    [0.01, 0.2, 0.05, 0.6, 0.02, 0.3, 0.0, 0.1, 0.4, 0.01, 0.15, 0.25],
)


@pytest.mark.parametrize(
    ("sizes", "shares"),
    [([20] * 5, [0.01] * 5), ([20] * 5, [0.5] * 5), UNEVEN],
    ids=["few rare", "few", "uneven"],
)
def test_about_95_of_100_macro_intervals_hold_the_truth(sizes, shares):
    assert 0.92 <= coverage(sizes, shares) <= 0.99


def test_macro_of_no_hits_or_of_hits_only_is_no_certainty():
    none = macro([RelationCounts(f"P{n}", 20, 0) for n in range(41)])
    every = macro([RelationCounts(f"P{n}", 20, 20) for n in range(41)])
    assert (none.value, none.low, every.value, every.high) == (0, 0, 1, 1)
    # As of 820 facts together, of which Wilson allows 0.5 per cent.
    assert none.high == pytest.approx(slow_wilson(0, 820)[1], rel=0.5) and 1 - every.low == pytest.approx(
        none.high, rel=0.2
    )


def test_the_macro_interval_holds_its_value_and_is_that_of_facts_drawn_again_where_there_are_many():
    rng = random.Random(5)
    many = [RelationCounts("P19", 300, 40), RelationCounts("P36", 250, 150), RelationCounts("P103", 400, 30)]
    facts = [[1] * c.hits + [0] * (c.n - c.hits) for c in many]
    means = sorted(
        statistics.fmean(statistics.fmean(rng.choices(values, k=len(values))) for values in facts) for _ in range(1000)
    )
    found = macro(many)
    assert (found.low, found.high) == pytest.approx((means[25], means[975]), abs=0.004)
    for counts in (
        COUNTS,
        [RelationCounts("P1", 1, 0), RelationCounts("P2", 1, 1)],
        [RelationCounts("P1", 1, 1), RelationCounts("P2", 900, 0)],
    ):
        one = macro(counts)
        assert 0 <= one.low <= one.value <= one.high <= 1


def test_one_relation_alone_has_wilsons_interval_also_as_macro():
    assert macro([RelationCounts("P19", 40, 13), RelationCounts("P36", 0, 0)]) == micro([RelationCounts("P19", 40, 13)])


def test_equal_seeds_give_equal_intervals_and_other_seeds_do_not():
    many = [RelationCounts("P19", 997, 137), RelationCounts("P36", 1013, 211)]
    assert macro(many, seed=1) == macro(many, seed=1)
    assert macro(many, seed=1) != macro(many, seed=2)


def test_macro_and_micro_means_by_hand():
    counts = [of_values("P19", [1.0, 0.5]), of_values("P36", [0.25, 0.25, 0.25, 0.25])]
    assert micro_mean(counts).value == pytest.approx((1 + 0.5 + 4 * 0.25) / 6)
    assert macro_mean(counts).value == pytest.approx(((1 + 0.5) / 2 + 0.25) / 2)


def test_micro_mean_has_students_interval():
    values = [1.0, 0.5, 0.2, 0.1, 0.05]
    # 2.776445 is Student's t for 4 degrees of freedom and 97.5 %.
    half = 2.776445 * statistics.stdev(values) / math.sqrt(5)
    found = micro_mean([of_values("P19", values)])
    assert (found.low, found.high) == pytest.approx(
        (max(statistics.fmean(values) - half, 0.0), statistics.fmean(values) + half)
    )


def test_macro_mean_interval_equals_a_bootstrap_of_the_facts():
    rng = random.Random(6)
    facts = {name: [1 / rng.randint(1, 8) for _ in range(n)] for name, n in (("P19", 60), ("P36", 25), ("P103", 90))}
    means = sorted(
        statistics.fmean(statistics.fmean(rng.choices(values, k=len(values))) for values in facts.values())
        for _ in range(4000)
    )
    found = macro_mean([of_values(name, values) for name, values in facts.items()])
    assert (found.low, found.high) == pytest.approx((means[100], means[3900]), abs=0.01)


def test_the_mean_of_one_fact_says_nothing_about_others():
    found = micro_mean([of_values("P19", [0.5])])
    assert (found.value, found.low, found.high) == (0.5, 0.0, 1.0)


def test_equal_values_have_no_width():
    found = micro_mean([of_values("P19", [0.1] * 7)])
    assert (found.low, found.high) == pytest.approx((0.1, 0.1), abs=1e-7)


def slow_benjamini_hochberg(p_values):
    """Smallest m p / rank over all p-values that are at least as large."""
    m, ordered = len(p_values), sorted(p_values)
    return [min([1.0, *(q * m / (i + 1) for i, q in enumerate(ordered) if q >= p)]) for p in p_values]


def test_many_tests_at_once_are_the_single_ones():
    first, second = [0, 6, 12, 3, 900, 5], [0, 0, 2, 3, 1500, 5]
    found = mcnemar_exact_many(first, second)
    assert found.tolist() == [mcnemar_exact(b, c) for b, c in zip(first, second, strict=True)]
    expected = [stats.binomtest(b, b + c, 0.5).pvalue if b + c else 1.0 for b, c in zip(first, second, strict=True)]
    assert found == pytest.approx(expected, rel=1e-9)
    assert mcnemar_exact(0, 5000) == 0


def test_the_interval_equals_newcombes_method_10_by_hand():
    found = paired_difference(PairedCounts(both=20, first_only=12, second_only=2, neither=16))
    (low_1, high_1), (low_2, high_2) = slow_wilson(20 + 12, 50), slow_wilson(20 + 2, 50)
    assert found.value == (20 + 12) / 50 - (20 + 2) / 50 and found.p == mcnemar_exact(12, 2)
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


def test_benjamini_hochberg_equals_the_slow_version():
    rng = random.Random(1)
    p_values = [rng.random() ** 3 for _ in range(100)] + [0.0, 1.0, 0.5, 0.5]
    assert benjamini_hochberg(p_values).tolist() == pytest.approx(slow_benjamini_hochberg(p_values))


def test_an_empty_family_stays_empty():
    assert benjamini_hochberg([]).tolist() == []


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


@pytest.mark.parametrize("n", [5, 40])
def test_fishers_interval_is_scipys(n):
    rng = np.random.default_rng(7)
    first = rng.normal(size=n)
    found = stats.pearsonr(first, first + rng.normal(size=n))
    ends = found.confidence_interval(0.95)
    assert fisher(float(found.statistic), n) == pytest.approx((ends.low, ends.high), abs=1e-12)
