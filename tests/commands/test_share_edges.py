"""``push edges`` and ``pull``: a round trip through a folder, and what is refused."""

import json
import shutil

import pytest
import yaml

from probing.core.errors import HubError, StoreError
from probing.core.files.share_manifest import MANIFEST, describe, read_manifest
from probing.store.check import check_store
from probing.store.parquet import read_table, write_table
from tests.edges_planted import ROLES, RUNS, SRL, PlantedEdgeRun, PlantedTask, plant_edge_runs

OURS = [run for run in RUNS if run.model == "nesia-mini"]


@pytest.fixture()
def at(monkeypatch):
    def point(folder):
        monkeypatch.setenv("PROBING_CACHE", str(folder / "cache"))
        monkeypatch.setenv("PROBING_SNAPSHOT", str(folder / "snapshot"))
        return folder

    return point


@pytest.fixture()
def shared(run, at, tmp_path):
    """Planted runs of two models, of which one is shared."""
    at(tmp_path / "owner")
    plant_edge_runs(tmp_path / "owner" / "snapshot")
    run("push", "edges", "--model", "nesia-mini", "--to-folder", tmp_path / "shared", "--licence", "CC-BY-SA-4.0")
    return tmp_path / "shared"


def seal(folder):
    """Writes the manifest again, so that sums are right whatever was changed."""
    old = read_manifest(folder / MANIFEST)
    (folder / MANIFEST).write_text(describe(folder, "edges", old.model, "", old.code_version).model_dump_json(), encoding="utf-8")


def test_runs_come_back_as_they_were_and_are_reported(run, at, shared, tmp_path):
    before = json.loads(run("edges", "report", "--model", "nesia-mini", "--json").stdout)
    at(tmp_path / "taker")
    run("pull", "--from-folder", shared)
    assert check_store([tmp_path / "taker" / "cache" / "runs"]) == []
    assert json.loads(run("edges", "report", "--json").stdout) == before
    rows = [row for path in (tmp_path / "taker").rglob("edge_runs-*.parquet") for row in read_table(path, "edge_runs").to_pylist()]
    assert sorted(row["run_id"] for row in rows) == sorted(one.run_id for one in OURS)


def test_the_card_names_the_runs_and_the_licence_of_every_task(shared):
    card = (shared / "README.md").read_text(encoding="utf-8")
    matter = yaml.safe_load(card.split("---")[1])
    assert matter["license"] == "cc-by-sa-4.0"
    assert {one["config_name"] for one in matter["configs"]} == {path.name.split("-")[0] for path in (shared / "data").iterdir()}
    assert "| proto-roles | not to be shown |" in card and all(f"`{one.run_id}`" in card for one in OURS)


def test_pushing_and_pulling_the_same_again_changes_nothing(run, at, shared, tmp_path):
    manifest = (shared / MANIFEST).read_bytes()
    run("push", "edges", "--model", "nesia-mini", "--to-folder", shared, "--licence", "CC-BY-SA-4.0")
    assert (shared / MANIFEST).read_bytes() == manifest
    at(tmp_path / "taker")
    run("pull", "--from-folder", shared)
    times = {path: path.stat().st_mtime_ns for path in (tmp_path / "taker" / "cache" / "runs").iterdir()}
    run("pull", "--from-folder", shared)
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "taker" / "cache" / "runs").iterdir()} == times


def test_what_was_asked_for_as_something_else_is_refused(run, at, shared, tmp_path):
    at(tmp_path / "taker")
    with pytest.raises(HubError, match="holds edges, expected predictions"):
        run("pull", "--from-folder", shared, "--what", "predictions")
    run("pull", "--from-folder", shared, "--what", "edges")


def test_a_push_refuses_runs_that_are_not_whole(run, at, tmp_path):
    at(tmp_path)
    planted = plant_edge_runs(tmp_path / "snapshot", [PlantedEdgeRun(task=SRL)])
    words = ("push", "edges", "--model", "nesia-mini", "--to-folder", tmp_path / "shared")
    shutil.copytree(planted, tmp_path / "kept")

    def restored():
        shutil.rmtree(planted)
        return shutil.copytree(tmp_path / "kept", planted)

    (planted / "edge_targets-srl.parquet").unlink()
    with pytest.raises(StoreError, match=r"lacks edge_targets-srl\.parquet"):
        run(*words)
    (path,) = restored().rglob("edge_mix-*.parquet")
    path.unlink()
    with pytest.raises(StoreError, match=r"edge_mix has the layers \[\], expected"):
        run(*words)
    (path,) = restored().rglob("edge_scores-*.parquet")
    write_table("edge_scores", [row | {"fp": row["fp"] + 1} for row in read_table(path, "edge_scores").to_pylist()], path)
    with pytest.raises(StoreError, match=r"its answers give|targets, expected"):
        run(*words)
    restored()
    run(*words)
    with pytest.raises(StoreError, match="no probes of bert-base-uncased"):
        run("push", "edges", "--model", "bert-base-uncased", "--to-folder", tmp_path / "other")


def test_data_of_the_users_own_need_a_licence(run, at, tmp_path):
    at(tmp_path)
    own = PlantedTask("my-task", "My task", 2, ROLES.labels, rises=9.0, several=True)
    plant_edge_runs(tmp_path / "snapshot", [PlantedEdgeRun(task=own)])
    words = ("push", "edges", "--model", "nesia-mini", "--to-folder", tmp_path / "shared")
    with pytest.raises(HubError, match="my-task, whose data are not this project's"):
        run(*words)
    run(*words, "--licence", "MIT")


def changed(folder, table, change, which=0):
    path = sorted((folder / "data").glob(f"{table}-*.parquet"))[which]
    write_table(table, change(read_table(path, table).to_pylist()), path)


DAMAGE = {
    "weights": (lambda folder: changed(folder, "edge_mix", lambda rows: [row | {"weight": row["weight"] / 3} for row in rows]), "sum to 1"),
    "scores": (lambda folder: changed(folder, "edge_scores", lambda rows: rows[1:]), "nothing was taken"),
    "value": (lambda folder: changed(folder, "edge_mix", lambda rows: [row | {"norm": float("nan")} for row in rows]), "norm is nan"),
    "configuration": (lambda folder: changed(folder, "edge_runs", lambda rows: [row | {"config": "{}"} for row in rows]), "fingerprint"),
    "model": (
        lambda folder: changed(folder, "edge_runs", lambda rows: [row | {"model": "other"} for row in rows]),
        "the manifest says nesia-mini",
    ),
    "other run's rows": (
        lambda folder: changed(folder, "edge_scores", lambda rows: [row | {"run_id": "0" * 16} for row in rows]),
        "holds rows of the run_id",
    ),
    "other task's rows": (
        lambda folder: changed(folder, "edge_labels", lambda rows: [row | {"task": "ccg"} for row in rows]), "holds rows of the task 'ccg'",
    ),
    "no row of a run": (lambda folder: sorted((folder / "data").glob("edge_runs-*"))[0].unlink(), "no row in any edge_runs file"),
    "no task": (lambda folder: [path.unlink() for path in (folder / "data").glob("edge_*-srl.parquet")], "no labels or no parts"),
    "text": (
        lambda folder: changed(folder, "edge_sentences", lambda rows: [row | {"text": "Another text ."} for row in rows]), "sha256",
    ),
    "foreign table": (
        lambda folder: shutil.copy(sorted((folder / "data").glob("edge_mix-*"))[0], folder / "data" / "edge_other-x.parquet"),
        "named after no shared table",
    ),
    "other table": (
        lambda folder: shutil.copy(sorted((folder / "data").glob("edge_mix-*"))[0], folder / "data" / "edge_codes-x.parquet"),
        "holds the table 'edge_mix'",
    ),
    "truncated": (lambda folder: sorted((folder / "data").glob("edge_mix-*"))[0].write_bytes(b"PAR1"), "truncated or no Parquet"),
    "a task of no run": (
        lambda folder: write_table(
            "edge_labels", [{"task": "ccg", "label": 0, "name": "S", "counts": True, "n": 3}], folder / "data" / "edge_labels-ccg.parquet"
        ),
        "no run there has the task ccg",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", DAMAGE)
def test_a_pull_refuses_what_is_not_whole_though_its_sums_are_right(run, at, shared, tmp_path, name):
    damage, said = DAMAGE[name]
    damage(shared)
    seal(shared)
    at(tmp_path / "taker")
    with pytest.raises(HubError, match=said) as error:
        run("pull", "--from-folder", shared)
    assert "nothing was taken" in str(error.value)
    assert not list((tmp_path / "taker").rglob("cache/runs/*.parquet"))


def test_a_changed_byte_is_refused_by_its_sum(run, at, shared, tmp_path):
    path = sorted((shared / "data").glob("edge_scores-*"))[0]
    path.write_bytes(path.read_bytes() + b" ")
    at(tmp_path / "taker")
    with pytest.raises(HubError, match="damaged or was changed"):
        run("pull", "--from-folder", shared)


def test_other_data_of_a_task_that_is_here_are_refused(run, at, shared, tmp_path):
    at(tmp_path / "taker")

    def all_seen(table, rows):
        return [row | {"licence": "other"} for row in rows] if table == "edge_tasks" else rows

    plant_edge_runs(tmp_path / "taker" / "snapshot", [PlantedEdgeRun(model="other-bert", task=SRL)], all_seen)
    with pytest.raises(HubError, match=r"edge_tasks-srl\.parquet holds different rows from"):
        run("pull", "--from-folder", shared)


def test_a_path_outside_is_refused(run, at, shared, tmp_path):
    text = (shared / MANIFEST).read_text(encoding="utf-8")
    (shared / MANIFEST).write_text(text.replace("data/edge_mix", "data/../edge_mix", 1), encoding="utf-8")
    at(tmp_path / "taker")
    with pytest.raises(HubError, match="is none of edges"):
        run("pull", "--from-folder", shared)
