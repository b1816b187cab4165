"""Files are written whole, only ours are read, and each is of one table."""

from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from probing.facts.stored_run import has_predictions
from probing.kernel.errors import NewerVersionError, StoreError
from probing.kernel.store import parquet
from probing.kernel.store import parquet as sources
from probing.kernel.store.check import check_store
from probing.kernel.store.columns import KEYS, SCHEMAS, SORT
from probing.kernel.store.parquet import (
    files_of,
    find_files,
    fingerprint_of,
    read_table,
    table_of,
    version_of,
    write_table,
)
from tests.planted_store import ONE_MODEL, PlantedRun, plant_runs, prediction_rows

ROWS = sorted(prediction_rows(ONE_MODEL[0]), key=lambda row: (row["fact_id"], row["layer"]))


def test_what_is_written_is_read(tmp_path: Path):
    path = write_table("predictions", ROWS, tmp_path / "new" / "predictions-a.parquet")
    found = read_table(path, "predictions")
    assert found.schema.equals(SCHEMAS["predictions"])
    for ours, theirs in zip(found.to_pylist(), ROWS, strict=True):
        assert ours == theirs


def test_every_way_of_giving_rows_gives_the_same_bytes(tmp_path: Path):
    columns = {name: [row[name] for row in ROWS] for name in ROWS[0]}
    typed = pa.Table.from_pylist(ROWS, schema=SCHEMAS["predictions"])
    pieces = pa.concat_tables([typed.slice(0, 7), typed.slice(7)])
    given = [ROWS, columns, typed, pieces, typed.select(typed.column_names[::-1]), pd.DataFrame(columns)]
    paths = [write_table("predictions", rows, tmp_path / f"predictions-{i}.parquet") for i, rows in enumerate(given)]
    assert len({path.read_bytes() for path in paths}) == 1


def test_rows_are_sorted_so_that_a_fact_has_all_its_rows_in_one_place(tmp_path: Path):
    rows = [*ROWS, *prediction_rows(PlantedRun(head="logit_lens"))]
    found = read_table(write_table("predictions", rows, tmp_path / "predictions.parquet"), "predictions").to_pylist()
    assert found == sorted(rows, key=lambda row: (row["run_id"], row["fact_id"], row["layer"]))


def test_every_table_may_be_empty_and_has_key_and_order(tmp_path: Path):
    for name, schema in SCHEMAS.items():
        assert {*KEYS[name], *SORT[name]} <= set(schema.names)
        assert read_table(write_table(name, [], tmp_path / f"{name}.parquet"), name).num_rows == 0


def test_damage_in_the_middle_is_named(tmp_path: Path):
    path = write_table("predictions", ROWS, tmp_path / "predictions-a.parquet")
    data = bytearray(path.read_bytes())
    data[4:200] = b"\xff" * 196
    path.write_bytes(data)
    with pytest.raises(StoreError, match=r"(?s)predictions-a\.parquet.*damaged"):
        read_table(path, "predictions")


def test_missing_foreign_older_and_other_tables_are_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(StoreError, match=r"no file .*nothing\.parquet"):
        read_table(tmp_path / "nothing.parquet", "runs")
    foreign = tmp_path / "predictions-foreign.parquet"
    pq.write_table(pa.table({"run_id": ["a"]}), foreign)
    with pytest.raises(StoreError, match="not written by this program"):
        read_table(foreign, "predictions")
    with pytest.raises(StoreError, match="holds the table 'exposure'"):
        read_table(write_table("exposure", [], tmp_path / "runs-x.parquet"), "runs")
    monkeypatch.setattr(parquet, "VERSIONS", {**parquet.VERSIONS, "predictions": 0})
    older = write_table("predictions", ROWS, tmp_path / "predictions-older.parquet")
    monkeypatch.undo()
    with pytest.raises(StoreError, match=r"predictions-older\.parquet has schema version 0, expected 1"):
        read_table(older, "predictions")


def test_a_file_of_a_newer_version_is_neither_read_nor_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / f"predictions-{ONE_MODEL[0].run_id}.parquet"
    monkeypatch.setattr(parquet, "VERSIONS", {**parquet.VERSIONS, "predictions": 99})
    newer = write_table("predictions", ROWS, path).read_bytes()
    monkeypatch.undo()
    for asked in (
        lambda: read_table(path, "predictions"),
        lambda: write_table("predictions", ROWS, path),
        lambda: has_predictions(tmp_path, ONE_MODEL[0].run_id, len(ROWS), print),
    ):
        with pytest.raises(
            NewerVersionError,
            match=r"predictions-\w+\.parquet has schema version 99, expected 1: a newer version wrote it",
        ):
            asked()
    assert path.read_bytes() == newer
    (problem,) = check_store([tmp_path])
    assert "a newer version wrote it; update" in problem


def test_wrong_rows_are_refused_and_leave_no_file(tmp_path: Path):
    path = tmp_path / "predictions.parquet"
    wrong = {
        "lacks the columns": [{name: value for name, value in ROWS[0].items() if name != "layer"}],
        "unknown columns": [ROWS[0] | {"colour": 1}],
        "empty values": [ROWS[0] | {"gold_rank": None}],
        "cannot write": [ROWS[0] | {"gold_rank": -1}],
    }
    for message, rows in wrong.items():
        with pytest.raises(StoreError, match=message):
            write_table("predictions", rows, path)
    with pytest.raises(StoreError, match="unknown table"):
        write_table("answers", [], path)
    assert list(tmp_path.iterdir()) == []


def test_a_failed_write_keeps_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = write_table("predictions", ROWS[:5], tmp_path / "predictions.parquet")
    before = path.read_bytes()

    def full(writer, table, **options):
        raise OSError("no space left on device")

    monkeypatch.setattr(pq.ParquetWriter, "write_table", full)
    with pytest.raises(OSError, match="no space"):
        write_table("predictions", ROWS, path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["predictions.parquet"]


@pytest.mark.parametrize("table", SCHEMAS)
def test_a_file_is_of_the_table_that_it_is_named_after(table: str):
    assert table_of(Path("some", f"{table}.parquet")) == table
    assert table_of(Path("some", f"{table}-0123.4-b.parquet")) == table


@pytest.mark.parametrize(
    "name",
    [
        "tasks_edges-a.parquet",
        "factsheet.parquet",
        "runs2.parquet",
        "runs-a.csv",
        "runs",
        "-runs.parquet",
        "my-runs.parquet",
        "Runs.parquet",
    ],
)
def test_a_name_that_only_begins_like_a_table_is_of_none(name: str):
    assert table_of(Path(name)) is None


def test_of_two_tables_that_a_name_begins_with_the_longer_one_counts(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sources, "SCHEMAS", {"tasks": None, "tasks-edges": None, "tasks_spans": None})
    names = ("tasks-a.parquet", "tasks-edges-a.parquet", "tasks-edges.parquet", "tasks_spans-a.parquet")
    assert [table_of(Path(name)) for name in names] == ["tasks", "tasks-edges", "tasks-edges", "tasks_spans"]


def test_files_with_other_names_do_not_belong_to_a_store(tmp_path: Path):
    source = plant_runs(tmp_path / "runs")
    before = find_files([source])
    write_table("facts", [], source / "facts_spans-a.parquet")
    (source / "runs_of_mine.parquet").write_text("no Parquet")
    assert find_files([source]) == before
    assert [path.name for path in files_of("facts", source)] == ["facts-trex.parquet"]


def test_the_fingerprint_depends_on_the_bytes_and_not_on_the_place_and_the_version_on_both(tmp_path: Path):
    one, two = plant_runs(tmp_path / "one"), plant_runs(tmp_path / "two")
    assert fingerprint_of(find_files([one])) == fingerprint_of(find_files([two]))
    before = version_of(find_files([two]))
    assert before == version_of(find_files([two])) != version_of(find_files([one]))
    write_table("relations", [], two / "relations.parquet")
    assert fingerprint_of(find_files([one])) != fingerprint_of(find_files([two]))
    assert version_of(find_files([two])) != before
