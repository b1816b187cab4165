"""``push sentences`` and ``pull``: probes of sentences and changes go together; a round trip through a folder, and what
is refused.
"""

import json
import shutil

import pytest
from typer.testing import CliRunner

from probing.commands.main import app
from probing.core.errors import HubError, StoreError
from probing.store.check import check_store
from probing.store.parquet import read_table, write_table
from probing.workflows.share.manifest import MANIFEST, describe, read_manifest
from tests.changes_planted import plant_changes
from tests.planted_relatives import BASE, COLA
from tests.sentences_planted import BIGRAM, ODD, PlantedSentenceRun, PlantedTask, plant_sentence_runs

OWN = PlantedTask("my-reviews", "own", ("bad", "good"), True, (100, 130, 140, 150, 130), (104, 140, 150, 180, 140))
RUNS = tuple(PlantedSentenceRun(model, task) for model in (BASE, COLA) for task in (BIGRAM, ODD, OWN))
WORDS = ("push", "sentences", "--model", COLA.name, "--licence", "CC-BY-SA-4.0", "--to-folder")


@pytest.fixture(scope="module")
def pushed(tmp_path_factory):
    """Planted runs of two models, of which one is shared in ``shared``; tests copy both."""
    folder = tmp_path_factory.mktemp("pushed")
    plant_changes(plant_sentence_runs(folder / "owner" / "snapshot", RUNS), [BASE, COLA])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PROBING_CACHE", str(folder / "owner" / "cache"))
        patch.setenv("PROBING_SNAPSHOT", str(folder / "owner" / "snapshot"))
        result = CliRunner().invoke(app, [*WORDS, str(folder / "shared")])
    assert result.exit_code == 0, result.output
    return folder


@pytest.fixture()
def shared(pushed, at, tmp_path):
    """A copy of that share, with its owner at work."""
    shutil.copytree(pushed, tmp_path, dirs_exist_ok=True)
    at(tmp_path / "owner")
    return tmp_path / "shared"


def seal(folder):
    """Writes the manifest again, so that sums are right whatever was changed."""
    old = read_manifest(folder / MANIFEST)
    (folder / MANIFEST).write_text(
        describe(folder, "sentences", old.model, "", old.code_version).model_dump_json(), encoding="utf-8"
    )


def test_runs_come_back_as_they_were_and_are_reported(run, at, pushed, shared, tmp_path):
    reports = [("sentences", "report", what, "--model", COLA.name, "--json") for what in ("accuracy", "changes")]
    before = [json.loads(run(*words).stdout) for words in reports]
    epochs = run("changes", "report", "epochs", "--model", COLA.name, "--json").stdout
    at(tmp_path / "taker")
    run("pull", "--from-folder", shared)
    assert check_store([tmp_path / "taker" / "cache" / "runs"]) == []
    assert [json.loads(run(*words).stdout) for words in reports] == before
    assert run("changes", "report", "epochs", "--model", COLA.name, "--json").stdout == epochs
    at(pushed / "owner")
    manifest = (pushed / "shared" / MANIFEST).read_bytes()
    run(*WORDS, pushed / "shared")
    assert (pushed / "shared" / MANIFEST).read_bytes() == manifest


def test_words_are_shared_only_where_the_licence_of_a_built_in_task_allows_it(shared):
    files = {task.name: shared / "data" / f"sentence_examples-{task.name}-ours.parquet" for task in (BIGRAM, ODD, OWN)}
    texts = {
        name: set(read_table(path, "sentence_examples").column("text").to_pylist()) for name, path in files.items()
    }
    assert (
        texts[BIGRAM.name] == texts[OWN.name] == {None} and None not in texts[ODD.name] and len(texts[ODD.name]) == 200
    )
    assert b"my-reviews by" not in b"".join(path.read_bytes() for path in shared.rglob("*") if path.is_file())
    card = (shared / "README.md").read_text(encoding="utf-8")
    assert "| bigram-shift | not to be shown |" in card and "| what fine-tuning changed |" in card


def test_sentences_that_the_taker_has_with_their_words_stay(run, at, shared, tmp_path):
    taker = at(tmp_path / "taker")
    plant_sentence_runs(taker / "cache" / "runs", [PlantedSentenceRun(BASE, OWN)])
    run("pull", "--from-folder", shared)
    path = taker / "cache" / "runs" / f"sentence_examples-{OWN.name}-ours.parquet"
    assert None not in read_table(path, "sentence_examples").column("text").to_pylist()


def test_data_of_the_users_own_need_a_licence(run, at, tmp_path):
    at(tmp_path)
    plant_sentence_runs(tmp_path / "snapshot", [PlantedSentenceRun(COLA, OWN)])
    with pytest.raises(HubError, match="my-reviews, whose data are not this project's"):
        run("push", "sentences", "--model", COLA.name, "--to-folder", tmp_path / "shared")
    with pytest.raises(StoreError, match="no probes of sentences and no changes of bert-base-uncased"):
        run("push", "sentences", "--model", "bert-base-uncased", "--to-folder", tmp_path / "shared")


def changed(path, table, **values):
    rows = read_table(path, table).to_pylist()
    write_table(table, [rows[0] | values, *rows[1:]], path)


@pytest.mark.parametrize(
    ("pattern", "table", "values", "said"),
    [
        ("sentence_predictions-*", "sentence_predictions", {"predicted": [7] * 200}, "label number 7"),
        ("sentence_runs-*", "sentence_runs", {"model": "another"}, "is of 'another', the manifest says planted-cola"),
        (
            "change_values-*",
            "change_values",
            {"run_id": "0" * 16},
            "holds rows that belong in 'change_values-0000000000000000",
        ),
        (
            "epoch_perplexity-*",
            "epoch_perplexity",
            {"model": "another"},
            "holds rows that belong in 'epoch_perplexity-another",
        ),
    ],
)
def test_a_pull_refuses_what_is_not_whole_though_the_sums_are_right(
    run, at, shared, tmp_path, pattern, table, values, said
):
    changed(sorted((shared / "data").glob(f"{pattern}.parquet"))[0], table, **values)
    seal(shared)
    at(tmp_path / "taker")
    with pytest.raises(HubError, match=said):
        run("pull", "--from-folder", shared)
    assert not (tmp_path / "taker" / "cache" / "runs").exists()


def test_a_pull_refuses_what_is_something_else_than_it_was_told(run, at, shared, tmp_path):
    at(tmp_path / "taker")
    with pytest.raises(HubError, match="holds sentences, expected edges"):
        run("pull", "--from-folder", shared, "--what", "edges")
    assert not (tmp_path / "taker" / "cache" / "runs").exists()
