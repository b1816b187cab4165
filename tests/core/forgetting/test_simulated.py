"""The test of memory on known truths: simulated with the relations, answers, exposures and confidences of the facts
that NER lost.
"""

from functools import cache

import numpy as np
import pytest
from scipy import optimize, special

from probing.core.forgetting.memory import GUESSES, MEMORY, STATED, memory
from probing.core.stats.equal_confidence import Answers
from tests.shipped_facts import asked_facts

pytestmark = pytest.mark.slow


@cache
def lost_facts() -> tuple[Answers, np.ndarray]:
    """The facts that NER lost, none of them back, and their exposures."""
    facts = asked_facts()
    lost = facts[(facts["gold_rank"] == 1) & (facts["rank_now"] > 1)]
    relations, answers = (np.unique(lost[name], return_inverse=True)[1] for name in ("relation", "object"))
    confidence = np.exp(lost["gold_logp"].to_numpy(float).clip(max=-0.001))
    return Answers(np.zeros((1, len(lost)), bool), confidence, relations, answers), lost["exposure"].to_numpy()


def verdicts(
    size: int, draws: int, above: float = 0, of_answers: float = 0, of_trainings: float = 0, seeds: int = 1
) -> dict[str, float]:
    """Verdict -> its share of draws.

    An answer comes back by a smooth function of its confidence that is no spline, about as in NER: 71 % of those of
    probability 0.5, 90 % of 0.97.

    Args:
        size: lost facts that are drawn each time.
        draws: how many.
        above: share by which stated facts come back more often, as a shift that is constant on the logit scale.
        of_answers: standard deviation of an effect of each relation and answer, logits.
        of_trainings: that of a shift of each training, another for stated facts than for others.
        seeds: trainings.
    """
    whole, exposures = lost_facts()
    random = np.random.default_rng(5)
    said = []
    for _ in range(draws):
        chosen = np.zeros(whole.n, bool)
        chosen[random.choice(whole.n, min(size, whole.n), replace=False)] = True
        lost, kinds = whole.of(chosen), exposures[chosen]
        stated = np.isin(kinds, STATED)
        logits = special.logit(lost.confidence)
        base = 0.9 + 0.3 * logits + 0.02 * logits**2
        _, place = np.unique(lost.clusters, return_inverse=True)
        base += random.normal(0, of_answers, place.max() + 1)[place]
        if above:
            base += stated * shift_of(above, base[stated])
        shifts = random.normal(0, of_trainings, (seeds, 2))[:, stated.astype(int)]
        back = random.random((seeds, lost.n)) < special.expit(base + shifts)
        found = memory(Answers(back, lost.confidence, lost.relations, lost.answers), kinds)
        said.append(found.verdict if found else "")
    return {name: said.count(name) / draws for name in {MEMORY, GUESSES, *said}}


def shift_of(points: float, logits: np.ndarray) -> float:
    """The shift of all logits that raises the mean chance by so much."""
    wanted = special.expit(logits).mean() + points
    return optimize.brentq(lambda by: special.expit(logits + by).mean() - wanted, 0, 20)


#: All lost facts, as in 200 draws, or so many of them, in 400: the Monte Carlo error, about a point, is allowed on top.
SIZES = ((11_265, 200), (1_000, 400), (450, 400))


@pytest.mark.parametrize(("size", "draws"), SIZES)
@pytest.mark.parametrize("of_answers", (0, 0.5))
def test_guesses_of_equal_confidence_are_seldom_called_memory(size, draws, of_answers):
    assert verdicts(size, draws, of_answers=of_answers)[MEMORY] <= 0.05 + 0.01


@pytest.mark.parametrize(("size", "draws"), SIZES)
def test_trainings_that_differ_by_group_are_seldom_called_memory(size, draws):
    assert verdicts(size, draws // 2, of_trainings=0.15, seeds=3)[MEMORY] <= 0.08 + 0.01


@pytest.mark.parametrize(("size", "draws", "least"), ((11_265, 100, 0.95), (1_000, 400, 0.65)))
def test_ten_points_of_memory_are_found(size, draws, least):
    assert verdicts(size, draws, above=0.1)[MEMORY] >= least - 0.01


@pytest.mark.parametrize(("size", "draws"), SIZES)
def test_three_points_of_memory_are_seldom_called_no_more_than_guesses(size, draws):
    assert verdicts(size, draws, above=0.03)[GUESSES] <= 0.05 + 0.01
