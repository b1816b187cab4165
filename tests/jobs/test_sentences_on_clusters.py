"""``sentences train`` handed out: the tables of one process, also with a worker that dies."""

import shutil

import pytest

from probing.workflows.executors import ExecutorChoice, Who
from probing.workflows.requests.sentences import SentencesRequest
from probing.workflows.sentences import train as module
from probing.workflows.sentences.train import train_sentences
from tests.commands.conftest import bytes_of, cache, tiny_model  # noqa: F401
from tests.commands.sentence_tasks import labelled, write_task

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.mark.slow
def test_tasks_handed_to_ray_have_the_tables_of_one_process_also_where_a_worker_dies(
    cache, tiny_model, tmp_path, monkeypatch
):  # noqa: F811
    tasks = [str(write_task(tmp_path / f"{name}.tsv", labelled(240, seed))) for seed, name in enumerate(("one", "two"))]
    tuned = shutil.copytree(tiny_model, tmp_path / "tuned")
    (tmp_path / "snapshot").mkdir()
    for name, choice in {"here": ExecutorChoice(), "there": ExecutorChoice(Who.ray, workers=2)}.items():
        monkeypatch.setenv("PROBING_CACHE", str(tmp_path / f"cache-{name}"))
        if name == "there":
            monkeypatch.setattr(module, "OPENER", "tests.jobs.planted:mortal_sentences")
        train_sentences(
            SentencesRequest(
                str(tuned),
                tuple(tasks),
                base=str(tiny_model),
                readings=("own", "frozen"),
                portions=(1,),
                codes=False,
                out=tmp_path / name,
                device="cpu",
                threads=1,
                executor=choice,
            )
        )
    assert (tmp_path / "snapshot" / "death").exists()
    assert bytes_of(tmp_path / "there") == bytes_of(tmp_path / "here")
