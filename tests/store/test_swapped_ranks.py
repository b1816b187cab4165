"""Swapped ranks of older runs, and of runs that name their lenders, as the database has them."""

from pathlib import Path

import pandas as pd
import pytest

from probing.core.facts.fact import Fact, fill
from probing.core.knowledge.swapped import swapped_subjects, swapped_subjects_up_to_version_0_2
from probing.reports.knowledge.precision import precision, precision_by_relation
from probing.store.build import build_database
from probing.store.check import check_store
from probing.store.database import open_database
from probing.store.parquet import write_table
from tests.store.planted import PlantedRun, lender_rows, plant_runs, prediction_rows

TEMPLATE = "[X] was born in [Y] ."
#: Half of the subjects share an answer, and one subject has two.
PAIRS = [(f"subject {n}", "paris" if n % 2 else ("berlin", "rome", "bank")[n % 3]) for n in range(12)] + [("subject 0", "paris")]
FACTS = tuple(Fact("trex", "P19", subject, answer, TEMPLATE, fill(TEMPLATE, subject)) for subject, answer in PAIRS)
OLDER, NEWER = PlantedRun(facts=FACTS, older=True), PlantedRun(facts=FACTS, head="logit_lens")
COMPACT = PlantedRun(facts=FACTS, older=True, head="full")


def plant(folder: Path) -> Path:
    plant_runs(folder, [OLDER, NEWER, COMPACT])
    rows = [row | {"other_rank": None} for row in prediction_rows(COMPACT)]
    write_table("predictions", rows, folder / COMPACT.run_id / f"predictions-{COMPACT.run_id}.parquet")
    return folder


def has_answer(owner: Fact, answer: str) -> bool:
    return any(one.subject == owner.subject and one.object == answer for one in FACTS)


def stored(db, run: PlantedRun) -> dict[tuple[str, int], int | None]:
    frame = db.query("SELECT fact_id, layer, other_rank FROM predictions WHERE run_id = $run", {"run": run.run_id})
    return {(row.fact_id, row.layer): None if pd.isna(row.other_rank) else int(row.other_rank) for row in frame.itertuples()}


@pytest.fixture()
def db(tmp_path: Path):
    build_database([plant(tmp_path / "runs")], tmp_path / "db")
    with open_database(tmp_path / "db") as database:
        yield database


def test_an_older_runs_rank_is_empty_where_its_lender_has_the_answer_and_kept_elsewhere(db):
    lent = swapped_subjects_up_to_version_0_2(FACTS)
    keeps = {
        one.fact_id for one, lender in zip(FACTS, lent, strict=True) if lender is not None and not has_answer(FACTS[lender], one.object)
    }
    assert 0 < len(keeps) < len(FACTS)
    found = stored(db, OLDER)
    for row in prediction_rows(OLDER):
        assert found[row["fact_id"], row["layer"]] == (row["other_rank"] if row["fact_id"] in keeps else None)
    (points,) = {tuple(row) for row in precision(db, [OLDER.run_id], (1,), "micro")[["n", "swapped_n"]].itertuples(index=False)}
    assert points == (len(FACTS), len(keeps))


def test_ranks_of_a_run_that_names_its_lenders_are_all_kept(db):
    assert None not in swapped_subjects(FACTS)
    assert stored(db, NEWER) == {(row["fact_id"], row["layer"]): row["other_rank"] for row in prediction_rows(NEWER)}


def test_a_named_lender_that_is_missing_or_has_the_answer_gives_no_baseline(tmp_path: Path):
    source, rows = plant(tmp_path / "runs"), lender_rows(NEWER)
    wrong = next(one for one in FACTS if one.fact_id != rows[1]["fact_id"] and one.object == FACTS[1].object)
    write_table("lenders", [rows[1] | {"lender_id": wrong.fact_id}, *rows[2:]], source / NEWER.run_id / f"lenders-{NEWER.run_id}.parquet")
    build_database([source], tmp_path / "db")
    with open_database(tmp_path / "db") as db:
        empty = {fact_id for (fact_id, _), rank in stored(db, NEWER).items() if rank is None}
    assert empty == {rows[0]["fact_id"], rows[1]["fact_id"]}


def test_what_was_not_measured_is_empty_in_the_reports(db):
    for table in (precision(db, [COMPACT.run_id]), precision_by_relation(db, [COMPACT.run_id])):
        assert table["swapped"].isna().all() and table["swapped_n"].isna().all()
    (share,) = precision(db, [NEWER.run_id], (10,), "macro").query("layer == 3")["swapped"]
    ranks = [row["other_rank"] for row in prediction_rows(NEWER) if row["layer"] == 3]
    assert share == sum(rank <= 10 for rank in ranks) / len(ranks)
    (row,) = precision_by_relation(db, [NEWER.run_id], 10).query("layer == 3").itertuples()
    assert (row.swapped, row.swapped_n) == (share, len(FACTS))


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("no file", "13 facts have a rank with a swapped subject, but no lender"),
        ("one is missing", "1 facts have a rank with a swapped subject, but no lender"),
        ("has the answer", "1 facts were asked with a prompt of another relation or template, or a swapped subject that has their answer"),
        ("stranger", "its lenders name 1 facts that it was not asked"),
        ("no run", "has lenders, but neither predictions nor a row in any runs file"),
    ],
)
def test_wrong_lenders_are_named(tmp_path: Path, fault: str, words: str):
    source, rows = plant(tmp_path / "runs"), lender_rows(NEWER)
    path = source / NEWER.run_id / f"lenders-{NEWER.run_id}.parquet"
    assert check_store([source]) == []
    if fault == "no file":
        path.unlink()
    elif fault == "no run":
        write_table("lenders", [rows[0] | {"run_id": "0" * 16}], path.with_name("lenders-of-nothing.parquet"))
    else:
        changes = {
            "one is missing": [],
            "has the answer": [rows[0] | {"lender_id": rows[0]["fact_id"]}],
            "stranger": [rows[0] | {"lender_id": "0"}],
        }
        write_table("lenders", [*changes[fault], *rows[1:]], path)
    (problem,) = check_store([source])
    assert words in problem
