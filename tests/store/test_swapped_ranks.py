"""Swapped ranks of runs and their stored swapped subjects, in the database."""

from pathlib import Path

import pandas as pd
import pytest

from probing.core.facts.fact import Fact, fill
from probing.core.knowledge.swapped_subjects import swapped_subjects
from probing.reports.knowledge.precision import precision, precision_by_relation
from probing.store.opening import open_database
from probing.store.parquet import write_table
from tests.store.planted import PlantedRun, lender_rows, plant_runs, prediction_rows

TEMPLATE = "[X] was born in [Y] ."
#: Half of the subjects share an answer, and one subject has two.
PAIRS = [(f"subject {n}", "paris" if n % 2 else ("berlin", "rome", "bank")[n % 3]) for n in range(12)] + [("subject 0", "paris")]
FACTS = tuple(Fact("trex", "P19", subject, answer, TEMPLATE, fill(TEMPLATE, subject)) for subject, answer in PAIRS)
RUN, COMPACT = PlantedRun(facts=FACTS, head="logit_lens"), PlantedRun(facts=FACTS, swapped=False, head="full")


def plant(folder: Path) -> Path:
    return plant_runs(folder, [RUN, COMPACT])


def stored(db, run: PlantedRun) -> dict[tuple[str, int], int | None]:
    frame = db.query("SELECT fact_id, layer, other_rank FROM predictions WHERE run_id = $run", {"run": run.run_id})
    return {(row.fact_id, row.layer): None if pd.isna(row.other_rank) else int(row.other_rank) for row in frame.itertuples()}


@pytest.fixture()
def db(tmp_path: Path):
    with open_database(tmp_path / "db") as database:
        yield database


def test_ranks_of_a_run_that_names_its_lenders_are_all_kept(db):
    assert None not in swapped_subjects(FACTS)
    assert stored(db, RUN) == {(row["fact_id"], row["layer"]): row["other_rank"] for row in prediction_rows(RUN)}


def test_a_named_lender_that_is_missing_or_has_the_answer_gives_no_baseline(tmp_path: Path):
    source, rows = plant(tmp_path / "runs"), lender_rows(RUN)
    wrong = next(one for one in FACTS if one.fact_id != rows[1]["fact_id"] and one.object == FACTS[1].object)
    write_table("lenders", [rows[1] | {"lender_id": wrong.fact_id}, *rows[2:]], source / RUN.run_id / f"lenders-{RUN.run_id}.parquet")
    with open_database(tmp_path / "db") as db:
        empty = {fact_id for (fact_id, _), rank in stored(db, RUN).items() if rank is None}
    assert empty == {rows[0]["fact_id"], rows[1]["fact_id"]}


def test_what_was_not_measured_is_empty_in_the_reports(db):
    for table in (precision(db, [COMPACT.run_id]), precision_by_relation(db, [COMPACT.run_id])):
        assert table["swapped"].isna().all() and table["swapped_n"].isna().all()
    (share,) = precision(db, [RUN.run_id], (10,), "macro").query("layer == 3")["swapped"]
    ranks = [row["other_rank"] for row in prediction_rows(RUN) if row["layer"] == 3]
    assert share == sum(rank <= 10 for rank in ranks) / len(ranks)
    (row,) = precision_by_relation(db, [RUN.run_id], 10).query("layer == 3").itertuples()
    assert (row.swapped, row.swapped_n) == (share, len(FACTS))
