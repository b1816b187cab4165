"""Lost facts: their groups, what becomes of each, differences at equal confidence, and the test of memory on known
truths.
"""

from functools import cache

import numpy as np
import patsy
import pytest
import statsmodels.api as sm
from scipy import optimize, special

from probing.forgetting.lesson_kinds import exams_of
from probing.forgetting.memory import (
    AS_OFTEN,
    LESS,
    LOST,
    MORE,
    NEVER_HAD,
    NEVER_KNOWN,
    NOTHING,
    PARTS,
    STATED,
    UNKNOWN,
    VERDICTS,
    WRONG,
    Answered,
    detectable,
    drawn,
    groups_of,
    matched,
    memory,
    outcomes_of,
    part_of,
    verdict,
)
from probing.forgetting.ways import (
    AS_IN_BASE,
    AS_IT_IS,
    BY_ANSWER,
    BY_SUBJECT,
    FITTED_HEAD,
    LAYERS_BACK,
    MOVED,
    NOT_RECOVERED,
    OTHER_LAYER,
    RANDOM_BODY,
    RELEARNED,
    Tried,
    reworded,
)
from probing.kernel.stats.equal_confidence import Answers, at_equal_confidence, paired, share
from tests.shipped_facts import asked_facts


def answered(**changed):
    """Six facts: kept, lost, lost, never known, a wrong answer of the same kind that is gone, one of another kind."""
    columns = {
        "subjects": ["Ann", "Bob", "Cid", "Dan", "Eve", "Flo"],
        "relations": ["born", "born", "born", "born", "born", "works"],
        "answers": np.array([7, 7, 8, 7, 8, 9]),
        "said": np.array([7, 7, 8, 7, 7, 7]),
        "base_rank": np.array([1, 1, 1, 5, 12, 3]),
        "rank": np.array([1, 40, 2, 30, 15, 2]),
        "rank_of_said": np.array([1, 40, 2, 1, 11, 60]),
    }
    columns |= changed
    logp = dict.fromkeys(
        ("base_logp", "logp", "base_logp_of_said", "logp_of_said", "first_logp"), np.full(len(columns["answers"]), -1.0)
    )
    return Answered(**columns, **logp)


def test_the_groups_of_a_table_that_is_worked_out_by_hand():
    facts = answered()
    assert facts.lost().tolist() == [1, 2] and facts.lost(10).tolist() == [1, 3]
    assert facts.never_known().tolist() == [3, 4, 5] and facts.never_known(10).tolist() == [4]
    assert facts.wrong_answers().tolist() == [4], (
        "7 is no answer of 'works', and the fourth fact's first answer is still given"
    )
    assert facts.wrong_answers(10).tolist() == [4]
    assert answered(rank_of_said=np.array([1, 40, 2, 1, 9, 60])).wrong_answers(10).tolist() == []


def test_a_lost_fact_is_matched_once_to_a_fact_of_its_relation_and_answer():
    facts = answered(
        relations=["born"] * 6,
        answers=np.array([7, 7, 7, 7, 8, 7]),
        base_rank=np.array([1, 1, 1, 5, 5, 5]),
        rank=np.array([9] * 6),
        rank_of_said=np.array([9] * 6),
    )
    pairs = matched(facts, facts.lost(), facts.never_known(), seed=1, most=10)
    assert len(pairs) == 2 and len(set(pairs[:, 0])) == 2 and set(pairs[:, 1]) == {3, 5}, (
        "the fifth fact has another answer"
    )
    assert len(matched(facts, facts.lost(), facts.never_known(), seed=1, most=1)) == 1
    assert matched(facts, facts.lost(), [], seed=1, most=9).shape == (0, 2)


def test_at_most_so_many_are_drawn_in_order():
    assert drawn(np.array([4, 6, 9]), 3, 1).tolist() == [4, 6, 9]
    some = drawn(np.arange(100), 10, 1)
    assert len(set(some.tolist())) == 10 and (np.diff(some) > 0).all()


def many(size=4000):
    """Facts of few answers and of subjects that several facts are about, some in another case."""
    random = np.random.default_rng(3)
    numbers = random.integers(0, 1500, size)
    ranks = random.choice([1, 1, 5], (3, size))
    return answered(
        subjects=[f"{'Subject' if n % 2 else 'subject'} {n // 2}" for n in numbers.tolist()],
        relations=random.choice(["born", "works", "plays"], size).tolist(),
        answers=random.integers(0, 60, size),
        said=random.integers(0, 60, size),
        base_rank=ranks[0],
        rank=ranks[1],
        rank_of_said=ranks[2],
    )


@pytest.mark.parametrize("protocol", (BY_ANSWER, BY_SUBJECT, RANDOM_BODY))
@pytest.mark.parametrize("seed", (1, 2))
def test_nothing_that_is_asked_was_taught_in_any_group(protocol, seed):
    facts = many()
    groups = groups_of(facts, 1, 300)
    assert [len(groups.of[name].facts) for name in (NEVER_KNOWN, WRONG)] == [300, 300]
    for part in range(PARTS[protocol]):
        taught = exams_of(facts, groups, protocol, 10_000, seed)[part].taught
        assert len(taught.facts) > 100 and np.isin(taught.facts, groups.of[LOST].facts).all()
        assert (taught.targets == facts.answers[taught.facts]).all()
        subjects = {facts.subjects[n].casefold() for n in taught.facts}
        # The same part of every group, as equal answers are in one part whichever group they are of.
        for group in groups.of.values():
            asked = group.some(part_of(facts, group, protocol, seed) == part)
            assert len(asked.facts) and subjects.isdisjoint(facts.subjects[n].casefold() for n in asked.facts)
            assert protocol == BY_SUBJECT or set(taught.targets.tolist()).isdisjoint(asked.targets.tolist())
    assert len(exams_of(facts, groups, protocol, 50, seed)[0].taught.facts) == 50


def test_matched_facts_know_their_partners_place_among_the_lost():
    facts = many()
    groups = groups_of(facts, 1, 300)
    partners, never = groups.of[LOST].facts[groups.matched_lost], groups.of[NEVER_KNOWN].facts
    assert (facts.answers[partners] == facts.answers[never]).all() and len(set(partners)) == len(never) == 300


def tried(way, *back, seeds=1, levels=(0,), protocol=AS_IT_IS):
    return Tried(way, protocol, levels, {LOST: np.array(back, bool).reshape(seeds, len(levels), -1)})


def test_a_fact_comes_back_by_the_first_way_that_brings_it_and_by_relearning_in_most_seeds():
    ways = [
        # Two layers; the base reads the second fact at the first of them, and the first at none.
        tried(OTHER_LAYER, [1, 0, 1, 0, 0, 0, 0], [0, 1, 1, 0, 0, 0, 0], levels=(3, 2)),
        tried(FITTED_HEAD, [1, 1, 1, 1, 0, 0, 0]),
        tried(LAYERS_BACK, [0, 0, 0, 1, 1, 0, 0], [0, 0, 0, 1, 0, 0, 0], levels=(1, 2)),
        # After 5, 15 and 45 steps with each of three seeds, of which the last brings nothing after 15.
        tried(
            RELEARNED,
            *[[1] * 7, [1, 1, 1, 1, 1, 1, 0], [1] * 7] * 2,
            *[[1] * 7, [0] * 7, [1] * 7],
            seeds=3,
            levels=(5, 15, 45),
            protocol=BY_ANSWER,
        ),
    ]
    in_base = np.array([[0, 1, 0, 0, 0, 0, 0], [0, 0, 1, 0, 0, 0, 0]], bool)
    by = {(one.way, one.protocol): one for one in ways}
    assert outcomes_of(by, in_base) == [MOVED, MOVED, AS_IN_BASE, FITTED_HEAD, LAYERS_BACK, RELEARNED, NOT_RECOVERED]
    by.pop((LAYERS_BACK, AS_IT_IS))
    assert outcomes_of(by, in_base)[3:] == [FITTED_HEAD, RELEARNED, RELEARNED, NOT_RECOVERED], (
        "they go on to the next way"
    )


def test_another_wording_shows_whether_a_fact_is_lost_in_general():
    assert len({reworded(True, False), reworded(False, False), reworded(True, True)}) == 3
    assert reworded(False, True) == reworded(True, True)


NEVER = ["unseen", "held out", "guessed"]


@pytest.mark.parametrize(
    ("whole", "without", "expected"),
    [
        ((0.01, 0.2), (0.01, 0.3), MORE),
        ((0.01, 0.2), (-0.01, 0.3), UNKNOWN),
        ((-0.01, 0.2), (0.01, 0.3), UNKNOWN),
        ((0.0, 0.02), (-0.029, 0.02), AS_OFTEN),
        ((-0.02, 0.029), (-0.02, 0.031), UNKNOWN),
        ((-0.2, 0.02), (-0.2, 0.02), UNKNOWN),
        ((-0.3, -0.1), (-0.3, -0.1), LESS),
        ((-0.3, -0.1), (-0.3, 0.1), UNKNOWN),
        # A difference that is small but sure is one.
        ((-0.02, -0.001), (-0.02, -0.001), LESS),
        ((0.001, 0.02), (0.001, 0.02), MORE),
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
    assert found.verdict == MORE
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


def answers(back, confidence=None, relations=None, of=None):
    rows = np.atleast_2d(np.array(back, bool))
    n = rows.shape[1]
    numbers = [
        np.zeros(n, int) if relations is None else np.array(relations),
        np.arange(n) if of is None else np.array(of),
    ]
    return Answers(rows, np.full(n, 0.5) if confidence is None else np.array(confidence, float), *numbers)


def drawn_answers(n, centre, above, seeds=1, random=None):
    """Answers of eight relations, of which one comes back the more often the more confident it is."""
    random = random or np.random.default_rng(0)
    relations, logits = random.integers(0, 8, n), random.normal(centre, 1.5, n)
    chance = 1 / (1 + np.exp(-(0.3 * logits + above + 0.2 * (relations - 4))))
    return answers(random.random((seeds, n)) < chance, 1 / (1 + np.exp(-logits)), relations, random.integers(0, 12, n))


@pytest.mark.parametrize("both", (False, True))
def test_the_difference_at_equal_confidence_is_that_of_statsmodels(both):
    random = np.random.default_rng(1)
    first, second = drawn_answers(3000, 1, 0.5, random=random), drawn_answers(600, 0, 0, random=random)
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
    first, few = drawn_answers(2000, 1, 0.5, random=random), drawn_answers(4, 0, 0, random=random)
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
    first, second = drawn_answers(4000, 1.5, 0, random=random), drawn_answers(4000, -0.5, 0, random=random)
    assert share(first).low > share(second).high, "the first are the more confident ones"
    found = at_equal_confidence(first, second)
    assert found.low < 0 < found.high and abs(found.value) < 0.04
    assert found.share == pytest.approx(share(first).value, abs=1e-3)


def test_relations_without_both_groups_take_no_part():
    random = np.random.default_rng(3)
    first, second = drawn_answers(900, 1, 0.5, random=random), drawn_answers(300, 0, 0, random=random)
    common = at_equal_confidence(first.of(first.relations < 6), second.of(second.relations < 6))
    found = at_equal_confidence(first, second.of(second.relations < 6))
    assert found == common and found.n == (first.relations < 6).sum() < first.n
    assert at_equal_confidence(first.of(first.relations < 4), second.of(second.relations >= 4)) is None
    one_answer = answers([1, 0, 1], relations=[1, 1, 1], of=[5, 5, 5])
    assert at_equal_confidence(first, one_answer) is None and at_equal_confidence(one_answer, first) is None


def test_relations_without_exceptions_and_groups_that_all_come_back_stay_finite():
    random = np.random.default_rng(4)
    first, second = drawn_answers(600, 1, 0, random=random), drawn_answers(200, 0, 0, random=random)
    for back in (first.relations < 4, np.ones(600, bool), np.zeros(600, bool)):
        found = at_equal_confidence(Answers(back[None], first.confidence, first.relations, first.answers), second)
        assert np.isfinite([found.low, found.high, found.error]).all() and found.share == pytest.approx(
            back.mean(), abs=0.01
        )
    certain = answers(random.random((1, 60)) < 0.5, np.tile([0.0, 1.0], 30), np.arange(60) % 2)
    assert np.isfinite(at_equal_confidence(certain, certain).error)


@cache
def lost_facts() -> tuple[Answers, np.ndarray]:
    """The facts that NER lost, none of them back, and their exposures."""
    facts = asked_facts()
    lost = facts[(facts["gold_rank"] == 1) & (facts["rank_now"] > 1)]
    relations, answers = (np.unique(lost[name], return_inverse=True)[1] for name in ("relation", "object"))
    confidence = np.exp(lost["gold_logp"].to_numpy(float).clip(max=-0.001))
    return Answers(np.zeros((1, len(lost)), bool), confidence, relations, answers), lost["exposure"].to_numpy()


def verdicts(
    size: int,
    draws: int,
    above: float = 0,
    of_answers: float = 0,
    of_trainings: float = 0,
    seeds: int = 1,
    never_had: float | None = None,
) -> dict[str, float]:
    """Verdict -> its share of draws.

    An answer comes back by a smooth function of its confidence that is no spline: 71 % of those of probability 0.5,
    90 % of 0.97.

    Args:
        size: lost facts that are drawn each time.
        draws: how many.
        above: share by which stated facts come back more often, as a shift that is constant on the logit scale.
        of_answers: standard deviation of an effect of each relation and answer, logits.
        of_trainings: that of a shift of each training, another for stated facts than for others.
        seeds: trainings.
        never_had: share of the answers that the text never had that comes back; None: what the function gives, 0.84.
    """
    whole, exposures = lost_facts()
    random = np.random.default_rng(5)
    said = []
    for _ in range(draws):
        chosen = np.zeros(whole.n, bool)
        chosen[random.choice(whole.n, min(size, whole.n), replace=False)] = True
        lost, kinds = whole.of(chosen), exposures[chosen]
        stated, never = np.isin(kinds, STATED), np.isin(kinds, NEVER_HAD)
        logits = special.logit(lost.confidence)
        base = 0.9 + 0.3 * logits + 0.02 * logits**2
        _, place = np.unique(lost.clusters, return_inverse=True)
        base += random.normal(0, of_answers, place.max() + 1)[place]
        if never_had is not None:
            base += shift_of(never_had - special.expit(base[never]).mean(), base[never])
        if above:
            base += stated * shift_of(above, base[stated])
        shifts = random.normal(0, of_trainings, (seeds, 2))[:, stated.astype(int)]
        back = random.random((seeds, lost.n)) < special.expit(base + shifts)
        found = memory(Answers(back, lost.confidence, lost.relations, lost.answers), kinds)
        said.append(found.verdict if found else "")
    return {name: said.count(name) / draws for name in {*VERDICTS, *said}}


def shift_of(points: float, logits: np.ndarray) -> float:
    """The shift of all logits that raises the mean chance by so much."""
    wanted = special.expit(logits).mean() + points
    return optimize.brentq(lambda by: special.expit(logits + by).mean() - wanted, -20, 20)


#: All lost facts, as in 200 draws, or so many of them, in 400: the Monte Carlo error, about a point, is allowed on top.
SIZES = ((12_151, 200), (1_000, 400), (450, 400))


@pytest.mark.parametrize(("size", "draws"), SIZES)
@pytest.mark.parametrize("of_answers", (0, 0.5))
@pytest.mark.slow
def test_answers_of_equal_confidence_seldom_come_back_more_often(size, draws, of_answers):
    assert verdicts(size, draws, of_answers=of_answers)[MORE] <= 0.05 + 0.01


@pytest.mark.parametrize(("size", "draws"), SIZES)
@pytest.mark.slow
def test_trainings_that_differ_by_group_seldom_say_more_often(size, draws):
    assert verdicts(size, draws // 2, of_trainings=0.15, seeds=3)[MORE] <= 0.08 + 0.01


@pytest.mark.parametrize(
    ("size", "draws", "never_had", "above", "said", "least"),
    (
        (12_151, 100, None, 0.06, MORE, 0.95),
        (1_000, 400, None, 0.06, MORE, 0.4),
        (12_151, 100, 0.72, 0.1, MORE, 0.95),
        (1_000, 400, 0.72, 0.1, MORE, 0.5),
        (1_000, 400, 0.72, -0.1, LESS, 0.45),
    ),
)
@pytest.mark.slow
def test_differences_of_six_and_ten_points_are_found(size, draws, never_had, above, said, least):
    assert verdicts(size, draws, above=above, never_had=never_had)[said] >= least - 0.01


@pytest.mark.parametrize(("size", "draws"), SIZES)
@pytest.mark.slow
def test_three_points_are_seldom_called_as_often(size, draws):
    assert verdicts(size, draws, above=0.03)[AS_OFTEN] <= 0.05 + 0.01
