"""Intervals over right answers: against a jackknife over the facts themselves, and on planted truths."""

import numpy as np
import pytest
import scipy
from scipy import stats

from probing.core.stats.answer_clusters import ClusterSums, answer_interval, each_interval
from probing.core.stats.intervals import wilson


def sums_of(facts):
    """The sums of facts as (relation, answer, x), one entry per relation, by leaving out each answer in turn."""
    whole, found = np.array([x for *_, x in facts], float), []
    for relation in sorted({one for one, *_ in facts}):
        own = np.array([x for r, _, x in facts if r == relation], float)
        answers = sorted({answer for r, answer, _ in facts if r == relation})
        without = [[x for r, a, x in facts if r == relation and a != answer] for answer in answers]
        others = [[x for r, a, x in facts if (r, a) != (relation, answer)] for answer in answers]
        within = sum((np.mean(rest) - own.mean()) ** 2 for rest in without if rest)
        overall = sum((np.mean(rest) - whole.mean()) ** 2 for rest in others if rest)
        found.append((len(own), own.sum(), (own**2).sum(), len(answers), within, overall))
    return ClusterSums(*np.array(found, float).T)


def planted(random):
    """Facts of three relations, one of which has a single answer."""
    answers = [
        (relation, answer, random.random())
        for relation, many in (("P1", 1), ("P2", 30), ("P3", 9))
        for answer in range(many)
    ]
    return [
        (relation, answer, float(random.random() < known))
        for relation, answer, known in answers
        for _ in range(random.integers(2, 40))
    ]


def test_each_and_micro_are_the_jackknifes_by_hand():
    facts = planted(np.random.default_rng(3))
    sums = sums_of(facts)
    low, high = each_interval(sums)
    shares = np.asarray(sums.total) / np.asarray(sums.n)
    ordinary = np.sqrt(shares[0] * (1 - shares[0]) / (sums.n[0] - 1))
    assert (high - low)[0] == pytest.approx(2 * stats.t.ppf(0.975, sums.n[0] - 1) * ordinary)
    error = np.sqrt(sums.within[1] * 29 / 30)
    assert (low[1], high[1]) == pytest.approx(
        (shares[1] - stats.t.ppf(0.975, 29) * error, shares[1] + stats.t.ppf(0.975, 29) * error)
    )
    clusters = np.sum(sums.clusters)
    half = stats.t.ppf(0.975, clusters - 1) * np.sqrt(np.sum(sums.overall) * (clusters - 1) / clusters)
    value = np.sum(sums.total) / np.sum(sums.n)
    assert answer_interval(sums, "micro") == pytest.approx((value - half, value + half))
    alone = ClusterSums(*(one[1:2] for one in sums))
    assert answer_interval(alone, "macro") == pytest.approx((low[1], high[1]))


def test_a_fact_per_answer_gives_nearly_the_interval_over_facts():
    random = np.random.default_rng(0)
    facts = [("P1", str(number), float(random.random() < 0.4)) for number in range(1500)]
    hits = int(sum(x for *_, x in facts))
    assert answer_interval(sums_of(facts)) == pytest.approx(wilson(hits, len(facts)), abs=2e-3)


def test_what_is_not_known_has_no_interval_and_ends_stay_in_bounds():
    nothing = ClusterSums(*([np.nan] for _ in range(6)))
    assert np.isnan(answer_interval(nothing)).all() and np.isnan(each_interval(nothing)).all()
    assert np.isnan(answer_interval(ClusterSums(*([0.0] for _ in range(6))), "macro")).all()
    assert answer_interval(ClusterSums([9], [0], [0], [3], [0], [0]), "macro") == (0, 0)
    assert answer_interval(ClusterSums([4], [-3], [3], [2], [0.9], [0.9]), least=-1)[0] == -1


def test_it_holds_the_truth_if_answers_are_drawn_again():
    random, centres, held = np.random.default_rng(5), np.linspace(-1, 1, 6), {"micro": 0, "macro": 0, "facts": 0}
    truth = np.mean([scipy.special.expit(centre + 1.5 * random.standard_normal(200_000)).mean() for centre in centres])
    for _ in range(400):
        n = random.integers(2, 40, (6, 30))
        x = random.binomial(n, scipy.special.expit(centres[:, None] + 1.5 * random.standard_normal(n.shape)))
        of, known = n.sum(1), x.sum(1)
        within = (((known - x.T) / (of - n.T) - known / of) ** 2).sum(0)
        overall = (((x.sum() - x) / (n.sum() - n) - x.sum() / n.sum()) ** 2).sum(1)
        sums = ClusterSums(of, known, known, np.full(6, 30), within, overall)
        ends = {average: answer_interval(sums, average) for average in ("micro", "macro")} | {
            "facts": wilson(x.sum(), n.sum())
        }
        for name, (low, high) in ends.items():
            held[name] += low <= truth <= high
    assert all(368 <= held[name] <= 396 for name in ("micro", "macro")), held
    assert held["facts"] < 240
