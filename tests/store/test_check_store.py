"""Every fault that is planted is named, and nothing else."""

import hashlib
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from probing.store import run_queries
from probing.store.check import check_store, fingerprint_problem
from probing.store.opening import open_database
from probing.store.parquet import read_table, write_table
from tests.store.planted import ONE_MODEL, SEVERAL, TOKENS, VARIANTS, plant_runs, plant_store, prediction_rows, run_row, token_rows

RUN = ONE_MODEL[0]
ROWS = prediction_rows(RUN)


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_sound_store_has_no_problem_and_opens_with_its_runs(tmp_path: Path, variant: str):
    with open_database(plant_store(tmp_path, variant)) as db:
        assert sorted(run_queries.runs(db)["run_id"]) == sorted(run.run_id for run in VARIANTS[variant])
    assert check_store([tmp_path / "runs"], tmp_path / "database") == []


def _predictions(rows: list[dict]) -> Callable[[Path], object]:
    return lambda folder: write_table("predictions", rows, folder / RUN.run_id / f"predictions-{RUN.run_id}.parquet")


def _run(**changes: object) -> Callable[[Path], object]:
    return lambda folder: write_table("runs", [run_row(RUN) | changes], folder / RUN.run_id / f"runs-{RUN.run_id}.parquet")


def _truncate(folder: Path) -> None:
    path = folder / "relations.parquet"
    path.write_bytes(path.read_bytes()[:-5])


FAULTS: dict[str, tuple[Callable[[Path], object], list[str]]] = {
    "truncated": (_truncate, ["relations.parquet"]),
    "foreign": (lambda f: pq.write_table(pa.table({"a": [1]}), f / "exposure-x.parquet"), ["not written by this program"]),
    "row missing": (_predictions(ROWS[1:]), [f"run {RUN.run_id}: 39 predictions, expected 40 (10 facts x 4 layers)"]),
    "row repeated": (
        _predictions([*ROWS, ROWS[0]]),
        ["1 rows repeat the key", "41 predictions, expected 40 (10 facts x 4 layers); 1 of them repeat a fact and layer"],
    ),
    "orphan": (_predictions([ROWS[0] | {"fact_id": "0" * 16}, *ROWS[1:]]), ["1 facts of its predictions are in no facts file"]),
    "uneven lists": (_predictions([ROWS[0] | {"top_logp": [0.0]}, *ROWS[1:]]), ["different lengths", "0 predictions, expected 40"]),
    "config changed": (_run(config=RUN.config.replace("tied", "lens")), ["the fingerprint of its configuration is"]),
    "config not canonical": (_run(config=RUN.config.replace(":", ": ")), ["not canonical JSON"]),
    "config not JSON": (_run(config="{"), ["not JSON"]),
    "left out": (_run(left_out="many"), ["left_out is not JSON"]),
    "tokenizer": (_run(tokenizer="other"), ["no vocabulary file has its tokenizer 'other'"]),
    "no run row": (lambda f: (f / RUN.run_id / f"runs-{RUN.run_id}.parquet").unlink(), ["has rows of predictions"]),
    "no predictions": (lambda f: (f / RUN.run_id / f"predictions-{RUN.run_id}.parquet").unlink(), ["0 predictions, expected 40"]),
    "second vocabulary": (
        lambda f: write_table("vocabulary", [token_rows(TOKENS)[5] | {"token": "rome"}], f / "vocabulary-2.parquet"),
        ["1 rows differ from those with the same ['tokenizer', 'id']"],
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_named_and_nothing_else(tmp_path: Path, fault: str):
    source = plant_runs(tmp_path / "runs")
    plant, expected = FAULTS[fault]
    plant(source)
    found = check_store([source])
    assert len(found) == len(expected), found
    for part in expected:
        assert any(part in problem for problem in found), (part, found)


def test_missing_folders_and_databases_are_named(tmp_path: Path):
    source = plant_runs(tmp_path / "runs")
    found = check_store([tmp_path / "nowhere", source], tmp_path / "db")
    assert len(found) == 2
    assert "nowhere" in found[0]
    assert "python -m probing build" in found[1]


def test_a_stale_database_is_named(tmp_path: Path):
    folder = plant_store(tmp_path)
    plant_runs(tmp_path / "runs", SEVERAL[1:2])
    (problem,) = check_store([tmp_path / "runs"], folder)
    assert "is stale" in problem


def test_a_run_in_two_folders_must_be_the_same_bytes(tmp_path: Path):
    one, two = plant_runs(tmp_path / "one"), plant_runs(tmp_path / "two")
    write_table("runs", [run_row(RUN) | {"device": "cuda", "created": "2027"}], two / RUN.run_id / f"runs-{RUN.run_id}.parquet")
    assert check_store([one, two]) == []
    _predictions([ROWS[0] | {"gold_rank": 7}, *ROWS[1:]])(two)
    (problem,) = check_store([one, two])
    assert f"run {RUN.run_id}: its predictions in several folders differ" in problem


def test_fingerprints_take_either_spelling_of_letters_outside_ascii():
    for config in ('{"model":"Zoë"}', '{"model":"Zo\\u00eb"}'):
        assert fingerprint_problem(hashlib.sha256(config.encode()).hexdigest()[:16], config) is None


def test_facts_that_differ_in_the_name_of_their_template_set_only_are_no_contradiction(tmp_path: Path):
    source = plant_runs(tmp_path / "runs")
    rows = read_table(source / "facts-trex.parquet", "facts").to_pylist()
    write_table("facts", [row | {"template_set": "lama"} for row in rows], source / "facts-of-lama.parquet")
    assert check_store([source]) == []
    write_table("facts", [row | {"template_set": "lama", "object": "else"} for row in rows], source / "facts-of-lama.parquet")
    assert "differ from those with the same ['fact_id']" in check_store([source])[0]
