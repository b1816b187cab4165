"""``probing sentences report`` and ``probing changes report`` print what the reports return, in every form; `runs`
lists the runs.
"""

import json

import pytest

from tests.changes_planted import change_run_id, plant_changes
from tests.planted_relatives import BASE, COLA, CONTROL, SEED_2
from tests.sentences_planted import BIGRAM, ODD, PlantedSentenceRun, plant_sentence_runs

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
