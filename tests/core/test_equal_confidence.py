"""Shares and differences by hand, and at equal confidence as statsmodels has them."""

import numpy as np
import patsy
import pytest
import statsmodels.api as sm

from probing.core.stats.equal_confidence import Answers, at_equal_confidence, paired, share


def answers(back, confidence=None, relations=None, of=None):
    rows = np.atleast_2d(np.array(back, bool))
    n = rows.shape[1]
    numbers = [
        np.zeros(n, int) if relations is None else np.array(relations),
        np.arange(n) if of is None else np.array(of),
    ]
    return Answers(rows, np.full(n, 0.5) if confidence is None else np.array(confidence, float), *numbers)


def drawn(n, centre, above, seeds=1, random=None):
    """Answers of eight relations, of which one comes back the more often the more confident it is."""
    random = random or np.random.default_rng(0)
    relations, logits = random.integers(0, 8, n), random.normal(centre, 1.5, n)
    chance = 1 / (1 + np.exp(-(0.3 * logits + above + 0.2 * (relations - 4))))
    return answers(random.random((seeds, n)) < chance, 1 / (1 + np.exp(-logits)), relations, random.integers(0, 12, n))


@pytest.mark.parametrize("both", (False, True))
def test_the_difference_at_equal_confidence_is_that_of_statsmodels(both):
    random = np.random.default_rng(1)
    first, second = drawn(3000, 1, 0.5, random=random), drawn(600, 0, 0, random=random)
    found = at_equal_confidence(first, second, both)
    relations, confidence = (np.r_[getattr(first, name), getattr(second, name)] for name in ("relations", "confidence"))
    logits = np.log(confidence / (1 - confidence))
    low, *knots, high = np.quantile(logits[: first.n], (0.05, 0.275, 0.5, 0.725, 0.95)).tolist()
    spline = patsy.dmatrix(f"cr(x, knots={knots}, lower_bound={low}, upper_bound={high}) - 1", {"x": logits})
    group = np.r_[np.ones(first.n), np.zeros(second.n)]
    design = np.column_stack([group, relations[:, None] == np.arange(8), np.asarray(spline)[:, 1:]])
    model = sm.GLM(np.r_[first.back[0], second.back[0]].astype(float), design, family=sm.families.Binomial())
    fit = model.fit(cov_type="cluster", cov_kwds={"groups": np.r_[first.clusters, second.clusters]})
    counted = design if both else design[: first.n]
    sides = [np.column_stack([np.full(len(counted), one), counted[:, 1:]]) for one in (1.0, 0.0)]
    shares = [fit.predict(rows) for rows in sides]
    assert (found.share, found.yardstick) == pytest.approx([one.mean() for one in shares], abs=1e-5)
    gradient = np.subtract(
        *((rows * (one * (1 - one))[:, None]).mean(0) for rows, one in zip(sides, shares, strict=True))
    )
    n, k = design.shape
    # statsmodels corrects for the number of effects, too.
    assert found.error == pytest.approx(np.sqrt(gradient @ fit.cov_params() @ gradient * (n - k) / (n - 1)), rel=1e-3)
    assert (found.low + found.high) / 2 == pytest.approx(found.value) and found.high - found.value > 1.96 * found.error


def test_a_share_has_an_interval_over_answers():
    found = share(answers([1, 1, 1, 0, 0, 0], of=[1, 1, 1, 2, 2, 3]))
    # Sums of the deviations of the three answers: 1.5, -1, -0.5; t of two degrees of freedom is 4.303.
    half = 4.30265 * np.sqrt(3.5 * 3 / 2) / 6
    assert (found.value, found.n, found.low, found.high) == (0.5, 6, max(0.0, 0.5 - half), min(1.0, 0.5 + half))
    wide = share(answers([1] * 40 + [0] * 40, of=np.repeat(np.arange(20), 4)))
    assert (wide.low, wide.high) == pytest.approx(
        [0.5 - (half := 2.09302 * np.sqrt(20 * 4 * 20 / 19) / 80), 0.5 + half], abs=1e-5
    )
    assert share(answers(np.empty((1, 0)))) is None


def test_a_few_answers_that_come_back_as_one_are_not_sure():
    # The rule of three: of 30 answers of which none comes back, up to a tenth may.
    assert share(answers([0] * 30)).high == pytest.approx(0.1, abs=0.02) and share(
        answers([1] * 30)
    ).low == pytest.approx(0.9, abs=0.02)
    random = np.random.default_rng(5)
    first, few = drawn(2000, 1, 0.5, random=random), drawn(4, 0, 0, random=random)
    for back in (False, True):
        found = at_equal_confidence(first, Answers(np.full((1, 4), back), few.confidence, few.relations, few.answers))
        assert found.high - found.low > 1


def test_pairs_are_compared_one_by_one_and_of_two_numbers_of_seeds_the_first():
    first, second = answers([[1, 1, 1, 0], [0, 0, 0, 0]]), answers([1, 0, 1, 1])
    found = paired(first, second)
    # Differences 0, 1, 0, -1.
    assert (found.share, found.yardstick, found.value, found.n, found.n_yardstick) == (0.75, 0.75, 0, 4, 4)
    assert found.error == pytest.approx(np.sqrt(2 * 4 / 3) / 4)
    assert paired(answers(np.empty((1, 0))), answers(np.empty((1, 0)))) is None


def test_the_variation_between_seeds_is_added():
    one, other = [1] * 30 + [0] * 10, [1] * 10 + [0] * 30
    alone, twice = (share(answers(rows)) for rows in ([one], [one, one]))
    assert (twice.low, twice.high) == pytest.approx((alone.low, alone.high))
    # The mean over seeds is 1 for 10, 0.5 for 20 and 0 for 10 answers; the shares of the seeds are 0.75 and 0.25.
    apart = paired(answers([one, other]), answers([[0] * 40] * 2))
    assert apart.value == 0.5 and apart.error == pytest.approx(np.sqrt(5 / 40**2 * 40 / 39 + 0.125 / 2))
    assert apart.high - apart.value > 10 * apart.error, "two seeds that differ much leave one degree of freedom"


def test_confidence_and_relation_take_away_what_they_explain():
    random = np.random.default_rng(2)
    first, second = drawn(4000, 1.5, 0, random=random), drawn(4000, -0.5, 0, random=random)
    assert share(first).low > share(second).high, "the first are the more confident ones"
    found = at_equal_confidence(first, second)
    assert found.low < 0 < found.high and abs(found.value) < 0.04
    assert found.share == pytest.approx(share(first).value, abs=1e-3)


def test_relations_without_both_groups_take_no_part():
    random = np.random.default_rng(3)
    first, second = drawn(900, 1, 0.5, random=random), drawn(300, 0, 0, random=random)
    common = at_equal_confidence(first.of(first.relations < 6), second.of(second.relations < 6))
    found = at_equal_confidence(first, second.of(second.relations < 6))
    assert found == common and found.n == (first.relations < 6).sum() < first.n
    assert at_equal_confidence(first.of(first.relations < 4), second.of(second.relations >= 4)) is None
    one_answer = answers([1, 0, 1], relations=[1, 1, 1], of=[5, 5, 5])
    assert at_equal_confidence(first, one_answer) is None and at_equal_confidence(one_answer, first) is None


def test_relations_without_exceptions_and_groups_that_all_come_back_stay_finite():
    random = np.random.default_rng(4)
    first, second = drawn(600, 1, 0, random=random), drawn(200, 0, 0, random=random)
    for back in (first.relations < 4, np.ones(600, bool), np.zeros(600, bool)):
        found = at_equal_confidence(Answers(back[None], first.confidence, first.relations, first.answers), second)
        assert np.isfinite([found.low, found.high, found.error]).all() and found.share == pytest.approx(
            back.mean(), abs=0.01
        )
    certain = answers(random.random((1, 60)) < 0.5, np.tile([0.0, 1.0], 30), np.arange(60) % 2)
    assert np.isfinite(at_equal_confidence(certain, certain).error)
