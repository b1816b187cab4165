"""Edge probing among the results: its runs, rows and queries against the planted rows counted by hand."""

import hashlib
import itertools
import tracemalloc
from collections import Counter
from functools import cache
from pathlib import Path

import pandas as pd
import pytest

from probing.edges import store as queries
from probing.edges.store_sentences import ORDERS, count_sentences, sentences, tasks_of_texts, traces
from probing.edges.words import AMBIGUOUS
from probing.kernel.store.check import check_store
from probing.kernel.store.database import Database
from probing.kernel.store.kinds import KINDS
from probing.kernel.store.opening import open_database, write_counts
from probing.kernel.store.parquet import read_table
from probing.kernel.store.stored import fact_runs
from tests.edges_planted import (
    PARTS,
    POS,
    ROLES,
    RUNS,
    SRL,
    TASKS,
    PlantedEdgeRun,
    own_too,
    plant_edge_runs,
    plant_edges,
    planted_part,
    run_rows,
)

STORED = [run for run in RUNS if run.stores_predictions]


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory):
    with open_database(plant_edges(tmp_path_factory.mktemp("store"))) as database:
        yield database


def test_runs_of_edge_probing_have_kind_and_provenance_and_are_no_runs_on_facts(db: Database):
    runs = db.query("SELECT * FROM runs").set_index("run_id")
    assert set(runs["kind"]) == {"edges"} and set(runs.index) == {run.run_id for run in RUNS}
    assert runs.loc[RUNS[0].run_id, ["weights", "recipe", "dtype"]].tolist() == [
        "nesia-mini trained",
        '{"width":16}',
        "float32",
    ]
    assert fact_runs(db).empty
    of_edges = db.query("SELECT run_id, kind, weights, task FROM runs_of_edges").set_index("run_id")
    assert of_edges.loc[RUNS[0].run_id].tolist() == ["cumulative", "nesia-mini trained", "pos"]


def slow_counts(run: PlantedEdgeRun) -> Counter:
    counts: Counter = Counter()
    for row in run_rows(run)["edge_predictions"]:
        data, number = planted_part(run.task, row["part"]), row["target"]
        gold = {label for label in range(len(run.task.labels)) if data.gold[number, label] and run.task.counted[label]}
        said = {label for label in row["predicted"] if run.task.counted[label]}
        key = (row["part"], int(data.sentences[number]), bool(data.seen[number]), row["layer"])
        counts[*key, "tp"] += len(said & gold)
        counts[*key, "fp"] += len(said - gold)
        counts[*key, "fn"] += len(gold - said) + int(data.unknown[number])
        counts[*key, "targets"] += 1
    return counts


@pytest.mark.parametrize(
    "run", STORED, ids=lambda run: f"{run.model}-{run.task.name}-{run.kind}-{run.encoder}-{run.seed}"
)
def test_counts_by_sentence_are_those_of_the_predictions(db: Database, run: PlantedEdgeRun):
    found = db.query("SELECT * FROM edge_sentence_counts WHERE run_id = $run", {"run": run.run_id})
    got: Counter = Counter()
    for row in found.itertuples():
        for name in ("tp", "fp", "fn", "targets"):
            got[row.part, row.sentence, row.seen, row.layer, name] = getattr(row, name)
    assert +got == +slow_counts(run)


@pytest.mark.parametrize(
    "run", STORED, ids=lambda run: f"{run.model}-{run.task.name}-{run.kind}-{run.encoder}-{run.seed}"
)
def test_traces_are_those_of_the_predictions(db: Database, run: PlantedEdgeRun):
    found = db.query("SELECT * FROM edge_traces WHERE run_id = $run", {"run": run.run_id}).set_index(["part", "target"])
    assert len(found) == sum(len(planted_part(run.task, part).targets) for part in PARTS)
    rows: dict = {}
    for row in run_rows(run)["edge_predictions"]:
        rows.setdefault((row["part"], row["target"]), []).append(row)
    for (part, target), layers in rows.items():
        gold = set(planted_part(run.task, part).gold[target].nonzero()[0].tolist())
        got = found.loc[(part, target)]
        right = [row["top"] in gold for row in layers]
        settled = next((layer for layer in range(len(right)) if all(right[layer:])), None)
        assert (None if pd.isna(got["settled"]) else got["settled"]) == settled
        assert got["revisions"] == sum(one["top"] != other["top"] for one, other in itertools.pairwise(layers))
        means = [sum(row["p_gold"][k] / max(row["p_sum"], 1) for row in layers) / len(layers) for k in range(len(gold))]
        wrong = sum(row["p_wrong"] / max(row["p_sum"], 1) for row in layers) / len(layers)
        assert got["strongest_mean"] == pytest.approx(max([wrong, *means]), abs=1e-12)


def overflowing(table: str, rows: list) -> list:
    """More unseen labels than a count holds: no check by column finds it, and the sum of missed labels overflows."""
    if table == "edge_tasks":
        return [row | {"unseen_labels": 10**9} for row in rows]
    if table == "edge_targets":
        # Counts are summed by sentence.
        return [
            row | {"unknown_gold": 10**9, "sentence": rows[0]["sentence"]} if row["part"] == "dev" else row
            for row in rows
        ]
    return rows


def test_runs_that_cannot_be_counted_are_named_and_all_others_are_shown(tmp_path: Path):
    good, bad = PlantedEdgeRun(task=POS), [PlantedEdgeRun(task=SRL), PlantedEdgeRun(task=SRL, seed=1)]
    source = plant_edge_runs(tmp_path / "runs", [good])
    plant_edge_runs(source, bad, overflowing)
    problems = check_store([source])
    assert len(problems) == 2
    assert all(any(f"run {run.run_id}: its rows cannot be counted" in problem for problem in problems) for run in bad)
    with open_database(source) as database:
        assert set(database.query("SELECT run_id FROM edge_sentence_counts")["run_id"]) == {good.run_id}
        assert len(database.query("SELECT run_id FROM runs_of_edges")) == 3
    plant_edge_runs(source, bad)
    assert check_store([source]) == []


def test_one_target_with_endless_labels_takes_no_memory_for_the_others(tmp_path: Path):
    many, run = 20_000, PlantedEdgeRun(task=POS)

    def endless(table: str, rows: list) -> list:
        column = {"edge_targets": "gold", "edge_predictions": "p_gold"}.get(table)
        return [row | {column: row[column] * many} if column and row["target"] == 0 else row for row in rows]

    source = plant_edge_runs(tmp_path / "runs", [run], endless)
    path = source / run.run_id / f"edge_traces-{run.run_id}.parquet"
    path.unlink()
    tracemalloc.start()
    try:
        write_counts(KINDS["edges"], run_rows(run)["edge_runs"][0], path.parent, [source])
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert read_table(path, "edge_traces").column("target").to_pylist().count(0) == len(PARTS)
    # An array of all rows by the labels of this target has 200 MB.
    assert peak < 100e6


#: The runs of one model that a page of sentences looks at.
SHOWN = [PlantedEdgeRun(task=task) for task in TASKS]
IDS = [run.run_id for run in SHOWN]


@cache
def slow_targets() -> list[dict]:
    """Every dev target of the shown runs, with what its layers say; of equal questions on one text the first."""
    found = []
    for run in SHOWN:
        data = planted_part(run.task, "dev")
        rows: dict[int, list[dict]] = {}
        for row in run_rows(run)["edge_predictions"]:
            if row["part"] == "dev":
                rows.setdefault(row["target"], []).append(row)
        asked = set()
        for target, layers in rows.items():
            text, question = data.records[data.sentences[target]].text, data.targets[target]
            if (text, question) in asked:
                continue
            asked.add((text, question))
            gold = set(data.gold[target].nonzero()[0].tolist())
            right = [row["top"] in gold for row in layers]
            means = [[row["p_gold"][k] / max(row["p_sum"], 1) for row in layers] for k in range(len(gold))]
            means.append([row["p_wrong"] / max(row["p_sum"], 1) for row in layers])
            found.append(
                {
                    "task": run.task.name,
                    "target": target,
                    "text": text,
                    "sha256": hashlib.sha256(text.encode()).hexdigest(),
                    "labels": {run.task.labels[label] for label in gold},
                    "seen": bool(data.seen[target]),
                    "rows": layers,
                    "settled": next((layer for layer in range(len(right)) if all(right[layer:])), -1),
                    "revisions": sum(layers[n]["top"] != layers[n + 1]["top"] for n in range(len(layers) - 1)),
                    "ambiguous": max(sum(one) / len(one) for one in means) <= AMBIGUOUS,
                }
            )
    return found


def passes(one: dict, filters: dict) -> bool:
    return (
        filters.get("task") in (None, one["task"])
        and (filters.get("label") is None or filters["label"] in one["labels"])
        and not (filters.get("unseen") and one["seen"])
        and filters.get("settled") in (None, one["settled"])
        and (filters.get("kind") != "ambiguous" or one["ambiguous"])
        and (filters.get("kind") != "revised" or one["revisions"] > 0)
    )


def slow_sentences(filters: dict) -> dict[str, tuple[int, int, int]]:
    counts: dict[str, list[int]] = {}
    for one in slow_targets():
        if passes(one, filters):
            row = counts.setdefault(one["sha256"], [0, 0, 0])
            for place, n in enumerate((1, one["ambiguous"], one["revisions"])):
                row[place] += n
    if filters.get("kind") == "ambiguous":
        counts = {text: row for text, row in counts.items() if row[1] > 1}
    return {text: tuple(row) for text, row in counts.items()}  # type: ignore[misc]


FILTERS = [
    {},
    {"task": "srl"},
    {"label": "ARG0"},
    {"task": "proto-roles", "label": "volition"},
    {"unseen": True},
    {"settled": 0},
    {"settled": 3},
    {"kind": "ambiguous"},
    {"kind": "ambiguous", "task": "srl"},
    {"kind": "revised", "unseen": True},
    {"kind": "revised", "task": "srl"},
    {"label": "nothing"},
]


@pytest.mark.parametrize("filters", FILTERS, ids=str)
@pytest.mark.parametrize("order", ORDERS)
def test_sentences_are_those_of_which_targets_pass(db: Database, filters: dict, order: str):
    found = sentences(db, IDS, "dev", order=order, **filters)
    expected = slow_sentences(filters)
    got = {row.text_sha256: (row.targets, row.ambiguous, row.revisions) for row in found.itertuples()}
    assert bool(expected) == (filters != {"label": "nothing"})
    assert got == expected and len(found) == len(expected) == count_sentences(db, IDS, "dev", **filters)
    if order == "ambiguous":
        assert list(found["ambiguous"]) == sorted(found["ambiguous"], reverse=True)
    if order == "revised":
        assert list(found["revisions"]) == sorted(found["revisions"], reverse=True)


def test_pages_follow_each_other(db: Database):
    whole = sentences(db, IDS, "dev", limit=60)
    sheets = [sentences(db, IDS, "dev", offset=start, limit=7) for start in range(0, 63, 7)]
    assert [text for sheet in sheets for text in sheet["text_sha256"]] == list(whole["text_sha256"])
    for wrong in ({"order": "size"}, {"limit": -1}, {"offset": -1}, {"kind": "odd"}):
        with pytest.raises(ValueError, match="expected"):
            sentences(db, IDS, "dev", **wrong)


def test_words_are_given_where_the_licence_allows_it(db: Database):
    shown = sentences(db, IDS, "dev").set_index("text_sha256")["text"]
    for task in TASKS:
        for record in planted_part(task, "dev").records:
            text = shown[record.sha256]
            assert text == record.text if task.open else not isinstance(text, str)


def test_the_tasks_of_a_text_are_those_whose_data_have_it(db: Database):
    open_text, closed_text = (planted_part(task, "dev").records[0].sha256 for task in (POS, ROLES))
    found = tasks_of_texts(db, "dev", [open_text, closed_text, "0" * 64])
    assert list(found.itertuples(index=False, name=None)) == [
        ("pos", open_text),
        ("srl", open_text),
        ("proto-roles", closed_text),
    ]
    assert tasks_of_texts(db, "train", [open_text]).empty


def test_our_own_sentences_have_traces_and_change_no_score(db: Database, tmp_path):
    plant_edge_runs(tmp_path / "runs", SHOWN, change=own_too)
    with open_database(tmp_path / "runs") as own:
        assert {tuple(row) for row in queries.traced_parts(own).query("part == 'own'").to_numpy()} == {
            (run.run_id, "own") for run in SHOWN if run.task is not ROLES
        }
        assert len(queries.edge_runs(own)) == len(SHOWN), "no run is left out"
        assert queries.score_counts(own, IDS).equals(queries.score_counts(db, IDS))
        assert queries.sentence_counts(own, IDS, "dev").equals(queries.sentence_counts(db, IDS, "dev"))
        assert set(sentences(own, IDS, "own", limit=100)["text"]) == {
            record.text for record in planted_part(POS, "dev").records
        }
    assert set(queries.traced_parts(db)["part"]) == {"dev", "test"}


def test_traces_are_the_planted_answers_by_name(db: Database):
    chosen = next(one for one in slow_targets() if one["task"] == "srl")
    found = traces(db, IDS, "dev", chosen["sha256"], task="srl", label="ARG1")
    expected = [one for one in slow_targets() if one["sha256"] == chosen["sha256"]]
    assert list(dict.fromkeys(found["task"])) == ["pos", "srl"]
    assert len(found) == sum(len(one["rows"]) for one in expected)
    names = {run.task.name: run.task.labels for run in SHOWN}
    rows = {(row["task"], row["target"], row["layer"]): row for row in found.to_dict("records")}
    for one in expected:
        labels = names[one["task"]]
        for row in one["rows"]:
            got = rows[one["task"], one["target"], row["layer"]]
            assert set(got["gold"]) == one["labels"] and got["predicted"] == [
                labels[label] for label in row["predicted"]
            ]
            assert (got["top"], got["wrong"]) == (labels[row["top"]], labels[row["wrong"]])
            assert (got["p_gold"], got["p_wrong"], got["p_top"], got["p_sum"]) == (
                row["p_gold"],
                row["p_wrong"],
                row["p_top"],
                row["p_sum"],
            )
            assert (got["settled"], got["revisions"], got["seen"]) == (one["settled"], one["revisions"], one["seen"])
            assert got["right"] == (labels[row["top"]] in one["labels"])
            assert got["passes"] == (one["task"] == "srl" and "ARG1" in one["labels"])
    memory = planted_part(SRL, "dev").memory
    for one in expected:
        if one["task"] == "srl":
            got = rows["srl", one["target"], 0]
            assert set(got["memory"]) == {SRL.labels[label] for label in memory[one["target"]].nonzero()[0]}
            assert got["memory_right"] == (set(got["memory"]) == one["labels"])


def test_counts_of_scores_are_those_of_labels_that_count(db: Database):
    ids = [run.run_id for run in RUNS]
    for unseen in (False, True):
        expected: Counter = Counter()
        targets: Counter = Counter()
        for run in RUNS:
            for row in run_rows(run)["edge_scores"]:
                if unseen and row["seen"]:
                    continue
                key = (run.run_id, row["part"], row["layer"])
                if row["label"] == 0:
                    targets[key] += row["tp"] + row["fp"] + row["fn"] + row["tn"]
                if row["label"] == len(run.task.labels) or run.task.counted[row["label"]]:
                    for name in ("tp", "fp", "fn"):
                        expected[*key, name] += row[name]
        found = queries.score_counts(db, ids, None, unseen)
        assert len(found) == len(targets)
        for row in found.itertuples():
            key = (row.run_id, row.part, row.layer)
            assert [row.tp, row.fp, row.fn, row.targets] == [
                *(expected[*key, name] for name in ("tp", "fp", "fn")),
                targets[key],
            ]


def test_tasks_are_in_the_papers_order(db: Database):
    assert list(dict.fromkeys(queries.edge_tasks(db)["task"])) == [POS.name, SRL.name, ROLES.name]
    assert list(dict.fromkeys(queries.edge_runs(db)["task"])) == [POS.name, SRL.name, ROLES.name]
    labels = queries.edge_labels(db)
    assert list(labels[(labels["task"] == "srl")]["name"]) == list(SRL.labels)
