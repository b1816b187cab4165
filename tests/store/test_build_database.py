"""The database is made once from each state of the files, and replaced whole."""

import json
import logging
import os
import re
import shutil
import threading
from pathlib import Path
from unittest.mock import Mock

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from probing.core.errors import DamagedDatabaseError, NewerVersionError, SchemaVersionError, StoreError
from probing.store import build, database, parquet, run_queries
from probing.store.build import build_database, built_database
from probing.store.build_steps import load
from probing.store.build_steps.increment import Notes
from probing.store.check import check_store
from probing.store.database import current_version, open_database
from probing.store.parquet import read_table, write_table
from probing.store.schema import SCHEMAS
from probing.store.sources import data_version_of, find_files
from probing.workflows.knowledge.stored_run import has_predictions
from tests.store.planted import (
    ONE_MODEL,
    SEVERAL,
    PlantedRun,
    plant_runs,
    plant_store,
    prediction_rows,
    run_row,
    tables,
)

RUN = ONE_MODEL[0]


def damage_in_place(path: Path) -> None:
    """Empties all blocks but the first, which hold what is needed to open the file."""
    with path.open("r+b") as stream:
        stream.seek(3 * 4096)
        stream.write(bytes(path.stat().st_size - 3 * 4096))


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One run in ``runs`` and its database in ``database``, to be read only."""
    folder = tmp_path_factory.mktemp("planted")
    plant_store(folder)
    return folder


@pytest.fixture
def folder(planted: Path, tmp_path: Path) -> Path:
    """A database of the test's own, made from the run in ``tmp_path / "runs"``."""
    return shutil.copytree(planted, tmp_path, dirs_exist_ok=True) / "database"


def test_building_twice_does_nothing_the_second_time(tmp_path: Path, folder: Path):
    steps: list[tuple] = []
    (file,) = folder.glob("*.duckdb")
    before = {path: (path.stat().st_ino, path.stat().st_mtime_ns) for path in folder.iterdir()}
    assert build_database([tmp_path / "runs"], folder, lambda *step: steps.append(step)) == file
    assert steps == [] and before.keys() == {folder / "current.json", file}
    assert {path: (path.stat().st_ino, path.stat().st_mtime_ns) for path in folder.iterdir()} == before


def test_the_version_depends_on_the_bytes_and_not_on_the_place(tmp_path: Path):
    one, two = plant_runs(tmp_path / "one"), plant_runs(tmp_path / "two")
    assert data_version_of(find_files([one])) == data_version_of(find_files([two]))
    write_table("relations", [], two / "relations.parquet")
    assert data_version_of(find_files([one])) != data_version_of(find_files([two]))


def test_a_table_without_files_is_the_one_that_files_without_rows_make_and_costs_no_statement(tmp_path: Path, planted: Path):
    full = plant_runs(tmp_path / "full")
    lacking = sorted(SCHEMAS.keys() - {file.table for file in find_files([full])})
    assert {"edge_runs", "sentence_scores", "change_values", "counted_runs"} <= set(lacking)
    for table in lacking:
        write_table(table, [], full / f"{table}-none.parquet")
    with_nothing, with_no_rows = (
        tables(build_database([planted / "runs"], planted / "database")),
        tables(build_database([full], tmp_path / "db")),
    )
    of_the_files = {"files", "meta"}
    assert with_nothing.keys() - of_the_files > set(lacking)
    for name in with_nothing.keys() - of_the_files:
        assert with_nothing[name] == with_no_rows[name], name
    connection = Mock(spec=duckdb.DuckDBPyConnection)
    load.load_plain(connection, "edge_runs", [], lambda what: None, Notes())
    assert connection.mock_calls == []


def test_a_build_leaves_it_to_the_rename_to_wait_for_the_disk(tmp_path: Path):
    with duckdb.connect(tmp_path / "new.duckdb") as connection:
        build._wait_for_no_disk(connection)
        assert connection.execute("SELECT current_setting('fsync_mode')").fetchall() == [("NONE",)]
    older = Mock(spec=duckdb.DuckDBPyConnection)
    older.execute.side_effect = duckdb.CatalogException("unrecognized configuration parameter")
    build._wait_for_no_disk(older)


def test_a_new_database_is_found_through_the_pointer_and_old_readers_go_on(tmp_path: Path, folder: Path):
    old = open_database(folder)
    assert len(run_queries.runs(old)) == 1
    plant_runs(tmp_path / "runs", SEVERAL[:2])
    build_database([tmp_path / "runs"], folder)
    assert current_version(folder) != old.data_version
    with open_database(folder) as new:
        assert new.data_version == current_version(folder)
        assert len(run_queries.runs(new)) == 2
        assert len(run_queries.runs(old)) == 1
    old.close()
    assert not old.path.exists()


def test_readers_never_fail_while_the_database_is_replaced(tmp_path: Path, folder: Path):
    failures, stop = [], threading.Event()

    def read() -> None:
        while not stop.is_set():
            try:
                with open_database(folder) as db:
                    assert len(run_queries.runs(db)) >= 1
            except Exception as error:
                failures.append(error)

    reader = threading.Thread(target=read)
    reader.start()
    for run in SEVERAL[1:3]:
        plant_runs(tmp_path / "runs", [run])
        build_database([tmp_path / "runs"], folder)
    stop.set()
    reader.join()
    assert failures == []


def test_a_lost_or_damaged_database_is_made_again(tmp_path: Path, folder: Path):
    file = open_database(folder).path
    file.write_bytes(b"not a database")
    with pytest.raises(StoreError, match="python -m probing build"):
        open_database(folder)
    build_database([tmp_path / "runs"], folder)
    with open_database(folder) as db:
        assert len(run_queries.runs(db)) == 1
        file = db.path
    file.unlink()
    with pytest.raises(StoreError, match=r"does not exist; run `python -m probing build`"):
        open_database(folder)
    assert build_database([tmp_path / "runs"], folder).is_file()


def test_a_failed_build_keeps_the_old_database(tmp_path: Path, folder: Path):
    before = current_version(folder)
    path = tmp_path / "runs" / RUN.run_id / f"predictions-{RUN.run_id}.parquet"
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(StoreError, match=f"predictions-{RUN.run_id}.parquet"):
        build_database([tmp_path / "runs"], folder)
    assert current_version(folder) == before
    assert not list(folder.glob("*.tmp*"))


def test_bad_sources_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(StoreError, match=r"no folder .*nowhere"):
        build_database([tmp_path / "nowhere"], tmp_path / "db")
    foreign = plant_runs(tmp_path / "foreign")
    pq.write_table(pa.table({"run_id": ["a"]}), foreign / "predictions-mine.parquet")
    with pytest.raises(StoreError, match=r"predictions-mine\.parquet .*not written by this program"):
        build_database([foreign], tmp_path / "db")
    monkeypatch.setattr(parquet, "VERSIONS", dict.fromkeys(parquet.VERSIONS, 0))
    older = plant_runs(tmp_path / "older")
    monkeypatch.undo()
    with pytest.raises(SchemaVersionError, match="schema version 0, expected 1"):
        parquet.read_table(older / "relations.parquet", "relations")


def test_other_files_are_let_be_and_progress_counts_up_to_its_total(tmp_path: Path):
    source, steps = plant_runs(tmp_path / "runs"), []
    pq.write_table(pa.table({"x": [1]}), source / "hidden-states.parquet")
    (source / "predictions-x.parquet.1234.tmp").write_bytes(b"half")
    with open_database(build_database([source], tmp_path / "db", lambda *step: steps.append(step)).parent) as db:
        assert len(run_queries.runs(db)) == 1
    assert [done for _, done, _ in steps] == list(range(len(steps)))
    assert steps[-1] == ("done", steps[-1][2], steps[-1][2])


def test_a_run_in_two_folders_counts_once_and_the_first_wins(tmp_path: Path, planted: Path):
    one, two = plant_runs(tmp_path / "one"), plant_runs(tmp_path / "two", ONE_MODEL)
    changed = [row | {"gold_rank": 299} for row in prediction_rows(RUN)]
    write_table("predictions", changed, two / RUN.run_id / f"predictions-{RUN.run_id}.parquet")
    write_table("runs", [run_row(RUN) | {"device": "second"}], two / RUN.run_id / f"runs-{RUN.run_id}.parquet")
    build_database([one, two], tmp_path / "db")
    with open_database(tmp_path / "db") as both, open_database(planted / "database") as alone:
        assert run_queries.runs(both)["device"].tolist() == ["cpu"]
        assert run_queries.aggregate(both, [RUN.run_id]).equals(run_queries.aggregate(alone, [RUN.run_id]))


def test_a_copied_folder_counts_once_and_a_run_in_several_shards_is_one_run(tmp_path: Path):
    copied = PlantedRun(head="logit_lens")
    source, rows = plant_runs(tmp_path / "runs", [RUN, copied]), prediction_rows(RUN)
    shutil.copytree(source / copied.run_id, source / "copy")
    whole = source / RUN.run_id / f"predictions-{RUN.run_id}.parquet"
    whole.unlink()
    write_table("predictions", rows[:13], whole.with_stem(whole.stem + "-0"))
    write_table("predictions", rows[13:], whole.with_stem(whole.stem + "-1"))
    with open_database(build_database([source], tmp_path / "db").parent) as db:
        for run in (RUN, copied):
            assert run_queries.aggregate(db, [run.run_id])["n"].sum() == len(rows)


def test_incomplete_runs_are_left_out_with_a_warning_and_one_still_being_probed_is_not_shown(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    missing, repeated, foreign, probed, whole = (PlantedRun(seed=seed) for seed in range(5))
    source = plant_runs(tmp_path / "runs", [missing, repeated, foreign, probed, whole])

    def predict(run: PlantedRun, rows: list[dict]) -> None:
        write_table("predictions", rows, source / run.run_id / f"predictions-{run.run_id}.parquet")

    predict(missing, prediction_rows(missing)[1:])
    predict(repeated, [prediction_rows(repeated)[1], *prediction_rows(repeated)[1:]])
    predict(foreign, [prediction_rows(foreign)[0] | {"fact_id": "0" * 16}, *prediction_rows(foreign)[1:]])
    (source / probed.run_id / f"runs-{probed.run_id}.parquet").unlink()
    with caplog.at_level(logging.WARNING):
        folder = build_database([source], tmp_path / "db").parent
    with open_database(folder) as db:
        assert run_queries.runs(db)["run_id"].tolist() == [whole.run_id]
        assert run_queries.aggregate(db, [run.run_id for run in (missing, repeated, foreign, probed)]).empty
    assert all(f"run {run.run_id} is left out" in caplog.text for run in (missing, repeated, foreign))


def test_no_database_names_the_command_that_makes_one(tmp_path: Path):
    for folder in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(StoreError, match=r"no database in .*; run `python -m probing build`"):
            open_database(folder)
        with pytest.raises(StoreError, match="python -m probing build"):
            current_version(folder)


@pytest.mark.parametrize("pointer", ["", "{", "[]", '{"file": 1}', '{"file": "x.duckdb", "data_version": "a", "schema_version": 0}'])
def test_a_bad_pointer_is_named(tmp_path: Path, pointer: str):
    (tmp_path / "current.json").write_text(pointer)
    with pytest.raises(StoreError, match="python -m probing build"):
        open_database(tmp_path)


def test_the_pointer_names_no_file_elsewhere(tmp_path: Path, folder: Path):
    content = json.loads((folder / "current.json").read_text())
    (tmp_path / "current.json").write_text(json.dumps(content | {"file": f"database/{content['file']}"}))
    with pytest.raises(StoreError, match="expected a file in the same folder"):
        open_database(tmp_path)


def test_a_foreign_database_is_named(folder: Path):
    path = folder / json.loads((folder / "current.json").read_text())["file"]
    path.unlink()
    duckdb.connect(path).close()
    with pytest.raises(StoreError, match="not one of results"):
        open_database(folder)


def test_the_database_is_read_only_and_closed_to_the_outside(tmp_path: Path, folder: Path):
    secret = tmp_path / "secret.csv"
    secret.write_text("a\n1\n")
    with open_database(folder) as db:
        for sql in (
            "DELETE FROM runs",
            f"SELECT * FROM read_csv('{secret}')",
            f"SELECT * FROM '{secret}'",
            f"COPY runs TO '{tmp_path / 'out.csv'}'",
            f"ATTACH '{tmp_path / 'other.duckdb'}'",
            "SET enable_external_access = true",
            "SET threads = 1",
            "INSTALL httpfs",
        ):
            with pytest.raises(StoreError):
                db.query(sql)
        assert len(run_queries.runs(db)) == 1


def test_a_long_query_is_stopped_and_the_next_one_runs(planted: Path):
    with open_database(planted / "database") as db:
        with pytest.raises(StoreError, match=r"took more than 0\.2 s"):
            db.query("SELECT sum(a.range * b.range % 7) FROM range(1000000) a, range(1000000) b", seconds=0.2)
        assert len(run_queries.runs(db)) == 1
    assert database.QUERY_SECONDS > 1


def test_what_killed_builds_left_is_swept_when_it_is_old_and_a_file_that_another_build_renames_meanwhile_is_no_error(tmp_path: Path):
    source, target = plant_runs(tmp_path / "runs"), tmp_path / "db"
    target.mkdir()
    old, young = target / "results-a.1.tmp", target / "results-b.2.tmp"
    spilled, other = target / "results-c.3.tmp.tmp", target / "results-d.4.tmp.tmp"
    for path in (old, young):
        path.write_bytes(b"half")
    for path in (spilled, other):
        path.mkdir()
        (path / "duckdb_temp_block-1.block").write_bytes(b"x")
    for path in (old, spilled):
        os.utime(path, (0, 0))
    # Listed, but not there when its age is asked, like a file that was renamed in between.
    (target / "results-e.5.tmp").symlink_to(target / "gone")
    assert build_database([source], target).is_file()
    assert not old.exists() and not spilled.exists()
    assert young.is_file() and other.is_dir(), "they may be another process's"


def test_a_file_of_another_schema_version_is_left_out_and_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog):
    source = plant_runs(tmp_path / "runs")
    monkeypatch.setattr(parquet, "VERSIONS", dict.fromkeys(parquet.VERSIONS, 0))
    plant_runs(source / "older", [PlantedRun(head="logit_lens")])
    monkeypatch.undo()
    with caplog.at_level(logging.WARNING), open_database(build_database([source], tmp_path / "db").parent) as db:
        assert run_queries.runs(db)["run_id"].tolist() == [RUN.run_id]
        left_out = run_queries.left_out_files(db)
    assert len(left_out) == 7
    assert left_out["why"].str.contains("schema version 0, expected ").all()
    assert f"predictions-{PlantedRun(head='logit_lens').run_id}.parquet has schema version 0" in caplog.text


def test_a_file_of_a_newer_version_is_neither_read_nor_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    source = plant_runs(tmp_path / "runs")
    path, *_ = sorted(source.rglob("predictions*.parquet"))
    path = path.rename(source / f"predictions-{RUN.run_id}.parquet")
    rows = parquet.read_table(path, "predictions")
    monkeypatch.setattr(parquet, "VERSIONS", dict(parquet.VERSIONS) | {"predictions": 99})
    parquet.write_table("predictions", rows, path)
    monkeypatch.undo()
    newer, words = path.read_bytes(), r"predictions-\w+\.parquet has schema version 99, expected \d+: a newer version wrote it; update"
    for asked in (
        lambda: parquet.read_table(path, "predictions"),
        lambda: parquet.write_table("predictions", rows, path),
        lambda: build_database([source], tmp_path / "db"),
        lambda: has_predictions(source, RUN.run_id, len(rows), print),
    ):
        with pytest.raises(NewerVersionError, match=words):
            asked()
    assert path.read_bytes() == newer and not list((tmp_path / "db").glob("*.duckdb"))
    (problem,) = (one for one in check_store([source]) if "99" in one)
    assert re.search(words, problem)


def test_a_database_damaged_in_place_is_noticed_and_made_again_while_it_is_open(tmp_path: Path, folder: Path):
    damaged = open_database(folder)
    damage_in_place(damaged.path)
    assert not database.is_whole(folder)
    assert "is damaged" in check_store([tmp_path / "runs"], folder)[0]
    made = build_database([tmp_path / "runs"], folder, verify=True)
    assert made != damaged.path
    with open_database(folder) as db:
        assert len(run_queries.runs(db)) == 1
        assert len(run_queries.aggregate(db, [RUN.run_id]))
    damaged.close()


def test_an_open_database_that_was_damaged_in_place_answers_all_the_same(
    tmp_path: Path, planted: Path, folder: Path, caplog: pytest.LogCaptureFixture
):
    with open_database(planted / "database") as undisturbed:
        expected = run_queries.aggregate(undisturbed, [RUN.run_id])
    db = built_database([tmp_path / "runs"], folder)
    damage_in_place(db.path)
    assert run_queries.aggregate(db, [RUN.run_id]).equals(expected)
    assert "is damaged" in caplog.text
    assert database.is_whole(folder)
    db.close()


@pytest.mark.parametrize("error", [duckdb.Error, duckdb.IOException, duckdb.FatalException, duckdb.InternalException])
def test_what_a_damaged_file_makes_duckdb_say_is_an_error_of_its_own(tmp_path: Path, error: type[Exception]):
    class Broken:
        def cursor(self):
            return self

        def execute(self, sql, parameters):
            raise error("checksum does not match")

        def interrupt(self):
            """Nothing runs."""

        close = interrupt

    with pytest.raises(DamagedDatabaseError, match="run `python -m probing build`, which makes it again"):
        database.Database(Broken(), tmp_path, "v").query("SELECT 1")


def test_of_sentences_with_equal_places_the_first_files_stay(tmp_path: Path):
    """A column of theirs is called ``place``, as the order of the files might be."""
    source = tmp_path / "runs"
    example = {"task": "own", "protocol": "ours", "place": 0, "label": 0, "pair": None}
    for folder, text in (("a", "The first file."), ("b", "The second file.")):
        rows = [example | {"example": "0" * 16, "text": text}]
        write_table("sentence_examples", rows, source / folder / "sentence_examples-own-ours.parquet")
    build_database([source], tmp_path / "db")
    with open_database(tmp_path / "db") as found:
        assert list(found.query("SELECT text FROM sentence_examples")["text"]) == ["The first file."]
    assert not [table for table, schema in SCHEMAS.items() if load._FILE in schema.names]


def test_rows_that_are_too_many_to_wait_give_the_same_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    source = plant_runs(tmp_path / "runs", SEVERAL[:2])
    # The same keys again, with other values: of several rows the first file's are taken.
    shutil.copytree(plant_runs(tmp_path / "other", [SEVERAL[0]]), source / "z")
    for path in (source / "z").rglob("facts-*.parquet"):
        write_table("facts", [row | {"pred": "changed"} for row in read_table(path, "facts").to_pylist()], path)
    at_once = tables(build_database([source], tmp_path / "at once"))
    for most in (1, 3000):
        monkeypatch.setattr(load, "_BYTES_AT_ONCE", most)
        assert tables(build_database([source], tmp_path / str(most))) == at_once
