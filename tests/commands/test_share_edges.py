"""``push edges`` and ``pull``: a round trip through a folder, and what is refused."""

import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from typer.testing import CliRunner

from probing.commands.main import app
from probing.core.errors import HubError, StoreError
from probing.store.check import check_store
from probing.store.parquet import read_table, write_table
from probing.workflows.share.manifest import MANIFEST, describe, read_manifest
from tests.edges_planted import POS, ROLES, SRL, PlantedEdgeRun, plant_edge_runs

#: One run of every kind, encoder and sort of labels, with and without codes and predictions; two that differ in their
#: seed alone.
OURS = [
    PlantedEdgeRun(task=SRL),
    PlantedEdgeRun(task=SRL, seed=1),
    PlantedEdgeRun(task=POS, kind="at", codes=True),
    PlantedEdgeRun(task=ROLES, encoder="random"),
    PlantedEdgeRun(task=POS, labels="control"),
    PlantedEdgeRun(task=POS, kind="full", predictions=False),
    PlantedEdgeRun(task=POS, encoder="random-body", predictions=False),
]


@pytest.fixture(scope="module")
def pushed(tmp_path_factory):
    """Planted runs of two models, of which one is shared in ``shared``; tests copy both."""
    return pushed_to(tmp_path_factory.mktemp("pushed"), [*OURS, PlantedEdgeRun(model="other-bert", task=SRL, layers=7)])


def pushed_to(folder, runs):
    """Plants runs in ``owner`` and shares those of nesia-mini in ``shared``, both in ``folder``."""
    plant_edge_runs(folder / "owner" / "snapshot", runs)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PROBING_CACHE", str(folder / "owner" / "cache"))
        patch.setenv("PROBING_SNAPSHOT", str(folder / "owner" / "snapshot"))
        words = [
            "push",
            "edges",
            "--model",
            "nesia-mini",
            "--to-folder",
            str(folder / "shared"),
            "--licence",
            "CC-BY-SA-4.0",
        ]
        result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    return folder


@pytest.fixture()
def shared(pushed, at, tmp_path):
    """A copy of that share, with its owner at work."""
    shutil.copytree(pushed, tmp_path, dirs_exist_ok=True)
    at(tmp_path / "owner")
    return tmp_path / "shared"


def seal(folder):
    """Writes the manifest again, so that sums are right whatever was changed."""
    old = read_manifest(folder / MANIFEST)
    (folder / MANIFEST).write_text(
        describe(folder, "edges", old.model, "", old.code_version).model_dump_json(), encoding="utf-8"
    )


def test_runs_come_back_as_they_were_and_are_reported(run, at, shared, tmp_path):
    reports = [("edges", "report", what, "--model", "nesia-mini", "--csv") for what in ("scores", "labels")]
    before = [run(*words).stdout for words in reports]
    at(tmp_path / "taker")
    run("pull", "--from-folder", shared)
    assert check_store([tmp_path / "taker" / "cache" / "runs"]) == []
    assert [run(*words).stdout for words in reports] == before
    rows = [
        row
        for path in (tmp_path / "taker").rglob("edge_runs-*.parquet")
        for row in read_table(path, "edge_runs").to_pylist()
    ]
    assert sorted(row["run_id"] for row in rows) == sorted(one.run_id for one in OURS)
    times = {path: path.stat().st_mtime_ns for path in (tmp_path / "taker" / "cache" / "runs").iterdir()}
    run("pull", "--from-folder", shared)
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "taker" / "cache" / "runs").iterdir()} == times


def test_the_card_names_the_runs_and_the_licence_of_every_task(shared):
    card = (shared / "README.md").read_text(encoding="utf-8")
    matter = yaml.safe_load(card.split("---")[1])
    assert matter["license"] == "cc-by-sa-4.0"
    assert {one["config_name"] for one in matter["configs"]} == {
        path.name.split("-")[0] for path in (shared / "data").iterdir()
    }
    assert "| proto-roles | not to be shown |" in card and all(f"`{one.run_id}`" in card for one in OURS)


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
    first, *others = read_table(path, "edge_scores").to_pylist()
    write_table("edge_scores", [first | {"fp": first["fp"] + 1}, *others], path)
    with pytest.raises(StoreError, match="targets, expected"):
        run(*words)
    restored()
    run(*words)
    with pytest.raises(StoreError, match="no probes of bert-base-uncased"):
        run("push", "edges", "--model", "bert-base-uncased", "--to-folder", tmp_path / "other")


def changed(folder, table, change, which=0, write=write_table):
    path = sorted((folder / "data").glob(f"{table}-*.parquet"))[which]
    write(table, change(read_table(path, table).to_pylist()), path)


def repeat_a_text(folder):
    """Writes a text once, in a dictionary, for 600,000 rows."""
    path = sorted((folder / "data").glob("edge_scores-*"))[0]
    marks, rows = pq.read_metadata(path).metadata, read_table(path, "edge_scores").take(pa.array([0] * 600_000))
    long = pa.DictionaryArray.from_arrays(pa.array([0] * len(rows), pa.int32()), ["x" * 2000])
    place = rows.schema.get_field_index("run_id")
    rows = rows.set_column(place, pa.field("run_id", long.type, nullable=False), long)
    with pq.ParquetWriter(path, rows.schema, store_schema=False, write_page_checksum=True) as writer:
        writer.write_table(rows)
        writer.add_key_value_metadata(marks)


def with_broken_text(table, rows, path):
    """As ``write_table``, with bytes in a text that are no UTF-8."""
    write_table(table, rows, path)
    found = pq.read_table(path)
    names = pa.array([b"\xff\xfe"] * found.num_rows).cast(pa.string(), safe=False)
    pq.write_table(found.set_column(0, found.schema.field(0), names), path)


DAMAGE = {
    "other run's rows": (
        lambda folder: changed(folder, "edge_scores", lambda rows: [row | {"run_id": "0" * 16} for row in rows]),
        "holds rows that belong in 'edge_scores-0000000000000000",
    ),
    "other task's rows": (
        lambda folder: changed(folder, "edge_labels", lambda rows: [row | {"task": "ccg"} for row in rows]),
        "holds rows that belong in 'edge_labels-ccg",
    ),
    "foreign table": (
        lambda folder: shutil.copy(
            sorted((folder / "data").glob("edge_mix-*"))[0], folder / "data" / "edge_other-x.parquet"
        ),
        "named after no shared table",
    ),
    "other table": (
        lambda folder: shutil.copy(
            sorted((folder / "data").glob("edge_mix-*"))[0], folder / "data" / "edge_codes-x.parquet"
        ),
        "holds the table 'edge_mix'",
    ),
    "endless label numbers": (
        lambda folder: changed(folder, "edge_labels", lambda rows: [*rows[:-1], rows[-1] | {"label": 60_000_000}]),
        "are stored, or not all",
    ),
    "more labels than any task": (
        lambda folder: changed(
            folder,
            "edge_labels",
            lambda rows: [*rows, *(rows[0] | {"label": n, "name": str(n)} for n in range(len(rows), 1001))],
        ),
        "1,001 rows, expected at most 1,000",
    ),
    "a text that a file has once and a million rows have": (
        repeat_a_text,
        "1,20.,...,... bytes of text",
    ),
    "a text that is no text": (
        lambda folder: changed(folder, "edge_mix", lambda rows: rows, write=with_broken_text),
        "Invalid UTF8",
    ),
}


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


def test_counts_that_a_share_lacks_or_has_wrong_are_those_of_its_answers(run, at, shared, tmp_path):
    counts = {
        path.name: path.read_bytes()
        for table in ("sentence_counts", "traces")
        for path in (shared / "data").glob(f"edge_{table}-*")
    }
    for name in counts:
        (shared / "data" / name).unlink()
    name = min(counts)
    (shared / "data" / name).write_bytes(counts[name])
    changed(shared, "edge_sentence_counts", lambda rows: [rows[0] | {"tp": rows[0]["tp"] + 1}, *rows[1:]])
    seal(shared)
    at(tmp_path / "taker")
    run("pull", "--from-folder", shared)
    assert (
        len(counts) > 4
        and {name: (tmp_path / "taker" / "cache" / "runs" / name).read_bytes() for name in counts} == counts
    )


def test_other_data_of_a_task_that_is_here_are_refused(run, at, shared, tmp_path):
    at(tmp_path / "taker")

    def all_seen(table, rows):
        return [row | {"licence": "other"} for row in rows] if table == "edge_tasks" else rows

    plant_edge_runs(tmp_path / "taker" / "snapshot", [PlantedEdgeRun(model="other-bert", task=SRL)], all_seen)
    with pytest.raises(HubError, match=r"edge_tasks-srl\.parquet holds different rows from"):
        run("pull", "--from-folder", shared)
