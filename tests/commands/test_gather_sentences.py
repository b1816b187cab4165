"""The shipped results of sentence probing and of changes: one file for each table, no sentence among them, answers of
few models.
"""

import shutil
from pathlib import Path

import pytest

from data.making import sentences
from probing.core.sentences.example import FROZEN, OWN
from probing.store.check import check_store
from probing.store.opening import open_database
from probing.store.parquet import read_table
from probing.store.schema import KEYS
from probing.store.sources import files_of
from tests.changes_planted import plant_changes
from tests.planted_relatives import BASE, COLA, MODELS
from tests.sentences_planted import RUNS, plant_sentence_runs


@pytest.fixture
def gathered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sentences, "IN_FULL", (BASE.name, COLA.name))
    monkeypatch.setattr(sentences, "EVERY_READING", COLA.name)
    plant_sentence_runs(tmp_path / "made")
    plant_changes(tmp_path / "made")
    sentences.gather_results(tmp_path / "made", tmp_path / "shipped", lambda line: None)
    return tmp_path


def rows(folder: Path, table: str) -> list[dict]:
    return [row for path in files_of(table, folder) for row in read_table(path, table).to_pylist()]


def test_every_count_is_there_once_in_one_file_for_each_table(gathered: Path):
    for table in (
        "sentence_tasks",
        "sentence_runs",
        "sentence_scores",
        "sentence_pairs",
        "change_runs",
        "change_values",
        "perplexity",
    ):
        keys = [
            sorted(tuple(row[name] for name in KEYS[table]) for row in rows(gathered / name, table))
            for name in ("made", "shipped")
        ]
        assert keys[0] == keys[1] != [] and len(list(files_of(table, gathered / "shipped"))) == 1


def test_no_words_ship_and_answers_of_the_named_models_alone(gathered: Path):
    assert {(row["text"], row["pair"]) for row in rows(gathered / "shipped", "sentence_examples")} == {(None, None)}
    model_of = {run.run_id: run.model.name for run in RUNS}
    kinds = {
        (model_of[row["run_id"]], row["reading"], row["portion"])
        for row in rows(gathered / "shipped", "sentence_predictions")
    }
    assert {model for model, _, _ in kinds} == {BASE.name, COLA.name}
    assert {kind[1:] for kind in kinds if kind[0] == BASE.name} == {(OWN, 1)} and ("planted-cola", FROZEN, 1) in kinds


def test_what_ships_is_whole(gathered: Path):
    assert check_store([gathered / "shipped"]) == []
    with open_database(gathered / "shipped") as db:
        assert db.query("SELECT count(*) AS n FROM runs")["n"].item() == len(RUNS) + len(MODELS)


def test_shipped_probes_stay_without_a_training_here_unless_they_are_of_other_weights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    shipped = tmp_path / "sentences" / "nesia-mini-sst-2"
    shutil.copytree(sentences.SHIPPED / "nesia-mini-sst-2", shipped)
    shutil.copytree(
        sentences.SHIPPED / "nesia-mini-cola" / "bigram-shift", shipped / "bigram-shift", dirs_exist_ok=True
    )
    monkeypatch.setenv("PROBING_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(sentences, "SHIPPED", tmp_path / "sentences")
    assert sentences.ship_probes(["nesia-mini-sst-2"], lambda line: None) == []
    assert [folder.name for folder in shipped.iterdir()] == ["coordination-inversion"]
