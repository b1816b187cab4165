"""Edge probing among the results: rows of the files, runs next to those on facts, and what is counted of
predictions.
"""

import itertools
import tracemalloc
from collections import Counter
from pathlib import Path

import pandas as pd
import pytest

from probing.store import run_queries
from probing.store.check import check_store
from probing.store.counts import write_counts
from probing.store.database import Database
from probing.store.kinds import KINDS
from probing.store.opening import open_database
from probing.store.parquet import read_table
from tests.edges_planted import (
    PARTS,
    POS,
    RUNS,
    SRL,
    PlantedEdgeRun,
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
    assert run_queries.runs(db).empty
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
