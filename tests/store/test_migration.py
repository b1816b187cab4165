"""Files of earlier versions are read as this version stores them."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from probing.core.errors import SchemaVersionError, StoreError
from probing.core.tokens.text import NO_TEXT, SPACE
from probing.store.migration import stored_token_texts
from probing.store.parquet import as_stored, read_table, write_table
from probing.store.schema import SCHEMAS, VERSIONS
from tests.store.planted import TOKENS, token_rows

ROOT = Path(__file__).resolve().parents[2]
MARKS = {
    "##": ["the", "##s", "##ing", "\u0120"],
    "\u0120": ["<s>", "\u0120the", "\u0120of", "ing", "##"],
    "\u2581": ["<s>", "\u2581the", "ing"],
}


def write_as(path: Path, rows: list[dict], version: str, table: str = "vocabulary") -> Path:
    """A file as the program wrote it when the table had this version."""
    found = pa.Table.from_pylist(rows, schema=pa.schema([SCHEMAS[table].field(name) for name in rows[0]]))
    marks = {b"probing.table": table.encode(), b"probing.schema_version": version.encode()}
    pq.write_table(found.replace_schema_metadata(marks), path)
    return path


def raw(tokens) -> list[dict]:
    return [{"tokenizer": "planted", "id": number, "token": token} for number, token in enumerate(tokens)]


def test_a_vocabulary_of_raw_tokens_is_read_as_one_that_is_written_now(tmp_path: Path):
    path = write_as(tmp_path / "vocabulary-planted.parquet", raw(TOKENS), "1")
    before = path.read_bytes()
    assert read_table(path, "vocabulary").equals(as_stored("vocabulary", token_rows(TOKENS)))
    assert read_table(path, "vocabulary", ["text", "id"]).column_names == ["text", "id"]
    assert path.read_bytes() == before


def test_each_vocabulary_of_a_file_is_of_its_own_family(tmp_path: Path):
    rows = [row | {"tokenizer": mark} for mark, tokens in MARKS.items() for row in raw(tokens)]
    found = read_table(write_as(tmp_path / "vocabulary.parquet", rows, "1"), "vocabulary").to_pylist()
    assert {mark: [row["starts_word"] for row in found if row["tokenizer"] == mark] for mark in MARKS} == {
        "##": [True, False, False, True],
        "\u0120": [False, True, True, False, False],
        "\u2581": [False, True, False],
    }


@pytest.mark.parametrize(
    ("tokens", "texts"),
    [
        (["Ġparis", "SÃ£o", "ĠÃ©tÃ©", "Ġ", "ĊĊ", "Ã", "東京"], ["paris", "São", "été", SPACE, SPACE, NO_TEXT, "東京"]),
        (["▁paris", "s", "▁"], ["paris", "s", SPACE]),
        (["paris", "##s", "são", "Ã©"], ["paris", "##s", "são", "Ã©"]),
        (["the", "of"], ["the", "of"]),
        ([], []),
    ],
)
def test_raw_tokens_are_read_as_their_vocabulary_marks_them(tokens, texts):
    assert [said.text for said in stored_token_texts(tokens)] == texts


def test_a_vocabulary_without_marks_has_whole_words_only():
    assert all(said.starts_word for said in stored_token_texts(["the", "of"]))


@pytest.mark.parametrize(("table", "version"), [("vocabulary", "0"), ("vocabulary", "3"), ("vocabulary", "new"), ("relations", "2")])
def test_a_version_that_no_step_leads_from_is_refused_by_name(tmp_path: Path, table: str, version: str):
    row = raw(["a"])[0] if table == "vocabulary" else {"relation": "P1", "probe_set": "trex", "label": None, "cardinality": None}
    path = write_as(tmp_path / f"{table}.parquet", [row], version, table)
    with pytest.raises(SchemaVersionError, match=f"{table}.parquet has schema version {version}, expected {VERSIONS[table]}"):
        read_table(path, table)


def test_an_earlier_version_must_have_its_own_columns(tmp_path: Path):
    path = write_as(tmp_path / "vocabulary.parquet", token_rows(["a"]), "1")
    with pytest.raises(StoreError, match=r"has the columns .*'text', 'starts_word'\], expected \['tokenizer', 'id', 'token'\]"):
        read_table(path, "vocabulary")


def test_each_file_says_the_version_of_its_own_table(tmp_path: Path):
    written = {"vocabulary": token_rows(["a"]), "exposure": []}
    for table, rows in written.items():
        marks = pq.read_schema(write_table(table, rows, tmp_path / f"{table}.parquet")).metadata
        assert json.loads(marks[b"probing.schema_version"]) == VERSIONS[table]


@pytest.mark.parametrize("folder", ["data/snapshot", "tests/fixtures/v0_2/cache/runs"])
def test_vocabularies_of_earlier_versions_are_read_where_they_lie(folder):
    paths = sorted((ROOT / folder).glob("vocabulary-*.parquet"))
    assert paths
    for path in paths:
        rows = read_table(path, "vocabulary").to_pylist()
        assert all(row["text"] == row["token"] and row["starts_word"] != row["token"].startswith("##") for row in rows)
