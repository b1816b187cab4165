"""The logit lens was called ``lens`` up to version 0.6: options, stored runs and shared folders with that name still work."""

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from probing.core.errors import HeadError
from probing.core.provenance import fingerprint_of
from probing.store.parquet import read_table, write_table
from tests.store.older_heads import write_as_before
from tests.store.planted import PlantedRun, run_row

PROMPT = "The capital of France is [MASK]."


def the_row(folder: Path) -> tuple[Path, dict]:
    """The one file of runs in a folder, and its row as it is stored."""
    (path,) = folder.glob("runs-*.parquet")
    (row,) = pq.read_table(path).to_pylist()
    return path, row


@pytest.mark.parametrize("name", ["lens", "logit-lens"])
def test_ask_takes_the_old_name_and_answers_with_that_of_today(run, cache, tiny_model, name):
    words = ("ask", PROMPT, "--model", tiny_model, "--json", "--head")
    found = run(*words, name).stdout
    assert found == run(*words, "logit_lens").stdout and json.loads(found)["head"] == "logit_lens"


def test_probe_gives_a_run_the_same_id_under_either_name_and_stores_that_of_today(run, cache, tiny_model, facts_file):
    words = ("probe", "--model", tiny_model, "--facts", facts_file, "--head")
    run(*words, "lens")
    path, row = the_row(cache / "runs")
    before = path.read_bytes()
    assert row["head"] == "logit_lens" and json.loads(row["config"])["head"] == "lens", "an equal run keeps its id"
    assert row["run_id"] == fingerprint_of(row["config"])
    assert "exists already" in run(*words, "logit_lens").output and path.read_bytes() == before


def test_a_run_of_an_earlier_version_is_known_listed_and_reported(run, cache, tiny_model, facts_file):
    words = ("probe", "--model", tiny_model, "--facts", facts_file, "--head", "logit_lens")
    run(*words)
    path, _ = the_row(cache / "runs")
    before = write_as_before(path)
    assert the_row(cache / "runs")[1]["head"] == "lens"
    assert "exists already" in run(*words).output and path.read_bytes() == before, "nothing is left to do"
    assert json.loads(run("runs", "--json").stdout)[0]["head"] == "logit_lens"
    assert "ok  runs and database" in run("check").output
    reports = [run("report", "precision", "--json", *more).stdout for more in ((), ("--head", "lens"), ("--head", "logit_lens"))]
    assert len(set(reports)) == 1 and {row["head"] for row in json.loads(reports[0])} == {"logit_lens"}


def test_a_run_that_an_earlier_version_shared_is_pulled(run, cache, tiny_model, facts_file, monkeypatch):
    run("probe", "--model", tiny_model, "--facts", facts_file, "--head", "lens")
    write_as_before(the_row(cache / "runs")[0])
    shared, other = cache.parent / "shared", cache.parent / "other"
    run("push", "predictions", "--model", "tiny-bert", "--head", "lens", "--to-folder", shared, "--licence", "MIT")
    monkeypatch.setenv("PROBING_CACHE", str(other))
    run("pull", "--from-folder", shared)
    assert "exists already" in run("probe", "--model", tiny_model, "--facts", facts_file, "--head", "logit_lens").output
    assert {row["head"] for row in json.loads(run("report", "precision", "--json").stdout)} == {"logit_lens"}


def test_a_pulled_run_of_an_earlier_version_is_the_one_that_was_made_here(run, cache, tiny_model, facts_file, tmp_path):
    run("probe", "--model", tiny_model, "--facts", facts_file, "--head", "logit_lens")
    path, _ = the_row(cache / "runs")
    ours = path.read_bytes()
    write_as_before(path)
    run("push", "predictions", "--model", "tiny-bert", "--to-folder", tmp_path / "shared", "--licence", "MIT")
    path.write_bytes(ours)
    run("pull", "--from-folder", tmp_path / "shared")
    assert path.read_bytes() == ours


@pytest.mark.parametrize("table", ["runs", "counted_runs"])
def test_every_reader_sees_the_name_of_today(table, tmp_path):
    path = write_table(table, [run_row(PlantedRun(head="logit_lens"))], tmp_path / f"{table}-one.parquet")
    write_as_before(path)
    assert read_table(path, table).column("head").to_pylist() == ["logit_lens"]
    assert read_table(path, table, ["head", "run_id"]).to_pylist()[0]["head"] == "logit_lens"
    assert read_table(path, table, ["run_id"]).column_names == ["run_id"]


def test_the_help_names_the_kind_of_today_and_an_unknown_one_is_refused_by_its_own_name(run, cache, tiny_model, facts_file):
    for command in ("ask", "probe", "report", "reproduce", "gate"):
        words = run(command, "--help").output
        assert "logit_lens" in words.replace("\n", "") and " lens," not in words
    with pytest.raises(HeadError, match="head kind 'no-lens' is unknown; expected one of tied, logit_lens, full"):
        run("probe", "--model", tiny_model, "--facts", facts_file, "--head", "no-lens")
