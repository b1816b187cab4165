"""Savings: counterfeits are what they are said to be, the interval holds, and planted controls have the right sign."""

import copy
import json
from collections import Counter
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import special

from probing.facts.askable import answer_ids
from probing.forgetting import report_savings
from probing.forgetting.figures import saving_marks
from probing.forgetting.memory import LOST, WRONG, groups_of
from probing.forgetting.report_savings import compared, in_words, stored_words
from probing.forgetting.savings import ALL_LOOKS, FIRST, GAINED, LOST_PLANTED, TOO_FEW, UNTAUGHT, SavingsRecipe
from probing.forgetting.savings_curves import counterfeits, saved_groups, savings
from probing.forgetting.ways_back import RecoveryWork, recovery_answers
from probing.kernel.models.load import load_encoder
from probing.kernel.stats.equal_confidence import randomised
from probing.kernel.store.columns import SCHEMAS
from probing.kernel.store.opening import open_database
from tests.forgetting.planted import KNOWN, facts, planted_base, trained
from tests.forgetting_planted import SAVED as SAVED_BY_MODEL
from tests.forgetting_planted import plant_forgetting
from tests.pages.conftest import charts, numbers, opening, plain
from tests.planted_relatives import COLA

torch.set_num_threads(1)
#: There are six answers of a relation at most, so that few are within a quarter of a nat.
RECIPE = SavingsRecipe(rate=3e-4, nats=1.0)


@pytest.fixture(scope="module")
def base(folder_of_run):
    return load_encoder(planted_base(folder_of_run), device="cpu")


def shaken(base):
    """The base with noise on all weights: most answers are lost, and still in the weights."""
    body, random = copy.deepcopy(base.body), torch.Generator().manual_seed(3)
    with torch.no_grad():
        for one in body.parameters():
            one.add_(torch.randn(one.shape, generator=random) * 0.5 * one.std())
    return replace(base, name="shaken", body=body.eval(), weights_id="shaken")


def asked(base, tuned, folder):
    work = RecoveryWork(base, tuned, facts(), answer_ids(facts(), base), lambda _: None, folder)
    answers = recovery_answers(work)
    return work, answers, groups_of(answers, 1, 2000)


def of_mean(found, group, measure=FIRST):
    (one,) = (one for one in found if (one.group, one.measure, one.passes) == (group, measure, ALL_LOOKS))
    return one


def test_answers_that_were_lost_are_saved_and_those_of_an_untaught_twin_are_not(base, tmp_path):
    saved = savings(*asked(base, shaken(base), tmp_path / "shaken"), RECIPE)
    twin = savings(*asked(base, trained(facts()[KNOWN:], tmp_path / "twin", seed=4), tmp_path / "work"), RECIPE)
    for measure, least in ((FIRST, 0.1), (GAINED, 0.3)):
        assert of_mean(saved, LOST, measure).difference.value > least
        untaught = of_mean(twin, LOST, measure).difference
        assert untaught.low < 0 < untaught.high and untaught.n > 10 < untaught.n_yardstick
    for one in (one for one in saved if one.difference):
        assert one.difference.n + one.difference.n_yardstick <= one.able <= one.answers
    curve = [one.difference.share for one in saved if (one.group, one.measure) == (LOST, FIRST) and one.passes]
    assert len(curve) == len(RECIPE.passes) and curve[0] < curve[-1]
    assert of_mean(saved, LOST).difference.share == pytest.approx(np.mean(curve))
    other = replace(RECIPE, rate=1e-2)
    assert savings(*asked(base, shaken(base), tmp_path / "shaken"), other) == saved, "a finished training is read"


def test_answers_that_were_drawn_like_planted_ones_and_not_taught_are_not_saved(base, tmp_path):
    work, answers, groups = asked(base, shaken(base), tmp_path)
    unknown, random = np.flatnonzero(answers.base_rank > 1).tolist(), np.random.default_rng(1)
    # Relations alternate, and so do their answers.
    others = [np.setdiff1d(answers.answers[n % 2 :: 2], [answers.answers[n], answers.said[n]]) for n in unknown]
    untaught = [(n, int(random.choice(tokens))) for n, tokens in zip(unknown, others, strict=True)]
    exposure = ["planted" if rank == 1 else "" for rank in answers.base_rank]
    found = savings(work, answers, groups, RECIPE, exposure, untaught)
    taught, never = (of_mean(found, name) for name in (LOST_PLANTED, UNTAUGHT))
    assert taught.difference.low > 0 and never.difference.low < 0 < never.difference.high
    assert never.answers == len(unknown) and min(never.difference.n, never.difference.n_yardstick) >= 10


def test_where_too_few_have_a_counterfeit_their_number_is_said(base, tmp_path):
    found = savings(*asked(base, shaken(base), tmp_path), replace(RECIPE, nats=-1))
    assert not any(one.difference or one.able for one in found) and of_mean(found, LOST).answers
    stored = compared(pd.DataFrame([], columns=SCHEMAS["forgetting_savings"].names))
    assert in_words(stored, json.dumps({TOO_FEW: 3})) == [f"3 {TOO_FEW}."] and in_words(stored) == []


def test_pages_and_notebooks_draw_taught_answers_beside_counterfeits(tmp_path, monkeypatch):
    plant_forgetting(tmp_path / "runs")
    with open_database(tmp_path / "runs") as db:
        table, (*_, said) = report_savings.savings(db, ks=[1]), stored_words(db, COLA.name, "trex", 1)
        of_one = saving_marks(report_savings.savings(db, [COLA.name], ks=[1])).data[1]
    counterfeit, taught = saving_marks(table).data
    every = [(100 * own, 100 * other) for of in SAVED_BY_MODEL.values() for own, other in of.values()]
    assert sorted(zip(taught.x, counterfeit.x, strict=True)) == [pytest.approx(one) for one in sorted(every)]
    assert [*taught.error_x.array, *taught.error_x.arrayminus] == pytest.approx([10] * 2 * len(every))
    assert saving_marks(table.head(0)).layout.annotations
    page = opening(tmp_path / "runs", tmp_path / "page", monkeypatch)("compare", compare_tab="when", tuned=COLA.name)
    assert not page.exception and said in plain(page) and said.startswith("What the base said, right or wrong")
    drawn = [numbers(one["data"][1]["x"]) for one in charts(page) if one["data"][0].get("name") == "counterfeits"]
    assert drawn == [pytest.approx(list(of_one.x))]


def test_a_counterfeit_is_an_equally_probable_answer_that_nobody_gives(base, tmp_path):
    work, answers, groups = asked(base, shaken(base), tmp_path)
    logits = []
    with torch.inference_mode():
        for row, place in zip(work.prompts.rows, work.prompts.positions, strict=True):
            states = work.tuned.body(input_ids=torch.tensor([row])).last_hidden_state[0, place]
            logits.append(work.tuned.head(states).log_softmax(-1))
    of_relation = {name: set() for name in answers.relations}
    for relation, token in zip(answers.relations, work.gold, strict=True):
        of_relation[relation].add(token)
    for name in (LOST, WRONG):
        group, able = groups.of[name], 0
        for n, target, other in zip(group.facts, group.targets, counterfeits(work, answers, group, 1.0), strict=True):
            logp, never = logits[n], {int(target), work.gold[n], int(answers.said[n]), int(logits[n].argmax())}
            near = {t for t in of_relation[answers.relations[n]] - never if abs(logp[t] - logp[target]) <= 1 + 1e-5}
            assert other in near or (other == -1 and not any(abs(logp[t] - logp[target]) < 1 - 1e-5 for t in near))
            able += other != -1
        assert able > len(group.facts) / 4


def test_a_prompt_is_taught_one_answer_and_planted_answers_are_a_group_of_their_own(base, tmp_path):
    _, answers, groups = asked(base, shaken(base), tmp_path)
    same = ["one prompt"] * len(facts())
    assert sum(len(group.facts) for group in saved_groups(answers, groups, same, ()).values()) == 1
    own = [fact.prompt for fact in facts()]
    every = saved_groups(answers, groups, own, ["planted", "guessed"] * (len(own) // 2))
    assert set(every[LOST_PLANTED].facts % 2) == {0} and set(every[LOST].facts % 2) == {1}
    assert len(every[LOST].facts) + len(every[LOST_PLANTED].facts) == len(groups.of[LOST].facts)
    times = Counter(n for group in every.values() for n in group.facts.tolist())
    assert set(times.values()) == {1}


def shares_of_few(size, random):
    """A null: relation and answer of each lost fact, common ones first, what is taught by a coin, and its outcome.

    Taught answers share an effect of one logit, and so do the facts of one right answer.
    """
    relations = random.integers(0, 30, size)
    answers = np.minimum(random.zipf(1.6, (2, size)), 60) - 1
    coin = random.random(size) < 0.5
    own, taught = (relations * 60 + one for one in (answers[0], np.where(coin, *answers)))
    effects = random.standard_normal((2, 30 * 60))
    back = random.random(size) < special.expit(effects[0][taught] + effects[1][own] - 0.5)
    return back * random.integers(1, 6, size) / 5, coin, taught


@pytest.mark.parametrize(("size", "seen"), [(50, 0.45), (500, 0.12), (5000, 0.07)])
def test_the_interval_leaves_out_0_in_5_of_100_cases_where_coins_decide_nothing(size, seen):
    random = np.random.default_rng(size)
    draws = [randomised(*shares_of_few(size, random)) for _ in range(400)]
    found = [one for one in draws if one is not None]
    assert len(found) > 390
    # 400 draws of 5 % err by 1.1 points; answers that both a coin and its fact share make the interval wider.
    assert np.mean([one.low > 0 or one.high < 0 for one in found]) < 0.075
    assert 2.8 * np.mean([one.error for one in found]) < seen
    errors = np.std([one.value for one in found]), np.mean([one.error for one in found])
    assert 0.6 < errors[0] / errors[1] < 1.1


def test_one_side_of_one_cluster_is_not_compared():
    values, coin = np.array([1.0, 0.0, 1.0, 1.0]), np.array([True, True, False, False])
    assert randomised(values, coin, np.array([1, 2, 3, 3])) is None
    found = randomised(values, coin, np.array([1, 2, 3, 4]))
    assert (found.share, found.yardstick, found.n, found.n_yardstick) == (0.5, 1.0, 2, 2)
