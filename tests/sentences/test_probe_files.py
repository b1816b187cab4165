"""Files of sentence probes: they predict as trained, and damaged files or those of another model are refused."""

import json
from dataclasses import replace

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file

from probing.kernel.errors import HeadError
from probing.kernel.models.arrays import FILE
from probing.kernel.models.load import load_encoder
from probing.sentences.ask import ask_sentence, verdicts
from probing.sentences.probes import answers, find_probes, probes_folder, read_probes, write_probes
from tests.sentences.planted import drawn, fitted, plant, task_probes
from tests.tiny_models import HIDDEN, LAYERS, save


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    return load_encoder(save("bert", tmp_path_factory.mktemp("files") / "tiny"), device="cpu", name="tiny")


@pytest.fixture(scope="module", params=[2, 4])
def probes(request):
    return fitted(classes=request.param)


def test_what_was_written_is_read_and_equal_probes_are_equal_bytes(probes, tmp_path):
    given = task_probes(probes)
    path = write_probes(given, tmp_path / "a")
    found = read_probes(path, given.weights_id)
    for name, value in vars(given).items():
        assert np.array_equal(getattr(found, name), value), name
    assert write_probes(found, tmp_path / "b").read_bytes() == path.read_bytes()
    # 16 bits a weight.
    assert path.stat().st_size < probes.weights.size * 2 + 4096


def test_a_file_answers_as_the_probes_do(probes, tmp_path):
    vectors, _ = drawn(400, classes=probes.classes, seed=7)
    vectors[:, 0] += 50  # A mean far from 0 must not cost the digits of 16 bits.
    moved = replace(probes, mean=probes.mean + np.array([50, 0, 0], np.float32)[None, :, None])
    stored = read_probes(plant(tmp_path, task_probes(moved)))
    said = np.stack([verdicts(stored, vectors[:, :, [n]]).label for n in range(400)], 2)
    assert (said == answers(moved, vectors)).mean() > 0.995


def test_probabilities_add_up_and_the_margin_is_between_the_two_likeliest(probes, tmp_path):
    vectors, _ = drawn(1, classes=probes.classes, seed=3)
    found = verdicts(read_probes(plant(tmp_path, task_probes(probes))), vectors)
    assert found.p.shape == (*probes.c.shape, probes.classes) and found.p.sum(2) == pytest.approx(1)
    ordered = np.sort(found.p, 2)
    assert found.margin == pytest.approx(np.log(ordered[:, :, -1] / ordered[:, :, -2]))
    assert (found.label == found.p.argmax(2)).all()


def test_a_constant_layer_says_the_same_of_every_sentence(tmp_path):
    probes = fitted()
    probes.scale[0, 0] = np.inf
    probes.weights[0, 0] = 0
    found = read_probes(plant(tmp_path, task_probes(probes)))
    assert not found.weights[0, 0].any()
    assert (found.bias[0, 0] == probes.bias[0, 0]).all()


@pytest.mark.parametrize("fault", ["missing", "cut", "empty", "flipped", "header", "foreign"])
def test_a_torn_file_is_refused_by_name(fault, probes, tmp_path):
    path = plant(tmp_path, task_probes(probes))
    whole = path.read_bytes()
    if fault == "missing":
        path.unlink()
    elif fault == "header":
        path.write_bytes(whole.replace(b"Planted", b"Plented"))
    elif fault == "foreign":
        save_file({"weights": np.zeros(3, np.float32)}, path)
    else:
        path.write_bytes(
            {"cut": whole[:-9], "empty": b"", "flipped": whole[:-9] + bytes([whole[-9] ^ 1]) + whole[-8:]}[fault]
        )
    with pytest.raises(HeadError, match=r"cannot read the sentence probes in .*; delete the file and train them again"):
        read_probes(path)


def test_probes_of_another_model_are_refused(probes, tmp_path):
    path = plant(tmp_path, task_probes(probes))
    with pytest.raises(HeadError, match="were trained on weights aaaaaaaaaaaa"):
        read_probes(path, "b" * 64)


def test_probes_are_found_where_they_were_trained_then_where_they_ship(probes, tmp_path, monkeypatch):
    monkeypatch.setattr("probing.sentences.probes.SHIPPED", tmp_path / "shipped")
    identity = "c" * 64
    here = plant(tmp_path, task_probes(probes, identity, "past-present"))
    shipped = {}
    for task, owner in (("past-present", identity), ("cola", identity), ("rte", "e" * 64)):
        shipped[task] = write_probes(task_probes(probes, owner, task), tmp_path / "shipped" / "tiny" / task)
    assert find_probes("tiny", identity, tmp_path) == {"cola": shipped["cola"], "past-present": here}
    shipped["cola"].write_bytes(b"torn")
    assert find_probes("tiny", identity, tmp_path)["cola"] == shipped["cola"]


def test_a_header_says_what_it_was_made_of(probes, tmp_path):
    with safe_open(plant(tmp_path, task_probes(probes)), framework="numpy") as stream:
        about = json.loads(stream.metadata()["probes"])
    assert {"identity", "data", "labels", "right", "tested", "majority", "c", "protocol"} <= set(about)


def of_encoder(encoder, **more):
    probes = fitted(hidden=HIDDEN, layers=LAYERS + 1)
    return task_probes(probes, encoder.weights_id, **more)


def test_one_sentence_asks_the_tasks_of_one_sentence_and_a_pair_those_of_two(encoder):
    probes = [of_encoder(encoder), of_encoder(encoder, task="rte", pairs=True)]
    assert [one.probes.task for one in ask_sentence(encoder, probes, "paris is red")] == ["planted"]
    assert [one.probes.task for one in ask_sentence(encoder, probes, "paris is red", "rome is red")] == ["rte"]
    found = ask_sentence(encoder, probes, "paris is red")[0]
    assert found.p.shape == (2, LAYERS + 1, 2)


def test_a_file_lies_in_the_folder_of_its_weights_and_task(tmp_path):
    assert (
        probes_folder(tmp_path, "f" * 64, "cola") / FILE
        == tmp_path / "sentences" / ("f" * 16) / "cola" / "probes.safetensors"
    )
