"""``edges trace``, ``tasks`` and ``report``, and how the shipped results of edge probing are gathered."""

import csv
import io
import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner

from data.making import edges as edges_made
from data.making.edge_files import gather_probes, gather_results
from probing.edges import tables as edges
from probing.edges.ask import TaskProbes, read_probes, write_probes
from probing.edges.probes import Shape, start_of
from probing.edges.store import COUNTS
from probing.kernel.errors import HeadError, StoreError
from probing.kernel.models.arrays import FILE
from probing.kernel.store.columns import KEYS
from probing.kernel.store.parquet import files_of, read_table
from probing.main import app
from tests.edges.planted_probes import plant_probes
from tests.edges_planted import RUNS, plant_edge_runs
from tests.tiny_models import LAYERS, save

SENTENCE = "Paris isn't the capital of Italy."


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    root = tmp_path_factory.mktemp("trace")
    plant_probes(save("bert", root / "tiny"), root / "cache")
    return root


@pytest.fixture
def trace(planted, monkeypatch):
    """Calls the command on the tiny model."""
    monkeypatch.setenv("PROBING_CACHE", str(planted / "cache"))

    def called(*words: str, sentence: str = SENTENCE):
        return CliRunner().invoke(
            app, ["edges", "trace", "--model", str(planted / "tiny"), "--sentence", sentence, *words]
        )

    return called


def test_a_table_has_a_line_for_every_task_and_layer(trace):
    found = trace("--span1", "0:1", "--span2", "3:5")
    assert found.exit_code == 0, found.output
    assert found.output.startswith("Paris is n't the capital of Italy .\ntiny\n")
    heads = [line for line in found.output.splitlines() if "; F1 on dev " in line]
    assert [head.split(" of '")[0] for head in heads] == [
        "Part of speech",
        "Entities",
        "Entities",
        "Semantic roles",
        "Coreference",
    ]
    assert "Semantic roles of 'Paris' (0:1) and 'the capital' (3:5): " in found.output
    assert found.output.count("embeddings") == len(heads) and found.output.count("layer 3  ") == len(heads)


def test_csv_and_json_hold_every_label_and_the_same_numbers(trace):
    words = ("--span1", "0:1", "--span2", "6:7", "--tasks", "srl, pos")
    rows = list(csv.DictReader(io.StringIO(trace(*words, "--as", "csv").output)))
    found = json.loads(trace(*words, "--as", "json").output)
    assert {row["task"] for row in rows} == {"srl", "pos"} and found["words"][2] == "n't"
    flat = {
        (one["task"], tuple(one["span1"]), layer["layer"], label["label"]): label
        for one in found["traces"]
        for layer in one["layers"]
        for label in layer["labels"]
    }
    assert len(flat) == len(rows) == (LAYERS + 1) * (2 * 4 + 3)
    for row in rows:
        start, end = row["span1"].split(":")
        label = flat[row["task"], (int(start), int(end)), int(row["layer"]), row["label"]]
        assert float(row["p"]) == pytest.approx(label["p"]) and float(row["share"]) == pytest.approx(label["share"])
    srl = next(one for one in found["traces"] if one["task"] == "srl")
    assert srl["span2"] == [6, 7] and len(srl["f1"]) == LAYERS + 1


@pytest.fixture
def tasks(tmp_path, monkeypatch):
    """Calls ``edges tasks`` on an empty cache; gives its rows."""
    monkeypatch.setenv("PROBING_CACHE", str(tmp_path / "cache"))

    def called(*words: str) -> list[dict]:
        found = CliRunner().invoke(app, ["edges", "tasks", *words, "--as", "json"])
        assert found.exit_code == 0, found.output
        return json.loads(found.output)

    return called


def test_counts_are_those_of_the_data_and_empty_where_there_are_none(tasks, tmp_path):
    folder = tmp_path / "mine"
    folder.mkdir()
    lines = {
        "train": [("a b", [((0, 1), "X"), ((1, 2), "Y")]), ("a c", [((0, 1), "X")])],
        "dev": [("a d", [((0, 1), "X"), ((1, 2), "Y")]), ("e", [((0, 1), "Z")])],
    }
    for part, records in lines.items():
        (folder / f"{part}.jsonl").write_text(
            "".join(
                json.dumps(
                    {"text": text, "targets": [{"span1": list(span), "label": label} for span, label in targets]}
                )
                + "\n"
                for text, targets in records
            )
        )
    train, dev = tasks(str(folder), "--counts")
    assert (train["part"], train["targets"], train["labels"], train["memory_f1"]) == ("train", 3, 2, None)
    # "a" is remembered as X; "d" and "e" get X, the commonest label: one of three is right.
    assert (dev["records"], dev["targets"], dev["unseen_labels"], dev["ceiling"]) == (2, 3, 1, 1.0)
    assert dev["memory_f1"] == pytest.approx(1 / 3)
    assert tasks("relations", "--counts") == [{**tasks("relations")[0], **dict.fromkeys(list(train)[7:])}]


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """Planted runs in ``snapshot``; no test changes them."""
    folder = tmp_path_factory.mktemp("edges")
    plant_edge_runs(folder / "snapshot")
    return folder


def keys(folder: Path, table: str) -> list[tuple]:
    parts = [read_table(path, table).to_pylist() for path in files_of(table, folder)]
    return sorted(tuple(row[name] for name in KEYS[table]) for rows in parts for row in rows)


@pytest.fixture(scope="module")
def gathered(store, tmp_path_factory) -> Path:
    """What ships of the planted runs."""
    shipped = tmp_path_factory.mktemp("shipped")
    gather_results(store / "snapshot", shipped, lambda line: None)
    return shipped


def test_every_row_is_there_once_and_files_are_one_for_each_table_and_model(store, gathered, tmp_path):
    small_files, shipped = store / "snapshot", tmp_path / "shipped"
    shutil.copytree(gathered, shipped)
    again = {path.name: path.read_bytes() for path in shipped.iterdir()}
    edges_made._count_again(shipped)
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
        assert keys(shipped, table) == expected != []
    assert len(files_of("edge_runs", shipped)) == len({run.model for run in RUNS})
    assert {
        path.name: path.read_bytes() for path in gather_results(small_files, tmp_path / "again", lambda line: None)
    } == again


def test_no_words_of_a_sentence_are_gathered(store, gathered):
    made = [
        row["text"]
        for path in files_of("edge_sentences", store / "snapshot")
        for row in read_table(path, "edge_sentences").to_pylist()
    ]
    (path,) = files_of("edge_sentences", gathered)
    assert any(made) and {row["text"] for row in read_table(path, "edge_sentences").to_pylist()} == {None}


def test_probabilities_ship_in_few_steps_and_say_what_they_said(store, gathered):
    def answers(folder: Path) -> dict[tuple, dict]:
        rows = [
            row
            for path in files_of("edge_predictions", folder)
            for row in read_table(path, "edge_predictions").to_pylist()
        ]
        return {tuple(row[name] for name in KEYS["edge_predictions"]): row for row in rows}

    before, steps = answers(store / "snapshot"), set()
    for key, row in answers(gathered).items():
        was = before[key]
        assert all(row[name] == was[name] for name in ("predicted", "top", "wrong"))
        for name in ("p_top", "p_wrong"):
            steps.add(row[name])
            assert abs(row[name] - was[name]) <= 128 and (row[name] > 127) == (was[name] > 127)
        assert len(row["p_gold"]) == len(was["p_gold"]) and row["p_sum"] >= max(
            row["p_top"], sum(row["p_gold"]) + row["p_wrong"]
        )
    assert steps <= {round(255 * level / 5) for level in range(6)} and len(steps) > 2


def test_a_run_that_is_there_twice_and_a_folder_without_runs_are_refused(store, tmp_path):
    shutil.copytree(store / "snapshot", tmp_path / "made")
    one = files_of("edge_runs", tmp_path / "made")[0]
    shutil.copy(one, one.with_name("edge_runs-copy.parquet"))
    with pytest.raises(StoreError, match="exist twice"):
        gather_results(tmp_path / "made", tmp_path / "shipped", lambda line: None)
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
