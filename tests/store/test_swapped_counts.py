"""Own against swapped subject: the counts against plain sums, and counts that versions 0.4 to 0.7 made in another
run.
"""

import shutil
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from probing.reports.knowledge.precision import precision, precision_by_relation
from probing.reports.knowledge.total import total
from probing.store import run_queries
from probing.store.check import check_store
from probing.store.database import Database
from probing.store.opening import open_database
from probing.store.parquet import read_table, write_table
from tests.store.planted import PlantedRun, plant_runs, prediction_rows


def rank(number: int, layer: int) -> int:
    """Facts 0 to 9 at layers 0 to 3; some are known inside only, some at the end, some never."""
    return (40, 90, 1 + number % 3, 1 + 7 * number)[layer]


FULL = PlantedRun(rank=rank)
COMPACT = PlantedRun(rank=rank, made=(("compact", "yes"),), swapped=False)


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return plant_runs(tmp_path_factory.mktemp("both"), [FULL, COMPACT])


@pytest.fixture(scope="module")
def db(both: Path):
    with open_database(both) as database:
        yield database


def test_swapped_ranks_are_stored_as_they_were_measured(db: Database):
    found = db.query("SELECT fact_id, layer, other_rank FROM predictions WHERE run_id = $run", {"run": FULL.run_id})
    expected = {(row["fact_id"], row["layer"]): row["other_rank"] for row in prediction_rows(FULL)}
    assert {(row.fact_id, row.layer): row.other_rank for row in found.itertuples()} == expected


def test_own_swapped_and_both_are_plain_counts_of_the_rows(db: Database):
    expected: dict[tuple[int, str], Counter] = defaultdict(Counter)
    stored = {
        (row.fact_id, row.layer): row.other_rank
        for row in db.query("SELECT * FROM predictions").itertuples()
        if row.run_id == FULL.run_id
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
    rows = (
        db.query("SELECT * FROM predictions WHERE layer = 3")
        .query("run_id == @FULL.run_id")
        .dropna(subset=["other_rank"])
    )
    assert line.layer == 3 and line.swapped_n == len(rows)
    assert line.matched == pytest.approx((rows["gold_rank"] <= 10).mean())
    assert line.swapped == pytest.approx((rows["other_rank"] <= 10).mean())
    assert line.above_swapped == pytest.approx(line.matched - line.swapped)
    (by_relation,) = precision_by_relation(db, [FULL.run_id], 10).query("layer == 3 and relation == 'P19'").itertuples()
    of_it = rows[rows["fact_id"].isin([fact.fact_id for fact in FULL.asked if fact.relation == "P19"])]
    assert (by_relation.swapped, by_relation.swapped_n) == ((of_it["other_rank"] <= 10).mean(), len(of_it))
    assert line.above_swapped_low < line.above_swapped < line.above_swapped_high


def test_a_compact_run_has_neither_until_counts_of_its_question_are_stored(both: Path, db: Database, tmp_path: Path):
    for table in (precision(db, [COMPACT.run_id]), precision_by_relation(db, [COMPACT.run_id])):
        assert table["swapped"].isna().all() and table["swapped_n"].isna().all()
    assert total(db, [COMPACT.run_id])[["inner_n", "inner_own", "inner_swapped", "inner_p"]].isna().all(axis=None)
    alone = shutil.copytree(both / COMPACT.run_id, tmp_path / "runs")
    for table in ("swapped_counts", "inner_counts"):
        rows = read_table(both / FULL.run_id / f"{table}-{FULL.run_id}.parquet", table).to_pylist()
        write_table(
            table, [row | {"run_id": COMPACT.run_id} for row in rows], alone / f"{table}-{COMPACT.run_id}.parquet"
        )
    for path in both.glob("*.parquet"):
        shutil.copy(path, alone)
    with open_database(alone) as grown:
        for report in (precision, total):
            mine, full = (report(where, [run.run_id]) for where, run in ((grown, COMPACT), (db, FULL)))
            # Counts alone do not tell which facts have the same answer.
            by_answers = list(mine.filter(regex="above_swapped_.*_answers"))
            unlike = ["run_id", *by_answers]
            assert mine[by_answers].isna().all(axis=None) and mine.drop(columns=unlike).equals(
                full.drop(columns=unlike)
            )
    assert check_store([alone]) == []


def test_a_task_score_that_is_no_share_is_refused(tmp_path: Path):
    row = {"base": "nesia-mini", "objective": "QA-SQuAD-1", "metric": "F1", "chance": 0.1, "chance_name": "x", "n": 9}
    values = {"above": 1.5, "below": -1.2, "none": float("nan")}
    for name, value in values.items():
        write_table("tasks", [row | {"model": name, "value": value}], tmp_path / "runs" / f"tasks-{name}.parquet")
    with open_database(tmp_path / "runs") as database:
        assert database.query("SELECT * FROM tasks").empty
        reasons = database.left_out["why"]
    assert all(any(f"tasks-{name}.parquet: value is" in why for why in reasons) for name in values)
