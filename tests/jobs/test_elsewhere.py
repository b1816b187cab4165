"""What a process elsewhere is sent is enough: every option reaches it, and the bytes are those of the coordinator."""

import pickle
import shutil
from pathlib import Path

import pytest

from probing.kernel.errors import HeadError, JobError
from probing.kernel.models.catalogue import open_encoder


def made(folder: Path, pattern: str) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.glob(pattern))}


@pytest.fixture()
def text(tmp_path):
    """A few words to learn from."""
    path = tmp_path / "text.txt"
    path.write_text("The capital of France is Paris and the sun is red and the moon is blue in the city .\n" * 2500)
    return path


@pytest.fixture()
def words(cache, tiny_model, text):
    """``train-heads`` on them."""
    small = ("--text", text, "--valid", text, "--positions", 300, "--epochs", 1, "--threads", 1)
    return ["train-heads", "--model", tiny_model, *small]


@pytest.mark.parametrize(
    "options", ["logit_lens --dtype float64", "logit_lens --compact", "logit_lens --top 3", "tied", "tied --seed 1"]
)
def test_probe_tells_its_workers_everything(options, run, words, tiny_model, facts_file, elsewhere, tmp_path):
    if options.startswith("tied"):
        run(*words, "--head", *options.split())
    asked = ["probe", "--model", tiny_model, "--facts", facts_file, "--shard", 3, "--threads", 1]
    run(*asked, "--head", *options.split(), "--out", tmp_path / "here")
    there = elsewhere()
    run(*asked, "--head", *options.split(), "--out", tmp_path / "there")
    assert made(tmp_path / "there", "predictions-*") == made(tmp_path / "here", "predictions-*")
    assert there.threads == [1, 1], "four facts in two shards"


@pytest.mark.parametrize(
    "options",
    [
        "full --half",
        "full --precision bfloat16",
        "tied --states-dtype float16",
        "tied --blocks 20 --blocks-per-step 2",
        "tied --seed 2",
        "tied --start random --rate 0.01 --batch 50",
        "tied --states-budget 0.0008 --layers-per-shard 2",
    ],
)
def test_train_heads_tells_its_workers_everything(options, run, words, elsewhere, tmp_path):
    run(*words, "--head", *options.split(), "--out", tmp_path / "here")
    there = elsewhere()
    run(*words, "--head", *options.split(), "--out", tmp_path / "there")
    heads = made(tmp_path / "here", "layer-*")
    assert made(tmp_path / "there", "layer-*") == heads
    assert set(there.threads) == {1}


def test_heads_are_trained_once_a_damaged_one_again_and_those_of_another_recipe_are_left_alone(run, words, tmp_path):
    run(*words, "--head", "tied", "--out", tmp_path)
    here, times = (made(tmp_path, "layer-*"), {path: path.stat().st_mtime_ns for path in tmp_path.glob("layer-*")})
    run(*words, "--head", "tied", "--out", tmp_path)
    assert {path: path.stat().st_mtime_ns for path in times} == times
    damaged = tmp_path / "layer-01.safetensors"
    flipped = bytearray(damaged.read_bytes())
    flipped[-3] ^= 1
    damaged.write_bytes(flipped)
    run(*words, "--head", "tied", "--out", tmp_path)
    assert {name: here[name] for name in here} == {path.name: path.read_bytes() for path in times} and len(here) == 3
    with pytest.raises(HeadError, match="another recipe"):
        run(*words, "--head", "tied", "--batch", 50, "--out", tmp_path)
    assert {path.name: path.read_bytes() for path in times} == here


def test_a_model_is_opened_again_from_another_folder_and_refused_if_it_is_another_there(
    cache, tiny_model, tmp_path, monkeypatch
):
    shutil.copytree(tiny_model, tmp_path / "here" / "tiny")
    monkeypatch.chdir(tmp_path / "here")
    encoder = open_encoder("tiny", base="../here/tiny", device="cpu", name="mine")
    sent = pickle.dumps(encoder)
    monkeypatch.chdir(tmp_path)
    again = pickle.loads(sent)
    assert (again.name, again.weights_id, again.base) == ("mine", encoder.weights_id, encoder.base)
    weights = tmp_path / "here" / "tiny" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-4] + b"\0\0\0\0")
    with pytest.raises(JobError, match=r"a worker's weights of mine: got .*, the coordinator's"):
        pickle.loads(sent)
