"""What every test that hands work out needs."""

from pathlib import Path

import pytest
import torch

from probing.kernel.jobs.ray import stop_ray
from tests.jobs.planted import Elsewhere, Squares

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
def elsewhere(monkeypatch):
    """Has every command hand its shards to another process, as it were."""
    before = torch.get_num_threads()

    def use() -> Elsewhere:
        found = Elsewhere()
        for place in ("facts.probe", "kernel.jobs.stored_runs"):
            monkeypatch.setattr(f"probing.{place}.executor", lambda *given: found)
        return found

    yield use
    torch.set_num_threads(before)


@pytest.fixture()
def squares(tmp_path):
    """Makes work whose shards write the squares of 0..4 into its folder."""

    def make(**given) -> Squares:
        (tmp_path / "squares").mkdir(exist_ok=True)
        return Squares(tmp_path / "squares", **given)

    return make
