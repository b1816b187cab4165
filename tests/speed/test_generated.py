"""The made-up store of the benchmarks: a real one, only small here."""

import numpy as np
import pytest

from probing.store import run_queries
from probing.store.check import check_store
from probing.store.opening import open_database
from probing.store.parquet import read_table
from tests.speed.generated import LAYERS, Size, make_facts, make_store
from tests.speed.page_queries import drill_downs, medians, overviews

pytestmark = pytest.mark.slow

SMALL = Size(facts=600, top_k=2)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return make_store(tmp_path_factory.mktemp("bench"), SMALL)


def test_the_store_has_the_rows_it_says_and_no_problem_is_found_in_it(store):
    with open_database(store) as db:
        counted = int(db.query("SELECT count(*) AS n FROM predictions")["n"].iloc[0])
        runs = run_queries.runs(db)
    assert counted == SMALL.rows == 7 * 3 * 600 * LAYERS
    assert (runs["model"].nunique(), runs["head"].nunique(), runs["probe_set"].nunique()) == (7, 3, 4)
    # Its ranks with a swapped subject are drawn, and no subject is stored.
    assert {problem.partition(": ")[2].partition(" ")[2] for problem in check_store([store])} == {
        "facts have ranks with a swapped subject, and none of another answer is stored; delete its files and run"
        " `probe` again"
    }


def test_equal_sizes_give_equal_bytes_and_are_made_once(store, tmp_path):
    place = store
    before = {path.name: path.stat().st_mtime_ns for path in place.iterdir()}
    assert make_store(place.parents[1], SMALL) == store
    assert {path.name: path.stat().st_mtime_ns for path in place.iterdir()} == before
    other = make_store(tmp_path, SMALL)
    assert {path.name: path.read_bytes() for path in other.iterdir()} == {
        path.name: path.read_bytes() for path in place.iterdir()
    }


def test_a_right_answer_stands_where_its_rank_says(store):
    rows = read_table(max(store.glob("predictions-*"), key=lambda path: path.stat().st_size), "predictions").to_pylist()
    facts, answers = make_facts(SMALL.facts)
    answer = {fact.fact_id: number for fact, number in zip(facts, answers, strict=True)}
    near = [row for row in rows if row["gold_rank"] <= SMALL.top_k]
    assert near
    assert all(row["top_ids"][row["gold_rank"] - 1] == answer[row["fact_id"]] for row in near)
    assert all(np.diff(row["top_logp"]).max() < 0 for row in rows)


def test_every_query_of_the_benchmarks_finds_something(store):
    with open_database(store) as db:
        for name, query in {**overviews(db), **drill_downs(db)}.items():
            found = query()
            # Nobody in this store is called Rocky Balboa, and all models are asked the same facts.
            if name not in ("search_facts, text", "one_sided"):
                assert found is not None and (not hasattr(found, "empty") or not found.empty), name
        assert set(medians({"runs": lambda: run_queries.runs(db)}, 1)) == {"runs"}
