"""``probe`` handed out: killed workers, a run that starts here and ends on a cluster, and always the same bytes."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from probing.core.errors import JobError
from probing.jobs.manifest import read
from tests.commands.conftest import cache, facts_file, tiny_model  # noqa: F401

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.usefixtures("one_thread")
RAY = ("--executor", "ray", "--workers", 2)


def stored(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.glob("predictions-*.parquet"))}


@pytest.fixture()
def words(tiny_model, facts_file):  # noqa: F811
    """The command, one fact a shard."""
    return ["probe", "--model", tiny_model, "--facts", facts_file, "--head", "logit_lens", "--shard", 1, "--threads", 1]


@pytest.fixture()
def here(run, cache, words, tmp_path):  # noqa: F811
    """What one undisturbed process writes."""
    run(*words, "--out", tmp_path / "here")
    return stored(tmp_path / "here")


@pytest.mark.slow
def test_with_a_worker_killed_in_the_middle_of_a_shard_the_bytes_are_those_of_one_process(
    run, words, here, tmp_path, monkeypatch
):
    monkeypatch.setattr("probing.workflows.knowledge.shard_work.OPENER", "tests.jobs.planted:mortal_probing")
    # Workers inherit it; it says where the death is noted.
    monkeypatch.setenv("PROBING_SNAPSHOT", str(tmp_path / "deaths"))
    (tmp_path / "deaths").mkdir()
    output = run(*words, *RAY, "--out", tmp_path / "ray").output
    assert len(list((tmp_path / "deaths").iterdir())) == 1
    assert "4 shards done on" in output
    assert stored(tmp_path / "ray") == here and len(here) == 1


@pytest.mark.slow
def test_started_here_killed_and_ended_on_ray_the_bytes_are_the_same(run, cache, words, here, tmp_path):  # noqa: F811
    killed = subprocess.Popen(
        [sys.executable, "-c", DIES_AFTER_TWO_SHARDS, *map(str, words), "--out", str(tmp_path / "ray")],
        cwd=ROOT,
        stderr=subprocess.DEVNULL,
    )
    assert killed.wait(120) == -signal.SIGKILL
    assert not stored(tmp_path / "ray")
    (job,) = [path for path in (cache / "shards").iterdir() if path.is_dir()]
    assert len(list(job.glob("shard-*.safetensors"))) == 2
    before = {path: path.stat().st_mtime_ns for path in job.glob("shard-*.safetensors")}
    after = {}

    import probing.workflows.knowledge.probe as workflow

    real = workflow.run_job

    def watched(given, executor):
        outcome = real(given, executor)
        after.update({path: path.stat().st_mtime_ns for path in before})
        assert set(read(given.folder)) == {shard.name for shard in given.shards}
        return outcome

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(workflow, "run_job", watched)
        run(*words, *RAY, "--out", tmp_path / "ray")
    assert after == before, "finished shards are left alone"
    assert stored(tmp_path / "ray") == here


#: Runs the command line and dies with the second shard on disk and the third begun.
DIES_AFTER_TWO_SHARDS = """
import os, signal, sys
import probing.models.knowledge.probe as module
real, count = module.read_out, [0]
def read_out(*given, **named):
    count[0] += 1
    if count[0] == 8:
        import time
        from pathlib import Path
        folder = Path(os.environ["PROBING_CACHE"]) / "shards"
        until = time.monotonic() + 30
        while len(list(folder.rglob("shard-*.safetensors"))) < 2 and time.monotonic() < until:
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGKILL)
    return real(*given, **named)
module.read_out = read_out
from probing.commands.main import app
from tests.shipped import SNAPSHOT
app(sys.argv[1:])
"""


@pytest.mark.slow
def test_two_coordinators_of_one_run_end_with_one_run(run, cache, words, here, tmp_path):  # noqa: F811
    command = [sys.executable, "-m", "probing", *map(str, words), "--out", str(tmp_path / "both")]
    both = [
        subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        for _ in range(2)
    ]
    said = [process.communicate(timeout=120)[0] for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert stored(tmp_path / "both") == here
    assert sum("exists already" in text for text in said) == 1
    assert not list((cache / "shards").iterdir())


@pytest.mark.slow
def test_a_worker_with_another_model_is_refused(run, words, here, tiny_model, tmp_path, monkeypatch):  # noqa: F811
    monkeypatch.setattr(
        "probing.workflows.knowledge.shard_work.OPENER", "tests.jobs.planted:probing_of_another_version"
    )
    with pytest.raises(JobError, match="a worker's version: got 0"):
        run(*words, *RAY, "--out", tmp_path / "refused")
    assert not stored(tmp_path / "refused")


def test_options_of_another_executor_are_refused(run, words):
    run(*words, "--address", "auto", code=2)
    run(*words, "--executor", "ray", "--address", "auto", "--workers", 2, code=2)
    run(*words, "--workers", 2, code=2)
    run(*words, "--executor", "abacus", code=2)


def test_who_computes_is_no_part_of_a_run(tmp_path):
    from probing.core.knowledge.run import RunConfig

    assert not {"executor", "workers", "address", "host"} & set(RunConfig.model_fields)
