"""Aggregates against sums over the raw rows in plain Python."""

import math
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pandas as pd
import pytest

from probing.facts import store as run_queries
from probing.facts.report_forgotten import forgotten, relation_forgetting
from probing.facts.report_layers import answer_drift, by_layer, early_exit, precision, precision_by_relation, total
from probing.facts.report_pairs import paired_with_yardsticks, transitions, transitions_by_relation
from probing.facts.runs import choose, pairs
from probing.facts.store_facts import count_facts, search_facts
from probing.kernel.fact import Subset, contains_words
from probing.kernel.store.check import check_store
from probing.kernel.store.database import Database
from probing.kernel.store.opening import open_database
from probing.kernel.store.parquet import write_table
from probing.kernel.store.stored import fact_runs, one_run_each
from tests.planted_store import (
    SEVERAL,
    PlantedRun,
    forget_predictions,
    plant_runs,
    plant_store,
    planted_exposure,
    planted_facts,
    prediction_rows,
    run_row,
)

FILTERS: list[tuple[tuple[str, ...] | None, bool | None]] = [
    (None, None),
    (("stated",), None),
    (("unknown",), None),
    (("stated", "unseen"), False),
    (None, True),
    ((), None),
]


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    with open_database(plant_store(tmp_path_factory.mktemp("store"), SEVERAL)) as database:
        yield database


def raw(run: PlantedRun, exposures: tuple[str, ...] | None, answer_in_subject: bool | None) -> list[dict]:
    """The rows of a run that pass the filters, with fact and exposure, found without the store."""
    facts = {fact.fact_id: fact for fact in planted_facts(run.probe_set)}
    known = planted_exposure() if (run.base or run.model) == "nesia-mini" else {}
    rows = []
    for row in prediction_rows(run):
        fact = facts[row["fact_id"]]
        exposure = known.get("\t".join([fact.relation, fact.subject, fact.object]), "unknown")
        copied = contains_words(fact.subject, fact.object)
        if (exposures is None or exposure in exposures) and answer_in_subject in (None, copied):
            rows.append(row | {"fact": fact, "relation": fact.relation})
    return rows


@pytest.mark.parametrize(("exposures", "answer_in_subject"), FILTERS)
def test_aggregate_is_the_sum_over_the_rows(db: Database, exposures, answer_in_subject):
    found = run_queries.aggregate(db, [run.run_id for run in SEVERAL], Subset(exposures, answer_in_subject))
    expected: dict[tuple, list[dict]] = {}
    for run in SEVERAL:
        for row in raw(run, exposures, answer_in_subject):
            expected.setdefault((run.run_id, row["layer"], row["relation"]), []).append(row)
    assert [tuple(key) for key in found[["run_id", "layer", "relation"]].itertuples(index=False)] == sorted(expected)
    for line in found.itertuples(index=False):
        rows = expected[line.run_id, line.layer, line.relation]
        gold, answer = [row["gold_rank"] for row in rows], [row["answer_rank"] for row in rows]
        other = [row["other_rank"] for row in rows if row["other_rank"] is not None]
        assert line.n == len(rows)
        assert (line.hits_1, line.hits_10, line.hits_100) == tuple(
            sum(rank <= k for rank in gold) for k in (1, 10, 100)
        )
        # To 36 binary places, so that sums do not depend on the order of adding.
        shares = ([1 / rank for rank in gold], [1 / rank**2 for rank in gold], [1 / rank for rank in answer])
        for got, of in zip(
            (line.sum_reciprocal_rank, line.sum_squared_reciprocal_rank, line.sum_answer_reciprocal_rank),
            shares,
            strict=True,
        ):
            assert got == sum(math.floor(share * 2**36 + 0.5) for share in of) / 2**36
            assert math.isclose(got, sum(of), abs_tol=1e-11 * len(of))
        assert line.answer_hits_1 == answer.count(1)
        assert line.other_n == len(other)
        assert (line.other_1, line.other_10, line.other_100) == tuple(
            sum(rank <= k for rank in other) for k in (1, 10, 100)
        )


@pytest.mark.parametrize(("exposures", "answer_in_subject"), FILTERS)
def test_totals_are_a_union_over_the_transformer_layers(db: Database, exposures, answer_in_subject):
    found = run_queries.totals(db, [run.run_id for run in SEVERAL], Subset(exposures, answer_in_subject))
    expected: dict[tuple[str, str], Counter] = {}
    for run in SEVERAL:
        ranks: dict[tuple[str, str], list[int]] = {}
        for row in raw(run, exposures, answer_in_subject):
            if row["layer"] > 0:
                ranks.setdefault((row["relation"], row["fact_id"]), []).append(row["gold_rank"])
        for (relation, _), of_fact in ranks.items():
            counts = expected.setdefault((run.run_id, relation), Counter())
            counts["n"] += 1
            for k in (1, 10, 100):
                counts[f"last_{k}"] += of_fact[-1] <= k
                counts[f"any_{k}"] += min(of_fact) <= k
    assert len(found) == len(expected)
    for line in found.to_dict("records"):
        assert line == {
            "run_id": line["run_id"],
            "relation": line["relation"],
            **expected[line["run_id"], line["relation"]],
        }


def test_knowledge_at_the_embeddings_only_is_not_in_the_total(tmp_path: Path):
    run = PlantedRun(layers=3, rank=lambda number, layer: 1 if layer == 0 else 200)
    with open_database(plant_store(tmp_path, [run])) as db:
        totals = run_queries.totals(db, [run.run_id])
        assert totals[["any_1", "last_1", "any_100"]].to_numpy().sum() == 0
        assert run_queries.aggregate(db, [run.run_id]).query("layer == 0")["hits_1"].sum() == 10


@pytest.mark.parametrize(("exposures", "answer_in_subject"), FILTERS)
def test_majority_answer_is_that_of_all_facts_of_the_relation(db: Database, exposures, answer_in_subject):
    of_facts = Subset(exposures, answer_in_subject)
    found = run_queries.majority(db, [run.run_id for run in SEVERAL], of_facts).to_dict("records")
    expected = {}
    for run in SEVERAL:
        kept = {row["fact_id"] for row in raw(run, exposures, answer_in_subject)}
        facts = planted_facts(run.probe_set)
        for relation in {fact.relation for fact in facts}:
            counts = Counter(fact.object for fact in facts if fact.relation == relation)
            best = min(counts, key=lambda answer: (-counts[answer], answer))
            objects = [fact.object for fact in facts if fact.relation == relation and fact.fact_id in kept]
            if objects:
                expected[run.run_id, relation] = (len(objects), objects.count(best))
    assert {(row["run_id"], row["relation"]): (row["n"], row["majority_hits"]) for row in found} == expected


def test_of_two_equally_frequent_answers_the_first_by_label_is_the_majority(db: Database):
    run = next(run for run in SEVERAL if run.probe_set == "trex")
    found = run_queries.majority(db, [run.run_id]).set_index("relation")
    assert found.loc["P36"].tolist()[1:] == [3, 1, 3]  # berlin, paris, rome once each
    assert found.loc["P103"].tolist()[1:] == [3, 2, 2]  # french twice, german once


def test_a_fine_tuned_model_has_the_exposure_of_its_base(db: Database):
    for run in SEVERAL:
        if run.probe_set == "trex":
            found = run_queries.exposures(db, [run.run_id]).groupby("exposure")["n"].sum().to_dict()
            base = {"stated": 4, "evidence": 1, "held out": 1, "unseen": 2, "unknown": 2}
            assert found == ({"unknown": 10} if run.model == "other-bert" else base)


def test_lists_of_what_there_is(db: Database):
    assert len(fact_runs(db)) == len(SEVERAL)
    assert run_queries.probe_sets(db).to_dict("list") == {
        "probe_set": ["common_sense", "questions", "trex"],
        "n_facts": [2, 2, 10],
        "n_relations": [1, 1, 3],
        "n_runs": [6, 6, 6],
    }
    relations = run_queries.relations(db).set_index("relation")
    assert relations.loc["P36"].to_dict() == {
        "probe_set": "trex",
        "label": "capital",
        "cardinality": "1-1",
        "n_facts": 3,
    }
    assert relations.loc["questions", "label"] == "questions"
    assert run_queries.vocabulary(db, "planted")["token"].tolist()[5] == "philadelphia"
    assert run_queries.vocabulary(db, "none").empty


def test_an_empty_store_answers_with_empty_frames(tmp_path: Path):
    with open_database(plant_store(tmp_path, "empty")) as db:
        for function in (fact_runs, run_queries.probe_sets, run_queries.relations):
            assert function(db).empty
        for function in (run_queries.aggregate, run_queries.totals, run_queries.majority, run_queries.exposures):
            assert function(db, []).empty
            assert function(db, ["nothing"]).empty


def test_no_runs_and_unknown_runs_give_no_rows(db: Database):
    for function in (run_queries.aggregate, run_queries.totals, run_queries.majority):
        assert function(db, []).empty
        assert function(db, ["' OR 1=1 --"]).empty
        assert function(db, [SEVERAL[0].run_id], Subset(("') OR 1=1 --",))).empty
    assert len(fact_runs(db)) == len(SEVERAL)


BASE = PlantedRun()
TUNED = PlantedRun(model="nesia-mini-qa", base="nesia-mini")
SHORT = PlantedRun(model="nesia-mini-qa", base="nesia-mini", probe_set="common_sense")
LAST = PlantedRun(model="nesia-mini-qa", base="nesia-mini", seed=1, role="replicate", last_only=True)
#: Of these counts alone are kept.
ALONE = (TUNED, SHORT, LAST)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Predictions of all runs in ``full``, of the base alone in ``counted``."""
    folder = tmp_path_factory.mktemp("counted")
    shutil.copytree(plant_runs(folder / "full", [BASE, *ALONE]), folder / "counted")
    for run in ALONE:
        forget_predictions(folder / "counted", run)
    return folder


@pytest.fixture(scope="module")
def full(folder: Path) -> Iterator[Database]:
    with open_database(folder / "full") as database:
        yield database


@pytest.fixture(scope="module")
def counted(folder: Path) -> Iterator[Database]:
    with open_database(folder / "counted") as database:
        yield database


_REPORTS: dict[str, Callable[..., pd.DataFrame]] = {
    one.__name__: one
    for one in (
        precision,
        precision_by_relation,
        total,
        forgotten,
        relation_forgetting,
        run_queries.majority,
        run_queries.exposures,
    )
} | {
    "answers": lambda db, ids, *given: by_layer(db, ids, "answer_p_at_1", "macro", *given),
    "mrr": lambda db, ids, *given: by_layer(db, ids, "mrr", "micro", *given),
}


def _equal_but_over_answers(found: pd.DataFrame, expected: pd.DataFrame) -> None:
    """Equal, but counts do not tell which facts have one answer, so they have no interval over answers."""
    ends = [name for name in found if name.endswith("_answers")]
    counted = found["run_id"] != BASE.run_id
    assert found.loc[counted, ends].isna().all(axis=None)
    pd.testing.assert_frame_equal(found.drop(columns=ends), expected.drop(columns=ends))


@pytest.mark.parametrize("report", _REPORTS.values(), ids=_REPORTS)
def test_counts_alone_say_what_predictions_say_of_relations(
    full: Database, counted: Database, report: Callable[..., pd.DataFrame]
):
    ids = [run.run_id for run in (BASE, *ALONE)]
    found, expected = report(counted, ids), report(full, ids)
    if report is total:
        # How many heads agree on a fact is nothing that counts say.
        seeds = ["seeds", "seed_union"]
        assert (found["seeds"] == 1).all() and expected["seeds"].max() == 2
        found, expected = found.drop(columns=seeds), expected.drop(columns=seeds)
    assert TUNED.run_id in set(found["run_id"])
    _equal_but_over_answers(found, expected)


@pytest.mark.parametrize(
    "report", [precision, forgotten, relation_forgetting, run_queries.majority, run_queries.totals]
)
def test_counts_alone_can_be_filtered(full: Database, counted: Database, report: Callable[..., pd.DataFrame]):
    kept = Subset(("stated",), answer_in_subject=False)
    found = report(counted, [TUNED.run_id], subset=kept)
    assert len(found) and len(found) <= len(report(counted, [TUNED.run_id]))
    _equal_but_over_answers(found, report(full, [TUNED.run_id], subset=kept))


def test_runs_say_which_are_counted_and_check_is_content(counted: Database, folder: Path):
    assert fact_runs(counted).set_index("run_id")["counted"].to_dict() == {
        run.run_id: run in ALONE for run in (BASE, *ALONE)
    }
    assert check_store([folder / "counted"]) == []


def test_what_needs_facts_has_no_row_of_a_counted_run(counted: Database):
    found = pairs(choose(counted))
    assert found[["base_run_id", "run_id"]].values.tolist() == [[BASE.run_id, TUNED.run_id]]
    for wanted in (found, [(BASE.run_id, TUNED.run_id)], [(TUNED.run_id, BASE.run_id)]):
        assert transitions(counted, wanted).empty and transitions_by_relation(counted, wanted).empty
    assert paired_with_yardsticks(counted, BASE.run_id, TUNED.run_id, 1).empty
    assert early_exit(counted, [BASE.run_id, TUNED.run_id])["run_id"].tolist() == [BASE.run_id]
    assert set(answer_drift(counted, [BASE.run_id, TUNED.run_id])["run_id"]) == {BASE.run_id}
    assert (
        count_facts(counted, BASE.run_id) == 10
        and count_facts(counted, TUNED.run_id) == 0
        and search_facts(counted, TUNED.run_id).empty
    )
    assert set(
        counted.query("SELECT DISTINCT run_id FROM known UNION SELECT DISTINCT run_id FROM predictions")["run_id"]
    ) == {BASE.run_id}


def test_a_newer_run_in_other_numbers_does_not_hide_float32_but_one_of_other_facts_does(db: Database):
    exact = choose(db).head(1)
    later = exact.assign(run_id="later", dtype="bfloat16", created="2030")
    both = [later, later.assign(config='{"facts_sha256":"other"}')]
    shown = [one_run_each(pd.concat([one, exact]))["run_id"].item() for one in both]
    assert shown == [exact["run_id"].item(), "later"]


def test_a_run_with_predictions_is_shown_before_a_newer_counted_one(folder: Path, tmp_path: Path):
    """The same model, head and facts, made by another version: another run."""
    older = PlantedRun(model=TUNED.model, base=TUNED.base, made=(("code_version", "older"),))
    plant_runs(tmp_path, [older])
    row = run_row(older) | {"created": "2020-01-01T00:00:00Z"}
    write_table("runs", [row], tmp_path / older.run_id / f"runs-{older.run_id}.parquet")
    with open_database(folder / "counted", tmp_path) as db:
        shown = one_run_each(fact_runs(db)).query("model == 'nesia-mini-qa' and probe_set == 'trex'")
        assert shown["run_id"].tolist() == [older.run_id]
        assert choose(db, ["nesia-mini-qa"], probe_sets=["trex"])["run_id"].tolist() == [older.run_id]
