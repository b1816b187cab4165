"""Files of other versions of a table are refused by name, and so are runs that were made before version 0.3."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from probing.core.errors import SchemaVersionError
from probing.store.parquet import read_table, write_table
from probing.store.schema import SCHEMAS, VERSIONS
from tests.store.planted import token_rows


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
