"""Databases that tests share: built once, taken as current, and out of reach of a test that builds again."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from probing.store import run_queries
from probing.store.build import build_database
from probing.store.database import open_database
from tests import databases as module
from tests.databases import Databases
from tests.store.planted import ONE_MODEL, SEVERAL, plant_runs
from tests.store.test_build_database import damage_in_place


@pytest.fixture
def built(tmp_path) -> list[Path]:
    """The folders in which a database was built."""
    return []


@pytest.fixture
def shared(tmp_path, built) -> Databases:
    """Databases of this test alone, which note what they build."""

    def build(sources, target):
        built.append(target)
        return build_database(sources, target)

    return Databases(tmp_path / "shared", build)


def test_equal_files_share_one_database_which_two_users_at_once_build_once(tmp_path, shared, built):
    places = [plant_runs(tmp_path / name) for name in ("one", "two")]
    ready = threading.Barrier(2)

    def ask(place: Path) -> Path:
        ready.wait(10)
        return shared.shared(place)

    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(ask, places))
    assert found[0] == found[1] and built == [found[0]]
    assert shared.shared(plant_runs(tmp_path / "three", SEVERAL[:2])) != found[0] and len(built) == 2


@pytest.mark.parametrize("copied", [True, False], ids=["copied", "linked"])
def test_what_a_test_builds_again_replaces_its_own_file_and_not_the_shared_one(tmp_path, shared, monkeypatch, copied):
    monkeypatch.setattr(module, "COPIED", 2**40 if copied else 0)
    source, steps = plant_runs(tmp_path / "runs"), []
    mine = shared.put(tmp_path / "cache" / "database", source)
    (file,) = mine.glob("*.duckdb")
    (origin,) = shared.shared(source).glob("*.duckdb")
    assert file.samefile(origin) is not copied
    assert build_database([source], mine, lambda *step: steps.append(step)) == file and steps == [], "nothing is built"
    before = origin.read_bytes()
    plant_runs(tmp_path / "runs", SEVERAL[1:3])
    assert build_database([source], mine) != file and not file.exists() and steps == []
    assert origin.read_bytes() == before and shared.changed() == []
    with open_database(mine) as own, open_database(origin.parent) as others:
        assert len(run_queries.runs(own)) == 3 and len(run_queries.runs(others)) == len(ONE_MODEL)


def test_a_shared_database_that_a_test_changed_is_named(tmp_path, shared):
    folder = shared.shared(plant_runs(tmp_path / "runs"))
    assert shared.changed() == []
    (file,) = folder.glob("*.duckdb")
    damage_in_place(file)
    assert shared.changed() == [folder.name]


def test_where_the_program_looks_is_the_database_of_its_usual_results(tmp_path, shared, built, monkeypatch):
    monkeypatch.setenv("PROBING_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PROBING_SNAPSHOT", str(plant_runs(tmp_path / "snapshot")))
    plant_runs(tmp_path / "cache" / "runs", SEVERAL[1:3])
    shared.put_usual()
    shared.put_usual()
    with open_database(tmp_path / "cache" / "database") as database:
        assert len(run_queries.runs(database)) == 3
    assert len(built) == 1
