"""``sentences ask`` and ``report``, our own sentences, and how the shipped results of sentence probing are gathered."""

import io
import json
import shutil
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from transformers import BertForMaskedLM
from typer.testing import CliRunner

from data.making import edges, sentences
from data.making.edge_files import LICENCE, SENTENCES, OwnRequest, ask_own_sentences
from probing.changes.passes import Attending, ask_attention
from probing.edges.ask import ask_sentence, read_probes
from probing.edges.ask import probes_folder as edge_probes_folder
from probing.edges.readers.own_tasks import read_own_sentences
from probing.edges.requests import EdgesRequest
from probing.edges.targets import OWN
from probing.edges.tasks import EDGE_TASKS, OPEN_TASKS, SINGLE_WORDS, role
from probing.edges.train import train_edges
from probing.kernel.models.arrays import FILE
from probing.kernel.models.load import load_encoder
from probing.kernel.store.check import check_store
from probing.kernel.store.columns import KEYS
from probing.kernel.store.opening import open_database
from probing.kernel.store.parquet import files_of, read_table
from probing.main import app
from probing.sentences.examples import FROZEN
from probing.sentences.examples import OWN as OWN_EXAMPLES
from tests.changes_planted import change_run_id, plant_changes
from tests.edges.edge_files import conllu, write_ewt
from tests.edges.planted_tasks import QUICK
from tests.planted_relatives import BASE, COLA, CONTROL, MODELS, SEED_2
from tests.sentences.planted import plant, untrained_probes
from tests.sentences_planted import BIGRAM, ODD, RUNS, PlantedSentenceRun, plant_sentence_runs

TEXT = "paris is red and rome is blue ."


@pytest.fixture()
def tuned(tiny_model, tmp_path):
    """The tiny model with other weights in its layers."""
    folder = shutil.copytree(tiny_model, tmp_path / "tuned")
    model = BertForMaskedLM.from_pretrained(folder)
    with torch.no_grad():
        for parameter in model.bert.encoder.parameters():
            parameter *= 1.5
    model.save_pretrained(folder)
    return folder


@pytest.fixture()
def probes(tiny_model, cache):
    """Planted probes of the tiny model, of which layer 0's are at chance."""
    plant(cache, untrained_probes(load_encoder(tiny_model, device="cpu")))


def ask(*words: str, code: int = 0):
    found = CliRunner().invoke(app, ["sentences", "ask", *words, "--device", "cpu"])
    assert found.exit_code == code, found.output
    return found


def test_attention_and_verdicts_of_both_models_by_layer(tiny_model, tuned, probes):
    got = json.loads(ask(TEXT, "--model", str(tuned), "--base", str(tiny_model), "--as", "json").stdout)
    base, other = (Attending(load_encoder(path, device="cpu")) for path in (tiny_model, tuned))
    found = ask_attention(TEXT, other, base)
    assert got["tokens"] == list(found.tokens)
    rows = {(row["model"], row["layer"]): row for row in got["attention"]}
    assert set(rows) == {(name, layer) for name in ("tiny-bert", "tuned") for layer in (1, 2)}
    for layer in (1, 2):
        row = rows["tuned", layer]
        assert row["entropy-first"] == pytest.approx(found.own.entropy[layer - 1, :, 0].mean())
        assert row["to-separator-mean"] == pytest.approx(found.own.shares["separator"][layer - 1].mean())
        assert row["emd-mean"] == pytest.approx(found.distance[layer - 1].mean())
        assert rows["tiny-bert", layer]["emd-mean"] is None
    assert {(row["model"], row["pooling"], row["layer"]) for row in got["verdicts"]} == {
        ("tiny-bert", pooling, layer) for pooling in ("first", "mean") for layer in range(3)
    }
    assert [row["above_majority"] for row in got["verdicts"]] == [False, True, True] * 2
    assert {(row["accuracy"], row["majority"]) for row in got["verdicts"]} == {(0.5, 0.5), (0.9, 0.5)}
    assert {(row["word"], row["times"]) for row in got["same_word"]} == {("is", 2)}


def test_one_csv_has_all_parts_and_a_table_says_what_makes_probes(tiny_model, cache):
    found = ask(TEXT, "--model", str(tiny_model), "--as", "csv")
    table = pd.read_csv(io.StringIO(found.stdout))
    assert set(table["part"]) == {"attention", "same_word"} and len(table) == 2 + 3
    shown = ask(TEXT, "--pair", "rome is red .", "--model", str(tiny_model))
    assert "entropy-first" in shown.stdout and "to-separator-mean" in shown.stdout
    assert "python -m probing sentences train --model" in shown.stderr


REPORTED_MODELS = (BASE, COLA, SEED_2, CONTROL)
REPORTED_RUNS = tuple(PlantedSentenceRun(model, task) for model in REPORTED_MODELS for task in (BIGRAM, ODD))


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reports")
    plant_changes(plant_sentence_runs(folder / "snapshot", REPORTED_RUNS), REPORTED_MODELS)
    return folder


@pytest.fixture
def here(planted, monkeypatch):
    monkeypatch.setenv("PROBING_SNAPSHOT", str(planted / "snapshot"))
    monkeypatch.setenv("PROBING_CACHE", str(planted / "cache"))


def test_the_list_of_runs_has_those_of_every_kind(here, run):
    found = {row["run_id"]: row for row in json.loads(run("runs", "--json").stdout)}
    assert {row["what"] for row in found.values()} == {"sentences", "changes"} and len(found) == len(
        REPORTED_RUNS
    ) + len(REPORTED_MODELS)
    assert found[REPORTED_RUNS[0].run_id]["task"] == BIGRAM.name and found[REPORTED_RUNS[0].run_id]["head"] is None
    lines = run("runs").stdout.splitlines()
    assert any(change_run_id(COLA) in line and f"changes against {BASE.name}" in line for line in lines)


PATHS = {path.stem: path for path in sorted(SENTENCES.glob("*.jsonl"))}
TREES = {
    f"s{number}": [(word, "DT" if word == "the" else "NN", 0, "root") for word in words.split()]
    for number, words in enumerate(
        ("the city", "the red sun", "paris is the city", "the moon", "a zebra", "the blue moon is a sun")
    )
}


def test_every_file_is_of_a_task_whose_probes_ship_and_has_some_thirty_sentences():
    assert set(PATHS) == {"pos", "dependencies", "srl", "relations"} <= set(OPEN_TASKS)
    assert len(read_own_sentences(PATHS["pos"]).records) >= 30
    known = {record.text for record in read_own_sentences(PATHS["pos"]).records}
    for task, path in PATHS.items():
        part = read_own_sentences(path)
        assert {record.text for record in part.records} <= known and all(record.open for record in part.records)
        for record in part.records:
            questions = [(target.span1, target.span2) for target in record.targets]
            assert len(questions) == len(set(questions)), f"{task} asks twice: {record.text}"
            assert {len(target.labels) for target in record.targets} == {1}
            assert {1 + (target.span2 is not None) for target in record.targets} == {EDGE_TASKS[task].spans}
            if task in SINGLE_WORDS:
                assert [target.span1 for target in record.targets] == [
                    (place, place + 1) for place in range(len(record.words))
                ]


def test_dependencies_are_trees_whose_root_is_its_own_head():
    for record in read_own_sentences(PATHS["dependencies"]).records:
        head = {target.span1[0]: target.span2[0] for target in record.targets}
        roots = [word for word, of in head.items() if word == of]
        labels = {target.span1[0]: target.labels[0] for target in record.targets}
        assert roots == [word for word, label in labels.items() if label == "root"] and len(roots) == 1, record.text
        for word in head:
            way = [word]
            while head[way[-1]] != way[-1]:
                way.append(head[way[-1]])
                assert way[-1] not in way[:-1], record.text
            assert way[-1] == roots[0]


def test_roles_are_of_verbs_and_no_role_overlaps_its_verb_or_comes_twice():
    tags = {
        record.text: {target.span1[0]: target.labels[0] for target in record.targets}
        for record in read_own_sentences(PATHS["pos"]).records
    }
    for record in read_own_sentences(PATHS["srl"]).records:
        for target in record.targets:
            (label,), (start, end), (verb, _) = target.labels, target.span2, target.span1
            assert tags[record.text][verb].startswith("VB") and not start <= verb < end, record.text
            assert role(label.removeprefix("R-")), label
        counted = Counter(
            (target.span1, target.labels) for target in record.targets if target.labels[0].startswith("ARG")
        )
        assert max(counted.values()) == 1, record.text


@pytest.fixture(scope="module")
def trained_once(tiny_model, tmp_path_factory) -> Path:
    """A cache and results with probes of parts of speech on the tiny model, and two sentences to ask of them."""
    root, text = tmp_path_factory.mktemp("trained"), conllu(TREES)
    write_ewt(root / "cache" / "downloads" / "ud-english-ewt", train=text, dev=text, test=text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PROBING_CACHE", str(root / "cache"))
        patch.setenv("PROBING_SNAPSHOT", str(root / "snapshot"))
        train_edges(
            EdgesRequest(str(tiny_model), ("pos",), recipe=QUICK, out=root / "out", device="cpu"), lambda line: None
        )
    asked = root / "sentences"
    asked.mkdir()
    rows = [
        {
            "text": "the zebra is red",
            "targets": [{"span1": [place, place + 1], "label": "DT" if not place else "NN"} for place in range(4)],
        },
        {"text": "green paris", "targets": [{"span1": [0, 1], "label": "NN"}]},
    ]
    (asked / "pos.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return root


@pytest.fixture
def trained(trained_once, tiny_model, tmp_path, monkeypatch):
    """The tiny model, and a request about two sentences in a copy that a test may change."""
    root, encoder = shutil.copytree(trained_once, tmp_path / "trained"), load_encoder(tiny_model, device="cpu")
    monkeypatch.setenv("PROBING_CACHE", str(root / "cache"))
    monkeypatch.setenv("PROBING_SNAPSHOT", str(root / "snapshot"))
    probes = edge_probes_folder(root / "cache", encoder.weights_id, "pos").parent
    return encoder, OwnRequest(str(tiny_model), probes, root / "out", root / "cache" / "downloads", root / "sentences")


def test_answers_are_those_of_the_probes_and_belong_to_the_run_that_trained_them(trained):
    encoder, request = trained
    files = {path.name.split("-")[0]: path for path in ask_own_sentences(request, lambda line: None)}
    for path in [*request.results.glob("edge_sentence_counts-*"), *request.results.glob("edge_traces-*")]:
        path.unlink()
    edges._count_again(request.results)
    assert check_store([request.results]) == []
    (task,) = read_table(files["edge_tasks"], "edge_tasks").to_pylist()
    assert (task["part"], task["licence"], task["targets"], task["spans"]) == (OWN, LICENCE, 5, 1)
    sentences = read_table(files["edge_sentences"], "edge_sentences").to_pylist()
    assert [row["text"] for row in sentences] == ["the zebra is red", "green paris"]
    targets = read_table(files["edge_targets"], "edge_targets").to_pylist()
    assert [row["seen"] for row in targets] == [True, True, True, True, False]
    assert [row["memory"] for row in targets] == [[0], [1], [1], [1], [1]] == [row["gold"] for row in targets]
    probes = read_probes(request.probes / "pos" / FILE)
    rows = read_table(files["edge_predictions"], "edge_predictions").to_pylist()
    (run,) = [row for path in request.results.glob("edge_runs-*") for row in read_table(path, "edge_runs").to_pylist()]
    assert {(row["run_id"], row["part"]) for row in rows} == {(run["run_id"], OWN)} and len(rows) == 5 * run["layers"]
    for row in rows:
        words = sentences[targets[row["target"]]["sentence"]]["text"].split()
        span = (targets[row["target"]]["start1"], targets[row["target"]]["end1"])
        (answer,) = ask_sentence(encoder, [probes], words, span)
        p = answer.p[row["layer"]]
        assert row["top"] == p.argmax() and abs(row["p_top"] - 255 * p.max()) <= 1
        assert row["predicted"] == np.flatnonzero(p >= 0.5).tolist()


def test_the_same_answers_give_the_same_bytes(trained):
    _, request = trained
    first = {path: path.read_bytes() for path in ask_own_sentences(request, lambda line: None)}
    assert {path: path.read_bytes() for path in ask_own_sentences(request, lambda line: None)} == first


@pytest.fixture(scope="module")
def gathered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Planted results in ``made``, and in ``shipped`` what ships of them; to be read only."""
    root = tmp_path_factory.mktemp("gathered")
    plant_changes(plant_sentence_runs(root / "made"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sentences, "IN_FULL", (BASE.name, COLA.name))
        patch.setattr(sentences, "EVERY_READING", COLA.name)
        sentences.gather_results(root / "made", root / "shipped", lambda line: None)
    return root


def rows(folder: Path, table: str) -> list[dict]:
    return [row for path in files_of(table, folder) for row in read_table(path, table).to_pylist()]


def test_every_count_is_there_once_in_one_file_for_each_table(gathered: Path):
    for table in (
        "sentence_tasks",
        "sentence_runs",
        "sentence_scores",
        "sentence_pairs",
        "change_runs",
        "change_values",
        "perplexity",
    ):
        keys = [
            sorted(tuple(row[name] for name in KEYS[table]) for row in rows(gathered / name, table))
            for name in ("made", "shipped")
        ]
        assert keys[0] == keys[1] != [] and len(list(files_of(table, gathered / "shipped"))) == 1


def test_no_words_ship_and_answers_of_the_named_models_alone(gathered: Path):
    assert {(row["text"], row["pair"]) for row in rows(gathered / "shipped", "sentence_examples")} == {(None, None)}
    model_of = {run.run_id: run.model.name for run in RUNS}
    kinds = {
        (model_of[row["run_id"]], row["reading"], row["portion"])
        for row in rows(gathered / "shipped", "sentence_predictions")
    }
    assert {model for model, _, _ in kinds} == {BASE.name, COLA.name}
    assert {kind[1:] for kind in kinds if kind[0] == BASE.name} == {(OWN_EXAMPLES, 1)} and (
        "planted-cola",
        FROZEN,
        1,
    ) in kinds


def test_what_ships_is_whole(gathered: Path):
    assert check_store([gathered / "shipped"]) == []
    with open_database(gathered / "shipped") as db:
        assert db.query("SELECT count(*) AS n FROM runs")["n"].item() == len(RUNS) + len(MODELS)


def test_shipped_probes_stay_without_a_training_here_unless_they_are_of_other_weights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    shipped = tmp_path / "sentences" / "nesia-mini-sst-2"
    shutil.copytree(sentences.SHIPPED / "nesia-mini-sst-2", shipped)
    shutil.copytree(
        sentences.SHIPPED / "nesia-mini-cola" / "bigram-shift", shipped / "bigram-shift", dirs_exist_ok=True
    )
    monkeypatch.setenv("PROBING_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(sentences, "SHIPPED", tmp_path / "sentences")
    assert sentences.ship_probes(["nesia-mini-sst-2"], lambda line: None) == []
    assert [folder.name for folder in shipped.iterdir()] == ["coordination-inversion"]
