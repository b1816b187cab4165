"""The test of memory: its groups, its rule, and what it says."""

import numpy as np
import pytest
from scipy import special

from probing.core.forgetting.memory import GUESSES, MEMORY, NOTHING, UNKNOWN, describe, detectable, memory, verdict
from probing.core.stats.equal_confidence import Answers, at_equal_confidence

NEVER = ["unseen", "held out", "guessed"]


@pytest.mark.parametrize(
    ("whole", "without", "expected"),
    [
        ((0.01, 0.2), (0.01, 0.3), MEMORY),
        ((0.01, 0.2), (-0.01, 0.3), UNKNOWN),
        ((-0.01, 0.2), (0.01, 0.3), UNKNOWN),
        ((0.0, 0.02), (-0.1, 0.02), GUESSES),
        ((-0.2, 0.029), (-0.3, 0.031), UNKNOWN),
        ((-0.2, 0.03), (-0.2, 0.03), UNKNOWN),
        ((-0.3, -0.1), (-0.3, -0.1), GUESSES),
        # A difference that is small but sure is memory.
        ((0.001, 0.02), (0.001, 0.02), MEMORY),
        ((0.001, 0.02), (-0.001, 0.02), UNKNOWN),
        ((0.01, 0.2), (-1, 1), UNKNOWN),
    ],
)
def test_memory_must_hold_without_the_largest_cluster(whole, without, expected):
    assert verdict(0.8, *whole, *without) == expected
    assert verdict(0.009, *whole, *without) == NOTHING


def planted(above, size=3000):
    """Facts of six relations, one in five of which the text never had; a third of these have one answer of one
    relation.
    """
    random = np.random.default_rng(6)
    exposure = random.choice(
        ["stated", "planted", "evidence", "unseen", "held out", "guessed"], size, p=[0.5, 0.2, 0.1, 0.1, 0.05, 0.05]
    )
    never = np.isin(exposure, NEVER)
    relations, answers = random.integers(0, 6, size), random.integers(0, 40, size)
    common = never & (random.random(size) < 1 / 3)
    relations[common], answers[common] = 0, 99
    chance = special.expit(0.5 + above * ~never - 4.0 * (exposure == "evidence"))
    return Answers(random.random((1, size)) < chance, random.uniform(0.2, 0.9, size), relations, answers), exposure


def test_stated_facts_are_compared_with_those_that_the_text_never_had():
    lost, exposure = planted(above=1.0)
    found = memory(lost, exposure)
    assert found.verdict == MEMORY
    stated, never = (lost.of(np.isin(exposure, kinds)) for kinds in (["stated", "planted"], NEVER))
    assert found.difference == at_equal_confidence(stated, never, both=True), "facts with evidence are in neither group"
    without = at_equal_confidence(stated, never.of(never.answers != 99), both=True)
    assert (
        (found.low_without, found.high_without)
        == (without.low, without.high)
        != (found.difference.low, found.difference.high)
    )
    assert memory(lost, np.where(np.isin(exposure, NEVER), "evidence", exposure)) is None
    assert memory(lost, [""] * lost.n) is None


def test_a_group_of_the_largest_cluster_and_one_fact_cannot_tell():
    lost, exposure = planted(above=1.0)
    rare = np.isin(exposure, NEVER) & (lost.answers != 99)
    kept = ~rare | (np.cumsum(rare) == 1)
    found = memory(lost.of(kept), exposure[kept])
    assert (found.low_without, found.high_without) == (-1, 1) and found.verdict == UNKNOWN


def test_what_would_be_seen_is_seen_in_four_of_five_cases():
    random = np.random.default_rng(8)
    estimates = random.normal(detectable(0.02), 0.02, 20_000)
    assert (estimates > 1.96 * 0.02).mean() == pytest.approx(0.8, abs=0.01)


def test_points_are_said_with_their_interval_and_where_it_cannot_tell_with_what_it_would_see():
    assert (
        "+3.1" in (words := describe(UNKNOWN, 0.031, (-0.011, 0.074, -0.02, 0.08), 0.06))
        and "-1.1 to 7.4" in words
        and "about 6.0" in words
    )
    assert "-2.0 to 8.0 without" in describe(UNKNOWN, 0.04, (0.01, 0.07, -0.02, 0.08), 0.02), "why it cannot tell"
    assert "6.0" not in describe(MEMORY, 0.031, (0.011, 0.074, 0.01, 0.08), 0.06)
