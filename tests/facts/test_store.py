"""Searching, paging and one fact, examples for a newcomer, own against swapped subject, against the planted rows."""

import shutil
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from probing.facts import store as run_queries
from probing.facts.report_layers import precision, precision_by_relation, total
from probing.facts.store_facts import (
    ORDERS,
    commonest_answer,
    count_facts,
    example_facts,
    fact,
    fact_predictions,
    neighbours,
    random_fact,
    runs_of_fact,
    search_facts,
)
from probing.kernel.store.check import check_store
from probing.kernel.store.database import Database
from probing.kernel.store.opening import open_database
from probing.kernel.store.parquet import read_table, write_table
from tests.planted_store import (
    SEVERAL,
    TOKENS,
    PlantedRun,
    plant_runs,
    plant_store,
    planted_exposure,
    planted_facts,
    prediction_rows,
    token_rows,
)

RUN = SEVERAL[0]
FACTS = planted_facts("trex")
RANKS = {f.fact_id: [RUN.rank(number, layer) for layer in range(RUN.layers)] for number, f in enumerate(FACTS)}


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    with open_database(plant_store(tmp_path_factory.mktemp("store"), SEVERAL)) as database:
        yield database


def plain(text: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFD", text.lower()) if not unicodedata.combining(c))


def first(ranks: list[int]) -> int | None:
    return next((layer for layer in range(1, len(ranks)) if ranks[layer] == 1), None)


def last(ranks: list[int]) -> int | None:
    return next((layer for layer in range(len(ranks) - 1, 0, -1) if ranks[layer] == 1), None)


CASES = [
    ({}, lambda f, ranks: True),
    ({"text": "rocky"}, lambda f, ranks: "rocky" in plain(f.subject)),
    ({"text": "MULLER zoe"}, lambda f, ranks: f.subject == "Zoë Müller"),
    ({"text": "100%"}, lambda f, ranks: "100%" in f.subject),
    ({"text": "%"}, lambda f, ranks: "%" in f.subject),
    ({"text": "_"}, lambda f, ranks: False),
    ({"text": "o'neil"}, lambda f, ranks: "O'Neil" in f.subject),
    ({"text": "[zola] <b>"}, lambda f, ranks: "Zola" in f.subject),
    ({"text": "capital"}, lambda f, ranks: f.relation == "P36"),
    ({"text": "native language french"}, lambda f, ranks: f.relation == "P103" and f.object == "french"),
    ({"text": "'; DROP TABLE facts; --"}, lambda f, ranks: False),
    ({"relation": "P19"}, lambda f, ranks: f.relation == "P19"),
    ({"relation": "P19' OR '1'='1"}, lambda f, ranks: False),
    ({"probe_set": "questions"}, lambda f, ranks: False),
    ({"known_at": 0}, lambda f, ranks: ranks[0] == 1),
    ({"known_at": 3}, lambda f, ranks: ranks[3] == 1),
    ({"known_at": 99}, lambda f, ranks: False),
    ({"first_known": 3}, lambda f, ranks: first(ranks) == 3),
    ({"last_known": 2}, lambda f, ranks: last(ranks) == 2),
    ({"never_known": True}, lambda f, ranks: first(ranks) is None),
    ({"never_known": False}, lambda f, ranks: first(ranks) is not None),
    ({"layer_rank": (2, 5)}, lambda f, ranks: ranks[2] <= 5),
    ({"layer_rank": (0, 100), "known_at": 3}, lambda f, ranks: ranks[0] <= 100 and ranks[3] == 1),
    ({"answer_in_subject": True}, lambda f, ranks: f.answer_in_subject),
    ({"exposures": ("stated", "held out")}, lambda f, ranks: planted_exposure().get(key(f)) in ("stated", "held out")),
    ({"exposures": ("unknown",)}, lambda f, ranks: key(f) not in planted_exposure()),
    ({"exposures": ()}, lambda f, ranks: False),
]


def key(f) -> str:
    return f"{f.relation}\t{f.subject}\t{f.object}"


@pytest.mark.parametrize(("filters", "expected"), CASES, ids=[str(filters) for filters, _ in CASES])
def test_filters_keep_exactly_the_facts_that_pass(db: Database, filters, expected):
    ids = {f.fact_id for f in FACTS if expected(f, RANKS[f.fact_id])}
    found = search_facts(db, RUN.run_id, **filters)
    assert set(found["fact_id"]) == ids
    assert len(found) == len(ids) == count_facts(db, RUN.run_id, **filters)


def test_a_fact_has_its_layers_and_ranks(db: Database):
    found = search_facts(db, RUN.run_id).set_index("fact_id")
    for f in FACTS:
        row, ranks = found.loc[f.fact_id], RANKS[f.fact_id]
        assert (row["subject"], row["object"], row["prompt"]) == (f.subject, f.object, f.prompt)
        assert (row["best_rank"], row["last_rank"], row["layers_known"]) == (
            min(ranks[1:]),
            ranks[-1],
            ranks[1:].count(1),
        )
        for name, layer in (("first_layer", first(ranks)), ("last_layer", last(ranks))):
            assert (None if pd.isna(row[name]) else row[name]) == layer


def test_the_rank_of_another_model_stands_next_to_the_facts(db: Database):
    other = next(one for one in SEVERAL[1:] if one.probe_set == RUN.probe_set)
    found = search_facts(db, RUN.run_id, other=other.run_id).set_index("fact_id")["their_last_rank"]
    ranks = {f.fact_id: other.rank(number, other.layers - 1) for number, f in enumerate(other.asked)}
    assert (
        all(pd.isna(rank) if fact not in ranks else rank == ranks[fact] for fact, rank in found.items())
        and found.notna().any()
    )


def test_pages_join_to_the_whole(db: Database):
    for order in ORDERS:
        whole = search_facts(db, RUN.run_id, order=order)["fact_id"].tolist()
        pages = [
            search_facts(db, RUN.run_id, order=order, offset=at, limit=3)["fact_id"].tolist() for at in range(0, 12, 3)
        ]
        assert [fact_id for page in pages for fact_id in page] == whole
        assert len(set(whole)) == len(FACTS)


def test_orders(db: Database):
    by_fact = sorted(FACTS, key=lambda f: (f.relation, f.subject, f.object))
    assert search_facts(db, RUN.run_id)["fact_id"].tolist() == [f.fact_id for f in by_fact]
    first_layers = search_facts(db, RUN.run_id, order="first layer")["first_layer"].tolist()
    numbers = [layer for layer in first_layers if isinstance(layer, int)]
    assert first_layers[: len(numbers)] == sorted(numbers)
    assert search_facts(db, RUN.run_id, order="worst last rank")["last_rank"].tolist() == sorted(
        (r[-1] for r in RANKS.values()), reverse=True
    )


def test_neighbours_lead_through_all_facts_and_back(db: Database):
    for filters in ({}, {"relation": "P19"}, {"order": "last rank", "never_known": False}):
        ids = search_facts(db, RUN.run_id, **filters)["fact_id"].tolist()
        for at, fact_id in enumerate(ids):
            around = (ids[at - 1] if at else None, ids[at + 1] if at + 1 < len(ids) else None)
            assert neighbours(db, RUN.run_id, fact_id, **filters) == around
    filtered_away = next(f.fact_id for f in FACTS if f.relation != "P19")
    assert neighbours(db, RUN.run_id, filtered_away, relation="P19") == (None, None)


def test_random_facts_pass_the_filters_and_follow_the_seed(db: Database):
    drawn = [random_fact(db, RUN.run_id, seed=seed, relation="P19") for seed in range(30)]
    assert drawn == [random_fact(db, RUN.run_id, seed=seed, relation="P19") for seed in range(30)]
    assert set(drawn) == {f.fact_id for f in FACTS if f.relation == "P19"}
    assert random_fact(db, RUN.run_id, text="nobody") is None


def test_one_fact(db: Database):
    rocky = next(f for f in FACTS if f.subject == "Rocky Balboa")
    row = fact(db, rocky.fact_id).iloc[0]
    assert (row["label"], row["object"], row["prompt"]) == (
        "place of birth",
        "philadelphia",
        "Rocky Balboa was born in [MASK] .",
    )
    assert fact(db, "nothing").empty
    trex = [run for run in SEVERAL if run.probe_set == "trex"]
    assert runs_of_fact(db, rocky.fact_id)["run_id"].tolist() == sorted(run.run_id for run in trex)


def test_predictions_of_a_fact_have_their_tokens_in_order(db: Database):
    rocky = next(f for f in FACTS if f.subject == "Rocky Balboa")
    chosen = [run for run in SEVERAL if run.probe_set == "trex" and run.head == "tied"]
    found = fact_predictions(db, rocky.fact_id, [run.run_id for run in chosen]).to_dict("records")
    raw = [row for run in chosen for row in prediction_rows(run) if row["fact_id"] == rocky.fact_id]
    raw.sort(key=lambda row: (row["run_id"], row["layer"]))
    for line, row in zip(found, raw, strict=True):
        assert line["tokens"] == [TOKENS[i] for i in row["top_ids"]]
        assert all(line[name] == row[name] for name in row if name != "fact_id")
    assert fact_predictions(db, rocky.fact_id, []).empty
    assert fact_predictions(db, "nothing", [RUN.run_id]).empty


def test_ranks_for_another_subject_may_be_missing(db: Database):
    run = next(run for run in SEVERAL if run.probe_set == "questions")
    found = fact_predictions(db, planted_facts("questions")[0].fact_id, [run.run_id])
    assert found["other_rank"].isna().all()
    assert str(found["other_rank"].dtype) == "Int64"


def test_a_token_that_the_vocabulary_lacks_is_shown_by_its_id(tmp_path: Path):
    source = plant_runs(tmp_path / "runs", [RUN])
    write_table("vocabulary", [token_rows(TOKENS)[6]], source / "vocabulary-planted.parquet")
    with open_database(source) as db:
        tokens = fact_predictions(db, FACTS[1].fact_id, [RUN.run_id])["tokens"].iloc[-1]
    assert set(tokens) - {f"#{i}" for i in range(len(TOKENS))} == {"paris"}


def test_an_empty_store_has_no_facts(tmp_path: Path):
    with open_database(plant_store(tmp_path, "empty")) as db:
        assert search_facts(db, "nothing").empty
        assert count_facts(db, "nothing", text="x") == 0
        assert neighbours(db, "nothing", "nothing") == (None, None)
        assert fact_predictions(db, "nothing", ["nothing"]).empty


#: Number of a fact -> its ranks by layer. Planted swapped ranks are 5 * (number % 3) more, so that those of 0, 3, 6, 9
#: equal their own.
EXAMPLE_RANKS = {
    1: (9, 1, 1, 1),  # right from the first layer on, and "paris" is the commonest birthplace
    4: (9, 9, 1, 1),  # right late; French, the commonest language
    5: (9, 9, 1, 1),  # right late, German, not the commonest, swapped subject worse
    8: (9, 9, 9, 1),  # right at the last layer only: Rome, not the commonest capital (of equals the first by name)
    7: (9, 1, 9, 9),  # lost; Berlin, the commonest capital
    2: (9, 1, 1, 9),  # lost; Paris, the commonest birthplace
}
SHOWN = PlantedRun(rank=lambda number, layer: EXAMPLE_RANKS.get(number, (50,) * 4)[layer])
LATE = PlantedRun(model="late", rank=lambda number, layer: (9, 9, 1, 1)[layer] if number in (2, 7) else 50)
HILTON = PlantedRun(model="hilton", rank=lambda number, layer: 1 if number == 3 else 50)


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    with open_database(plant_store(tmp_path_factory.mktemp("store"), [SHOWN, LATE, HILTON])) as database:
        yield database


def numbers(found, kind: str) -> list[int]:
    ids = [fact.fact_id for fact in FACTS]
    return [ids.index(fact_id) for fact_id in found.loc[found["kind"] == kind, "fact_id"]]


def test_what_no_guess_explains_comes_first_then_what_is_known_from_an_upper_layer_on_and_relations_take_turns(opened):
    found = example_facts(opened, SHOWN.run_id, limit=9)
    assert numbers(found, "known") == [5, 8, 1, 4]
    assert numbers(found, "unknown") == [0, 9, 6], "no fact that an inner layer knows"


def test_of_alike_facts_one_that_a_fine_tuned_model_finds_inside_only_comes_first(opened, tmp_path):
    first, second = numbers(example_facts(opened, LATE.run_id), "known")
    tuned = PlantedRun(
        model="tuned", base=LATE.model, rank=lambda number, layer: (9, 1, 9, 9)[layer] if number == second else 50
    )
    with open_database(plant_store(tmp_path, [LATE, tuned])) as both:
        assert numbers(example_facts(both, LATE.run_id), "known") == [first, second]
        assert numbers(example_facts(both, LATE.run_id, tuned=(tuned.run_id,)), "known") == [second, first]


def test_no_more_are_given_than_asked_for(opened):
    assert example_facts(opened, SHOWN.run_id, limit=1).groupby("kind")["fact_id"].count().to_dict() == {
        "known": 1,
        "unknown": 1,
    }


def test_the_answer_in_its_own_subject_is_no_example(opened):
    assert not numbers(example_facts(opened, HILTON.run_id), "known"), "Paris Hilton was born in Paris"


def test_a_guess_is_the_commonest_answer_of_the_facts_of_the_run(opened):
    born = [fact for fact in FACTS if fact.relation == "P19"]
    found = commonest_answer(opened, SHOWN.run_id, born[0].fact_id).iloc[0]
    assert (found["object"], found["n"], found["of"], found["answers"]) == ("paris", 3, len(born), 2)
    assert commonest_answer(opened, SHOWN.run_id, "feedfacefeedface").empty


def rank(number: int, layer: int) -> int:
    """Facts 0 to 9 at layers 0 to 3; some are known inside only, some at the end, some never."""
    return (40, 90, 1 + number % 3, 1 + 7 * number)[layer]


FULL = PlantedRun(rank=rank)
COMPACT = PlantedRun(rank=rank, made=(("compact", "yes"),), swapped=False)


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return plant_runs(tmp_path_factory.mktemp("both"), [FULL, COMPACT])


@pytest.fixture(scope="module")
def swapped_db(both: Path):
    with open_database(both) as database:
        yield database


def test_swapped_ranks_are_stored_as_they_were_measured(swapped_db: Database):
    found = swapped_db.query(
        "SELECT fact_id, layer, other_rank FROM predictions WHERE run_id = $run", {"run": FULL.run_id}
    )
    expected = {(row["fact_id"], row["layer"]): row["other_rank"] for row in prediction_rows(FULL)}
    assert {(row.fact_id, row.layer): row.other_rank for row in found.itertuples()} == expected


def test_own_swapped_and_both_are_plain_counts_of_the_rows(swapped_db: Database):
    expected: dict[tuple[int, str], Counter] = defaultdict(Counter)
    stored = {
        (row.fact_id, row.layer): row.other_rank
        for row in swapped_db.query("SELECT * FROM predictions").itertuples()
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
    found = run_queries.aggregate(swapped_db, [FULL.run_id])
    assert len(expected) == len(found) == 12
    for line in found.to_dict("records"):
        cell = expected[line["layer"], line["relation"]]
        assert line["other_n"] == cell["n"] > 0
        for k in (1, 10, 100):
            names = [f"own_{k}", f"other_{k}", f"own_other_{k}"]
            assert [line[name] for name in names] == [cell[name] for name in names]


@pytest.mark.parametrize("k", [1, 10, 100])
def test_the_null_counts_what_inner_layers_find_of_what_the_last_one_misses_twice(swapped_db: Database, k: int):
    rows = swapped_db.query("SELECT * FROM predictions ORDER BY layer").query("run_id == @FULL.run_id")
    n = own = swapped = own_only = swapped_only = 0
    for _, layers_of in rows.groupby("fact_id"):
        gold, other = layers_of["gold_rank"].tolist(), layers_of["other_rank"].tolist()
        if gold[3] <= k or other[3] <= k:
            continue
        inside, there = min(gold[1:3]) <= k, min(other[1:3]) <= k
        n, own, swapped = n + 1, own + inside, swapped + there
        own_only, swapped_only = own_only + (inside and not there), swapped_only + (there and not inside)
    for average in ("macro", "micro"):
        (line,) = total(swapped_db, [FULL.run_id], (k,), (average,)).itertuples()
        assert (line.inner_n, line.inner_own, line.inner_swapped) == (n, own, swapped)
        # A fair coin for each fact that one subject alone finds.
        assert line.inner_p == pytest.approx(_coin(own_only, swapped_only))
    assert (k == 100) == (n == 0)


def _coin(first: int, second: int) -> float:
    from scipy.stats import binomtest

    return float(binomtest(first, first + second).pvalue) if first + second else 1.0


def test_matched_and_swapped_shares_are_of_the_same_facts(swapped_db: Database):
    (line,) = precision(swapped_db, [FULL.run_id], (10,), "micro", last_only=True).itertuples()
    rows = (
        swapped_db.query("SELECT * FROM predictions WHERE layer = 3")
        .query("run_id == @FULL.run_id")
        .dropna(subset=["other_rank"])
    )
    assert line.layer == 3 and line.swapped_n == len(rows)
    assert line.matched == pytest.approx((rows["gold_rank"] <= 10).mean())
    assert line.swapped == pytest.approx((rows["other_rank"] <= 10).mean())
    assert line.above_swapped == pytest.approx(line.matched - line.swapped)
    (by_relation,) = (
        precision_by_relation(swapped_db, [FULL.run_id], 10).query("layer == 3 and relation == 'P19'").itertuples()
    )
    of_it = rows[rows["fact_id"].isin([fact.fact_id for fact in FULL.asked if fact.relation == "P19"])]
    assert (by_relation.swapped, by_relation.swapped_n) == ((of_it["other_rank"] <= 10).mean(), len(of_it))
    assert line.above_swapped_low < line.above_swapped < line.above_swapped_high


def test_a_compact_run_has_neither_until_counts_of_its_question_are_stored(
    both: Path, swapped_db: Database, tmp_path: Path
):
    for table in (precision(swapped_db, [COMPACT.run_id]), precision_by_relation(swapped_db, [COMPACT.run_id])):
        assert table["swapped"].isna().all() and table["swapped_n"].isna().all()
    assert (
        total(swapped_db, [COMPACT.run_id])[["inner_n", "inner_own", "inner_swapped", "inner_p"]].isna().all(axis=None)
    )
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
            mine, full = (report(where, [run.run_id]) for where, run in ((grown, COMPACT), (swapped_db, FULL)))
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
