"""Files of other versions of a table are refused by name, and so are runs that were made before version 0.3."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from probing.core.errors import SchemaVersionError
from probing.store.build import build_database
from probing.store.check import check_store
from probing.store.database import open_database
from probing.store.parquet import read_table, write_table
from probing.store.run_queries import runs
from probing.store.schema import SCHEMAS, VERSIONS
from tests.store.planted import PlantedRun, plant_runs, token_rows


def write_as(path: Path, rows: list[dict], version: str, table: str = "vocabulary") -> Path:
    """A file as the program wrote it when the table had this version."""
    found = pa.Table.from_pylist(rows, schema=pa.schema([SCHEMAS[table].field(name) for name in rows[0]]))
    marks = {b"probing.table": table.encode(), b"probing.schema_version": version.encode()}
    pq.write_table(found.replace_schema_metadata(marks), path)
    return path


@pytest.mark.parametrize(("table", "version"), [("vocabulary", "1"), ("vocabulary", "3"), ("vocabulary", "new"), ("relations", "2")])
def test_another_version_of_a_table_is_refused_by_name(tmp_path: Path, table: str, version: str):
    row = token_rows(["a"])[0] if table == "vocabulary" else {"relation": "P1", "probe_set": "trex", "label": None, "cardinality": None}
    path = write_as(tmp_path / f"{table}.parquet", [row], version, table)
    with pytest.raises(SchemaVersionError, match=f"{table}.parquet has schema version {version}, expected {VERSIONS[table]}"):
        read_table(path, table)


def test_each_file_says_the_version_of_its_own_table(tmp_path: Path):
    written = {"vocabulary": token_rows(["a"]), "exposure": []}
    for table, rows in written.items():
        marks = pq.read_schema(write_table(table, rows, tmp_path / f"{table}.parquet")).metadata
        assert json.loads(marks[b"probing.schema_version"]) == VERSIONS[table]


@pytest.mark.parametrize("version", ["0.1.0", "0.2.0"])
def test_a_run_made_before_0_3_is_left_out_and_named_with_the_command_that_makes_it_again(tmp_path: Path, caplog, version: str):
    old = PlantedRun(model="older", head="logit_lens", version=version)
    newer = [PlantedRun(model=name, version=name) for name in ("0.3.0", "0.10.0", "1.2.0", "0.8.0.dev0", "made up")]
    source = plant_runs(tmp_path / "runs", [old, *newer])
    again = "python -m probing probe --model older --head logit_lens --facts trex"
    (problem,) = check_store([source])
    assert problem.startswith(f"run {old.run_id}: version {version} ") and f"`{again}`" in problem
    build_database([source], tmp_path / "database")
    assert again in caplog.text and old.run_id in caplog.text
    with open_database(tmp_path / "database") as db:
        assert set(runs(db)["model"]) == {run.model for run in newer}


def test_the_command_names_a_replicates_seed_and_a_users_facts_and_templates(tmp_path: Path):
    own = PlantedRun(seed=2, role="replicate", template_set="paraphrase", version="0.2.0", made=(("probe_set", "mine"),))
    source = plant_runs(tmp_path / "runs", [own])
    rows = read_table(source / own.run_id / f"runs-{own.run_id}.parquet", "runs").to_pylist()
    write_table("runs", [row | {"probe_set": "mine"} for row in rows], source / own.run_id / f"runs-{own.run_id}.parquet")
    assert any("--head tied --seed 2 --facts FILE --as mine --templates paraphrase" in problem for problem in check_store([source]))
