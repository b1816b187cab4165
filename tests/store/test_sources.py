"""Which table a file is of."""

from pathlib import Path

import pytest

from probing.store import sources
from probing.store.parquet import write_table
from probing.store.schema import SCHEMAS
from probing.store.sources import files_of, find_files, fingerprint_of, table_of, version_of
from tests.store.planted import plant_runs


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
