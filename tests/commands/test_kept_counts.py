"""Runs of which only counts are kept."""

import json

import pytest

from probing.core.errors import HubError
from probing.reports.knowledge.precision import precision
from probing.store.build import build_database
from probing.store.check import check_store
from probing.store.database import open_database
from probing.store.parquet import read_table
from probing.store.run_queries import head_training
from probing.workflows.share.counted_runs import keep_counts
from probing.workflows.share.manifest import describe
from probing.workflows.share.pull_refusals import check_results


@pytest.fixture
def lama(tmp_path):
    """Twelve capitals with three answers."""
    folder = tmp_path / "lama" / "TREx"
    folder.mkdir(parents=True)
    lands = [f"{first} {second}" for first in ("sun", "moon", "city") for second in ("red", "blue", "france", "italy")]
    triples = [(land, ("Paris", "Berlin", "Rome")[n % 3]) for n, land in enumerate(lands)]
    folder.joinpath("P36.jsonl").write_text("".join(json.dumps({"sub_label": s, "obj_label": o}) + "\n" for s, o in triples))
    folder.parent.joinpath("relations.jsonl").write_text(json.dumps({"relation": "P36", "template": "The capital of [X] is [Y] ."}) + "\n")
    return folder.parent


@pytest.fixture
def asked(run, cache, tiny_model, lama, tmp_path):
    """Trained heads in full, and logit lens compact."""
    text = tmp_path / "text.txt"
    text.write_text("The capital of France is Paris and the sun is red and the moon is blue in the city .\n" * 1800)
    learning = ("--text", text, "--valid", text, "--positions", 200, "--epochs", 1)
    run("train-heads", "--model", tiny_model, "--head", "tied", *learning)
    run("probe", "--model", tiny_model, "--facts", lama, "--head", "tied", "--out", tmp_path / "full")
    run("probe", "--model", tiny_model, "--facts", lama, "--head", "logit_lens", "--out", tmp_path / "kept", "--compact")
    return tmp_path / "full", tmp_path / "kept"


def test_counts_alone_say_what_the_predictions_say(run, asked, tmp_path):
    full, kept = asked
    assert len(keep_counts([full], kept, print)) == 1
    build_database([kept], tmp_path / "of kept")
    build_database([full], tmp_path / "of full")
    with open_database(tmp_path / "of kept") as db, open_database(tmp_path / "of full") as whole:
        (run_id,) = db.query("SELECT run_id FROM fact_runs WHERE counted")["run_id"]
        counted, full_rows = (precision(one, [run_id]) for one in (db, whole))
        by_answers = list(counted.filter(like="_answers"))
        assert counted[by_answers].isna().all(axis=None), "counts alone do not tell which facts have the same answer"
        assert counted.drop(columns=by_answers).equals(full_rows.drop(columns=by_answers)) and counted["swapped_n"].gt(0).all()
        assert head_training(db).equals(head_training(whole)) and len(head_training(db)) == 3
    assert check_store([kept]) == []
    assert not (kept / f"predictions-{run_id}.parquet").exists()
    # A second time finds the same.
    before = {path.name: path.read_bytes() for path in kept.iterdir()}
    keep_counts([full], kept, print)
    assert {path.name: path.read_bytes() for path in kept.iterdir()} == before
    listed = run("runs", "--folder", kept).output.splitlines()
    assert [line.endswith("only counts") for line in listed] == [False, True] and run_id in listed[1]
    assert [row["counted"] for row in json.loads(run("runs", "--folder", kept, "--json").output)] == [False, True]


def test_of_two_runs_on_one_question_the_first_is_kept_in_a_new_folder(run, asked, tiny_model, lama, tmp_path):
    full, _ = asked
    again = tmp_path / "again"
    run("probe", "--model", tiny_model, "--facts", lama, "--head", "tied", "--top", 3, "--out", again)
    (first,) = (path.stem.removeprefix("runs-") for path in full.glob("runs-*"))
    assert keep_counts([full, again], tmp_path / "fresh", print) == [first]
    assert check_store([tmp_path / "fresh"]) == []


def test_counted_runs_are_neither_pushed_nor_pulled(run, asked, tiny_model, tmp_path):
    full, kept = asked
    (counted,) = keep_counts([full], kept, print)
    output = run(
        "push", "predictions", "--model", tiny_model, "--runs", kept, "--licence", "mit", "--to-folder", tmp_path / "shared"
    ).output
    assert f"only counts and no predictions: {counted}" in output
    assert not list((tmp_path / "shared").rglob("*counts*")) and not list((tmp_path / "shared").rglob(f"*{counted}*"))
    for table in ("counted_runs", "layer_counts"):
        with pytest.raises(HubError, match="named after no shared table"):
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
