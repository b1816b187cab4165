"""Real Ray with two workers: workers killed in the middle of a shard, and what cannot be helped."""

import os
import sys
import time
from pathlib import Path

import pytest

from probing.core.errors import FactsError, JobError
from probing.jobs.coordinator import run_job
from probing.jobs.manifest import read
from probing.jobs.on_ray import RayExecutor, stop_ray

ROOT = Path(__file__).resolve().parents[2]
SQUARES = {f"square-{n}.txt": str(n * n) for n in range(5)}


@pytest.fixture(scope="module")
def cluster():
    """Ray; worker processes find the planted workers."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(ROOT))
        yield RayExecutor(threads=1, workers=2)
        stop_ray()


@pytest.mark.slow
def test_a_worker_killed_in_the_middle_of_a_shard_costs_nothing(cluster, job_of_squares, results):
    job = job_of_squares(dies=3, times=1)
    outcome = run_job(job, cluster)
    assert results(job.folder) == SQUARES
    assert (job.folder / "death-0").is_file(), "a worker died"
    assert (outcome.there, sorted(read(job.folder))) == (0, [f"square-{n}" for n in range(5)])
    assert run_job(job, cluster).there == 5


@pytest.mark.slow
def test_a_shard_that_kills_every_worker_is_named_and_the_others_are_kept(cluster, job_of_squares):
    job = job_of_squares(n=3, dies=1, times=99)
    with pytest.raises(JobError, match="shard square-1: 3 workers died"):
        run_job(job, cluster)
    assert len(list(job.folder.glob("death-*"))) == 3
    assert {"square-0", "square-2"} & set(read(job.folder))


@pytest.mark.slow
def test_what_a_user_can_mend_comes_back_by_its_class_and_a_slip_with_its_cause(cluster, job_of_squares):
    with pytest.raises(FactsError, match="no square of 0"):
        run_job(job_of_squares(n=1, refuses=0), cluster)
    with pytest.raises(JobError, match=r"shard square-0 failed.*a slip of the program"):
        run_job(job_of_squares(n=1, breaks=0), cluster)


@pytest.mark.slow
def test_ray_leaves_nothing_in_the_home_folder_nor_in_the_environment(cluster, job_of_squares, tmp_path, monkeypatch):
    stop_ray()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    before = {name: value for name, value in os.environ.items() if name.startswith("RAY_AUTH")}
    places = set(Path("/tmp").glob("rp-*"))
    run_job(job_of_squares(n=1), cluster)
    stop_ray()
    assert not (tmp_path / "home").exists()
    assert {name: value for name, value in os.environ.items() if name.startswith("RAY_AUTH")} == before
    assert set(Path("/tmp").glob("rp-*")) == places


@pytest.mark.slow
def test_a_cluster_that_does_not_answer_is_named(job_of_squares):
    stop_ray()
    began = time.monotonic()
    with pytest.raises(JobError, match=r"no Ray cluster can be used at 127\.0\.0\.1:9 .*ray start"):
        run_job(job_of_squares(), RayExecutor(address="127.0.0.1:9"))
    assert time.monotonic() - began < 30


def test_an_extra_that_is_not_installed_is_named_with_its_command(job_of_squares, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(
        JobError, match=r"needs Ray, which is not installed; install it with: pip install -e '\.\[ray\]'"
    ):
        run_job(job_of_squares(), RayExecutor())
