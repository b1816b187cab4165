"""``probing edges report`` prints what the reports return, in every form."""

import csv
import io
import json
from functools import cache as cached

import pytest
from typer.testing import CliRunner

from probing.commands.main import app
from probing.reports.edges.summary import summary
from probing.store.opening import open_database
from tests.edges_planted import RUNS, plant_edge_runs

SCORES = ["model", "task", "kind", "seed", "layer", "part", "f1", "targets", "f1_top", "steps", "stopped"]
SUMMARY = [
    "model", "encoder", "task", "part", "seeds", "f1_first", "f1_last", "memory", "ceiling", "centre_of_gravity", "expected_layer",
    "expected_layer_low", "expected_layer_high", "k_weights", "k_gains", "f1_first_top", "f1_last_top", "gain_above_memory",
    "selectivity_seen", "expected_layer_reason", "weights_near_uniform", "probes", "probes_stopped",
]  # fmt: skip


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """Planted runs in ``snapshot``; no test changes them."""
    folder = tmp_path_factory.mktemp("edges")
    plant_edge_runs(folder / "snapshot")
    return folder


@pytest.fixture()
def planted(store, monkeypatch):
    monkeypatch.setenv("PROBING_SNAPSHOT", str(store / "snapshot"))
    monkeypatch.setenv("PROBING_CACHE", str(store / "cache"))
    return store


@pytest.fixture(scope="module")
def said():
    """Options -> what ``edges report`` prints of the planted runs; intervals take a second, so that equal words are called once."""

    @cached
    def stdout(*words: str) -> str:
        found = CliRunner().invoke(app, ["edges", "report", *words])
        assert found.exit_code == 0, found.output
        return found.stdout

    return stdout


def test_json_has_exactly_the_structure_that_programs_rely_on(planted, said):
    found = json.loads(said("--json"))
    assert list(found) == ["scores", "summary"]
    assert all(list(row) == SCORES for row in found["scores"]) and all(list(row) == SUMMARY for row in found["summary"])
    trained = [one for one in RUNS if one.encoder == "trained" and one.labels == "task"]
    assert len(found["scores"]) == 2 * sum(len(one.probes) for one in trained)
    assert len({tuple(row[name] for name in SCORES[:6]) for row in found["scores"]}) == len(found["scores"])
    assert {(row["encoder"], row["part"]) for row in found["summary"]} >= {("trained", "dev"), ("trained", "test"), ("random", "dev")}
    assert all(0 <= row["f1"] <= 1 for row in found["scores"])
    flat = [row for row in found["summary"] if row["task"] == "proto-roles"]
    assert flat and all(row["expected_layer"] is None and row["k_gains"] is None for row in flat)
    assert all(isinstance(row["expected_layer_reason"], str) == (row["expected_layer"] is None) for row in found["summary"])
    assert {type(row["weights_near_uniform"]) for row in found["summary"]} == {type(row["stopped"]) for row in found["scores"]} == {bool}
    assert {type(row["probes_stopped"]) for row in found["summary"]} == {type(row["steps"]) for row in found["scores"]} == {int}


def test_the_other_forms_have_the_same_numbers(planted, said):
    rows = list(csv.DictReader(io.StringIO(said("--as", "csv"))))
    with open_database(planted / "snapshot") as database:
        table = summary(database)
    assert list(rows[0]) == list(table.columns) and len(rows) == len(table)
    assert [float(row["f1_last"]) for row in rows] == table["f1_last"].tolist()
    lines = said().splitlines()
    assert lines[0].split() == SUMMARY and len(lines) == len(table) + 2
    assert lines[-1] == "dev also stopped the training, as in the paper; test did not."
    latex = said("--as", "latex").splitlines()
    named = latex[2].replace(r"\_", "_").removesuffix(r" \\").split(" & ")
    ends = {f"{name}_{end}" for name in ("f1_last", "gain", "gain_above_memory", "expected_layer") for end in ("low", "high")}
    assert ends <= set(named) and set(SUMMARY) <= set(named) and latex[0] == rf"\begin{{tabular}}{{{'l' * len(named)}}}"
    first = dict(zip(named, latex[4].removesuffix(r" \\").split(" & "), strict=True))
    assert first["f1_last_low"] == f"{table['f1_last_low'].iloc[0]:.3f}"


def test_filters_keep_what_they_name(planted, said):
    names = {"model": {"nesia-mini"}, "task": {"srl", "pos"}, "part": {"test"}}
    found = json.loads(said(*(word for name, values in names.items() for value in values for word in (f"--{name}", value)), "--json"))
    for rows in (found["scores"], found["summary"]):
        assert {name: {row[name] for row in rows} for name in names} == names


def test_targets_seen_in_training_can_be_left_out(planted, said):
    every, unseen = (json.loads(said("--json", "--kind", "at", *words)) for words in ([], ["--unseen"]))
    assert every["summary"] == [] and {row["kind"] for row in every["scores"]} == {"at"}
    assert all(few["targets"] < many["targets"] for few, many in zip(unseen["scores"], every["scores"], strict=True))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--task", "nothing"], "there are those of pos, srl, proto-roles"),
        (["--model", "nobody"], "there are those of nesia-mini, other-bert"),
        (["--part", "train"], "expected one of dev, test"),
        (["--kind", "control"], "expected one of cumulative, at, full"),
    ],
)
def test_what_is_not_stored_is_answered_with_what_is(planted, run, words, said):
    found = run("edges", "report", *words, code=2)
    assert said in " ".join(found.output.replace("│", " ").split())
