"""What a worker elsewhere is told is enough: every option of a run reaches it, and the bytes are those of the
coordinator alone.
"""

import json
from pathlib import Path

import pytest
import torch

from probing.jobs.worker import _opened, do_shards, take_back
from tests.commands.conftest import cache, facts_file, tiny_model  # noqa: F401


class Elsewhere:
    """Does shards as another process would: from JSON alone, with threads that are not the run's until the worker sets
    them.
    """

    name = "elsewhere"

    def __init__(self):
        self.threads = []

    def run(self, job, shards, token, finished):
        for shard in shards:
            torch.set_num_threads(2)
            _opened.cache_clear()
            answer = do_shards(job.sent([shard], token))
            self.threads.append(torch.get_num_threads())
            take_back(json.loads(json.dumps(answer)), finished)


@pytest.fixture()
def elsewhere(monkeypatch):
    """Has both commands hand their shards to it."""
    found, before = Elsewhere(), torch.get_num_threads()

    def use():
        for workflow in ("knowledge.probe", "stored_runs"):
            monkeypatch.setattr(f"probing.workflows.{workflow}.executor", lambda *given: found)
        return found

    yield use
    torch.set_num_threads(before)


def made(folder: Path, pattern: str) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.glob(pattern))}


@pytest.fixture()
def text(tmp_path):
    """A few words to learn from."""
    path = tmp_path / "text.txt"
    path.write_text("The capital of France is Paris and the sun is red and the moon is blue in the city .\n" * 2500)
    return path


@pytest.mark.parametrize(
    "options", ["logit_lens --float64", "logit_lens --compact", "logit_lens --top 3", "tied", "tied --seed 1"]
)
def test_probe_tells_its_workers_everything(options, run, cache, tiny_model, facts_file, text, elsewhere, tmp_path):  # noqa: F811
    if options.startswith("tied"):
        small = ("--text", text, "--valid", text, "--positions", 300, "--epochs", 1)
        run("train-heads", "--model", tiny_model, *small, "--head", *options.split())
    words = [
        "probe",
        "--model",
        tiny_model,
        "--facts",
        facts_file,
        "--shard",
        3,
        "--threads",
        1,
        "--head",
        *options.split(),
    ]
    run(*words, "--out", tmp_path / "here")
    there = elsewhere()
    run(*words, "--out", tmp_path / "there")
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
        "tied --states-budget 0.0008",
    ],
)
def test_train_heads_tells_its_workers_everything(options, run, cache, tiny_model, text, elsewhere, tmp_path):  # noqa: F811
    small = ("--text", text, "--valid", text, "--positions", 300, "--epochs", 1, "--threads", 1)
    words = ["train-heads", "--model", tiny_model, *small, "--head", *options.split()]
    run(*words, "--out", tmp_path / "here")
    there = elsewhere()
    run(*words, "--out", tmp_path / "there")
    heads = made(tmp_path / "here", "layer-*")
    assert made(tmp_path / "there", "layer-*") == heads
    assert there.threads == [1] * len(heads)
