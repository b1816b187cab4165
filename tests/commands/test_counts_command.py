"""``counts``: what compact runs lack, counted in full runs of the same question."""

import json

import pytest

from probing.core.errors import StoreError
from probing.reports.knowledge.precision import precision
from probing.store.build import build_database
from probing.store.check import check_store
from probing.store.database import open_database
from probing.store.parquet import read_table


@pytest.fixture
def lama(tmp_path):
    """Twelve capitals with three answers."""
    folder = tmp_path / "lama" / "TREx"
    folder.mkdir(parents=True)
    triples = [(f"land {n}", ("Paris", "Berlin", "Rome")[n % 3]) for n in range(12)]
    folder.joinpath("P36.jsonl").write_text("".join(json.dumps({"sub_label": s, "obj_label": o}) + "\n" for s, o in triples))
    folder.parent.joinpath("relations.jsonl").write_text(json.dumps({"relation": "P36", "template": "The capital of [X] is [Y] ."}) + "\n")
    return folder.parent


def numbers(folder, tmp_path, name):
    build_database([folder], tmp_path / name)
    with open_database(tmp_path / name) as db:
        ids = db.query("SELECT run_id FROM fact_runs")["run_id"].tolist()
        return precision(db, ids).drop(columns=["run_id"])


@pytest.mark.parametrize("rule", ["now", "0.2"])
def test_a_compact_run_has_the_full_runs_swapped_subject_and_its_own_predictions(run, cache, tiny_model, lama, tmp_path, rule):
    arguments = ("probe", "--model", tiny_model, "--facts", lama, "--head", "lens")
    run(*arguments, "--out", tmp_path / "full", "--swapped-as", rule)
    run(*arguments, "--out", tmp_path / "compact", "--compact")
    before = {path.name: path.read_bytes() for path in (tmp_path / "compact").iterdir()}
    assert numbers(tmp_path / "compact", tmp_path, "before")["swapped"].isna().all()
    output = run("counts", tmp_path / "full", "--out", tmp_path / "compact").output
    assert "0 of 36 answers differ" in output and "1 runs" in output
    assert all((tmp_path / "compact" / name).read_bytes() == content for name, content in before.items())
    found, full = numbers(tmp_path / "compact", tmp_path, "after"), numbers(tmp_path / "full", tmp_path, "of full")
    assert found["swapped_n"].gt(0).all() and found.equals(full)
    assert check_store([tmp_path / "compact"]) == []
    (path,) = (tmp_path / "compact").glob("swapped_runs-*.parquet")
    (row,) = read_table(path, "swapped_runs").to_pylist()
    assert json.loads(row["config"])["lenders"] == {"now": "without the answer", "0.2": "of version 0.2, without the answer"}[rule]
    # A second time finds the same.
    bytes_before = path.read_bytes()
    run("counts", tmp_path / "full", "--out", tmp_path / "compact")
    assert path.read_bytes() == bytes_before


def test_counts_of_another_question_are_refused(run, cache, tiny_model, lama, facts_file, tmp_path):
    run("probe", "--model", tiny_model, "--facts", lama, "--head", "lens", "--out", tmp_path / "full")
    run("probe", "--model", tiny_model, "--facts", facts_file, "--head", "lens", "--out", tmp_path / "compact", "--compact")
    with pytest.raises(StoreError, match="expected one of the same weights, head and facts"):
        run("counts", tmp_path / "full", "--out", tmp_path / "compact")
    assert not list((tmp_path / "compact").glob("swapped_*"))


def test_folders_without_anything_to_count_and_two_runs_of_one_question_are_refused(run, cache, tiny_model, lama, tmp_path):
    arguments = ("probe", "--model", tiny_model, "--facts", lama, "--head", "lens")
    run(*arguments, "--out", tmp_path / "compact", "--compact")
    with pytest.raises(StoreError, match="expected folders of runs that `probe` made in full"):
        run("counts", tmp_path / "compact", "--out", tmp_path / "compact")
    run(*arguments, "--out", tmp_path / "full")
    run(*arguments, "--out", tmp_path / "again", "--swapped-as", "0.2")
    with pytest.raises(StoreError, match="several full runs"):
        run("counts", tmp_path / "full", tmp_path / "again", "--out", tmp_path / "compact")
    assert not list((tmp_path / "compact").glob("swapped_*"))


def test_a_rule_of_swapped_subjects_is_refused_for_a_run_without_them(run, cache, tiny_model, lama):
    assert (
        "leave one of them out" in run("probe", "--model", tiny_model, "--facts", lama, "--compact", "--swapped-as", "0.2", code=2).output
    )
