"""Shares and means by hand, their intervals against slow versions in plain Python."""

import math
import random
import statistics

import numpy as np
import pytest
from scipy import stats

from probing.core.stats.intervals import Estimate, RelationCounts, macro, macro_mean, micro, micro_mean, wilson

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


@pytest.mark.parametrize(("hits", "n"), [(0, 0), (-1, 5), (6, 5)])
def test_wilson_refuses_what_is_no_share(hits, n):
    with pytest.raises(ValueError, match=f"got {hits} hits of {n} facts"):
        wilson(hits, n)


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
    assert macro([RelationCounts("P19", 20, 0), RelationCounts("P36", 0, 0)]) == micro([RelationCounts("P19", 20, 0)])


def test_equal_seeds_give_equal_intervals_and_other_seeds_do_not():
    many = [RelationCounts("P19", 997, 137), RelationCounts("P36", 1013, 211)]
    assert macro(many, seed=1) == macro(many, seed=1)
    assert macro(many, seed=1) != macro(many, seed=2)


def test_one_relation_has_equal_micro_and_macro():
    one = [RelationCounts("conceptnet", 40, 13)]
    assert micro(one).value == macro(one).value == 13 / 40


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


def test_a_mean_without_sums_is_an_error():
    with pytest.raises(ValueError, match="no sum_value or sum_squared"):
        micro_mean(COUNTS)


def test_a_relation_counted_twice_is_an_error():
    with pytest.raises(ValueError, match="'P19' is counted twice"):
        macro([RelationCounts("P19", 3, 1), RelationCounts("P19", 4, 1)])


@pytest.mark.parametrize("hits", [-1, 4])
def test_more_hits_than_facts_are_an_error(hits):
    with pytest.raises(ValueError, match="expected 0 to 3"):
        RelationCounts("P19", 3, hits)
