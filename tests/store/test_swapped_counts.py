"""Own against swapped subject: the derived counts against plain sums, and counts that versions 0.4 to 0.7 made in another run."""

import re
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from probing.reports.knowledge.precision import precision
from probing.reports.knowledge.total import total
from probing.store import run_queries
from probing.store.check import check_store
from probing.store.database import Database
from probing.store.knowledge.kept_counts import counts_of
from probing.store.opening import open_database
from probing.store.parquet import write_table
from tests.store.planted import PlantedRun, plant_runs, prediction_rows


def rank(number: int, layer: int) -> int:
    """Facts 0 to 9 at layers 0 to 3; some are known inside only, some at the end, some never."""
    return (40, 90, 1 + number % 3, 1 + 7 * number)[layer]


FULL = PlantedRun(rank=rank)
COMPACT = PlantedRun(rank=rank, made=(("compact", "yes"),), swapped=False)


def plant_counts(folder: Path, db: Database) -> None:
    """The full run's counts under the compact run's id."""
    source = {"config": FULL.config, "device": "cpu", "created": "2026-01-01"}
    write_table("swapped_runs", [{"run_id": COMPACT.run_id, "counted_by": FULL.run_id, **source}], folder / "swapped_runs-a.parquet")
    for table in ("swapped_counts", "inner_counts"):
        write_table(
            table, counts_of(db, table, FULL.run_id).assign(run_id=COMPACT.run_id).to_dict("records"), folder / f"{table}-a.parquet"
        )


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("both") / "runs"
    plant_runs(folder, [FULL, COMPACT])
    return folder


@pytest.fixture(scope="module")
def db(both: Path):
    with open_database(both) as database:
        yield database


def test_own_swapped_and_both_are_plain_counts_of_the_rows(db: Database):
    expected: dict[tuple[int, str], Counter] = defaultdict(Counter)
    stored = {
        (row.fact_id, row.layer): row.other_rank for row in db.query("SELECT * FROM predictions").itertuples() if row.run_id == FULL.run_id
    }
    relation = {fact.fact_id: fact.relation for fact in FULL.asked}
    for row in prediction_rows(FULL):
        other = stored[row["fact_id"], row["layer"]]
        if other == other:
            cell = expected[row["layer"], relation[row["fact_id"]]]
            cell["n"] += 1
            for k in (1, 10, 100):
                cell[f"own_{k}"] += row["gold_rank"] <= k
                cell[f"other_{k}"] += other <= k
                cell[f"own_other_{k}"] += row["gold_rank"] <= k and other <= k
    found = run_queries.aggregate(db, [FULL.run_id])
    assert len(expected) == len(found) == 12
    for line in found.to_dict("records"):
        cell = expected[line["layer"], line["relation"]]
        assert line["other_n"] == cell["n"] > 0
        for k in (1, 10, 100):
            names = [f"own_{k}", f"other_{k}", f"own_other_{k}"]
            assert [line[name] for name in names] == [cell[name] for name in names]


@pytest.mark.parametrize("k", [1, 10, 100])
def test_the_null_counts_what_inner_layers_find_of_what_the_last_one_misses_twice(db: Database, k: int):
    rows = db.query("SELECT * FROM predictions ORDER BY layer").query("run_id == @FULL.run_id")
    n = own = swapped = own_only = swapped_only = 0
    for _, fact in rows.groupby("fact_id"):
        gold, other = fact["gold_rank"].tolist(), fact["other_rank"].tolist()
        if gold[3] <= k or other[3] <= k:
            continue
        inside, lent = min(gold[1:3]) <= k, min(other[1:3]) <= k
        n, own, swapped = n + 1, own + inside, swapped + lent
        own_only, swapped_only = own_only + (inside and not lent), swapped_only + (lent and not inside)
    for average in ("macro", "micro"):
        (line,) = total(db, [FULL.run_id], (k,), (average,)).itertuples()
        assert (line.inner_n, line.inner_own, line.inner_swapped) == (n, own, swapped)
        # A fair coin for each fact that one subject alone finds.
        assert line.inner_p == pytest.approx(_coin(own_only, swapped_only))
    assert (k == 100) == (n == 0)


def _coin(first: int, second: int) -> float:
    from scipy.stats import binomtest

    return float(binomtest(first, first + second).pvalue) if first + second else 1.0


def test_matched_and_swapped_shares_are_of_the_same_facts(db: Database):
    (line,) = precision(db, [FULL.run_id], (10,), "micro", last_only=True).itertuples()
    rows = db.query("SELECT * FROM predictions WHERE layer = 3").query("run_id == @FULL.run_id").dropna(subset=["other_rank"])
    assert line.layer == 3 and line.swapped_n == len(rows)
    assert line.matched == pytest.approx((rows["gold_rank"] <= 10).mean())
    assert line.swapped == pytest.approx((rows["other_rank"] <= 10).mean())
    assert line.above_swapped == pytest.approx(line.matched - line.swapped)
    assert line.above_swapped_low < line.above_swapped < line.above_swapped_high


def test_a_compact_run_has_neither_until_counts_of_its_question_are_stored(both: Path, db: Database, tmp_path: Path):
    alone = tmp_path / "runs"
    plant_runs(alone, [COMPACT])
    with open_database(tmp_path / "database") as without:
        assert precision(without, [COMPACT.run_id])["swapped"].isna().all()
        assert total(without, [COMPACT.run_id])[["inner_n", "inner_own", "inner_swapped", "inner_p"]].isna().all(axis=None)
    plant_counts(alone, db)
    # The database that is there grows by the counts.
    with open_database(tmp_path / "database") as grown:
        for report in (precision, total):
            mine, full = (report(where, [run.run_id]) for where, run in ((grown, COMPACT), (db, FULL)))
            # Counts alone do not tell which facts have the same answer.
            by_answers = list(mine.filter(regex="above_swapped_.*_answers"))
            unlike = ["run_id", *by_answers]
            assert mine[by_answers].isna().all(axis=None) and mine.drop(columns=unlike).equals(full.drop(columns=unlike))
    assert check_store([alone]) == []


def test_predictions_come_before_counts(both: Path, db: Database, tmp_path: Path):
    """Counts that say otherwise than a run's own predictions change nothing."""
    folder = tmp_path / "runs"
    plant_runs(folder, [FULL])
    rows = counts_of(db, "swapped_counts", FULL.run_id).assign(swapped_1=0, both_1=0)
    write_table("swapped_counts", rows.to_dict("records"), folder / "swapped_counts-wrong.parquet")
    with open_database(tmp_path / "database") as database:
        assert precision(database, [FULL.run_id]).equals(precision(db, [FULL.run_id]))


def test_counts_that_no_counting_gives_are_refused_by_name(db: Database, tmp_path: Path):
    folder = tmp_path / "runs"
    plant_runs(folder, [COMPACT])
    plant_counts(folder, db)
    cases = (
        ("swapped_counts", {"both_1": 99}, "more facts are known"),
        ("swapped_counts", {"n": 0}, "more facts are known"),
        ("swapped_counts", {"own_1": 4, "own_10": 3, "both_1": 0, "both_10": 0}, "more facts are known|fewer facts"),
        ("inner_counts", {"own_and_swapped": 99}, "more facts are known"),
        ("inner_counts", {"k": 7}, "k is '7', expected one of 1, 10, 100"),
    )
    for number, (table, change, _) in enumerate(cases):
        row = counts_of(db, table, FULL.run_id).assign(run_id=COMPACT.run_id).to_dict("records")[0]
        write_table(table, [row | change], folder / f"{table}-{number}.parquet")
    with open_database(tmp_path / "database") as database:
        left_out = run_queries.left_out_files(database)["why"]
    problems = check_store([folder])
    assert len(left_out) == len(cases)
    for number, (table, _, words) in enumerate(cases):
        for said in (left_out, problems):
            assert any(re.search(rf"{table}-{number}.parquet.*({words})", one) for one in said), (number, said)


def test_counts_of_more_facts_than_were_asked_or_of_no_known_origin_are_not_shown(db: Database, tmp_path: Path):
    folder = tmp_path / "runs"
    plant_runs(folder, [COMPACT])
    plant_counts(folder, db)
    many = [
        row | {"n": 64_000_000} for row in counts_of(db, "swapped_counts", FULL.run_id).assign(run_id=COMPACT.run_id).to_dict("records")
    ]
    write_table("swapped_counts", many, folder / "swapped_counts-a.parquet")
    with open_database(tmp_path / "database") as database:
        assert precision(database, [COMPACT.run_id])["swapped"].isna().all()
        assert total(database, [COMPACT.run_id])["inner_n"].notna().all()
    (folder / "swapped_runs-a.parquet").unlink()
    with open_database(tmp_path / "database") as database:
        assert total(database, [COMPACT.run_id])["inner_n"].isna().all()


def test_a_task_score_that_is_no_share_is_refused(tmp_path: Path):
    row = {"base": "nesia-mini", "objective": "QA-SQuAD-1", "metric": "F1", "chance": 0.1, "chance_name": "x", "n": 9}
    values = {"above": 1.5, "below": -1.2, "none": float("nan")}
    for name, value in values.items():
        write_table("tasks", [row | {"model": name, "value": value}], tmp_path / "runs" / f"tasks-{name}.parquet")
    with open_database(tmp_path / "database") as database:
        assert database.query("SELECT * FROM tasks").empty
        reasons = run_queries.left_out_files(database)["why"]
    assert all(any(f"tasks-{name}.parquet: value is" in why for why in reasons) for name in values)
