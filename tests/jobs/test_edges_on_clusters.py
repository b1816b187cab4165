"""``edges train`` handed out: the tables of one process, though a worker dies."""

from pathlib import Path

import pytest

from probing.workflows.edges.train import train_edges
from probing.workflows.executors import ExecutorChoice, Who
from probing.workflows.requests.edges import EdgesRequest
from tests.commands.conftest import bytes_of, cache, tiny_model  # noqa: F401
from tests.commands.edge_tasks import QUICK, task_folder

pytestmark = pytest.mark.usefixtures("one_thread")


def request(model: Path, tasks, out: Path, **changed) -> EdgesRequest:
    return EdgesRequest(
        str(model),
        tuple(map(str, tasks)),
        kinds=("cumulative", "at"),
        labels=("task", "control"),
        codes=True,
        recipe=QUICK,
        out=out,
        device="cpu",
        threads=1,
        **changed,
    )


@pytest.mark.slow
def test_with_a_worker_killed_while_it_trains_the_tables_are_those_of_one_process(
    cache, tiny_model, tmp_path, monkeypatch
):  # noqa: F811
    tasks = [task_folder(tmp_path / "words")]
    here = bytes_of(train_edges(request(tiny_model, tasks, tmp_path / "here")))
    monkeypatch.setenv("PROBING_CACHE", str(tmp_path / "cache-there"))
    monkeypatch.setattr("probing.workflows.edges.train.OPENER", "tests.jobs.planted:mortal_edges")
    # Workers inherit it; it says where the death is noted.
    monkeypatch.setenv("PROBING_SNAPSHOT", str(tmp_path / "deaths"))
    (tmp_path / "deaths").mkdir()
    out = train_edges(request(tiny_model, tasks, tmp_path / "there", executor=ExecutorChoice(Who.ray, workers=2)))
    assert (tmp_path / "deaths" / "death").is_file() and bytes_of(out) == here
