"""``train-heads`` handed out: the heads of one process, whoever dies."""

from pathlib import Path

import pytest

from probing.core.errors import HeadError
from tests.commands.conftest import cache, tiny_model  # noqa: F401

pytestmark = pytest.mark.usefixtures("one_thread")
RAY = ("--executor", "ray", "--workers", 2)


@pytest.fixture()
def words(cache, tiny_model, tmp_path):  # noqa: F811
    """The command on a few sentences."""
    text = tmp_path / "text.txt"
    text.write_text("The capital of France is Paris and the sun is red and the moon is blue in the city .\n" * 2500)
    given = {
        "--model": tiny_model,
        "--head": "tied",
        "--text": text,
        "--valid": text,
        "--positions": 300,
        "--epochs": 2,
        "--threads": 1,
    }
    return ["train-heads", *(word for pair in given.items() for word in pair)]


def heads(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.glob("layer-*.safetensors"))}


@pytest.fixture()
def here(run, words, tmp_path):
    """What one undisturbed process trains."""
    run(*words, "--out", tmp_path / "here")
    return heads(tmp_path / "here")


def test_the_second_call_trains_nothing_and_a_damaged_head_is_trained_again(run, words, here, tmp_path):
    folder = tmp_path / "here"
    before = {path: path.stat().st_mtime_ns for path in folder.iterdir()}
    run(*words, "--out", folder)
    assert {path: path.stat().st_mtime_ns for path in folder.iterdir()} == before
    damaged = folder / "layer-01.safetensors"
    flipped = bytearray(damaged.read_bytes())
    flipped[-3] ^= 1
    damaged.write_bytes(flipped)
    run(*words, "--out", folder)
    assert heads(folder) == here and len(here) == 3


def test_heads_of_another_recipe_are_left_alone(run, words, here, tmp_path):
    folder = tmp_path / "here"
    with pytest.raises(HeadError, match="another recipe"):
        run(*words, "--epochs", 1, "--out", folder)
    assert heads(folder) == here


def test_groups_of_layers_do_not_change_the_heads(run, words, here, tmp_path):
    run(*words, "--layers-per-shard", 2, "--out", tmp_path / "grouped")
    assert heads(tmp_path / "grouped") == here


@pytest.mark.slow
def test_with_a_worker_killed_while_it_trains_the_heads_are_those_of_one_process(
    run, words, here, tmp_path, monkeypatch
):
    monkeypatch.setattr("probing.workflows.heads.work.OPENER", "tests.jobs.planted:mortal_training")
    # Workers inherit it; it says where the death is noted.
    monkeypatch.setenv("PROBING_SNAPSHOT", str(tmp_path / "deaths"))
    (tmp_path / "deaths").mkdir()
    output = run(*words, *RAY, "--out", tmp_path / "there").output
    assert len(list((tmp_path / "deaths").iterdir())) == 1
    assert "3 shards done on" in output
    assert heads(tmp_path / "there") == here
