"""Searching, paging and one fact, against the planted rows."""

import hashlib
import random
import unicodedata
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from probing.core.facts.fact import Fact, fill
from probing.core.knowledge.swapped_subjects import swapped_subjects
from probing.store.database import Database
from probing.store.knowledge.fact_queries import MAX_ROWS, ORDERS, count_facts, neighbours, random_fact, search_facts
from probing.store.knowledge.one_fact import fact, fact_predictions, fact_runs, null_examples
from probing.store.opening import open_database
from probing.store.parquet import write_table
from tests.reference.knowledge import null_kind
from tests.store.planted import (
    SEVERAL,
    TOKENS,
    PlantedRun,
    count,
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


@pytest.mark.parametrize(
    "wrong", [{"order": "subject; DROP TABLE facts"}, {"limit": MAX_ROWS + 1}, {"limit": -1}, {"offset": -1}]
)
def test_unknown_orders_and_long_pages_are_refused(db: Database, wrong):
    with pytest.raises(ValueError, match="expected"):
        search_facts(db, RUN.run_id, **wrong)


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
    assert fact_runs(db, rocky.fact_id)["run_id"].tolist() == sorted(run.run_id for run in trex)


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


def test_the_examples_of_the_null_are_the_first_of_each_kind_by_hash_with_the_swapped_prompt(tmp_path: Path):
    answers, template = ("paris", "berlin", "rome"), "[X] was born in [Y] ."
    subjects = [f"Person {n}" if n % 7 else f"{answers[n % 3]} {n}" for n in range(300)]
    facts = tuple(
        Fact("trex", "P19", one, answers[n % 3], template, fill(template, one)) for n, one in enumerate(subjects)
    )
    run = PlantedRun(facts=facts, layers=5)
    draw = random.Random(1)
    rows = [
        row | {name: draw.choice((1, 2, 9, 11, 40, 40)) for name in ("gold_rank", "other_rank")}
        for row in prediction_rows(run)
    ]
    plant_runs(tmp_path / "runs", [run])
    write_table("predictions", rows, tmp_path / "runs" / run.run_id / f"predictions-{run.run_id}.parquet")
    count(tmp_path / "runs", run)
    borrowed = {
        one.fact_id: facts[lender]
        for one, lender in zip(facts, swapped_subjects(facts), strict=True)
        if lender is not None
    }
    of_fact = defaultdict(list)
    for row in rows:
        of_fact[row["fact_id"]].append(row)
    with open_database(tmp_path / "runs") as database:
        examples = {k: null_examples(database, run.run_id, k) for k in (1, 10)}
        assert null_examples(database, "nothing").empty
    for k, found in examples.items():
        kinds: dict[str | None, list[str]] = {}
        for one in facts:
            own, swapped = ([row[name] for row in of_fact[one.fact_id]][1:] for name in ("gold_rank", "other_rank"))
            measured = one.fact_id in borrowed and borrowed[one.fact_id].object != one.object
            if not one.answer_in_subject:
                kinds.setdefault(null_kind(own, swapped if measured else [None] * 4, k), []).append(one.fact_id)
        assert list(found["kind"]) == ["own", "swapped", "both"]
        for got in found.itertuples():
            assert got.fact_id == min(kinds[got.kind], key=lambda one: hashlib.md5(one.encode()).hexdigest())
            assert null_kind(got.own_ranks, got.swapped_ranks, k) == got.kind
            assert got.swapped_prompt == borrowed[got.fact_id].prompt and got.label == "place of birth"
