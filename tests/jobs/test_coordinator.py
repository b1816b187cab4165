"""Manifest, resumption, the claim of a folder, and what happens when workers die, without any cluster."""

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from probing.core.errors import FactsError, JobError
from probing.jobs.coordinator import run_job
from probing.jobs.job import Job, Shard
from probing.jobs.local import LocalExecutor
from probing.jobs.lock import claimed
from probing.jobs.manifest import NAME, Line, append, read
from probing.jobs.retries import MAX_DEATHS, Attempts
from probing.jobs.worker import do_shards, take_back

ROOT = Path(__file__).resolve().parents[2]
SQUARES = {f"square-{n}.txt": str(n * n) for n in range(5)}


def calls(folder: Path) -> list[int]:
    path = folder / "calls.txt"
    return [int(line) for line in path.read_text().split()] if path.is_file() else []


def test_every_shard_is_done_once_and_the_second_call_does_nothing(job_of_squares, results):
    job = job_of_squares()
    assert run_job(job, LocalExecutor()).there == 0
    assert results(job.folder) == SQUARES
    assert run_job(job, LocalExecutor()).there == 5
    assert calls(job.folder) == [0, 1, 2, 3, 4]
    assert not list(job.folder.glob("*.token"))


def test_a_killed_coordinator_goes_on_where_the_manifest_ends(job_of_squares, results):
    job = job_of_squares(refuses=3)
    with pytest.raises(FactsError, match="no square of 3"):
        run_job(job, LocalExecutor())
    assert set(read(job.folder)) == {"square-0", "square-1", "square-2"}
    outcome = run_job(job_of_squares(), LocalExecutor())
    assert (outcome.there, [line.name for line in outcome.done]) == (3, ["square-3", "square-4"])
    assert calls(job.folder) == [0, 1, 2, 3, 4] and results(job.folder) == SQUARES


def test_a_torn_last_line_costs_its_shard_only_and_does_not_swallow_the_next(job_of_squares):
    job = job_of_squares()
    run_job(job, LocalExecutor())
    manifest = job.folder / NAME
    manifest.write_bytes(manifest.read_bytes()[:-20])
    assert run_job(job, LocalExecutor()).there == 4
    assert set(read(job.folder)) == {shard.name for shard in job.shards}
    assert calls(job.folder) == [0, 1, 2, 3, 4, 4]


@pytest.mark.parametrize("damage", ["flip", "cut", "remove"])
def test_a_file_that_is_not_what_its_line_says_is_made_again(job_of_squares, results, damage):
    job = job_of_squares()
    run_job(job, LocalExecutor())
    path = job.folder / "square-4.txt"
    {"flip": lambda: path.write_text("17"), "cut": lambda: path.write_text("1"), "remove": path.unlink}[damage]()
    found = path.read_text() if path.is_file() else None
    assert run_job(job, LocalExecutor()).there == 4
    assert results(job.folder) == SQUARES
    # It may be somebody's, such as a head that was pulled after the line was written.
    aside = path.with_name("square-4.txt.other")
    assert (aside.read_text() if aside.is_file() else None) == found


def test_lines_of_garbage_count_for_nothing(tmp_path):
    (tmp_path / NAME).write_bytes(b'\xff\xfe\n[]\n{"name": "a"}\n\n')
    append(tmp_path, Line("b", (("b.txt", "00"),), 1.5, "here"))
    assert read(tmp_path) == {"b": Line("b", (("b.txt", "00"),), 1.5, "here")}


def test_shards_need_names_of_their_own(tmp_path):
    with pytest.raises(ValueError, match="2 shards with 1 names"):
        Job(tmp_path, "a:b", {}, [Shard("same", {}), Shard("same", {})])


def test_a_worker_elsewhere_gives_the_same_lines_and_its_error_comes_back_as_its_own_class(job_of_squares):
    job, lines = job_of_squares(refuses=2), []
    (job.folder / "seen.token").touch()
    answer = json.loads(json.dumps(do_shards(job.sent(job.shards, "seen.token"))))
    with pytest.raises(FactsError, match="no square of 2"):
        take_back(answer, lines.append)
    assert [line.name for line in lines] == ["square-0", "square-1"]
    assert all(line.files[0][0] == f"{line.name}.txt" and len(line.files[0][1]) == 64 for line in lines)


def test_a_folder_that_is_not_shared_and_a_program_that_is_not_there_are_named(job_of_squares):
    job = job_of_squares()
    with pytest.raises(JobError, match=r"does not see .*PROBING_CACHE"):
        take_back(do_shards(job.sent(job.shards, "another-machines.token")), lambda line: None)
    with pytest.raises(JobError, match=r"no worker nowhere:nothing here .*pip install"):
        run_job(Job(job.folder, "nowhere:nothing", {}, job.shards), LocalExecutor())


def test_a_file_that_never_appears_here_is_named(job_of_squares, monkeypatch):
    monkeypatch.setattr("probing.jobs.coordinator.PATIENCE", 0.0)

    class Elsewhere:
        name = "elsewhere"

        def run(self, job, shards, token, finished):
            finished(Line(shards[0].name, (("gone.txt", "0" * 64),), 1.0, "far-away"))

    job = job_of_squares()
    with pytest.raises(JobError, match=r"far-away says that it wrote .*gone.txt"):
        run_job(job, Elsewhere())
    assert read(job.folder) == {}


def test_shards_that_come_back_undone_are_named(job_of_squares):
    class Idle:
        name = "idle"

        def run(self, job, shards, token, finished):
            pass

    with pytest.raises(JobError, match="5 shards were not done, such as square-0"):
        run_job(job_of_squares(), Idle())


def test_a_shard_may_lose_all_but_its_last_worker():
    attempts, shard = Attempts(), Shard("unlucky", {})
    for _ in range(MAX_DEATHS - 1):
        attempts.lose(shard, "killed")
    attempts.lose(Shard("another", {}), "killed")
    with pytest.raises(JobError, match=f"shard unlucky: {MAX_DEATHS} workers died .killed"):
        attempts.lose(shard, "trace\nkilled")


HOLDER = """
import sys
from pathlib import Path
from probing.jobs.lock import claimed
with claimed(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize("end", ["done", "killed"])
def test_the_second_coordinator_says_who_is_there_and_goes_on_after_it(tmp_path, end):
    folder = tmp_path / "job"
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
    )
    assert process.stdout.readline() == "held\n"
    said, waiting, entered = [], threading.Event(), threading.Event()

    def second():
        with claimed(folder, lambda text: (said.append(text), waiting.set())):
            entered.set()

    thread = threading.Thread(target=second)
    thread.start()
    assert waiting.wait(30) and not entered.is_set()
    assert f"process {process.pid} on {os.uname().nodename} is working on job" in said[0]
    if end == "killed":
        process.send_signal(signal.SIGKILL)
    process.communicate("")
    assert entered.wait(30)
    thread.join(30)
    assert len(said) == 1
    # Left by whoever was last; a killed holder's file was taken over.
    assert not folder.with_name("job.lock").exists()


def test_many_coordinators_are_never_two_at_a_time(tmp_path):
    inside, most, guard = [0], [0], threading.Lock()

    def enter():
        for _ in range(20):
            with claimed(tmp_path / "job", lambda text: None):
                with guard:
                    inside[0] += 1
                    most[0] = max(most[0], inside[0])
                with guard:
                    inside[0] -= 1

    threads = [threading.Thread(target=enter) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert (inside[0], most[0]) == (0, 1)


def test_a_file_system_without_locks_is_said_and_work_goes_on(tmp_path, monkeypatch, caplog):
    def none(*given):
        raise OSError(37, "No locks available")

    monkeypatch.setattr("fcntl.flock", none)
    with claimed(tmp_path / "job"):
        pass
    assert "has no locks" in caplog.text
