"""``probing sentences report`` and ``probing changes report`` print what the reports return, in every form; `runs` lists the runs."""

import json

import pytest

from probing.reports.changes.measures import values
from probing.reports.sentences.accuracy import accuracies
from probing.store.opening import open_database
from tests.changes_planted import change_run_id, plant_changes
from tests.planted_relatives import BASE, COLA, CONTROL, SEED_2
from tests.sentences_planted import BIGRAM, ODD, PlantedSentenceRun, plant_sentence_runs

ACCURACY = ["model", "task", "pooling", "layer", "reading", "c", "accuracy", "n_train", "n_test", "majority", "surface"]
VALUES = ["model", "base", "layer", "measure", "value", "low", "high"]
MODELS = (BASE, COLA, SEED_2, CONTROL)
RUNS = tuple(PlantedSentenceRun(model, task) for model in MODELS for task in (BIGRAM, ODD))


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reports")
    plant_changes(plant_sentence_runs(folder / "snapshot", RUNS), MODELS)
    return folder


@pytest.fixture(autouse=True)
def _here(planted, monkeypatch):
    monkeypatch.setenv("PROBING_SNAPSHOT", str(planted / "snapshot"))
    monkeypatch.setenv("PROBING_CACHE", str(planted / "cache"))


def test_json_of_accuracies_is_a_list_with_the_keys_that_programs_rely_on(planted, run):
    found = json.loads(run("sentences", "report", "--json").stdout)
    assert all(list(row)[: len(ACCURACY)] == ACCURACY for row in found)
    assert len(found) == 3 * 2 * 2 * 5 and {row["reading"] for row in found} == {"own"} and {row["portion"] for row in found} == {1}
    with open_database(planted / "snapshot") as database:
        assert [row["accuracy"] for row in found] == accuracies(database)["accuracy"].tolist()
    assert {row["pooling"] for row in found} == {"first", "mean"} and all(0 <= row["accuracy"] <= 1 for row in found)
    assert run("sentences", "report", "accuracy", "--as", "json").stdout == run("sentences", "report", "--json").stdout


def test_json_of_changes_is_a_list_with_the_keys_that_programs_rely_on(planted, run):
    found = json.loads(run("changes", "report", "--json").stdout)
    assert all(list(row)[: len(VALUES)] == VALUES for row in found)
    with open_database(planted / "snapshot") as database:
        assert [row["value"] for row in found] == values(database)["value"].tolist()
    assert {row["base"] for row in found if row["model"] != BASE.name} == {BASE.name}
    epochs = json.loads(run("changes", "report", "epochs", "--json").stdout)
    assert {row["model"] for row in epochs} == {COLA.name, CONTROL.name} and len(epochs) == 6


@pytest.mark.parametrize(
    ("words", "column", "expected"),
    [
        (("--model", SEED_2.name), "model", {SEED_2.name}),
        (("--task", ODD.name), "task", {ODD.name}),
        (("--pooling", "mean"), "pooling", {"mean"}),
        (("--reading", "mlp", "--reading", "frozen"), "reading", {"mlp", "frozen"}),
        (("where-gone", "--pooling", "first", "--task", ODD.name), "task", {ODD.name}),
        (("changes", "--pooling", "first"), "pooling", {"first"}),
        (("curve",), "portion", {1, 4, 16}),
        (("groups",), "group", {"lower", "upper"}),
    ],
)
def test_filters_keep_what_they_name(run, words, column, expected):
    assert {row[column] for row in json.loads(run("sentences", "report", *words, "--json").stdout)} == expected


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("sentences", "report", "--model", "nobody"), "no probes of the model 'nobody' are stored by protocol ours"),
        (("sentences", "report", "--protocol", "quick", "--task", BIGRAM.name), "there are those of none"),
        (("sentences", "report", "--protocol", "mine"), "expected one of ours, quick, senteval"),
        (("sentences", "report", "--pooling", "last"), "expected one of first, mean"),
        (("sentences", "report", "changes", "--reading", "mlp"), "reports that have it: accuracy"),
        (("changes", "report", "--model", "nobody"), "no values of the model 'nobody' are stored"),
        (("changes", "report", "--measure", "mood"), "no values of the measure 'mood' are stored"),
        (("changes", "report", "epochs", "--heads"), "reports that have it: values"),
    ],
)
def test_a_wrong_choice_is_refused_with_what_there_is(run, words, said):
    result = run(*words, code=2)
    assert said in " ".join(result.stderr.replace("│", " ").split())


def test_the_list_of_runs_has_those_of_every_kind(run):
    found = {row["run_id"]: row for row in json.loads(run("runs", "--json").stdout)}
    assert {row["what"] for row in found.values()} == {"sentences", "changes"} and len(found) == len(RUNS) + len(MODELS)
    assert found[RUNS[0].run_id]["task"] == BIGRAM.name and found[RUNS[0].run_id]["head"] is None
    lines = run("runs").stdout.splitlines()
    assert any(change_run_id(COLA) in line and f"changes against {BASE.name}" in line for line in lines)
