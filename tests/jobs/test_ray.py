"""Real Ray with two workers: killed workers, a run that starts here and ends on a cluster, always the same bytes."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from probing.changes.measure_run import measure_changes
from probing.changes.requests import ChangesRequest
from probing.edges.requests import EdgesRequest
from probing.edges.train import train_edges
from probing.facts import probe as workflow
from probing.facts.probe import probe
from probing.facts.requests import ProbeRequest
from probing.heads.requests import HeadsRequest
from probing.heads.training_run import train_all_heads
from probing.kernel.errors import FactsError, JobError
from probing.kernel.jobs.ray import RayExecutor, stop_ray
from probing.kernel.jobs.shards import read_manifest, run_job
from probing.kernel.requests import ExecutorChoice, Who
from probing.sentences.requests import SentencesRequest
from probing.sentences.train import train_sentences
from tests.edges.planted_tasks import QUICK, task_folder
from tests.fixtures.commands import bytes_of
from tests.jobs import planted
from tests.sentences.planted_tasks import labelled, write_task

ROOT = Path(__file__).resolve().parents[2]
RAY = ("--executor", "ray", "--workers", 2)


@pytest.fixture(scope="module")
def cluster():
    """Ray; worker processes find the planted work."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(ROOT))
        yield RayExecutor(threads=1, workers=2)
        stop_ray()


@pytest.mark.slow
def test_a_worker_killed_in_the_middle_of_a_shard_costs_nothing(cluster, squares):
    work = squares(dies=3, times=1)
    assert run_job(work, cluster).there == 0
    assert [(work.folder / f"{name}.txt").read_text() for name in work.shards] == ["0", "1", "4", "9", "16"]
    assert (work.folder / "death-0").is_file(), "a worker died"
    assert run_job(work, cluster).there == 5


@pytest.mark.slow
def test_a_shard_that_kills_every_worker_is_named_and_the_others_are_kept(cluster, squares):
    work = squares(n=3, dies=1, times=99)
    with pytest.raises(JobError, match="shard square-1: 3 workers died"):
        run_job(work, cluster)
    assert len(list(work.folder.glob("death-*"))) == 3
    assert {"square-0", "square-2"} & set(read_manifest(work.folder))


@pytest.mark.slow
def test_what_a_user_can_mend_comes_back_by_its_class_and_a_slip_with_its_cause(cluster, squares, monkeypatch):
    with pytest.raises(FactsError, match=r"^no square of 0$"):
        run_job(squares(n=1, refuses=0), cluster)
    with pytest.raises(JobError, match=r"shard square-0 failed.*a slip of the program"):
        run_job(squares(n=1, breaks=0), cluster)
    monkeypatch.setattr("probing.kernel.jobs.ray.__version__", "0.0")
    with pytest.raises(JobError, match=r"a worker's version: got .*, expected 0\.0"):
        run_job(squares(n=1), cluster)


@pytest.mark.slow
def test_ray_leaves_nothing_in_the_home_folder_nor_in_the_environment(cluster, squares, tmp_path, monkeypatch):
    stop_ray()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    before = {name: value for name, value in os.environ.items() if name.startswith("RAY_AUTH")}
    places = set(Path("/tmp").glob("rp-*"))
    run_job(squares(n=1), cluster)
    stop_ray()
    assert not (tmp_path / "home").exists()
    assert {name: value for name, value in os.environ.items() if name.startswith("RAY_AUTH")} == before
    assert set(Path("/tmp").glob("rp-*")) == places


@pytest.mark.slow
def test_a_cluster_that_does_not_answer_is_named(squares):
    stop_ray()
    began = time.monotonic()
    with pytest.raises(JobError, match=r"no Ray cluster can be used at 127\.0\.0\.1:9 .*ray start"):
        run_job(squares(), RayExecutor(address="127.0.0.1:9"))
    assert time.monotonic() - began < 30


#: Command -> its function, its request, its work, and what one process is asked to do on tiny data.
COMMANDS = {
    "probe": (probe, ProbeRequest, "Probing", lambda root: {"shard": 1, "head": "logit_lens"}),
    "heads": (
        train_all_heads,
        HeadsRequest,
        "HeadWork",
        lambda root: {"text": root / "text", "valid": root / "text", "positions": 300, "epochs": 2},
    ),
    "edges": (
        train_edges,
        EdgesRequest,
        "EdgeWork",
        lambda root: {
            "tasks": (str(task_folder(root / "words")),),
            "kinds": ("cumulative", "at"),
            "labels": ("task", "control"),
            "codes": True,
            "recipe": QUICK,
        },
    ),
    "sentences": (
        train_sentences,
        SentencesRequest,
        "SentenceWork",
        lambda root: {
            "tasks": tuple(str(write_task(root / f"{n}.tsv", labelled(240, n))) for n in range(2)),
            "readings": ("own",),
            "portions": (1,),
            "codes": False,
        },
    ),
    "changes": (
        measure_changes,
        ChangesRequest,
        "ChangeWork",
        lambda root: {"text": root / "text", "sentences": 5, "blocks": 0},
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_with_a_worker_killed_in_the_middle_of_a_shard_the_bytes_are_those_of_one_process(
    cache, one_thread, tiny_model, facts_file, tmp_path, monkeypatch, command
):
    (tmp_path / "text").write_text("The capital of France is Paris and the sun is red .\n" * 3000 + "rome is blue\n")
    call, kind, work, given = COMMANDS[command]
    options = given(tmp_path) | ({"facts": str(facts_file)} if command == "probe" else {})
    said = []

    def made(out: Path, **more) -> dict[str, object]:
        call(kind(str(tiny_model), out=out, device="cpu", threads=1, **options, **more), said.append)
        found = bytes_of(out) | {path.name: path.read_bytes() for path in out.glob("layer-*.safetensors")}
        return {name: content for name, content in found.items() if not name.startswith("runs-")}

    here = made(tmp_path / "here")
    monkeypatch.setenv("PROBING_CACHE", str(tmp_path / "cache-there"))
    monkeypatch.setattr(sys.modules[call.__module__], work, getattr(planted, f"Mortal{work}"))
    there = made(tmp_path / "there", executor=ExecutorChoice(Who.ray, workers=2))
    assert len(list(tmp_path.rglob("death"))) == 1
    assert any("shards done on" in line for line in said)
    assert there == here and here


@pytest.fixture()
def words(tiny_model, facts_file):
    """``probe``, one fact a shard."""
    return ["probe", "--model", tiny_model, "--facts", facts_file, "--head", "logit_lens", "--shard", 1, "--threads", 1]


def predictions(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.glob("predictions-*.parquet"))}


#: Runs the command line and dies with the second shard in the manifest.
DIES_AFTER_TWO_SHARDS = """
import sys
from pathlib import Path
from probing.main import app
from probing.kernel.jobs import shards
from tests.jobs.planted import killed_once
with killed_once(shards, "add_line", 2, Path(sys.argv[1])):
    app(sys.argv[2:])
"""


@pytest.mark.slow
def test_started_here_killed_and_ended_on_ray_the_bytes_are_the_same(
    run, cache, one_thread, words, tmp_path, monkeypatch
):
    run(*words, "--out", tmp_path / "here")
    call = [
        sys.executable,
        "-c",
        DIES_AFTER_TWO_SHARDS,
        tmp_path / "death",
        *map(str, words),
        "--out",
        tmp_path / "ray",
    ]
    assert subprocess.run(call, cwd=ROOT, stderr=subprocess.DEVNULL, timeout=120).returncode == -signal.SIGKILL
    assert not predictions(tmp_path / "ray")
    (job,) = [path for path in (cache / "shards").iterdir() if path.is_dir()]
    before = {path: path.stat().st_mtime_ns for path in job.glob("shard-*.safetensors")}
    real, after = workflow.run_job, {}

    def watched(work, executor):
        outcome = real(work, executor)
        after.update({path: path.stat().st_mtime_ns for path in before})
        assert set(read_manifest(work.folder)) == set(work.shards)
        return outcome

    monkeypatch.setattr(workflow, "run_job", watched)
    run(*words, *RAY, "--out", tmp_path / "ray")
    assert after == before and len(before) == 2, "finished shards are left alone"
    assert predictions(tmp_path / "ray") == predictions(tmp_path / "here")


@pytest.mark.slow
def test_two_coordinators_of_one_run_end_with_one_run(run, cache, words, tmp_path):
    run(*words, "--out", tmp_path / "here")
    command = [sys.executable, "-m", "probing", *map(str, words), "--out", str(tmp_path / "both")]
    both = [
        subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        for _ in range(2)
    ]
    said = [process.communicate(timeout=120)[0] for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert predictions(tmp_path / "both") == predictions(tmp_path / "here")
    assert sum("exists already" in text for text in said) == 1
    assert not list((cache / "shards").iterdir())
