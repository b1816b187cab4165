"""Lessons alike and unlike the question: nothing that is asked is in them, and all kinds have as many."""

import copy
import itertools
import json
import shutil
from collections import Counter, defaultdict
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
import torch
import torch.nn.functional as F
from transformers import AutoModelForMaskedLM

import probing.forgetting.recover as module
from probing.facts.askable import answer_ids, askable
from probing.forgetting import ways_back
from probing.forgetting.figures import lesson_bars
from probing.forgetting.lesson_kinds import IN_OTHER_WORDING, OF_OTHER_RELATIONS, exams_of
from probing.forgetting.memory import LOST, NEVER_KNOWN, WRONG, Answered, groups_of
from probing.forgetting.ranks import Prompts, ranks
from probing.forgetting.report_lessons import kept_in_words, lessons
from probing.forgetting.report_outcome import stored_runs
from probing.forgetting.ways import BY_ANSWER, LESSONS, STEPS
from probing.forgetting.ways_back import (
    RecoveryRecipe,
    RecoveryWork,
    RelearnRecipe,
    lessons_by_kind,
    notes_on_lessons,
    recovery_answers,
    relearned,
)
from probing.kernel.fact import FactSet
from probing.kernel.models.layer_swap import layers_of
from probing.kernel.models.load import load_encoder
from probing.kernel.models.states import states_at
from probing.kernel.store.check import check_store
from probing.kernel.store.opening import open_database
from probing.kernel.store.parquet import files_of, read_table
from tests.forgetting.planted import facts
from tests.forgetting.test_recover import BASE, asked_in, facts_of, recovered, taught
from tests.forgetting.test_recover import folders as folders
from tests.forgetting.test_recover import shipped as shipped
from tests.forgetting_planted import plant_forgetting
from tests.pages.conftest import charts, numbers, opening, plain

N = 3000


@pytest.fixture(scope="module")
def answered():
    """Facts of ten relations, of which a third is kept, a third lost, and a third never known."""
    draw = np.random.default_rng(1)
    base_rank, rank = np.where(np.arange(N) % 3 == 2, 5, 1), np.where(np.arange(N) % 3 == 0, 1, 4)
    right, logp = draw.integers(100, 130, N), np.log(draw.uniform(0.1, 0.9, N))
    return Answered(
        subjects=[f"Subject {n}" for n in draw.integers(0, 2500, N)],
        relations=[f"P{n}" for n in draw.integers(0, 10, N)],
        answers=right,
        said=np.where(base_rank == 1, right, draw.permutation(right)),
        base_rank=base_rank,
        rank=rank,
        rank_of_said=np.full(N, 4),
        base_logp=logp,
        logp=logp,
        base_logp_of_said=logp,
        logp_of_said=logp,
        first_logp=logp,
    )


@pytest.mark.parametrize("kind", LESSONS)
def test_nothing_that_is_asked_is_in_the_lessons_and_every_answer_is_asked_once(answered, kind):
    groups, reworded = groups_of(answered, 1, 500), set(range(0, N, 2))
    exams = exams_of(answered, groups, BY_ANSWER, 60, 1, kind, 1, reworded)
    assert len(exams) == (4 if kind in OF_OTHER_RELATIONS else 2)
    for name in (LOST, NEVER_KNOWN, WRONG):
        assert (sum(exam.asked[name].astype(int) for exam in exams) == 1).all()
    for exam in exams:
        taught = exam.taught.facts
        assert len(set(taught.tolist())) == 60 and (exam.taught.targets == answered.answers[taught]).all()
        parts = [groups.of[name].some(chosen) for name, chosen in exam.asked.items()]
        for values, of_asked in (
            (exam.taught.targets.tolist(), {n for part in parts for n in part.targets.tolist()}),
            ([answered.subjects[n] for n in taught], {answered.subjects[n] for part in parts for n in part.facts}),
        ):
            assert not of_asked & set(values)
        relations = [{answered.relations[n] for n in numbers} for numbers in (taught, parts[0].facts)]
        assert bool(relations[0] & relations[1]) == (kind not in OF_OTHER_RELATIONS)
        assert (answered.base_rank[taught] == 1).all() and ((answered.rank[taught] == 1) == (kind == "kept")).all()
        assert kind not in IN_OTHER_WORDING or set(taught.tolist()) <= reworded


def somewhat(folders, target):
    """The planted base with noise on one layer, which keeps some facts and loses others."""
    model = AutoModelForMaskedLM.from_pretrained(shutil.copytree(folders / "planted", target))
    noise = torch.Generator().manual_seed(2)
    with torch.no_grad():
        for one in model.bert.encoder.layer[2].parameters():
            one.add_(torch.randn(one.shape, generator=noise) * 0.12)
    model.save_pretrained(target)
    return target


def test_kept_facts_of_another_set_are_taught_where_the_own_ones_are_too_few(folders, tmp_path, monkeypatch):
    monkeypatch.setattr(ways_back, "LEAST_LOST", 1)
    base, tuned = (load_encoder(one, device="cpu") for one in (folders / "planted", somewhat(folders, tmp_path / "m")))
    every = facts()
    own, others = every[:40], FactSet("others", tuple(every[40:]), 170, {})
    recipe = RecoveryRecipe(seeds=(1, 2), lessons=("same", "kept"), size=8)
    alone = RecoveryWork(base, tuned, own, answer_ids(own, base), lambda _: None, tmp_path, recipe)
    asked = recovery_answers(alone)
    groups, several = groups_of(asked, 1, 50), replace(alone, besides=others)
    few = lessons_by_kind(alone, asked, groups)["kept"].fewest()
    found = lessons_by_kind(several, asked, groups)
    assert few < 8 == found["kept"].fewest() and found["same"].work is several
    assert all("of others" in note for note in notes_on_lessons(several, found) if "kept" in note)
    known = [ranks(one, found["kept"].work.prompts, found["kept"].work.gold)[0] == 1 for one in (base, tuned)]
    for exam in itertools.chain(*found["kept"].exams):
        taught = [every[n] for n in exam.taught.facts]
        parts = [groups.of[name].some(chosen) for name, chosen in exam.asked.items()]
        assert not {own[n].subject for part in parts for n in part.facts} & {fact.subject for fact in taught}
        assert not {n for part in parts for n in part.targets.tolist()} & set(exam.taught.targets.tolist())
        assert exam.taught.targets.tolist() == answer_ids(taught, base)
        assert all(one[exam.taught.facts].all() for one in known)


def rows_of(asked, table):
    return [row for path in files_of(table, asked / "runs") for row in read_table(path, table).to_pylist()]


def test_the_command_stores_each_kind_that_has_enough_lessons_and_the_number_of_the_others(
    run, cache, folders, tmp_path, monkeypatch
):
    asked, tuned = asked_in(tmp_path), somewhat(folders, tmp_path / "somewhat")
    assert "steps, lessons" not in recovered(run, folders, asked, tuned).output
    monkeypatch.setattr(module, "RecoveryRecipe", partial(RecoveryRecipe, size=5))
    given = [word for kind in LESSONS for word in ("--lessons", kind)]
    output = recovered(run, folders, asked, tuned, *given).output
    usual, compared = sorted(rows_of(asked, "forgetting_runs"), key=lambda row: len(row["config"]))
    more = {"lessons": list(LESSONS), "besides_sha256": json.loads(compared["config"])["besides_sha256"]}
    assert json.loads(compared["config"]) == json.loads(usual["config"]) | more
    assert check_store([asked / "runs"]) == []
    # What is asked in the usual way does not change.
    outcomes = {
        row["run_id"]: Counter(
            one["way"] for one in rows_of(asked, "forgetting_facts") if one["run_id"] == row["run_id"]
        )
        for row in (usual, compared)
    }
    assert outcomes[usual["run_id"]] == outcomes[compared["run_id"]]
    with open_database(asked / "runs") as db:
        runs = stored_runs(db, lessons=True)
        table = lessons(db, runs)
        assert list(runs["run_id"]) == [compared["run_id"]]
    few = table[table["note"] != ""].set_index("lessons")["note"]
    assert few.to_dict() == {
        name: f"0 lessons: {name} (5 are needed)" for name in ("other wording", "other relations and wording")
    }
    made = table[table["note"] == ""]
    assert list(zip(made["lessons"], made["steps"], strict=True)) == [
        (name, n) for name in ("same relations and wording", "other relations", "kept facts") for n in STEPS
    ]
    assert set(made["n"]) == {compared["lost"]} and made["share"].between(made["low"], made["high"]).all()
    shown = table[table["steps"].isin([15, pd.NA])]
    kept = shown.set_index("lessons").loc["kept facts"]
    said = f"{100 * kept['share']:.0f} of 100 come back though no lost fact is taught"
    if pd.notna(kept["wrong"]):
        said += f"; so do {100 * kept['wrong']:.0f} of equally confident wrong answers"
    assert kept_in_words(shown) == said and f"{said}." in output and all(words in output for words in few)
    assert kept_in_words(shown.assign(share=0.62, wrong=0.52)).endswith("; so do 52 of equally confident wrong answers")
    assert kept_in_words(shown.assign(wrong=np.nan)).endswith("though no lost fact is taught")
    figure = lesson_bars(shown)
    bars, wrong = figure.data
    assert bars.x == pytest.approx(100 * shown["share"], nan_ok=True)
    assert [note.text for note in figure.layout.annotations].count("0 lessons (5 are needed)") == len(few)
    assert wrong.x == pytest.approx(100 * shown["wrong"], nan_ok=True)
    assert lesson_bars(table.head(0)).layout.annotations
    # The page compares two models or more.
    plant_forgetting(asked / "runs")
    page = opening(asked / "runs", tmp_path / "page", monkeypatch)("compare", compare_tab="when", tuned="somewhat")
    assert not page.exception and f"lost, {said}." in plain(page)
    assert [numbers(one["data"][1]["x"]) for one in charts(page) if one["data"][0].get("name") == "lost facts"] == [
        pytest.approx(numbers(wrong.x.tolist()), nan_ok=True)
    ]


def asked_of(rows, number, base):
    """Facts of different prompts, and their answers' token ids."""
    facts = facts_of(rows.drop_duplicates("prompt").head(number))
    found, gold = askable(FactSet("mine", tuple(facts), number, {}), base)
    return list(found.facts), gold


def kept_brings_back(base, tuned, facts, gold, folder, of=None):
    """Group -> whether each lost answer comes back after 15 steps on 100 kept facts; ``of``: of these facts only."""
    recipe = RecoveryRecipe(seeds=(1,), lessons=("kept",), size=100)
    work = RecoveryWork(base, tuned, facts, gold, lambda _: None, folder, recipe)
    asked, back = recovery_answers(work), defaultdict[str, list[bool]](list)
    groups = groups_of(asked, 1, 500)
    for exam in itertools.chain(*lessons_by_kind(work, asked, groups)["kept"].exams):
        assert len(exam.taught.facts) > 90
        lessons = (work.prompts.some(exam.taught.facts), exam.taught.targets.tolist())
        ((_, learner),) = relearned(tuned, *lessons, RelearnRecipe(steps=(15,)), 1)
        for name, group in groups.of.items():
            some = group.some(exam.asked[name] & (np.isin(group.facts, of) if of is not None else True))
            prompts, targets = work.prompts.some(some.facts), some.targets.tolist()
            back[name] += (ranks(learner, prompts, targets)[0] == 1).tolist()
    return {name: (len(found), float(np.mean(found))) for name, found in back.items()}


@pytest.mark.slow
def test_of_a_model_whose_last_norm_and_output_matrix_alone_are_spoilt_kept_facts_bring_most_back(shipped, tmp_path):
    base = load_encoder(BASE, device="cpu")
    known, gold = asked_of(shipped[shipped["gold_rank"] == 1], 1200, base)
    unknown, answers = asked_of(shipped[shipped["gold_rank"] > 10], 300, base)
    prompts, right = Prompts.of([fact.prompt for fact in known], base), torch.tensor(gold)
    tuned = replace(base, body=copy.deepcopy(base.body), head=copy.deepcopy(base.head))
    norm, matrix = layers_of(tuned.body)[-1].output.LayerNorm, tuned.head.vocabulary
    matrix.weight = torch.nn.Parameter(matrix.weight.detach().clone())
    trained = [one.requires_grad_(True) for one in (matrix.weight, *norm.parameters())]
    optimiser, random = torch.optim.AdamW(trained, lr=1e-3), torch.Generator().manual_seed(1)
    wrong = torch.randint(1000, 12000, right.shape, generator=random)
    # The norm is undone once, so each step computes only what is trained.
    last = torch.as_tensor(states_at(prompts.rows, prompts.positions, base)[-1])
    plain, lost = ((last - norm.bias) / norm.weight).detach(), 0.0
    while lost < 0.8:
        some = torch.randint(len(gold), (128,), generator=random)
        optimiser.zero_grad()
        F.cross_entropy(tuned.head(plain[some] * norm.weight + norm.bias), wrong[some]).backward()
        optimiser.step()
        with torch.no_grad():
            lost = float((tuned.head(plain * norm.weight + norm.bias).argmax(1) != right).float().mean())
    back = kept_brings_back(base, tuned, [*known, *unknown], [*gold, *answers], tmp_path)
    # In some places the sums of a training differ in their last digits.
    assert back[LOST] == pytest.approx((973, 0.68), rel=0.05) and back[NEVER_KNOWN][1] < 0.05
    assert back[LOST][1] - back[WRONG][1] > 0.3


@pytest.mark.slow
def test_what_kept_facts_bring_back_of_taught_facts_that_were_overwritten(shipped, tmp_path):
    unknown = shipped[shipped["gold_rank"] > 10].drop_duplicates("prompt")
    few = {name: rows.drop_duplicates().head(10).tolist() for name, rows in unknown.groupby("relation")["object"]}
    unknown = unknown[unknown["relation"].map(few).str.len() > 1].head(300)
    random = np.random.default_rng(3)
    pairs = [random.permutation(few[name])[:2].tolist() for name in unknown["relation"]]
    first, second = (facts_of(unknown, answers) for answers in zip(*pairs, strict=True))
    base = load_encoder(taught(first, tmp_path / "taught"), device="cpu")
    tuned = load_encoder(taught(second, tmp_path / "overwritten", rate=2e-4, start=tmp_path / "taught"), device="cpu")
    others = shipped[~shipped["prompt"].isin(unknown["prompt"])]
    known, gold = asked_of(others[others["gold_rank"] == 1], 4000, base)
    every, answers = [*first, *known], [*answer_ids(first, base), *gold]
    n, share = kept_brings_back(base, tuned, every, answers, tmp_path, range(300))[LOST]
    assert n > 280 and share < 0.1
