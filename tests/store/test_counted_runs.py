"""Runs of which counts alone are stored: they count as runs with predictions do, and have nothing by fact."""

import logging
import math
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pandas as pd
import pytest

from probing.reports.knowledge.answer_drift import answer_drift
from probing.reports.knowledge.early_exit import early_exit
from probing.reports.knowledge.forgotten_relations import forgotten, relation_forgetting
from probing.reports.knowledge.pairs.yardsticks import paired_with_yardsticks
from probing.reports.knowledge.precision import by_layer, precision, precision_by_relation
from probing.reports.knowledge.total import total
from probing.reports.knowledge.transitions import transitions, transitions_by_relation
from probing.reports.runs import choose, one_run_each, pairs
from probing.store import run_queries
from probing.store.build import build_database
from probing.store.check import check_store
from probing.store.database import Database, open_database
from probing.store.knowledge.fact_queries import count_facts, search_facts
from probing.store.knowledge.kept_counts import KEPT, counts_of
from probing.store.parquet import read_table, write_table
from tests.store.planted import PlantedRun, plant_runs, prediction_rows, run_row

BASE = PlantedRun()
TUNED = PlantedRun(model="nesia-mini-qa", base="nesia-mini")
SHORT = PlantedRun(model="nesia-mini-qa", base="nesia-mini", probe_set="common_sense")
LAST = PlantedRun(model="nesia-mini-qa", base="nesia-mini", seed=1, role="replicate", last_only=True)
#: Of these counts alone are kept.
ALONE = (TUNED, SHORT, LAST)


def plant_counts(folder: Path, db: Database, run: PlantedRun, like: PlantedRun | None = None) -> None:
    """What ``keep_counts`` writes of a run, with the counts of another one that is like it."""
    for table in KEPT:
        if len(rows := counts_of(db, table, (like or run).run_id)):
            write_table(table, rows.assign(run_id=run.run_id).to_dict("records"), folder / f"{table}-{run.run_id}.parquet")
    write_table("counted_runs", [run_row(run)], folder / f"counted_runs-{run.run_id}.parquet")


def forget_predictions(folder: Path, run: PlantedRun) -> None:
    for path in (folder / run.run_id).iterdir():
        path.unlink()


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory):
    folder = tmp_path_factory.mktemp("full")
    plant_runs(folder / "runs", [BASE, *ALONE])
    build_database([folder / "runs"], folder / "database")
    with open_database(folder / "database") as database:
        yield database


@pytest.fixture(scope="module")
def counted(full: Database, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The base with predictions, the others as counts; to be read only."""
    folder = plant_runs(tmp_path_factory.mktemp("counted") / "runs", [BASE, *ALONE])
    for run in ALONE:
        forget_predictions(folder, run)
        plant_counts(folder, full, run)
    return folder


@pytest.fixture(scope="module")
def db(counted: Path):
    build_database([counted], counted.parent / "database")
    with open_database(counted.parent / "database") as database:
        yield database


@pytest.fixture
def source(counted: Path, tmp_path: Path) -> Path:
    """The same files, for a test that changes them."""
    return shutil.copytree(counted, tmp_path / "runs")


_REPORTS: dict[str, Callable[..., pd.DataFrame]] = {
    one.__name__: one
    for one in (precision, precision_by_relation, total, forgotten, relation_forgetting, run_queries.majority, run_queries.exposures)
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
def test_counts_alone_say_what_predictions_say_of_relations(full: Database, db: Database, report: Callable[..., pd.DataFrame]):
    ids = [run.run_id for run in (BASE, *ALONE)]
    found, expected = report(db, ids), report(full, ids)
    if report is total:
        # How many heads agree on a fact is nothing that counts say.
        seeds = ["seeds", "seed_union"]
        assert (found["seeds"] == 1).all() and expected["seeds"].max() == 2
        found, expected = found.drop(columns=seeds), expected.drop(columns=seeds)
    assert TUNED.run_id in set(found["run_id"])
    _equal_but_over_answers(found, expected)


@pytest.mark.parametrize("report", [precision, forgotten, relation_forgetting, run_queries.majority, run_queries.totals])
def test_counts_alone_can_be_filtered(full: Database, db: Database, report: Callable[..., pd.DataFrame]):
    kept = {"exposures": ("stated",), "answer_in_subject": False}
    found = report(db, [TUNED.run_id], **kept)
    assert len(found) and len(found) <= len(report(db, [TUNED.run_id]))
    _equal_but_over_answers(found, report(full, [TUNED.run_id], **kept))


def test_runs_say_which_are_counted_and_check_is_content(db: Database, counted: Path):
    assert run_queries.runs(db).set_index("run_id")["counted"].to_dict() == {BASE.run_id: False} | {run.run_id: True for run in ALONE}
    assert check_store([counted], counted.parent / "database") == []


def test_what_needs_facts_has_no_row_of_a_counted_run(db: Database):
    found = pairs(choose(db))
    assert found[["base_run_id", "run_id"]].values.tolist() == [[BASE.run_id, TUNED.run_id]]
    for wanted in (found, [(BASE.run_id, TUNED.run_id)], [(TUNED.run_id, BASE.run_id)]):
        assert transitions(db, wanted).empty and transitions_by_relation(db, wanted).empty
    assert paired_with_yardsticks(db, BASE.run_id, TUNED.run_id, 1).empty
    assert early_exit(db, [BASE.run_id, TUNED.run_id])["run_id"].tolist() == [BASE.run_id]
    assert set(answer_drift(db, [BASE.run_id, TUNED.run_id])["run_id"]) == {BASE.run_id}
    assert count_facts(db, BASE.run_id) == 10 and count_facts(db, TUNED.run_id) == 0 and search_facts(db, TUNED.run_id).empty
    assert set(db.query("SELECT DISTINCT run_id FROM known UNION SELECT DISTINCT run_id FROM predictions")["run_id"]) == {BASE.run_id}


def test_a_runs_own_predictions_are_counted_whatever_its_counts_say(full: Database, source: Path):
    plant_runs(source, [TUNED])
    path = source / f"layer_counts-{TUNED.run_id}.parquet"
    write_table("layer_counts", [row | {"hits_1": 0} for row in read_table(path, "layer_counts").to_pylist()], path)
    build_database([source], source.parent / "database")
    with open_database(source.parent / "database") as db:
        assert not run_queries.runs(db).set_index("run_id")["counted"][TUNED.run_id]
        assert precision(db, [TUNED.run_id]).equals(precision(full, [TUNED.run_id]))
        assert len(transitions(db, pairs(choose(db)), (1,))) == 1


def test_a_run_with_predictions_is_shown_before_a_newer_counted_one(source: Path):
    """The same model, head and facts, made by another version: another run."""
    older = PlantedRun(model=TUNED.model, base=TUNED.base, made=(("code_version", "older"),))
    plant_runs(source, [older])
    row = run_row(older) | {"created": "2020-01-01T00:00:00Z"}
    write_table("runs", [row], source / older.run_id / f"runs-{older.run_id}.parquet")
    build_database([source], source.parent / "database")
    with open_database(source.parent / "database") as db:
        shown = one_run_each(run_queries.runs(db)).query("model == 'nesia-mini-qa' and probe_set == 'trex'")
        assert shown["run_id"].tolist() == [older.run_id]
        assert choose(db, ["nesia-mini-qa"], probe_sets=["trex"])["run_id"].tolist() == [older.run_id]


Damage = Callable[[Path, PlantedRun], None]


def _changed(table: str, **values) -> Damage:
    def change(folder: Path, run: PlantedRun) -> None:
        path = folder / f"{table}-{run.run_id}.parquet"
        first, *others = read_table(path, table).to_pylist()
        write_table(table, [first | {name: make(first[name]) for name, make in values.items()}, *others], path)

    return change


def _gone(table: str) -> Damage:
    return lambda folder, run: (folder / f"{table}-{run.run_id}.parquet").unlink()


def damaged(source: Path, full: Database, damages: Sequence[Damage]) -> list[str]:
    """Stores a counted run with each damage, and gives the ids of the runs."""
    runs = [PlantedRun(model=TUNED.model, base=TUNED.base, seed=10 + number) for number in range(len(damages))]
    for run, damage in zip(runs, damages, strict=True):
        plant_counts(source, full, run, like=TUNED)
        damage(source, run)
    return [run.run_id for run in runs]


NOT_WHOLE = (
    (_changed("layer_counts", n=lambda n: n + 1), "layer_counts, layer 0: counts of 11 facts, expected 10"),
    (_changed("layer_counts", layer=lambda layer: 9), "layer_counts, layer 0: counts of"),
    (_gone("layer_counts"), "layer_counts, layer 0: counts of 0 facts, expected 10"),
    (_gone("total_counts"), "total_counts: counts of 0 facts, expected 10"),
    (_changed("against_counts", neither=lambda n: n + 5), "against_counts, layer 1, k 1: counts of 15 facts"),
)


def left_out_as_said(source: Path, caplog: pytest.LogCaptureFixture, said: Mapping[str, str]) -> None:
    """Checks and builds a store: each run (id -> what is said of it) is named by both and shown nowhere."""
    problems = check_store([source])
    with caplog.at_level(logging.WARNING):
        build_database([source], source.parent / "database")
    for run_id, words in said.items():
        assert any(words in problem and run_id in problem for problem in problems), words
        assert any(words in message and run_id in message and "left out" in message for message in caplog.messages), words
    with open_database(source.parent / "database") as db:
        assert not said.keys() & set(run_queries.runs(db)["run_id"])
        for report in _REPORTS.values():
            assert not said.keys() & set(report(db, [*said, BASE.run_id])["run_id"])


def test_counts_that_are_not_whole_are_named_and_left_out(full: Database, source: Path, caplog: pytest.LogCaptureFixture):
    ids = damaged(source, full, [damage for damage, _ in NOT_WHOLE])
    left_out_as_said(source, caplog, dict(zip(ids, [said for _, said in NOT_WHOLE], strict=True)))


def test_counts_of_facts_that_are_not_stored_are_named_and_left_out(source: Path, caplog: pytest.LogCaptureFixture):
    path = source / "facts-trex.parquet"
    write_table("facts", [row for row in read_table(path, "facts").to_pylist() if row["relation"] != "P36"], path)
    left_out_as_said(source, caplog, {TUNED.run_id: "no facts file has the relation P36 of its counts"})


def test_check_names_counts_and_rows_that_cannot_be(full: Database, source: Path):
    said = [
        (_changed("layer_counts", hits_100=lambda n: 10_000), "more facts are known than there are"),
        (_changed("total_counts", any_1=lambda n: 10_000), "more facts are known than there are"),
        (_changed("layer_counts", sum_reciprocal_rank=lambda n: math.inf), "sum_reciprocal_rank is inf, expected 0"),
        (_changed("counted_runs", tokenizer=lambda name: "other"), "no vocabulary file has its tokenizer"),
        (_changed("counted_runs", config=lambda config: config.replace("trex", "tres")), "it was changed after the run"),
    ]
    ids = damaged(source, full, [damage for damage, _ in said])
    problems = check_store([source])
    for run_id, (_, words) in zip(ids, said, strict=True):
        assert any(words in problem and run_id in problem for problem in problems), words


def test_counts_that_no_ranks_give_are_shown_nowhere(full: Database, source: Path):
    damages = [
        _changed("layer_counts", hits_1=lambda n: 10_000),
        _changed("layer_counts", hits_10=lambda n: 0, hits_1=lambda n: 1),
        _changed("layer_counts", sum_reciprocal_rank=lambda n: math.nan),
        _changed("total_counts", last_1=lambda n: 1, any_1=lambda n: 0),
        _changed("total_counts", majority_hits=lambda n: 10_000),
    ]
    ids = damaged(source, full, damages)
    build_database([source], source.parent / "database")
    with open_database(source.parent / "database") as db:
        assert not set(ids) & set(run_queries.runs(db)["run_id"])
        reasons = run_queries.left_out_files(db)["why"]
    for run_id in ids:
        (why,) = (one for one in reasons if run_id in one)
        assert re.search(r"is above .*: more facts are known than there are|sum_reciprocal_rank is nan", why)


def test_predictions_without_a_row_do_not_join_the_counts(full: Database, source: Path):
    """A run that is being probed while its counts are stored: its row is written last."""
    write_table("predictions", prediction_rows(TUNED)[:3], source / f"predictions-{TUNED.run_id}.parquet")
    build_database([source], source.parent / "database")
    with open_database(source.parent / "database") as db:
        _equal_but_over_answers(precision(db, [TUNED.run_id]), precision(full, [TUNED.run_id]))
