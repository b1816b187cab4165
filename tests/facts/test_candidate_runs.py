"""Runs that rank candidates: what is asked and left out, resumption to equal bytes, sharing, and their reports."""

import json
import math
import shutil
from functools import partial

import numpy as np
import pandas as pd
import pytest

import probing
from probing.facts import candidate_run
from probing.facts.report_candidates import CANDIDATES, NUMBERS, alike, by_layer, grouped, newest
from probing.facts.requests import ANSWER_L2R, INDEPENDENT, ProbeRequest
from probing.facts.store_candidates import candidate_runs
from probing.kernel.errors import FactsError, OptionError, StoreError
from probing.kernel.jobs import stored_runs
from probing.kernel.report import objects
from probing.kernel.stats.intervals import wilson_mean
from probing.kernel.store.kinds import KINDS
from probing.kernel.store.opening import open_database
from probing.kernel.store.parquet import as_stored, read_table
from tests.candidates_planted import FACTS, PIECES, PlantedRanking, plant_candidates, rank_of, rows_of
from tests.fixtures.commands import Killed, bytes_of
from tests.jobs.planted import Elsewhere
from tests.planted_relatives import LAYERS

ROWS = [
    ("france", "capital", "paris", "The capital of france is [MASK]."),
    ("germany", "capital", "berlin", "The capital of germany is [MASK]."),
    ("italy", "capital", "rome", "The capital of italy is [MASK]."),
    ("usa", "city", "New York City", "The city of the sun is [MASK]."),
    ("usa", "city", "red green", "The city of the sun is [MASK]."),
    ("rocky", "city", "Boston", "rocky was born in [MASK]."),
    ("y", "city", "one two three", "The [MASK] is [MASK]."),
    ("z", "city", "привет", "z is [MASK]."),
]


@pytest.fixture
def facts_of_several_tokens(tmp_path):
    """A user's CSV, one of whose facts has two gaps and one of whose answers the vocabulary lacks."""
    path = tmp_path / "cities.csv"
    pd.DataFrame(ROWS, columns=["subject", "relation", "object", "prompt"]).to_csv(path, index=False)
    return path


@pytest.fixture
def rank(run, cache, folder_of, facts_of_several_tokens):
    """``probe`` with a measure that ranks candidates."""

    def call(*more, measure=INDEPENDENT, facts=facts_of_several_tokens, **options):
        words = ("--model", folder_of("bert"), "--facts", facts, "--head", "logit_lens", "--measure", measure)
        return run("probe", *words, *more, **options)

    return call


def stored(folder, table):
    return [row for path in sorted(folder.glob(f"{table}-*.parquet")) for row in read_table(path, table).to_pylist()]


def test_an_answer_of_several_tokens_is_shown_at_every_layer(rank, run, cache):
    said = rank().output
    assert "read 8 = probed 6 + left out" in said and "not exactly one mask" in said
    assert "2 facts have other right answers" in said and "left out of the candidates: 1 object is unknown" in said
    (row,) = stored(cache / "runs", "candidate_runs")
    assert (row["n_read"], row["n_probed"], row["layers"], row["measure"]) == (8, 6, 4, INDEPENDENT)
    assert json.loads(row["left_out"]) == {
        "facts": {"not exactly one mask": 1, "object is unknown to the vocabulary": 1},
        "candidates": {"object is unknown to the vocabulary": 1},
    }
    facts = {row["object"]: row for row in stored(cache / "runs", "candidate_facts")}
    # Of the relation "city", the answer of a fact that was left out is a candidate, too.
    counts = ("candidates", "filtered", "pieces", "fewer_pieces", "equal_pieces")
    assert [facts["New York City"][name] for name in counts] == [3, 1, 8, 2, 1]
    assert [facts["Boston"][name] for name in counts] == [4, 0, 1, 0, 1]
    assert [facts["rome"][name] for name in counts] == [3, 0, 1, 0, 3]
    rows = json.loads(run("candidates", "report", "facts", "--probe-set", "cities", "--json").stdout)
    york = [row for row in rows if row["object"] == "New York City"]
    assert [row["layer"] for row in york] == [0, 1, 2, 3] and all(1 <= row["rank"] <= 3 for row in york)
    assert all(row["best"] in ("New York City", "Boston", "one two three") for row in york)
    layers = json.loads(run("candidates", "report", "layers", "--average", "micro", "--json").stdout)
    assert [row["n"] for row in layers] == [6] * 4
    assert [row["chance"] for row in layers] == pytest.approx([(3 / 3 + 1 / 4 + 1 / 3 + 1 / 3) / 6] * 4)
    assert "ranked 6" in run("runs").output and "ok  runs" in run("check").output


def test_a_notebook_reads_the_stored_ranks_of_the_command(
    rank, run, folder_of, facts_of_several_tokens, tmp_path, caplog, monkeypatch
):
    (tmp_path / "list.txt").write_text("paris\nrome\nNew York City\n")
    rank("--candidates", tmp_path / "list.txt")
    report = json.loads(run("candidates", "report", "facts", "--json").stdout)
    monkeypatch.setattr(candidate_run, "rank", None)
    model = probing.load(str(folder_of("bert")), "logit_lens", device="cpu")
    table = model.rank_facts(facts_of_several_tokens, candidates=tmp_path / "list.txt", progress=False)
    assert objects(table) == report and "3 facts are ranked; left out: 1 not exactly one mask" in caplog.text


def test_the_measure_of_the_vocabulary_names_the_others_and_is_unchanged(
    run, cache, folder_of, facts_of_several_tokens
):
    words = ("--model", folder_of("bert"), "--facts", facts_of_several_tokens, "--head", "logit_lens")
    said = run("probe", *words).output
    assert "--measure independent` asks answers of several tokens" in said
    before = bytes_of(cache / "runs")
    assert "exists already" in run("probe", *words, "--measure", "vocabulary").output
    assert bytes_of(cache / "runs") == before and not list((cache / "runs").glob("candidate*"))
    (row,) = stored(cache / "runs", "runs")
    assert "measure" not in json.loads(row["config"])


def test_candidates_of_a_file_are_ranked_and_answers_that_are_not_in_it_are_left_out(rank, cache, tmp_path):
    (tmp_path / "list.txt").write_text("\ufeffparis\nrome\nlima beans\n\nrome\n  New   York City\n", encoding="utf-8")
    said = rank("--candidates", tmp_path / "list.txt").output
    assert "4 to 4 candidates for a fact; left out of the candidates: 1 duplicate" in said
    (row,) = stored(cache / "runs", "candidate_runs")
    assert row["candidates_file"] == "list.txt" and row["n_probed"] == 3
    assert json.loads(row["left_out"])["facts"]["object is none of the candidates"] == 4
    (tmp_path / "one.txt").write_text("paris\n")
    for name, words in (("one.txt", "has 1 candidates"), ("none.txt", "No such file")):
        with pytest.raises(FactsError, match=words):
            rank("--candidates", tmp_path / name)


def test_options_that_exclude_each_other_are_refused():
    for given in ({"candidates": "list.txt"}, {"measure": INDEPENDENT, "compact": True}, {"measure": "likely"}):
        with pytest.raises(OptionError, match="got --"):
            ProbeRequest("nesia-mini", **given)


def test_the_second_time_nothing_is_done_and_counts_are_kept_up_to_date(
    rank, cache, facts_of_several_tokens, monkeypatch
):
    rank()
    before = bytes_of(cache / "runs")
    monkeypatch.setattr(candidate_run, "rank", None)
    assert "exists already" in rank().output and bytes_of(cache / "runs") == before
    with facts_of_several_tokens.open("a") as stream:
        stream.write("france,capital,paris,The capital of france is [MASK].\n")
    rank()
    after = bytes_of(cache / "runs")
    (name,) = (name for name in after if after[name] != before[name])
    assert name.startswith("candidate_runs-") and after[name][0]["n_read"] == 9


@pytest.mark.parametrize("measure", [INDEPENDENT, ANSWER_L2R])
def test_a_call_that_was_killed_goes_on_and_gives_equal_bytes(rank, cache, dies, measure):
    rank("--shard", 2, measure=measure)
    whole = bytes_of(cache / "runs")
    for calls in range(3):
        shutil.rmtree(cache)
        undo = dies(candidate_run, "rank", calls)
        with pytest.raises(Killed):
            rank("--shard", 2, measure=measure)
        undo()
        assert not list((cache / "runs").glob("candidate_runs-*")), "a run exists when its row does"
        left = len(list((cache / "shards").rglob("shard-*.parquet")))
        assert left == calls
        rank("--shard", 2, measure=measure)
        assert bytes_of(cache / "runs") == whole


def test_a_worker_that_opens_the_model_by_itself_writes_the_same(rank, cache, monkeypatch):
    rank("--shard", 2)
    here = bytes_of(cache / "runs")
    shutil.rmtree(cache)
    monkeypatch.setattr(stored_runs, "executor", lambda *given: Elsewhere())
    rank("--shard", 2)
    assert bytes_of(cache / "runs") == here


def test_runs_are_pushed_and_pulled_with_the_predictions(rank, run, cache, tmp_path, at, folder_of):
    rank()
    before, model = bytes_of(cache / "runs"), folder_of("bert").name
    run("push", "predictions", "--model", model, "--to-folder", tmp_path / "share", "--licence", "MIT")
    at(tmp_path / "other")
    run("pull", "--from-folder", tmp_path / "share")
    pulled = {path.name: path.read_bytes() for path in (tmp_path / "other").rglob("candidate_*.parquet")}
    assert all(
        pulled[name] == content
        for name, content in before.items()
        if name.startswith(("candidate_f", "candidate_ranks"))
    )
    # What was pulled is not computed again.
    assert "exists already" in rank().output


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    """Planted runs, open."""
    with open_database(plant_candidates(tmp_path_factory.mktemp("planted") / "runs")) as db:
        yield db


def expected(numbers: list[int], layer: int) -> dict[str, float]:
    """What is reported of some planted facts at a layer, fact by fact; every order of candidates is as likely."""
    hits, reciprocal, ranks, chance, chance_mrr, chance_rank, shortest = ([] for _ in range(7))
    for number in numbers:
        rank, tied = rank_of(number, layer)
        places = range(int(rank - (tied - 1) / 2), int(rank + (tied - 1) / 2) + 1)
        candidates = 4 if number % 5 == 0 else 5
        hits.append(1 / tied if 1 in places else 0)
        reciprocal.append(np.mean([1 / place for place in places]))
        ranks.append(np.mean(places))
        chance.append(1 / candidates)
        chance_mrr.append(np.mean([1 / place for place in range(1, candidates + 1)]))
        chance_rank.append(np.mean(range(1, candidates + 1)))
        shortest.append(1 / 3 if PIECES[number % 5] == 1 else 0)
    columns = {"value": hits, "mrr": reciprocal, "mean_rank": ranks, "chance": chance, "mrr_chance": chance_mrr}
    columns |= {"mean_rank_chance": chance_rank, "shortest": shortest, "pmi": [1 / 3 for _ in numbers]}
    columns["alone"] = [float(number % 2 == 0) for number in numbers]
    return {name: float(np.mean(values)) for name, values in columns.items()}


def test_reports_have_what_a_count_fact_by_fact_gives(planted):
    runs = newest(candidate_runs(planted))
    runs = runs[runs["run_id"] == PlantedRanking().run_id]
    groups = {"river": list(range(6)), "tower": list(range(6, 9))}
    numbers = list(range(len(FACTS)))
    table = by_layer(planted, runs).set_index(["average", "layer"])
    for layer in LAYERS:
        of_facts = expected(numbers, layer)
        of_relations = dict(pd.DataFrame([expected(some, layer) for some in groups.values()]).mean())
        for average, wanted in (("micro", of_facts), ("macro", of_relations)):
            row = table.loc[(average, layer)]
            assert {name: row[name] for name in wanted} == pytest.approx(wanted)
            assert row["low"] <= row["value"] <= row["high"] and row["mrr_low"] <= row["mrr"] <= row["mrr_high"]
        micro = table.loc[("micro", layer)]
        assert (micro["low"], micro["high"]) == pytest.approx(wilson_mean(of_facts["value"], 9))
    for row in grouped(planted, runs, "relation").to_dict("records"):
        wanted = expected(groups[row["relation"]], row["layer"])
        assert {name: row[name] for name in wanted} == pytest.approx(wanted) and row["n"] == len(
            groups[row["relation"]]
        )
    for row in grouped(planted, runs, "pieces").to_dict("records"):
        some = [n for n in numbers if PIECES[n % 5] == row["pieces"]]
        wanted = expected(some, row["layer"])
        assert {name: row[name] for name in wanted} == pytest.approx(wanted) and row["n"] == len(some)


def test_the_newest_run_counts_and_a_random_order_has_the_numbers_by_chance(planted, tmp_path):
    runs = candidate_runs(planted)
    twice = pd.concat([runs.assign(created="2027", run_id="newer"), runs])
    assert set(newest(twice)["run_id"]) == {"newer"}
    table = by_layer(planted, newest(runs))
    assert not table[list(NUMBERS)].isna().any().any()
    assert table["mrr_chance"].between(sum(1 / n for n in range(1, 6)) / 5 - 1e-9, math.inf).all()
    others = {"short": runs.assign(dtype="bfloat16"), "listed": runs.assign(candidates_file="list.txt")}
    every = newest(pd.concat([*(of.assign(created="2027", run_id=name) for name, of in others.items()), runs]))
    assert len(every) == 3 * len(runs) and {"dtype", "candidates_file"} <= {*CANDIDATES.named("layers").shown(every)}
    assert "dtype" not in CANDIDATES.named("layers").shown(runs)
    assert set(alike(every)["run_id"]) <= set(runs["run_id"]) and set(alike(every, dtype=["bfloat16"])["run_id"]) == {
        "short"
    }
    report = partial(probing.results(plant_candidates(tmp_path / "runs")).report, "candidates", "layers")
    with pytest.raises(OptionError, match="no ranks among candidates of the model"):
        report(model="nobody")
    with pytest.raises(StoreError, match="no ranks among candidates have"):
        report(dtype="float64").figure()


def test_a_replicate_has_its_last_layer_only_and_ranks_are_among_the_candidates():
    def problems(change):
        rows = rows_of(PlantedRanking())
        change(rows)
        return KINDS["candidates"].problems({table: as_stored(table, found) for table, found in rows.items()})

    def last_only(rows):
        rows["candidate_ranks"] = [row for row in rows["candidate_ranks"] if row["layer"] == max(LAYERS)]

    def replicate(rows):
        last_only(rows)
        rows["candidate_runs"][0]["seed"] = 1

    assert problems(lambda rows: None) == [] == problems(replicate)
    for change, words in (
        (last_only, "9 ranks of its facts, 9 of them different"),
        (lambda rows: rows["candidate_ranks"][0].update(pmi_rank=4.5), "a rank that 4 candidates do not have"),
        (lambda rows: rows["candidate_runs"][0].update(n_read=12), "12 facts were read, 9 asked and 2 left out"),
    ):
        assert words in problems(change)[0]
