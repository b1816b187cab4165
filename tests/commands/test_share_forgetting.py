"""The lost facts and the series that ship are shared, though the snapshot has many runs in one file."""

from pathlib import Path

import pytest

from probing.core.errors import StoreError
from probing.core.paths import cache_folder
from probing.core.registry import REPOSITORY
from probing.store.parquet import read_table
from probing.store.sources import files_of
from probing.workflows.share.hub import LocalFolder
from probing.workflows.share.pull_refusals import check_results
from probing.workflows.share.push import PushRequest, push

SNAPSHOT = REPOSITORY / "data" / "snapshot"
TABLES = {
    "forgetting_runs": ["runs", "facts", "relations", "shares", "excesses"],
    "series_runs": ["runs", "steps", "counts", "facts"],
}


def shipped(table: str) -> dict[str, list[str]]:
    """Model -> ids of its runs in a table of runs."""
    found: dict[str, list[str]] = {}
    for path in files_of(table, SNAPSHOT):
        for row in read_table(path, table).to_pylist():
            found.setdefault(row["model"], []).append(row["run_id"])
    return found


def rows_of(table: str, folder: Path, run_id: str) -> list[dict]:
    rows = [
        row
        for path in files_of(table, folder)
        for row in read_table(path, table).to_pylist()
        if row["run_id"] == run_id
    ]
    return sorted(rows, key=str)


# Of the last only a part ships.
@pytest.mark.parametrize("model", [*sorted(shipped("forgetting_runs")), "nesia-mini-ner-conll-freeze-4-seed-1"])
def test_what_ships_of_a_model_is_shared_with_every_row(model, tmp_path, monkeypatch):
    monkeypatch.setenv("PROBING_CACHE", str(tmp_path / "cache"))
    request = PushRequest("forgetting", model, runs=(SNAPSHOT,), licence="mit")
    pushed = push(request, LocalFolder(tmp_path / "shared"), "there", lambda line: None)
    check_results(tmp_path / "shared", pushed.manifest, "there")
    card, expected = (tmp_path / "shared" / "README.md").read_text(), set()
    for table, parts in TABLES.items():
        for run_id in shipped(table).get(model, []):
            assert f"| `{run_id}` | " in card and rows_of(table, tmp_path / "shared", run_id)
            for part in parts:
                name = f"{table.partition('_')[0]}_{part}"
                expected.add(f"data/{name}-{run_id}.parquet")
                assert rows_of(name, tmp_path / "shared", run_id) == rows_of(name, SNAPSHOT, run_id)
    assert {file.path for file in pushed.manifest.content} == expected


def test_a_refused_push_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("PROBING_CACHE", str(tmp_path / "cache"))
    with pytest.raises(StoreError, match="no recoveries of lost facts and no series of nesia-mini"):
        push(
            PushRequest("forgetting", "nesia-mini", runs=(SNAPSHOT,)),
            LocalFolder(tmp_path / "shared"),
            "there",
            lambda line: None,
        )
    assert not (cache_folder() / "hub" / "outgoing" / "forgetting").exists() and not (tmp_path / "shared").exists()
