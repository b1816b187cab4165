"""A database that grew from a copy equals one that is built in full."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from probing.core.facts.fact import Fact
from probing.store import build
from probing.store.build import build_database
from probing.store.database import current_version, open_database
from probing.store.knowledge.counted_tables import STATEMENTS
from probing.store.knowledge.kept_counts import KEPT, counts_of
from probing.store.parquet import read_table, write_table
from probing.store.run_tables import RUN_TABLES
from probing.store.schema import SCHEMAS
from probing.store.sources import data_version_of, find_files
from tests.store.planted import SEVERAL, TOKENIZER, PlantedRun, plant_runs, planted_exposure, prediction_rows, run_row, tables, token_rows

_OLD = [SEVERAL[number] for number in (0, 1, 2, 6, 7, 13)]
_NEW = SEVERAL[5]
_MORE_TREX = Fact("trex", "P19", "Rome Paris", "rome", "[X] was born in [Y] .", "Rome Paris was born in [MASK] .")
_ELSEWHERE = Fact("trex", "P20", "Rome Paris", "rome", "[X] died in [Y] .", "Rome Paris died in [MASK] .")


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether each database that was made grew from a copy."""
    ways: list[bool] = []
    fill = build._fill

    def noted(*given, add=False):
        warnings = fill(*given, add=add)
        ways.append(add)
        return warnings

    monkeypatch.setattr(build, "_fill", noted)
    return ways


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the old runs in ``runs`` and their database in ``grown``; tests copy it."""
    folder = tmp_path_factory.mktemp("old")
    build_database([plant_runs(folder / "runs", _OLD)], folder / "grown")
    return folder


def _new_run(source: Path) -> None:
    plant_runs(source / "new", [_NEW])


def _new_facts_of_an_old_relation(source: Path) -> None:
    """What old runs answered may now be another fact's answer."""
    plant_runs(source / "new", [PlantedRun(model="new", facts=(_MORE_TREX,))])


def _new_facts_of_a_new_relation(source: Path) -> None:
    plant_runs(source / "new", [PlantedRun(model="new", facts=(_ELSEWHERE,))])


def _a_new_vocabulary(source: Path) -> None:
    run = PlantedRun(model="new", made=(("tokenizer", "new"),))
    plant_runs(source / "new", [run])
    write_table("runs", [run_row(run) | {"tokenizer": "new"}], source / "new" / run.run_id / f"runs-{run.run_id}.parquet")
    tokens = token_rows([f"token{number}" for number in range(20)], "new")
    write_table("vocabulary", tokens, source / "new" / "vocabulary-new.parquet")


def _exposure_of_one_model(source: Path) -> None:
    rows = [{"model": "other-bert", "fact_key": key, "exposure": kind} for key, kind in planted_exposure().items()]
    write_table("exposure", rows, source / "exposure-other-bert.parquet")


def _a_run_that_is_complete_only_now(source: Path) -> None:
    folder = source / "late"
    rows = prediction_rows(_NEW)
    write_table("predictions", rows[:3], folder / f"predictions-{_NEW.run_id}-0.parquet")
    write_table("runs", [run_row(_NEW)], folder / f"runs-{_NEW.run_id}.parquet")
    build_database([source], source.parent / "grown")
    write_table("predictions", rows[3:], folder / f"predictions-{_NEW.run_id}-1.parquet")


def _another_row_of_a_run(source: Path) -> None:
    (path,) = source.rglob(f"runs-{SEVERAL[0].run_id}.parquet")
    write_table("runs", [run_row(SEVERAL[0]) | {"created": "2027", "n_read": 99}], path)


def _a_row_that_announces_more(source: Path) -> None:
    (path,) = source.rglob(f"runs-{SEVERAL[0].run_id}.parquet")
    write_table("runs", [run_row(SEVERAL[0]) | {"n_probed": 99}], path)


def _labels(source: Path) -> None:
    rows = [{"relation": "P36", "probe_set": "trex", "label": "capital city", "cardinality": "1-1"}]
    write_table("relations", rows, source / "relations.parquet")


def _a_run_is_gone(source: Path) -> None:
    for path in source.rglob(f"*-{SEVERAL[0].run_id}.parquet"):
        path.unlink()


def _other_predictions(source: Path) -> None:
    (path,) = source.rglob(f"predictions-{SEVERAL[0].run_id}.parquet")
    write_table("predictions", [row | {"gold_rank": 7} for row in prediction_rows(SEVERAL[0])], path)


def _a_copy_of_a_run(source: Path) -> None:
    (path,) = source.rglob(f"predictions-{SEVERAL[0].run_id}.parquet")
    write_table("predictions", read_table(path, "predictions"), source / "copy" / path.name)


def _facts_changed(source: Path) -> None:
    rows = read_table(source / "facts-trex.parquet", "facts").to_pylist()
    write_table("facts", [row | {"pred": "changed"} for row in rows], source / "facts-trex.parquet")


def _tokens_changed(source: Path) -> None:
    rows = read_table(source / f"vocabulary-{TOKENIZER}.parquet", "vocabulary").to_pylist()
    write_table("vocabulary", [row | {"token": row["token"].upper()} for row in rows], source / f"vocabulary-{TOKENIZER}.parquet")


def _counts_of_a_run(source: Path) -> None:
    """Counts with the swapped subject for a run without; of a run that has predictions with it they change nothing."""
    run_id = next(run.run_id for run in _OLD if run.probe_set == "common_sense")
    row = {"run_id": run_id, "relation": "common sense", "exposure": "unknown", "answer_in_subject": False, "layer": 3, "n": 2}
    ks = {f"{side}_{k}": 1 for side in ("own", "swapped", "both") for k in (1, 10, 100)}
    write_table("swapped_counts", [row | ks], source / f"swapped_counts-{run_id}.parquet")


def _kept(source: Path, run: PlantedRun, *tables: str) -> None:
    """The counts that are kept of a run, of all tables or of some."""
    plant_runs(source.parent / "asked", [run])
    build_database([source.parent / "asked"], source.parent / "of it")
    with open_database(source.parent / "of it") as db:
        for table in tables or KEPT:
            if len(rows := counts_of(db, table, run.run_id)):
                write_table(table, rows.to_dict("records"), source / f"{table}-{run.run_id}.parquet")
    write_table("counted_runs", [run_row(run)], source / f"counted_runs-{run.run_id}.parquet")


def _counts_alone_of_a_run(source: Path) -> None:
    _kept(source, _NEW)


def _counts_alone_that_are_whole_only_now(source: Path) -> None:
    _kept(source, _NEW, "layer_counts")
    build_database([source], source.parent / "grown")
    _kept(source, _NEW)


def _counts_alone_of_a_run_with_predictions(source: Path) -> None:
    _kept(source, _OLD[0])


def _predictions_of_a_counted_run(source: Path) -> None:
    _kept(source, _NEW)
    build_database([source], source.parent / "grown")
    plant_runs(source / "new", [_NEW])


def _other_counts_of_a_counted_run(source: Path) -> None:
    _kept(source, _NEW)
    build_database([source], source.parent / "grown")
    path = source / f"layer_counts-{_NEW.run_id}.parquet"
    write_table("layer_counts", [row | {"hits_1": 0} for row in read_table(path, "layer_counts").to_pylist()], path)


def _a_counted_run_is_gone(source: Path) -> None:
    _kept(source, _NEW)
    build_database([source], source.parent / "grown")
    (source / f"counted_runs-{_NEW.run_id}.parquet").unlink()


def _how_heads_were_trained(source: Path) -> None:
    row = {"model": "nesia-mini", "head": "tied", "seed": 0, "layer": 1, "recipe": "{}", "steps": 8, "start_loss": 3.0, "loss": 2.5}
    write_table("head_training", [row | {"lens_loss": None, "seconds": 0.5}], source / "head_training-nesia-mini-tied.parquet")


_ADDED: list[Callable[[Path], None]] = [
    _new_run, _new_facts_of_an_old_relation, _new_facts_of_a_new_relation, _a_new_vocabulary, _exposure_of_one_model,
    _a_run_that_is_complete_only_now, _another_row_of_a_run, _a_row_that_announces_more, _labels, _counts_of_a_run,
    _counts_alone_of_a_run, _counts_alone_that_are_whole_only_now, _counts_alone_of_a_run_with_predictions,
    _other_counts_of_a_counted_run, _how_heads_were_trained,
]  # fmt: skip
_UNUSUAL: list[Callable[[Path], None]] = [
    _a_run_is_gone,
    _other_predictions,
    _a_copy_of_a_run,
    _facts_changed,
    _tokens_changed,
    _a_counted_run_is_gone,
    _predictions_of_a_counted_run,
]


def _in_words(change: Callable[[Path], None]) -> str:
    return change.__name__.strip("_").replace("_", " ")


@pytest.mark.parametrize("change", _UNUSUAL, ids=_in_words)
def test_what_is_not_only_added_makes_a_full_build_in_a_new_file(
    tmp_path: Path, old: Path, counted: list[bool], change: Callable[[Path], None]
):
    source = shutil.copytree(old, tmp_path, dirs_exist_ok=True) / "runs"
    change(source)
    before = current_version(tmp_path / "grown")
    build_database([source], tmp_path / "grown")
    assert counted[-1] is False and before != current_version(tmp_path / "grown") == data_version_of(find_files([source]))


@pytest.mark.parametrize("change", _ADDED, ids=_in_words)
def test_a_database_that_grew_equals_one_that_is_built_in_full(
    tmp_path: Path, old: Path, counted: list[bool], change: Callable[[Path], None]
):
    source = shutil.copytree(old, tmp_path, dirs_exist_ok=True) / "runs"
    change(source)
    grown = tables(build_database([source], tmp_path / "grown"))
    assert counted[-1] is True
    whole = tables(build_database([source], tmp_path / "whole"))
    assert counted[-1] is False
    assert set(grown) == set(whole) >= {*SCHEMAS, *RUN_TABLES, *STATEMENTS, "runs_of_facts"} - {"layers"}
    for name, rows in whole.items():
        assert grown[name] == rows, name


def test_a_damaged_database_is_not_grown_from(tmp_path: Path, old: Path, counted: list[bool]):
    source = shutil.copytree(old, tmp_path, dirs_exist_ok=True) / "runs"
    (path,) = (tmp_path / "grown").glob("*.duckdb")
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    _new_run(source)
    build_database([source], tmp_path / "grown")
    assert counted[-1] is False
