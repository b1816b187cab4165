"""How often chance alone decides fates: paired answers are drawn whose true difference is known."""

from functools import cache

import numpy as np
import pytest

from probing.core.sentences.fates import HOLDS, LOST, UNDECIDED, outcome
from probing.core.stats.paired_tests import PairedCounts

#: Shares of sentences on which the two probes disagree, and the base's accuracy.
DISAGREE, BASE = (0.05, 0.10, 0.15, 0.20, 0.30), 0.75
DRAWS = 4_000
#: Steps of a chain.
STEPS = 5

outcome_of = cache(lambda *counts: outcome(PairedCounts(*counts), 0.5))


def drawn(n: int, disagree: float, difference: float, draws: int = DRAWS) -> np.ndarray:
    """(draws,) outcomes of a fine-tuned model's probe with this true difference from the base's, on n test
    sentences.
    """
    only_tuned, only_base = (disagree + difference) / 2, (disagree - difference) / 2
    shares = (BASE - only_base, only_tuned, only_base, 1 - BASE - only_tuned)
    counts = np.random.default_rng([n, int(1000 * disagree), int(-1000 * difference)]).multinomial(
        n, shares, size=draws
    )
    return np.array([outcome_of(*one) for one in counts.tolist()])


@pytest.mark.parametrize("n", [600, 3_000])
@pytest.mark.parametrize("disagree", DISAGREE)
def test_equal_probes_have_rarely_lost(n, disagree):
    assert (drawn(n, disagree, 0.0) == LOST).mean() <= 0.04


@pytest.mark.parametrize(("n", "least"), [(3_000, 0.75), (6_000, 0.95)])
def test_equal_probes_hold_with_enough_sentences(n, least):
    assert (drawn(n, 0.15, 0.0) == HOLDS).mean() >= least


@pytest.mark.parametrize("n", [1_000, 3_000])
@pytest.mark.parametrize("disagree", DISAGREE)
def test_probes_that_are_three_points_worse_rarely_hold_in_a_whole_chain(n, disagree):
    # Independent steps: no dependence between them makes a probe that holds more likely.
    chains = drawn(n, disagree, -0.03, STEPS * DRAWS // 2).reshape(-1, STEPS)
    assert (chains == HOLDS).any(axis=1).mean() <= 0.05


def test_a_probe_that_guesses_rarely_holds_next_to_a_base_that_is_little_better():
    # 51 % against 50 %, of which half is the majority: nine tenths hold by the comparison alone.
    counts = np.random.default_rng(7).multinomial(6_000, (0.48, 0.02, 0.03, 0.47), size=DRAWS).tolist()
    assert np.mean([outcome_of(*one) == HOLDS for one in counts]) <= 0.06
    assert np.mean([outcome(PairedCounts(*one), 0.4) == HOLDS for one in counts]) >= 0.9


def test_what_is_undecided_is_decided_with_more_sentences():
    assert (drawn(600, 0.30, -0.03) == UNDECIDED).mean() > 0.3
    assert (drawn(6_000, 0.15, -0.03) == LOST).mean() > 0.95
