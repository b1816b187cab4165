"""A job of squares, and what every test that hands work out needs."""

from pathlib import Path

import pytest
import torch

from probing.jobs.job import Job, Shard
from probing.jobs.on_ray import stop_ray

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture()
def one_thread(monkeypatch):
    """A shard takes one processor; workers find the tests' own modules."""
    before = torch.get_num_threads()
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    yield
    torch.set_num_threads(before)
    stop_ray()


@pytest.fixture()
def job_of_squares(tmp_path):
    """Makes a job whose shards write the squares of 0..n-1 into its folder."""

    def make(n: int = 5, folder: Path | None = None, **setup) -> Job:
        place = folder or tmp_path / "squares"
        place.mkdir(parents=True, exist_ok=True)
        shards = [Shard(f"square-{number}", {"number": number}) for number in range(n)]
        return Job(place, "tests.jobs.planted:squares", {"folder": str(place), **setup}, shards)

    return make


@pytest.fixture()
def results():
    """The squares in a job's folder, by name."""

    def read(folder: Path) -> dict[str, str]:
        return {path.name: path.read_text() for path in sorted(folder.glob("square-*.txt"))}

    return read
