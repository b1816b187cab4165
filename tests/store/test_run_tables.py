"""Runs in the database: kind and provenance apart from what is about facts."""

import json
from pathlib import Path

import pytest

from probing.core.provenance import Provenance
from probing.store import run_queries
from probing.store.database import Database, open_database
from probing.store.parquet import read_table
from probing.store.run_tables import FACTS, RUN_TABLES
from probing.store.schema import SCHEMAS
from tests.store.planted import SEVERAL, PlantedRun, plant_store

SAID = {"weights": "abc", "head_recipe": '{"seed":0}', "configuration": "def", "casing": "cased"}
MADE = PlantedRun(head="logit_lens", made=tuple(SAID.items()))
#: What must not be in the table of all runs.
ABOUT_FACTS = {"head", "role", "template_set", "top_k", "probe_set", "layers", "n_read", "n_probed", "left_out", "tokenizer", "counted"}


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory):
    with open_database(plant_store(tmp_path_factory.mktemp("store"), [*SEVERAL, MADE])) as database:
        yield database


def test_the_table_of_all_runs_has_every_field_of_the_provenance_and_nothing_about_facts(db: Database):
    columns = set(RUN_TABLES["runs"][0].names)
    assert set(Provenance.model_fields) <= columns
    assert columns == {"run_id", "kind", "device", "created", "config", *Provenance.model_fields}
    assert set(RUN_TABLES["fact_runs"][0].names) == {"run_id", *ABOUT_FACTS}
    assert set(db.query("SELECT kind FROM runs")["kind"]) == {FACTS}
    assert (
        db.query("SELECT (SELECT count(*) FROM runs) AS n, (SELECT count(*) FROM fact_runs) AS m").iloc[0].tolist()
        == [len(SEVERAL) + 1] * 2
    )


def test_provenance_is_what_the_configuration_says_and_empty_where_it_says_nothing(db: Database):
    rows = db.query("SELECT * FROM runs").set_index("run_id")
    row, older = rows.loc[MADE.run_id], rows.loc[SEVERAL[0].run_id]
    assert row[["weights", "recipe", "configuration", "casing"]].tolist() == list(SAID.values())
    assert older[["weights", "recipe", "configuration", "casing", "threads"]].isna().all()


def test_both_parts_together_are_the_rows_of_the_files(db: Database):
    source = db.path.parents[1] / "runs"
    written = [row for path in source.rglob("runs-*.parquet") for row in read_table(path, "runs").to_pylist()]
    found = run_queries.runs(db)
    assert found.columns.tolist() == [*SCHEMAS["runs"].names, "counted", "hub_id"]
    assert sorted(found["run_id"]) == sorted(row["run_id"] for row in written)
    for row in written:
        (got,) = found[found["run_id"] == row["run_id"]].to_dict("records")
        assert got == row | {"counted": False, "hub_id": ""}


def test_a_configuration_with_values_of_other_types_does_no_harm(tmp_path: Path):
    runs = [PlantedRun(made=(("weights", value), ("threads", json.dumps(value)))) for value in (3, None, ["a"], {"b": 1})]
    with open_database(plant_store(tmp_path, runs)) as database:
        found = database.query("SELECT weights, threads FROM runs")
        assert len(found) == len(runs) and found.isna().all(axis=None)
