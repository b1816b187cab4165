"""A job of squares."""

from pathlib import Path

import pytest

from probing.jobs.job import Job, Shard


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
