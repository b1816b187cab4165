"""Our own sentences: their labels hold together, and the stored answers are those of the probes."""

import json
from collections import Counter

import numpy as np
import pytest

from data.making import edges
from probing.core.edges.readers.own_tasks import read_own_sentences
from probing.core.edges.target import OWN
from probing.core.edges.tasks import EDGE_TASKS, OPEN_TASKS, SINGLE_WORDS, role
from probing.core.errors import EdgeDataError, StoreError
from probing.models.edges.ask import ask_sentence
from probing.models.edges.files import FILE, probes_folder, read_probes
from probing.models.encoders.load import load_encoder
from probing.store.check import check_store
from probing.store.parquet import read_table
from probing.workflows.edges.own_sentences import LICENCE, SENTENCES, OwnRequest, ask_own_sentences
from probing.workflows.edges.train import train_edges
from probing.workflows.requests.edges import EdgesRequest
from tests.commands.edge_tasks import QUICK
from tests.core.edges.edge_files import conllu, write_ewt

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


@pytest.fixture
def trained(cache, tiny_model, tmp_path):
    """Probes of parts of speech on the tiny model, and a request about two sentences."""
    text = conllu(TREES)
    write_ewt(cache / "downloads" / "ud-english-ewt", train=text, dev=text, test=text)
    out = train_edges(
        EdgesRequest(str(tiny_model), ("pos",), recipe=QUICK, out=tmp_path / "out", device="cpu"), lambda line: None
    )
    encoder = load_encoder(tiny_model, device="cpu")
    asked = tmp_path / "sentences"
    asked.mkdir()
    rows = [
        {
            "text": "the zebra is red",
            "targets": [{"span1": [place, place + 1], "label": "DT" if not place else "NN"} for place in range(4)],
        },
        {"text": "green paris", "targets": [{"span1": [0, 1], "label": "NN"}]},
    ]
    (asked / "pos.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    probes = probes_folder(cache, encoder.weights_id, "pos").parent
    return encoder, OwnRequest(str(tiny_model), probes, out, cache / "downloads", asked)


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


def test_a_label_that_training_does_not_have_is_refused(trained):
    _, request = trained
    (request.sentences / "pos.jsonl").write_text(
        '{"text": "the sun", "targets": [{"span1": [0, 1], "label": "XYZ"}]}\n'
    )
    with pytest.raises(EdgeDataError, match="got the label 'XYZ', expected labels of the training part of pos"):
        ask_own_sentences(request, lambda line: None)


def test_probes_of_no_stored_run_are_refused(trained):
    _, request = trained
    for path in request.results.glob("edge_runs-*"):
        path.unlink()
    with pytest.raises(StoreError, match="has the weights and the data of the probes"):
        ask_own_sentences(request, lambda line: None)


def test_a_folder_without_sentences_is_refused(trained):
    _, request = trained
    (request.sentences / "pos.jsonl").unlink()
    with pytest.raises(EdgeDataError, match=r"expected TASK\.jsonl"):
        ask_own_sentences(request, lambda line: None)
