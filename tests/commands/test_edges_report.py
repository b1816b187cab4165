"""``probing edges report`` prints what the reports return, in every form."""

import json
from functools import cache as cached

import pytest
from typer.testing import CliRunner

from probing.commands.main import app
from tests.edges_planted import plant_edge_runs


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
    """Options -> what ``edges report`` prints of the planted runs; intervals take a second, so that equal words are
    called once.
    """

    @cached
    def stdout(*words: str) -> str:
        found = CliRunner().invoke(app, ["edges", "report", *words])
        assert found.exit_code == 0, found.output
        return found.stdout

    return stdout


def test_filters_keep_what_they_name(planted, said):
    names = {"model": {"nesia-mini"}, "task": {"srl", "pos"}, "part": {"test"}}
    found = json.loads(
        said(*(word for name, values in names.items() for value in values for word in (f"--{name}", value)), "--json")
    )
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
