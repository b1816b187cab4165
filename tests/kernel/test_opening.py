"""Results are read where they are stored: what is new appears, what is damaged is left out by name, and nothing is
written.
"""

import ast
import os
import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import probing
from probing.facts.store import aggregate, relations
from probing.facts.store_facts import count_facts, fact_predictions, runs_of_fact, search_facts
from probing.facts.store_pairs import paired_facts
from probing.kernel.errors import StoreError
from probing.kernel.store import parquet
from probing.kernel.store.database import Database
from probing.kernel.store.opening import open_database
from probing.kernel.store.parquet import find_files, read_table, version_of, write_table
from probing.kernel.store.stored import fact_runs
from tests.planted_store import SEVERAL, VARIANTS, PlantedRun, count, plant_runs, prediction_rows

RUN, OTHER = PlantedRun(), PlantedRun(model="nesia-mini-qa", base="nesia-mini")


@pytest.fixture
def folder(tmp_path) -> Path:
    """Results of two models on the same facts."""
    return plant_runs(tmp_path / "runs", [RUN, OTHER])


def file_of(folder: Path, table: str, run: PlantedRun = RUN) -> Path:
    return folder / run.run_id / f"{table}-{run.run_id}.parquet"


def ids(db: Database) -> set[str]:
    return set(fact_runs(db)["run_id"])


def flip(path: Path, place: int) -> None:
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)


def test_without_files_every_table_is_empty(tmp_path):
    with open_database(plant_runs(tmp_path / "empty", [])) as db:
        assert fact_runs(db).empty and relations(db).empty and db.left_out.empty


@pytest.mark.parametrize(
    ("name", "neighbour"),
    [("x[1]", "x1"), ("q?", "qa"), ("a*", "abc"), ("[!b]'s", "c's"), ("y[a-c]", "yb"), ("it's [a] *", "it's a b")],
)
def test_signs_of_patterns_in_a_folders_name_stand_for_themselves(tmp_path, name, neighbour):
    known = PlantedRun(rank=lambda number, layer: 1)
    plant_runs(tmp_path / neighbour, [PlantedRun(rank=lambda number, layer: 200)])
    for folders in ([tmp_path / name], [tmp_path / name, tmp_path / neighbour]):
        with open_database(plant_runs(tmp_path / name, [known]), *folders[1:]) as db:
            assert not len(db.left_out) and count_facts(db, known.run_id) == len(known.asked)
            assert known.run_id in ids(db)
            assert {*search_facts(db, known.run_id)["last_rank"]} == {1}


def test_a_run_appears_once_its_row_is_there(folder):
    before = version_of(find_files([folder]))
    row = file_of(folder, "runs", OTHER)
    hidden = row.rename(row.with_suffix(".later"))
    with open_database(folder) as db:
        assert ids(db) == {RUN.run_id} and len(runs_of_fact(db, RUN.asked[0].fact_id)) == 1
    assert version_of(find_files([folder])) != before
    hidden.rename(row)
    with open_database(folder) as db:
        assert ids(db) == {RUN.run_id, OTHER.run_id} and len(runs_of_fact(db, RUN.asked[0].fact_id)) == 2


def test_a_run_without_predictions_has_the_numbers_of_its_counts_and_nothing_by_fact(folder):
    with open_database(folder) as db:
        before = aggregate(db, [RUN.run_id])
    file_of(folder, "predictions").unlink()
    with open_database(folder) as db:
        assert fact_runs(db).set_index("run_id")["counted"].to_dict() == {RUN.run_id: True, OTHER.run_id: False}
        assert aggregate(db, [RUN.run_id]).equals(before) and len(before)
        assert count_facts(db, RUN.run_id) == 0 and db.left_out.empty


def test_a_run_without_counts_is_left_out_with_what_to_do(folder):
    file_of(folder, "layer_counts").unlink()
    with open_database(folder) as db:
        assert ids(db) == {OTHER.run_id}
        (why,) = db.left_out["why"]
    assert (
        why == f"the run {RUN.run_id} has no rows of layer_counts; run `probe` again, or delete the files that have"
        f" {RUN.run_id} in their name"
    )


def test_the_first_of_two_folders_with_a_run_counts(tmp_path):
    own, shipped = plant_runs(tmp_path / "own", [RUN]), plant_runs(tmp_path / "shipped", [RUN, OTHER])
    write_table("predictions", [row | {"gold_rank": 7} for row in prediction_rows(RUN)], file_of(own, "predictions"))
    count(own, RUN)
    with open_database(own, shipped) as db:
        assert set(search_facts(db, RUN.run_id)["last_rank"]) == {7}
        assert not aggregate(db, [RUN.run_id])["hits_1"].any() and aggregate(db, [OTHER.run_id])["hits_1"].any()
        assert aggregate(db, [RUN.run_id]).groupby("layer")["n"].sum().eq(len(RUN.asked)).all()
        assert len(runs_of_fact(db, RUN.asked[0].fact_id)) == 2


def test_facts_and_relations_of_several_files_are_together_and_each_is_one_row(tmp_path):
    several = tmp_path / "several"
    one, two = (
        plant_runs(several / name, runs)
        for name, runs in (("one", [RUN]), ("two", [RUN, PlantedRun(probe_set="questions")]))
    )
    renamed = [
        row | {"label": "another label"} for row in read_table(two / "relations.parquet", "relations").to_pylist()
    ]
    write_table("relations", [*renamed, renamed[0] | {"relation": "P9999"}], two / "relations.parquet")
    with open_database(one, two) as db:
        found = db.query("SELECT count(*) AS n, count(DISTINCT fact_id) AS ids FROM facts").iloc[0]
        assert found["n"] == found["ids"] == len(RUN.asked) + 2
        labels = db.query("SELECT relation, label FROM relations").set_index("relation")["label"]
        assert labels["P19"] == "place of birth" and labels["P9999"] == "another label"


def damage_of(kind: str, path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Damages a file and gives what is said of it."""
    table = path.name.partition("-")[0]
    if kind == "truncated":
        path.write_bytes(path.read_bytes()[:-100])
        return "It is truncated or no Parquet"
    if kind == "empty":
        path.write_bytes(b"")
        return "cannot read"
    if kind == "another table":
        shutil.copyfile(path.with_name(path.name.replace(table, "runs")), path)
        return "holds the table 'runs'"
    if kind == "a bit":
        flip(path, 60)
        return "the file is damaged"
    rows = read_table(path, table)
    monkeypatch.setattr(parquet, "VERSIONS", {**parquet.VERSIONS, table: 99})
    write_table(table, rows, path)
    monkeypatch.undo()
    return "has schema version 99"


@pytest.mark.parametrize("kind", ["truncated", "empty", "another table", "a bit", "another version"])
def test_a_damaged_file_is_left_out_by_name_and_all_others_are_read(folder, monkeypatch, caplog, kind):
    path = file_of(folder, "predictions")
    said = damage_of(kind, path, monkeypatch)
    with open_database(folder) as db:
        assert db.left_out["name"].tolist() == [f"{RUN.run_id}/{path.name}"] and said in db.left_out["why"].item()
        assert caplog.messages == [f"left out: {db.left_out['why'].item()}"]
        assert ids(db) == {RUN.run_id, OTHER.run_id} and count_facts(db, OTHER.run_id) == len(OTHER.asked)


@pytest.mark.parametrize("rows", [1, 2000])
def test_impossible_numbers_are_found_when_a_file_is_opened_be_it_small_or_large(folder, rows):
    """Large files have the smallest and largest values of each column; small ones are read."""
    path = file_of(folder, "predictions")
    planted = [
        row | {"fact_id": f"{number}-{row['fact_id']}"} for number in range(rows) for row in prediction_rows(RUN)
    ]
    planted[-1]["gold_logp"] = 0.5
    write_table("predictions", planted, path)
    assert (parquet.check_file(path, "predictions").row_group(0).column(0).statistics is None) == (rows == 1)
    with open_database(folder) as db:
        assert "gold_logp is 0.5, expected 0 or less" in db.left_out["why"].item()


def test_a_file_whose_name_has_no_run_is_left_out(folder):
    path = file_of(folder, "predictions")
    path.rename(path.with_name("predictions-mine.parquet"))
    with open_database(folder) as db:
        assert "rename it to predictions-RUN.parquet" in db.left_out["why"].item()


@pytest.mark.parametrize("damage", ["truncated", "gone"])
def test_a_file_that_is_damaged_later_is_left_out_and_the_question_asked_again(folder, monkeypatch, damage):
    path = file_of(folder, "predictions")
    with open_database(folder) as db:
        before = db.version
        path.unlink() if damage == "gone" else damage_of(damage, path, monkeypatch)
        both = fact_predictions(db, RUN.asked[0].fact_id, [RUN.run_id, OTHER.run_id])
        assert set(both["run_id"]) == {OTHER.run_id}
        assert path.name in db.left_out["name"].item() and db.version != before
        assert fact_runs(db).set_index("run_id")["counted"].to_dict() == {RUN.run_id: True, OTHER.run_id: False}


def test_an_error_of_a_statement_is_no_ones_damage(folder):
    with open_database(folder) as db:
        with pytest.raises(StoreError, match=r"cannot query the results: .*no_such_column"):
            db.query("SELECT no_such_column FROM predictions")
        assert db.left_out.empty


def test_questions_on_some_runs_open_only_their_files(tmp_path):
    """Every other run's files are no longer there, and nobody notices."""
    folder = plant_runs(tmp_path, SEVERAL)
    base, tuned = (run for run in SEVERAL if (run.head, run.probe_set) == ("tied", "trex") and run.layers == 4)
    fact_id = base.asked[0].fact_id
    with open_database(folder) as db:
        for run in SEVERAL:
            for table in ("predictions", "known"):
                if run not in (base, tuned):
                    file_of(folder, table, run).unlink(missing_ok=True)
        assert len(paired_facts(db, base.run_id, tuned.run_id, 1)) == len(base.asked)
        assert count_facts(db, tuned.run_id, versus=base.run_id, part="kept")
        assert len(fact_predictions(db, fact_id, [base.run_id])) == base.layers
        assert db.left_out.empty


def test_what_is_open_reads_its_folders_and_nothing_else_and_keeps_its_settings(folder, tmp_path):
    secret = tmp_path / "secret.csv"
    secret.write_text("a,b\n1,2\n")
    with open_database(folder) as db:
        for sql in (f"SELECT * FROM read_csv('{secret}')", "SET enable_external_access = true", "INSTALL httpfs"):
            with pytest.raises(StoreError):
                db.query(sql)


def test_no_statement_of_the_store_writes():
    """DuckDB could write below an allowed folder, so no text that is given to it may ask it to."""
    writes = re.compile(r"\b(COPY|EXPORT|ATTACH|INSTALL|LOAD|INSERT|UPDATE|DELETE FROM|CHECKPOINT)\s", re.ASCII)
    texts = [
        (path.name, node.value)
        for path in Path(probing.__path__[0]).rglob("*.py")
        if path.parent.name == "store" or path.stem in ("kind", "counts") or path.stem.startswith("store")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    assert len(texts) > 1000 and [(name, text) for name, text in texts if writes.search(text)] == []


def test_a_folder_that_may_not_be_written_is_read_as_any_other(folder):
    if os.geteuid() == 0:
        # Rights do not bind root; what is there before and after is compared instead.
        before = {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in folder.rglob("*") if path.is_file()}
    else:
        for path in (folder, *folder.rglob("*")):
            path.chmod(0o555 if path.is_dir() else 0o444)
        before = {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in folder.rglob("*") if path.is_file()}
    with open_database(folder) as db:
        assert len(paired_facts(db, RUN.run_id, OTHER.run_id, 1)) == len(RUN.asked)
    assert before == {
        path: (path.stat().st_mtime_ns, path.read_bytes()) for path in folder.rglob("*") if path.is_file()
    }


def test_queries_in_many_threads_give_what_they_give_alone(tmp_path):
    with open_database(plant_runs(tmp_path, VARIANTS["several"])) as db:
        alone = {run.run_id: aggregate(db, [run.run_id]) for run in SEVERAL}
        wrong: list[str] = []

        def ask(run_id: str) -> None:
            if not all(aggregate(db, [run_id]).equals(alone[run_id]) for _ in range(5)):
                wrong.append(run_id)

        threads = [threading.Thread(target=ask, args=(run_id,)) for run_id in alone]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert wrong == []


def test_a_query_that_takes_too_long_is_stopped(folder):
    with open_database(folder) as db, pytest.raises(StoreError, match=r"took more than 0\.1 s"):
        db.query("SELECT count(*) FROM range(10000000) a, range(10000000) b", seconds=0.1)


_MANY = """
import resource, sys
from pathlib import Path
from probing.facts.store_facts import runs_of_fact
from probing.kernel.store.opening import open_database
from probing.facts.store import aggregate
from probing.kernel.store.stored import fact_runs
resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
with open_database(Path(sys.argv[1])) as db:
    found = list(fact_runs(db)["run_id"])
    counted = aggregate(db, found)
    asked = runs_of_fact(db, sys.argv[2])
    everything = db.query("SELECT count(DISTINCT run_id) AS n FROM predictions")["n"].item()
    print(len(found), counted["run_id"].nunique(), len(asked), everything, len(db.left_out))
"""


@pytest.mark.slow
def test_three_hundred_runs_are_read_by_a_process_that_may_open_256_files(tmp_path):
    folder = plant_runs(tmp_path, [RUN])
    copied = {
        table: read_table(file_of(folder, table), table)
        for table in ("predictions", "known", "layer_counts", "total_counts", "runs")
    }
    for number in range(299):
        for table, rows in copied.items():
            write_table(
                table,
                rows.set_column(0, "run_id", [[f"{number:016x}"] * len(rows)]),
                folder / f"{table}-{number:016x}.parquet",
            )
    asked = [sys.executable, "-c", _MANY, str(folder), RUN.asked[0].fact_id]
    done = subprocess.run(asked, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["300", "300", "300", "300", "0"]


@pytest.mark.slow
def test_thirty_readers_see_no_wrong_row_while_runs_are_added_replaced_and_deleted(tmp_path):
    """Every state that a reader can meet has the run that stays; of the run that comes and goes, all rows are of one
    version or none.
    """
    spare = {rank: tmp_path / f"rank-{rank}" for rank in (3, 7)}
    for rank, place in spare.items():
        plant_runs(place, [PlantedRun(seed=1, rank=lambda number, layer, rank=rank: rank)])
    folder, guest = plant_runs(tmp_path / "runs", [RUN]), PlantedRun(seed=1)
    with open_database(folder) as db:
        stays = search_facts(db, RUN.run_id)
    wrong: list[str] = []
    over = threading.Event()

    def read() -> None:
        opened, state = open_database(folder), ""
        while not over.is_set():
            try:
                files = find_files([folder])
                if version_of(files) != state:
                    opened, state = open_database(folder), version_of(files)
                ranks = set(search_facts(opened, guest.run_id)["last_rank"])
                counts = aggregate(opened, [guest.run_id])
                if not (ranks <= {3} or ranks <= {7}) or counts["hits_1"].any():
                    wrong.append(f"ranks {ranks}")
                if not search_facts(opened, RUN.run_id).equals(stays):
                    wrong.append("other rows of the run that stays")
            except Exception as error:
                wrong.append(repr(error))
                raise

    readers = [threading.Thread(target=read) for _ in range(30)]
    for reader in readers:
        reader.start()
    for turn in range(60):
        there = folder / guest.run_id
        there.mkdir(exist_ok=True)
        if turn % 3 == 2:
            for path in sorted(there.iterdir(), key=lambda path: not path.name.startswith("runs-")):
                path.unlink()
            continue
        files = sorted(
            (spare[3 if turn % 2 else 7] / guest.run_id).iterdir(), key=lambda path: path.name.startswith("runs-")
        )
        for path in files:
            shutil.copyfile(path, there / f"{path.name}.part")
            (there / f"{path.name}.part").replace(there / path.name)
    over.set()
    for reader in readers:
        reader.join()
    assert wrong == []
