"""Manifest, resumption and the claim of a folder, without any cluster."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from probing.kernel.errors import FactsError, JobError
from probing.kernel.jobs.shards import MANIFEST, Line, LocalExecutor, add_line, claimed, read_manifest, run_job

ROOT = Path(__file__).resolve().parents[2]
SQUARES = {f"square-{n}.txt": str(n * n) for n in range(5)}


def calls(folder: Path) -> list[int]:
    return [int(line) for line in (folder / "calls.txt").read_text().split()]


def results(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in sorted(folder.glob("square-*.txt"))}


def test_a_killed_coordinator_goes_on_where_the_manifest_ends_and_then_nothing_is_left(squares):
    work = squares(refuses=3)
    with pytest.raises(FactsError, match="no square of 3"):
        run_job(work, LocalExecutor())
    assert set(read_manifest(work.folder)) == {"square-0", "square-1", "square-2"}
    outcome = run_job(squares(), LocalExecutor())
    assert (outcome.there, [line.name for line in outcome.done]) == (3, ["square-3", "square-4"])
    assert run_job(squares(), LocalExecutor()).there == 5
    assert calls(work.folder) == [0, 1, 2, 3, 4] and results(work.folder) == SQUARES
    assert not list(work.folder.glob("*.token"))


def test_a_torn_last_line_costs_its_shard_only_and_does_not_swallow_the_next(squares):
    work = squares()
    run_job(work, LocalExecutor())
    manifest = work.folder / MANIFEST
    manifest.write_bytes(manifest.read_bytes()[:-20])
    assert run_job(work, LocalExecutor()).there == 4
    assert set(read_manifest(work.folder)) == set(work.shards)
    assert calls(work.folder) == [0, 1, 2, 3, 4, 4]


@pytest.mark.parametrize("damage", ["flip", "cut", "remove"])
def test_a_file_that_is_not_what_its_line_says_is_made_again(squares, damage):
    work = squares()
    run_job(work, LocalExecutor())
    path = work.folder / "square-4.txt"
    {"flip": lambda: path.write_text("17"), "cut": lambda: path.write_text("1"), "remove": path.unlink}[damage]()
    found = path.read_text() if path.is_file() else None
    assert run_job(work, LocalExecutor()).there == 4
    assert results(work.folder) == SQUARES
    # It may be somebody's, such as a head that was pulled after the line was written.
    aside = path.with_name("square-4.txt.other")
    assert (aside.read_text() if aside.is_file() else None) == found


def test_lines_of_garbage_count_for_nothing(tmp_path):
    (tmp_path / MANIFEST).write_bytes(b'\xff\xfe\n[]\n{"name": "a"}\n\n')
    add_line(tmp_path, Line("b", (("b.txt", "00"),), 1.5, "here"))
    assert read_manifest(tmp_path) == {"b": Line("b", (("b.txt", "00"),), 1.5, "here")}


def test_shards_that_come_back_undone_and_files_that_never_appear_here_are_named(squares, monkeypatch):
    monkeypatch.setattr("probing.kernel.jobs.shards.PATIENCE", 0.0)

    class Faulty:
        name, lines = "faulty", ()

        def run(self, work, names, token, finished):
            for line in self.lines:
                finished(line)

    with pytest.raises(JobError, match="5 shards were not done, such as square-0"):
        run_job(squares(), Faulty())
    Faulty.lines = (Line("square-0", (("gone.txt", "0" * 64),), 1.0, "far-away"),)
    with pytest.raises(JobError, match=r"far-away says that it wrote .*gone.txt"):
        run_job(squares(), Faulty())
    assert read_manifest(squares().folder) == {}


HOLDER = """
import sys
from pathlib import Path
from probing.kernel.jobs.shards import claimed
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
