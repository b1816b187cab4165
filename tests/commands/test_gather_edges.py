"""The shipped results of edge probing: many small files become one per table and model, without sentences."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from data.making import edges as edges_made
from probing.core.errors import HeadError, StoreError
from probing.models.edges.files import FILE, TaskProbes, read_probes, write_probes
from probing.models.edges.probes import Shape, start_of
from probing.store.edges.counting import COUNTS
from probing.store.parquet import read_table
from probing.store.schema import KEYS
from probing.store.sources import files_of
from probing.store.tables import edges
from probing.workflows.edges.gather import gather_probes, gather_results
from tests.edges_planted import RUNS, plant_edge_runs


def keys(folder: Path, table: str) -> list[tuple]:
    parts = [read_table(path, table).to_pylist() for path in files_of(table, folder)]
    return sorted(tuple(row[name] for name in KEYS[table]) for rows in parts for row in rows)


@pytest.fixture
def small_files(tmp_path: Path) -> Path:
    plant_edge_runs(tmp_path / "made")
    return tmp_path / "made"


def test_every_row_is_there_once_and_files_are_one_for_each_table_and_model(small_files: Path, tmp_path: Path):
    files = gather_results(small_files, tmp_path / "shipped", lambda line: None)
    edges_made._count_again(tmp_path / "shipped")
    random = {run.run_id for run in RUNS if run.encoder != "trained"}
    # Of the others there are answers for intervals, and no traces.
    viewed = {run.run_id for run in RUNS if run.run_id not in random and run.seed == 0 and not run.base}
    for table in (table.name for table in edges.TABLES):
        expected = [
            key
            for key in keys(small_files, table)
            if table not in ("edge_predictions", *COUNTS) or key[0] not in random
        ]
        expected = [key for key in expected if table != "edge_traces" or key[0] in viewed]
        assert keys(tmp_path / "shipped", table) == expected != []
    assert len([path for path in files if path.name.startswith("edge_runs-")]) == len({run.model for run in RUNS})
    again = {path.name: path.read_bytes() for path in files}
    assert {
        path.name: path.read_bytes() for path in gather_results(small_files, tmp_path / "again", lambda line: None)
    } == again


def test_no_words_of_a_sentence_are_gathered(small_files: Path, tmp_path: Path):
    gather_results(small_files, tmp_path / "shipped", lambda line: None)
    made = [
        row["text"]
        for path in files_of("edge_sentences", small_files)
        for row in read_table(path, "edge_sentences").to_pylist()
    ]
    (path,) = files_of("edge_sentences", tmp_path / "shipped")
    assert any(made) and {row["text"] for row in read_table(path, "edge_sentences").to_pylist()} == {None}


def test_probabilities_ship_in_few_steps_and_say_what_they_said(small_files: Path, tmp_path: Path):
    gather_results(small_files, tmp_path / "shipped", lambda line: None)

    def answers(folder: Path) -> dict[tuple, dict]:
        rows = [
            row
            for path in files_of("edge_predictions", folder)
            for row in read_table(path, "edge_predictions").to_pylist()
        ]
        return {tuple(row[name] for name in KEYS["edge_predictions"]): row for row in rows}

    before, steps = answers(small_files), set()
    for key, row in answers(tmp_path / "shipped").items():
        was = before[key]
        assert all(row[name] == was[name] for name in ("predicted", "top", "wrong"))
        for name in ("p_top", "p_wrong"):
            steps.add(row[name])
            assert abs(row[name] - was[name]) <= 128 and (row[name] > 127) == (was[name] > 127)
        assert len(row["p_gold"]) == len(was["p_gold"]) and row["p_sum"] >= max(
            row["p_top"], sum(row["p_gold"]) + row["p_wrong"]
        )
    assert steps <= {round(255 * level / 5) for level in range(6)} and len(steps) > 2


def test_a_run_that_is_there_twice_and_a_folder_without_runs_are_refused(small_files: Path, tmp_path: Path):
    one = files_of("edge_runs", small_files)[0]
    shutil.copy(one, one.with_name("edge_runs-copy.parquet"))
    with pytest.raises(StoreError, match="exist twice"):
        gather_results(small_files, tmp_path / "shipped", lambda line: None)
    with pytest.raises(StoreError, match=r"no runs in .* expected rows of edge_runs"):
        gather_results(tmp_path / "empty", tmp_path / "shipped", lambda line: None)


def test_probes_of_the_named_tasks_alone_are_shipped(tmp_path: Path):
    shape = Shape(2, 3, 1, 4, 2)
    for task in ("pos", "srl", "entities"):
        flat = torch.stack([start_of(shape, layer) for layer in range(2)])
        write_probes(
            TaskProbes(task, task, ("a", "b"), (True, True), "w", "{}", (0.5, 0.6), shape, flat),
            tmp_path / "made" / task,
            8,
        )
    gather_probes(tmp_path / "made", ("pos", "srl"), tmp_path / "shipped", lambda line: None)
    assert sorted(folder.name for folder in (tmp_path / "shipped").iterdir()) == ["pos", "srl"]
    assert read_probes(tmp_path / "shipped" / "srl" / FILE).task == "srl"
    with pytest.raises(HeadError, match="cannot read the probes"):
        gather_probes(tmp_path / "made", ("relations",), tmp_path / "shipped", lambda line: None)


def test_shipped_probes_stay_without_a_training_here_unless_they_are_of_other_weights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    shipped = tmp_path / "edges" / edges_made.MODEL
    shutil.copytree(edges_made.SHIPPED / edges_made.MODEL / "relations", shipped / "relations")
    other = replace(read_probes(shipped / "relations" / FILE), weights="other")
    write_probes(other, shipped / "pos", 6)
    monkeypatch.setenv("PROBING_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(edges_made, "SHIPPED", tmp_path / "edges")
    monkeypatch.setenv("PROBING_SNAPSHOT", str(tmp_path / "snapshot"))
    assert edges_made.gather(lambda line: None) == []
    assert [folder.name for folder in shipped.iterdir()] == ["relations"]
