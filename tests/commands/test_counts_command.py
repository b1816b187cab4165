"""``counts``: counts of full runs for equivalent compact runs, and runs of which only counts are kept."""

import json

import pytest

from probing.core.errors import HubError, StoreError
from probing.reports.knowledge.precision import precision
from probing.store.build import build_database
from probing.store.check import check_store
from probing.store.database import open_database
from probing.store.parquet import read_table
from probing.store.run_queries import head_training
from probing.workflows.share.manifest import describe
from probing.workflows.share.pull_refusals import check_results


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
    arguments = ("probe", "--model", tiny_model, "--facts", lama, "--head", "logit_lens")
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
    run("probe", "--model", tiny_model, "--facts", lama, "--head", "logit_lens", "--out", tmp_path / "full")
    run("probe", "--model", tiny_model, "--facts", facts_file, "--head", "logit_lens", "--out", tmp_path / "compact", "--compact")
    with pytest.raises(StoreError, match="expected one of the same weights, head and facts"):
        run("counts", tmp_path / "full", "--out", tmp_path / "compact")
    assert not list((tmp_path / "compact").glob("swapped_*"))


@pytest.fixture
def asked(run, cache, tiny_model, lama, tmp_path):
    """Trained heads in full, and logit lens compact."""
    text = tmp_path / "text.txt"
    text.write_text("The capital of France is Paris and the sun is red and the moon is blue in the city .\n" * 2500)
    learning = ("--text", text, "--valid", text, "--positions", 200, "--epochs", 1)
    run("train-heads", "--model", tiny_model, "--head", "tied", *learning)
    run("probe", "--model", tiny_model, "--facts", lama, "--head", "tied", "--out", tmp_path / "full")
    run("probe", "--model", tiny_model, "--facts", lama, "--head", "logit_lens", "--out", tmp_path / "kept", "--compact")
    return tmp_path / "full", tmp_path / "kept"


def test_with_new_counts_alone_are_kept_of_a_run_that_has_no_counterpart(run, asked, tmp_path):
    full, kept = asked
    with pytest.raises(StoreError, match="--new keeps only the counts"):
        run("counts", full, "--out", kept)
    assert "1 runs" in run("counts", full, "--out", kept, "--new").output
    build_database([kept], tmp_path / "of kept")
    build_database([full], tmp_path / "of full")
    with open_database(tmp_path / "of kept") as db, open_database(tmp_path / "of full") as whole:
        (run_id,) = db.query("SELECT run_id FROM fact_runs WHERE counted")["run_id"]
        assert precision(db, [run_id]).equals(precision(whole, [run_id])) and precision(db, [run_id])["swapped_n"].gt(0).all()
        assert head_training(db).equals(head_training(whole)) and len(head_training(db)) == 3
    assert check_store([kept]) == []
    assert not (kept / f"predictions-{run_id}.parquet").exists()
    # A second time finds the same.
    before = {path.name: path.read_bytes() for path in kept.iterdir()}
    run("counts", full, "--out", kept, "--new")
    assert {path.name: path.read_bytes() for path in kept.iterdir()} == before
    listed = run("runs", "--folder", kept).output.splitlines()
    assert [line.endswith("only counts") for line in listed] == [False, True] and run_id in listed[1]
    assert [row["counted"] for row in json.loads(run("runs", "--folder", kept, "--json").output)] == [False, True]


def test_with_new_the_folder_of_the_counts_need_not_be_there(run, asked, tmp_path):
    full, _ = asked
    with pytest.raises(StoreError, match="no folder"):
        run("counts", full, "--out", tmp_path / "fresh")
    assert "1 runs" in run("counts", full, "--out", tmp_path / "fresh", "--new").output
    assert check_store([tmp_path / "fresh"]) == []


def test_with_new_a_compact_counterpart_gets_counts_and_an_answered_question_stays(run, asked, tiny_model, lama, tmp_path):
    full, kept = asked
    run("probe", "--model", tiny_model, "--facts", lama, "--head", "logit_lens", "--out", full)
    assert "2 runs" in run("counts", full, "--out", kept, "--new").output
    assert len(list(kept.glob("swapped_runs-*"))) == len(list(kept.glob("counted_runs-*"))) == 1
    again = tmp_path / "again"
    run("probe", "--model", tiny_model, "--facts", lama, "--head", "tied", "--top", 3, "--out", again)
    assert "0 runs" in run("counts", again, "--out", kept, "--new").output
    whole = tmp_path / "whole"
    run("probe", "--model", tiny_model, "--facts", lama, "--head", "tied", "--out", whole)
    assert "0 runs" in run("counts", again, "--out", whole, "--new").output and not list(whole.glob("*counts*"))


def test_counted_runs_are_neither_pushed_nor_pulled(run, asked, tiny_model, tmp_path):
    full, kept = asked
    run("counts", full, "--out", kept, "--new")
    (counted,) = (path.stem.removeprefix("counted_runs-") for path in kept.glob("counted_runs-*"))
    output = run(
        "push", "predictions", "--model", tiny_model, "--runs", kept, "--licence", "mit", "--to-folder", tmp_path / "shared"
    ).output
    assert f"only counts and no predictions: {counted}" in output
    assert not list((tmp_path / "shared").rglob("*counts*")) and not list((tmp_path / "shared").rglob(f"*{counted}*"))
    for table in ("counted_runs", "layer_counts"):
        with pytest.raises(HubError, match="of a run without predictions"):
            check_results(*foreign(tmp_path / table, kept / f"{table}-{counted}.parquet"), "somebody's")


def foreign(folder, path):
    """A shared folder with that file only, and its manifest."""
    place = folder / "data" / path.name
    place.parent.mkdir(parents=True)
    place.write_bytes(path.read_bytes())
    return folder, describe(folder, "predictions", "somebody", "", "0")


def test_probe_says_how_its_heads_were_trained(run, asked, tiny_model, lama, tmp_path):
    full, _ = asked
    (path,) = full.glob("head_training-*.parquet")
    rows = read_table(path, "head_training").to_pylist()
    assert [(row["head"], row["seed"], row["layer"]) for row in rows] == [("tied", 0, layer) for layer in range(3)]
    assert all(row["start_loss"] >= row["loss"] and row["steps"] > 0 and row["seconds"] > 0 for row in rows)
    # Where the map was taken, the logit lens was not measured on all positions.
    assert all(row["lens_loss"] in (None, row["start_loss"]) for row in rows) and rows[-1]["lens_loss"] == rows[-1]["start_loss"]
    text = tmp_path / "text.txt"
    # Another seed and kind, and heads of which nothing is noted: what is there stays.
    run(
        "train-heads",
        "--model",
        tiny_model,
        "--head",
        "tied",
        "--seed",
        2,
        "--text",
        text,
        "--valid",
        text,
        "--positions",
        200,
        "--epochs",
        1,
    )
    for noted in (tmp_path / "cache").rglob("tied-seed2/seconds-*.json"):
        noted.unlink()
    run("probe", "--model", tiny_model, "--facts", lama, "--head", "tied", "--seed", 2, "--out", full)
    more = read_table(path, "head_training").to_pylist()
    assert more[:3] == rows and [(row["seed"], row["layer"], row["seconds"]) for row in more[3:]] == [(2, 2, None)]
    run("train-heads", "--model", tiny_model, "--head", "least_squares", "--text", text, "--valid", text, "--positions", 200)
    run("probe", "--model", tiny_model, "--facts", lama, "--head", "least_squares", "--out", full)
    (mapped,) = full.glob("head_training-*-least_squares.parquet")
    found = read_table(mapped, "head_training").to_pylist()
    assert all(row["loss"] == row["start_loss"] <= row["lens_loss"] and row["steps"] == 0 for row in found)
    assert check_store([full]) == []


def test_folders_without_anything_to_count_and_two_runs_of_one_question_are_refused(run, cache, tiny_model, lama, tmp_path):
    arguments = ("probe", "--model", tiny_model, "--facts", lama, "--head", "logit_lens")
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
