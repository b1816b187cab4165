"""A damaged file is named and left out before any library opens it, whoever wrote it."""

import json
import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from probing.kernel.errors import StoreError
from probing.kernel.files import file_sha256
from probing.kernel.store import parquet, seals, strange
from probing.kernel.store.check import check_store
from probing.kernel.store.opening import open_database
from probing.kernel.store.parquet import find_files, fingerprint_of, read_table, write_table
from probing.kernel.store.stored import fact_runs
from probing.kernel.store.strange import Contents, contents
from tests.planted_store import PlantedRun, plant_runs, prediction_rows

RUN, OTHER = PlantedRun(), PlantedRun(model="nesia-mini-qa", base="nesia-mini")
NO_BOUND = Contents(10**9, 10**9, 10**12, 10**9)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Results of two models; each process keeps its notes on files in a cache of its own."""
    monkeypatch.setenv("PROBING_CACHE", str(tmp_path / "cache"))
    return plant_runs(tmp_path / "runs", [RUN, OTHER])


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of files that processes were begun for."""
    numbers, run = [], subprocess.run

    def counting(command, **given):
        numbers.append(len(given["input"].splitlines()))
        return run(command, **given)

    monkeypatch.setattr(seals.subprocess, "run", counting)
    return numbers


def predictions(folder: Path) -> Path:
    return folder / RUN.run_id / f"predictions-{RUN.run_id}.parquet"


def unsealed(path: Path) -> Path:
    """The file as an earlier version wrote it."""
    content = path.read_bytes()
    place = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    path.write_bytes(content[: place - 44] + content[place:])
    return path


def patched(path: Path, old: bytes, new: bytes) -> Path:
    """The file with other bytes at one place of its footer."""
    content = path.read_bytes()
    at = content.rindex(old)
    assert at > len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    path.write_bytes(content[:at] + new + content[at + len(old) :])
    return path


def with_statistics(path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same rows with smallest and largest values in the footer, as files of many rows have them."""
    with monkeypatch.context() as patch:
        patch.setattr(parquet, "_FEW_ROWS", 0)
        return write_table("predictions", prediction_rows(RUN), path)


def test_a_sealed_file_is_one_to_other_libraries_and_has_the_sum_of_one_without_a_seal(folder, tmp_path):
    path, rows = predictions(folder), read_table(predictions(folder), "predictions")
    assert pq.read_table(path).equals(rows) and len(duckdb.read_parquet(str(path)).fetchall()) == len(rows)
    now, sealed = seals.sums(path)
    before = fingerprint_of(find_files([folder]))
    assert now == sealed == file_sha256(unsealed(path)) and seals.sums(path) == (now, "")
    assert fingerprint_of(find_files([folder])) == before


def test_whatever_bit_of_a_sealed_file_is_wrong_it_is_named_or_has_its_rows(folder):
    path, rng = predictions(folder), random.Random(0)
    whole, rows = path.read_bytes(), read_table(predictions(folder), "predictions")
    footer = int.from_bytes(whole[-8:-4], "little")
    named = 0
    for trial in range(60):
        damaged = bytearray(whole)
        damaged[rng.randrange(len(whole) - footer if trial % 2 else 0, len(whole) - 4)] ^= 1 << rng.randrange(8)
        path.write_bytes(damaged)
        try:
            assert read_table(path, "predictions").equals(rows)
        except StoreError as error:
            assert path.name in str(error)
            named += 1
    assert named > 50


#: Damage to the footer of a file without a seal: bytes, what they become, and what is said of it.
FOOTERS: dict[str, tuple[bytes, bytes, str]] = {
    # The type of a column of numbers, as only the description of its bytes says it.
    "a type that ends the reader": (b"\x15\x02\x19", b"\x15\x12\x19", "ends the process that reads it (SIGABRT)"),
    "a name that is no text": (b"gold_logp", b"gold\xfflogp", "codec can't decode"),
    # The last layer, which no reader would look for in these rows.
    "a false greatest value": (b"\x04\x03\0\0\0\x18\x04\0", b"\x04\x02\0\0\0\x18\x04\0", "says other values of layer"),
}


@pytest.mark.parametrize("damage", FOOTERS)
def test_a_file_of_unknown_hand_that_harms_its_reader_is_left_out_and_all_others_are_read(folder, monkeypatch, damage):
    path = unsealed(with_statistics(predictions(folder), monkeypatch))
    old, new, said = FOOTERS[damage]
    patched(path, old, new)
    with open_database(folder) as db:
        assert set(fact_runs(db)["run_id"]) == {RUN.run_id, OTHER.run_id}
        assert path.name in db.left_out["name"].item() and said in db.left_out["why"].item()
    assert any(path.name in problem and said in problem for problem in check_store([folder]))


def test_files_of_unknown_hand_are_read_by_one_process_and_remembered(folder, monkeypatch, begun):
    monkeypatch.setattr(seals, "_LONG", 0)
    paths = [unsealed(path) for path in sorted(folder.rglob("*.parquet"))]
    for forget, wanted in ((True, [len(paths)]), (False, []), (True, [])):
        if forget:
            # As another process begins.
            monkeypatch.setattr(seals, "_known", {})
        begun.clear()
        seals.examine(paths)
        assert begun == wanted
    os.utime(paths[0], ns=(1, 1))
    seals.examine(paths)
    assert begun == [1]


def test_a_cache_that_cannot_be_written_or_holds_anything_else_costs_the_memory_only(
    folder, tmp_path, monkeypatch, begun
):
    monkeypatch.setattr(seals, "_LONG", 0)
    path = unsealed(predictions(folder))
    (tmp_path / "cache").mkdir()
    for note in ("[", "[1]", json.dumps({str(path): "mine"})):
        (tmp_path / "cache" / "examined.json").write_text(note)
        monkeypatch.setattr(seals, "_known", {})
        seals.examine([path])
    monkeypatch.setenv("PROBING_CACHE", str(predictions(folder) / "below-a-file"))
    monkeypatch.setattr(seals, "_known", {})
    seals.examine([path])
    assert begun == [1, 1, 1, 1]


def test_what_ships_is_compared_with_its_sum_and_read_by_no_process(folder, tmp_path, monkeypatch, begun):
    ships, copied = (unsealed(path) for path in sorted(folder.rglob("predictions-*.parquet")))
    (tmp_path / "SHA256SUMS").write_text(
        f"{file_sha256(ships)}  {ships.relative_to(tmp_path)}\n{file_sha256(copied)}  x\n"
    )
    monkeypatch.setattr(seals, "SHIPPED", tmp_path / "SHA256SUMS")
    monkeypatch.setattr(seals, "shipped_sums", seals.shipped_sums.__wrapped__)
    with open_database(folder) as db:
        assert db.left_out.empty
    content = bytearray(ships.read_bytes())
    content[100] ^= 1
    ships.write_bytes(content)
    with open_database(folder) as db:
        assert f"{ships} is not the file that ships; restore" in db.left_out["why"].item()
    assert begun == []


def test_check_reads_again_what_was_looked_at_before(folder):
    path = predictions(folder)
    with open_database(folder):
        stat, content = path.stat(), bytearray(path.read_bytes())
        content[60] ^= 1
        path.write_bytes(content)
        os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
        assert any(f"cannot read {path}: its bytes are not those" in problem for problem in check_store([folder]))


def planted(path: Path, column: pa.Array) -> str:
    pq.write_table(pa.table({"values": column}), path, compression="zstd", write_page_checksum=True)
    return str(path)


def test_a_bound_holds_while_a_file_is_read(tmp_path):
    texts = planted(tmp_path / "texts.parquet", pa.array([f"{n:05}" * 200 for n in range(20_000)]))
    lists = planted(tmp_path / "lists.parquet", pa.array([[n] * 100 for n in range(20_000)]))
    whole = contents(texts, NO_BOUND)
    assert (whole.rows, whole.values, whole.text, whole.longest) == (20_000, 20_000, 20_000_000, 1000)
    assert contents(lists, NO_BOUND).values == 2_000_000
    for path, bound in ((texts, {"text": 10**6}), (texts, {"rows": 100}), (lists, {"values": 10**5})):
        most = Contents(**{**vars(NO_BOUND), **bound})
        found, (name,) = contents(path, most), bound
        assert bound[name] < getattr(found, name) <= bound[name] + 5_000_000 and found.rows < 20_000


@pytest.mark.skipif(sys.platform != "linux", reason="the address space is limited on Linux")
def test_what_takes_much_memory_at_once_is_refused_by_the_process_that_reads_it(tmp_path):
    row = pa.ListArray.from_arrays(pa.array([0, 30_000_000], pa.int32()), pa.array(np.zeros(30_000_000, np.uint32)))
    path = Path(planted(tmp_path / "row.parquet", row))
    assert path.stat().st_size < 100_000
    assert seals.read_strange({path: NO_BOUND})[path].problem == "a part of it takes more than 200 MB of memory"


def test_libraries_that_read_other_rows_are_damage_whatever_the_path_is_called(tmp_path, monkeypatch):
    folder = tmp_path / "it's [a] ?*"
    folder.mkdir()
    path = planted(folder / "values[1].parquet", pa.array(range(100)))
    assert contents(path, None).problem == ""
    read: Callable = strange._batches
    monkeypatch.setattr(strange, "_batches", lambda file: (batch.slice(1) for batch in read(file)))
    assert contents(path, None).problem == "two libraries read different rows in it"
