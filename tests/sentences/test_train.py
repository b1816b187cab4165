"""Probes of whole sentences from a file to tables: what is stored, planted encoders, again and killed."""

import itertools
import json
import shutil
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from probing.kernel.errors import OptionError
from probing.kernel.jobs import stored_runs
from probing.kernel.models import arrays as checked_arrays
from probing.kernel.models.arrays import FILE
from probing.kernel.models.load import load_encoder
from probing.sentences import predictions as probe_predictions
from probing.sentences import train as work
from probing.sentences import vectors as stored_states
from probing.sentences.examples import LEFT_OUT, POOLINGS, READINGS
from probing.sentences.probes import probes_folder, read_probes
from probing.sentences.requests import SentencesRequest
from probing.sentences.tasks import read_task
from probing.sentences.train import train_sentences
from tests.fixtures.commands import Killed, bytes_of
from tests.jobs.planted import Elsewhere
from tests.sentences.planted_tasks import (
    accuracy,
    flat,
    in_first,
    in_tokens,
    labelled,
    plant,
    rotated,
    tables_of,
    write_task,
)

LAYERS = range(3)


@pytest.fixture()
def parity(tmp_path):
    return write_task(tmp_path / "parity.tsv")


@pytest.fixture()
def tuned(tiny_model, tmp_path):
    """A copy of the tiny model under another name."""
    return shutil.copytree(tiny_model, tmp_path / "tuned")


@pytest.fixture()
def request_of(cache, tiny_model, tmp_path):
    """Makes a request of files."""

    def make(*files, **changed) -> SentencesRequest:
        given = {"model": str(tiny_model), "out": tmp_path / "out", "device": "cpu"}
        return SentencesRequest(tasks=tuple(map(str, files)), **(given | changed))

    return make


@pytest.fixture(scope="module")
def trained_once(tiny_model, tmp_path_factory):
    """Makes a folder with a task, a copy of the tiny model, and what trainings left: of the model, if wanted, and of
    the copy.
    """

    def folder(alone: bool = False, **given) -> SimpleNamespace:
        root, said = tmp_path_factory.mktemp("trained"), []
        tuned, path = shutil.copytree(tiny_model, root / "tuned"), write_task(root / "parity.tsv")
        wanted = SentencesRequest(model=str(tiny_model), tasks=(str(path),), out=root / "out", device="cpu")
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("PROBING_CACHE", str(root / "cache"))
            if not alone:
                train_sentences(wanted, said.append)
            train_sentences(replace(wanted, model=str(tuned), base=str(tiny_model), **given), said.append)
        return SimpleNamespace(root=root, task=path, out=root / "out", said=said)

    return folder


@pytest.fixture(scope="module")
def family(trained_once):
    """The tiny model and its copy, trained once; to be read only."""
    return trained_once()


#: No probes of a part of the training sentences, and no codes.
WHOLE = {"portions": (1,), "codes": False}
#: What a call that is killed is compared with.
FEW = {"readings": ("own", "frozen", "mlp"), "portions": (1,)}


@pytest.fixture(scope="module")
def undisturbed(trained_once):
    """Results and stored probes of a call that nobody killed, with few sentences per file of states."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stored_states, "SENTENCES_A_FILE", 128)
        trained = trained_once(alone=True, **FEW)
    identity = load_encoder(trained.root / "tuned", device="cpu").weights_id
    return bytes_of(trained.out), (probes_folder(trained.root / "cache", identity, "parity") / FILE).read_bytes()


@pytest.fixture()
def beside(request_of, tuned, tiny_model):
    """Makes a request of files for the copy, with the tiny model as its base."""
    return lambda *files, **changed: request_of(*files, **({"model": str(tuned), "base": str(tiny_model)} | changed))


def test_every_stored_number_follows_from_the_answers_and_the_labels(family, tmp_path):
    out, said = family.out, family.said
    task, data = read_task(str(family.task), tmp_path)
    assert said[0] == "parity: train 180, dev 30, test 90 sentences; 2 labels"
    (row,) = tables_of(out, "sentence_tasks")
    assert (row["task"], row["protocol"], row["labels"], row["n_train_labels"]) == (
        "parity",
        "ours",
        ["even", "odd"],
        [90, 90],
    )
    assert (row["n_train"], row["n_dev"], row["n_test"], row["majority_right"], row["sha256"]) == (
        180,
        30,
        90,
        45,
        data.sha256,
    )
    assert 25 <= row["surface_right"] <= 65 and (row["level"], row["title"]) == (task.level, task.title)
    examples = tables_of(out, "sentence_examples")
    assert [row["example"] for row in examples] == [one.sha256[:16] for one in data.parts["test"]]
    assert [row["text"] if task.open else None for row in examples] == [
        one.text if task.open else None for one in data.parts["test"]
    ]
    gold = np.array([row["label"] for row in examples])
    assert [data.labels[label] for label in gold] == [one.label for one in data.parts["test"]]
    readings = {"tiny-bert": {"own", "mlp"}, "tuned": set(READINGS)}
    right = {}
    for model, expected in readings.items():
        (run,) = [row for row in tables_of(out, "sentence_runs") if row["model"] == model]
        assert (run["layers"], run["width"], run["n_test"], run["left_out"]) == (3, 16, 90, "{}")
        assert (run["base"], run["variant"], run["tuned_seed"]) == (
            None if model == "tiny-bert" else "tiny-bert",
            "",
            None,
        )
        for row in tables_of(out, "sentence_predictions", model):
            key = tuple(row[name] for name in ("pooling", "layer", "reading", "portion"))
            right[(model, *key)] = np.array(row["predicted"]) == gold
        scores = tables_of(out, "sentence_scores", model)
        assert {row["reading"] for row in scores} == expected
        assert len(scores) == 2 * 3 * (len(expected) + 2), "own probes are three"
        for row in scores:
            key = (model, row["pooling"], row["layer"], row["reading"], row["portion"])
            assert (row["right"], row["n_test"], row["n_dev"]) == (right[key].sum(), 90, 30)
            assert row["n_train"] == {1: 180, 4: 46, 16: 12}[row["portion"]]
            assert (row["c"] is None) == (row["reading"] == "mlp")
            assert (row["code_length"] is None) == ((row["reading"], row["portion"]) != ("own", 1))
    for model in readings:
        for row in tables_of(out, "sentence_pairs", model):
            ours = right[(model, row["pooling"], row["layer"], row["reading"], row["portion"])]
            theirs = right[
                (row["with_model"], row["with_pooling"], row["with_layer"], row["with_reading"], row["with_portion"])
            ]
            counts = [(a & b).sum() for a, b in ((ours, theirs), (ours, ~theirs), (~ours, theirs), (~ours, ~theirs))]
            assert [row[name] for name in ("both", "only_this", "only_other", "neither")] == counts
    check_pairs(out)


def check_pairs(out):
    """All pairs that fates are found with are there, each once."""
    names = ("pooling", "layer", "reading", "portion", "with_pooling", "with_layer", "with_reading", "with_portion")
    rows = [tuple(row[name] for name in names) for row in tables_of(out, "sentence_pairs", "tuned")]
    own = ("own", 1)
    expected = set()
    for pooling, layer in itertools.product(POOLINGS, LAYERS):
        cell = (pooling, layer)
        expected |= {(*cell, reading, 1, *cell, *own) for reading in ("own", "frozen")}
        expected |= {(*cell, *own, "mean", layer, *own), ("mean", layer, *own, *cell, *own)}
        dev = {
            row["reading"]: row["dev_right"]
            for row in tables_of(out, "sentence_scores", "tuned")
            if (row["pooling"], row["layer"], row["portion"]) == (*cell, 1)
        }
        expected |= {(*cell, "mlp", 1, *cell, *own)} if dev["mlp"] > dev["own"] else set()
    for pooling in POOLINGS:
        dev = {
            row["layer"]: row["dev_right"] for row in tables_of(out, "sentence_scores", "tuned") if chosen(row, pooling)
        }
        best = min(layer for layer in LAYERS if dev[layer] == max(dev.values()))
        expected |= {(pooling, best, *own, pooling, layer, *own) for layer in LAYERS}
    assert len(rows) == len(set(rows)) and set(rows) == expected
    of_base = {tuple(row[name] for name in names) for row in tables_of(out, "sentence_pairs", "tiny-bert")}
    assert of_base == {("first", layer, *own, "mean", layer, *own) for layer in LAYERS} | {
        (pooling, layer, *own, pooling, layer, "mlp", 1) for pooling in POOLINGS for layer in LAYERS
    }


def chosen(row, pooling) -> bool:
    return (row["pooling"], row["reading"], row["portion"]) == (pooling, "own", 1)


def test_a_base_against_itself_changes_nothing(family):
    out = family.out
    for row in tables_of(out, "sentence_pairs", "tuned"):
        if (row["pooling"], row["layer"]) == (row["with_pooling"], row["with_layer"]):
            assert (row["only_this"], row["only_other"]) == (0, 0), row
    said = {}
    for model in ("tuned", "tiny-bert"):
        for row in tables_of(out, "sentence_predictions", model):
            said[model, row["pooling"], row["layer"], row["reading"], row["portion"]] = row["predicted"]
    for (model, *cell), predicted in said.items():
        if model == "tuned" and cell[2] in ("own", "mlp"):
            assert predicted == said["tiny-bert", *cell]
        if model == "tuned" and cell[2] == "frozen":
            assert predicted == said["tiny-bert", *cell[:2], "own", 1]


def test_a_label_planted_in_one_layers_first_token_is_read_there_and_nowhere_else(request_of, parity, monkeypatch):
    plant(monkeypatch, tiny_bert=in_first(1))
    out = train_sentences(request_of(parity, **WHOLE))
    first, mean = (accuracy(out, "tiny-bert", pooling=pooling) for pooling in POOLINGS)
    assert first[1] == 1 and accuracy(out, "tiny-bert", "mlp")[1] > 0.75
    assert max(first[0], first[2], *mean) < 0.67, "90 sentences: 3 standard errors are 16 points"


def test_a_rotation_of_all_states_is_found_by_new_probes_alone(beside, parity, monkeypatch):
    plant(monkeypatch, tiny_bert=flat(in_tokens(True, True)), tuned=rotated(in_tokens(True, True)))
    out = train_sentences(beside(parity, readings=("own", "frozen"), **WHOLE))
    for pooling in POOLINGS:
        assert (
            max(accuracy(out, "tuned", "frozen", pooling)) < 0.67 and min(accuracy(out, "tuned", "own", pooling)) == 1
        )


def test_a_label_only_in_other_tokens_is_lost_to_the_first_and_held_by_the_mean(beside, parity, monkeypatch):
    plant(monkeypatch, tiny_bert=in_tokens(True, True), tuned=in_tokens(False, True))
    out = train_sentences(beside(parity, readings=("own", "mlp"), **WHOLE))
    assert max(accuracy(out, "tuned")) < 0.67 and min(accuracy(out, "tuned", pooling="mean")) == 1
    assert max(accuracy(out, "tuned", "mlp")) < 0.67
    for row in tables_of(out, "sentence_pairs", "tuned"):
        if (row["reading"], row["portion"], row["layer"]) == ("own", 1, row["with_layer"]):
            assert row["both"] + row["only_other"] == 90, "the base has all right"
            assert row["only_other"] == 0 if row["pooling"] == "mean" else row["only_other"] > 30


def test_noise_in_the_labels_direction_is_found_by_no_reading(beside, parity, monkeypatch):
    plant(monkeypatch, tiny_bert=in_tokens(True, True), tuned=in_tokens(False, False))
    out = train_sentences(beside(parity, **WHOLE))
    for reading, pooling in itertools.product(READINGS, POOLINGS):
        assert max(accuracy(out, "tuned", reading, pooling)) < 0.67, (reading, pooling)


def test_a_long_sentence_and_contradictions_are_counted_and_the_others_asked(request_of, beside, tmp_path):
    rows = labelled(300)
    long = [(" ".join([text] * (100 if place else 1700)), label) for place, (text, label) in enumerate(rows[:30])]
    twice = [(text, "even" if label == "odd" else "odd") for text, label in rows[:4]]
    path = write_task(tmp_path / "long.tsv", [*rows, *long, *twice])
    out = train_sentences(request_of(path, **WHOLE))
    train_sentences(beside(path, **WHOLE))
    (task,) = tables_of(out, "sentence_tasks")
    assert json.loads(task["dropped"])["texts with two labels"] == 8
    _, data = read_task(str(path), tmp_path)
    too_long = {part: sum(len(one.text) > 1000 for one in examples) for part, examples in data.parts.items()}
    assert sum(too_long.values()) > 20 and too_long["test"]
    for run in tables_of(out, "sentence_runs"):
        assert json.loads(run["left_out"]) == {
            part: {"longer than the model takes": n} for part, n in too_long.items() if n
        }
        assert run["n_test"] == len(data.parts["test"]) - too_long["test"]
    for row in tables_of(out, "sentence_predictions"):
        assert [said == LEFT_OUT for said in row["predicted"]] == [len(one.text) > 1000 for one in data.parts["test"]]
    assert {row["n_test"] for row in tables_of(out, "sentence_scores")} == {run["n_test"]}


@pytest.mark.parametrize(
    ("place", "name", "calls"),
    [
        (stored_states, "write_mapped", 3),
        (checked_arrays, "write_sealed", 3),
        (stored_runs, "write_table", 2),
        (work, "write_probes", 0),
    ],
)
def test_a_call_that_is_killed_anywhere_goes_on_and_ends_with_the_same_bytes(
    beside, parity, undisturbed, tmp_path, dies, monkeypatch, place, name, calls
):
    monkeypatch.setattr(stored_states, "SENTENCES_A_FILE", 128)
    again = beside(parity, out=tmp_path / "killed", **FEW)
    lives = dies(place, name, calls)
    with pytest.raises(Killed):
        train_sentences(again)
    lives()
    for path in itertools.islice((tmp_path / "cache").rglob("states-*.npy"), 1):
        path.write_bytes(path.read_bytes()[:-20])
    train_sentences(again)
    encoder = load_encoder(again.model, device="cpu")
    probes = (probes_folder(tmp_path / "cache", encoder.weights_id, "parity") / FILE).read_bytes()
    assert (bytes_of(tmp_path / "killed"), probes) == undisturbed
    assert not [path for path in (tmp_path / "cache" / "sentence-training").rglob("*") if path.is_file()]


def test_a_worker_that_opens_model_and_base_by_itself_writes_the_same(beside, parity, tmp_path, monkeypatch):
    few = {"readings": ("own", "frozen"), **WHOLE}
    whole = bytes_of(train_sentences(beside(parity, **few)))
    monkeypatch.setenv("PROBING_CACHE", str(tmp_path / "other"))
    monkeypatch.setattr(stored_runs, "executor", lambda *given: Elsewhere())
    assert bytes_of(train_sentences(beside(parity, out=tmp_path / "there", **few))) == whole


def test_a_base_that_was_probed_before_gives_its_relatives_the_same_bytes(
    request_of, beside, parity, tmp_path, monkeypatch
):
    whole = bytes_of(train_sentences(beside(parity, **WHOLE)))
    monkeypatch.setenv("PROBING_CACHE", str(tmp_path / "other"))
    train_sentences(request_of(parity, out=tmp_path / "base", **WHOLE))
    monkeypatch.setattr(probe_predictions, "fit_mlp", once := Calls(probe_predictions.fit_mlp))
    assert bytes_of(train_sentences(beside(parity, out=tmp_path / "again", **WHOLE))) == whole
    assert once.number == 1, "the base's is read"


class Calls:
    """Counts how often a function is called."""

    def __init__(self, real):
        self.real, self.number = real, 0

    def __call__(self, *given):
        self.number += 1
        return self.real(*given)


def test_the_second_call_does_nothing_and_lost_files_are_made_again(request_of, parity, tmp_path):
    wanted = request_of(parity, predictions=False, readings=("own",), **WHOLE)
    out = train_sentences(wanted)
    assert not list(out.glob("sentence_predictions-*"))
    wanted = replace(wanted, predictions=True)
    train_sentences(wanted)
    whole, times = bytes_of(out), {path: path.stat().st_mtime_ns for path in out.iterdir()}
    train_sentences(wanted)
    assert {path: path.stat().st_mtime_ns for path in out.iterdir()} == times
    for number, table in enumerate(
        ("sentence_scores", "sentence_predictions", "sentence_pairs", "sentence_tasks", "sentence_runs")
    ):
        (path,) = out.glob(f"{table}-*.parquet")
        if number % 2:
            path.unlink()
        else:
            path.write_bytes(path.read_bytes()[:-30])
        train_sentences(wanted)
        assert {name: content for name, content in bytes_of(out).items() if name in whole} == whole
    kept = probes_folder(tmp_path / "cache", load_encoder(wanted.model, device="cpu").weights_id, "parity") / FILE
    probes, content = read_probes(kept), kept.read_bytes()
    assert probes.right.tolist() == [
        [row["right"] for row in tables_of(out, "sentence_scores") if chosen(row, pooling)] for pooling in POOLINGS
    ]
    kept.unlink()
    train_sentences(wanted)
    assert kept.read_bytes() == content


def test_other_data_of_the_same_name_are_refused(request_of, family, parity, tmp_path):
    shutil.copytree(family.out, tmp_path / "out")
    (tmp_path / "elsewhere").mkdir()
    other = write_task(tmp_path / "elsewhere" / "parity.tsv", labelled(240, seed=1))
    with pytest.raises(
        OptionError, match=r"run [0-9a-f]{16} in .* has other data for a task also called parity; rename the file"
    ):
        train_sentences(request_of(other))
    with pytest.raises(OptionError, match=r"two of the tasks .* are called parity; rename one of the files"):
        train_sentences(request_of(parity, other))
    train_sentences(request_of(other, protocol="quick", **WHOLE))


def test_one_pooling_is_compared_with_the_bases_mean_all_the_same(beside, parity):
    out = train_sentences(beside(parity, pooling=("first",), readings=("own", "frozen"), **WHOLE))
    pairs = tables_of(out, "sentence_pairs")
    assert {(row["pooling"], row["with_pooling"]) for row in pairs} == {("first", "first"), ("first", "mean")}
    assert {row["pooling"] for row in tables_of(out, "sentence_scores")} == {"first"}
    assert all(row["code_length"] is None for row in tables_of(out, "sentence_scores"))
