"""Every fault that is planted is named, and nothing else."""

import hashlib
import math
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from probing.facts import store as run_queries
from probing.kernel.provenance import fingerprint_problem
from probing.kernel.store.check import check_store
from probing.kernel.store.opening import open_database
from probing.kernel.store.parquet import read_table, write_table
from probing.kernel.store.stored import fact_runs
from tests.edges_planted import SRL, PlantedEdgeRun, own_too, plant_edge_runs
from tests.planted_store import (
    ONE_MODEL,
    SEVERAL,
    TOKENS,
    VARIANTS,
    PlantedRun,
    forget_predictions,
    plant_runs,
    plant_store,
    prediction_rows,
    run_row,
    token_rows,
)

RUN = ONE_MODEL[0]
ROWS = prediction_rows(RUN)


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_sound_store_has_no_problem_and_opens_with_its_runs(tmp_path: Path, variant: str):
    with open_database(plant_store(tmp_path, variant)) as db:
        assert sorted(fact_runs(db)["run_id"]) == sorted(run.run_id for run in VARIANTS[variant])
        assert db.left_out.empty
    assert check_store([tmp_path / "runs"]) == []


def _predictions(rows: list[dict]) -> Callable[[Path], object]:
    return lambda folder: write_table("predictions", rows, folder / RUN.run_id / f"predictions-{RUN.run_id}.parquet")


def _run(**changes: object) -> Callable[[Path], object]:
    return lambda folder: write_table(
        "runs", [run_row(RUN) | changes], folder / RUN.run_id / f"runs-{RUN.run_id}.parquet"
    )


def _truncate(folder: Path) -> None:
    path = folder / "relations.parquet"
    path.write_bytes(path.read_bytes()[:-5])


#: Of a row at layer 0 that is missing, there twice, or of a fact that is not stored.
OTHER = (
    "layer_counts, swapped_counts, answer_counts, answer_clusters: other rows than its predictions give; run `probe`"
    " again"
)
FAULTS: dict[str, tuple[Callable[[Path], object], list[str]]] = {
    "truncated": (_truncate, ["relations.parquet"]),
    "foreign": (
        lambda f: pq.write_table(pa.table({"a": [1]}), f / "exposure-x.parquet"),
        ["not written by this program"],
    ),
    "row missing": (
        _predictions(ROWS[1:]),
        [f"run {RUN.run_id}: 39 predictions, expected 40 (10 facts x 4 layers)", OTHER],
    ),
    "row repeated": (
        _predictions([*ROWS, ROWS[0]]),
        [
            "1 rows repeat the key",
            "41 predictions, expected 40 (10 facts x 4 layers); 1 of them repeat a fact and layer",
            OTHER,
        ],
    ),
    "orphan": (
        _predictions([ROWS[0] | {"fact_id": "0" * 16}, *ROWS[1:]]),
        ["1 facts of its predictions are in no facts file", OTHER],
    ),
    "other rank": (
        _predictions([ROWS[0] | {"gold_rank": 7}, *ROWS[1:]]),
        ["layer_counts, swapped_counts, answer_clusters: other rows than"],
    ),
    "uneven lists": (_predictions([ROWS[0] | {"top_logp": [0.0]}, *ROWS[1:]]), ["different lengths"]),
    "config changed": (_run(config=RUN.config.replace("tied", "lens")), ["the fingerprint of its configuration is"]),
    "config not canonical": (_run(config=RUN.config.replace(":", ": ")), ["not canonical JSON"]),
    "config not JSON": (_run(config="{"), ["not JSON"]),
    "left out": (_run(left_out="many"), ["left_out is not JSON"]),
    "tokenizer": (
        _run(tokenizer="other"),
        ["no vocabulary file has its tokenizer 'other'", "answer_counts: other rows than"],
    ),
    "no run row": (lambda f: (f / RUN.run_id / f"runs-{RUN.run_id}.parquet").unlink(), ["has rows of predictions"]),
    "no predictions": (lambda f: forget_predictions(f, RUN), []),
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


def test_a_missing_folder_is_named(tmp_path: Path):
    (problem,) = check_store([tmp_path / "nowhere", plant_runs(tmp_path / "runs")])
    assert "nowhere" in problem


#: Table of a run of which counts alone are kept -> what its first row says, and what is said of it.
COUNTS: tuple[tuple[str, dict, str], ...] = (
    ("layer_counts", {"n": 4}, "layer_counts, layer 0: counts of 13 facts, expected 10"),
    ("layer_counts", {"layer": 9}, "layer_counts, layer 0: counts of 9 facts, expected 10"),
    ("against_counts", {"neither": 7}, "against_counts, layer 1, k 1: counts of 16 facts, expected 10"),
    ("layer_counts", {"hits_100": 10_000}, "hits_100 is above n: more facts are known than there are"),
    ("layer_counts", {"hits_1": 1, "hits_10": 0}, "hits_1 is above hits_10: more facts are known than there are"),
    ("layer_counts", {"sum_reciprocal_rank": math.inf}, "sum_reciprocal_rank is inf, expected 0"),
    ("layer_counts", {"sum_reciprocal_rank": math.nan}, "sum_reciprocal_rank is nan"),
    ("total_counts", {"any_1": 10_000}, "more facts are known than there are"),
    ("total_counts", {"last_1": 1, "any_1": 0}, "last_1 is above any_1: more facts are known"),
    ("total_counts", {"majority_hits": 10_000}, "more facts are known than there are"),
    ("swapped_counts", {"n": 0, "own_100": 1}, "more facts are known"),
    ("swapped_counts", {"both_1": 99}, "more facts are known"),
    ("swapped_counts", {"own_1": 4, "own_10": 3, "both_1": 0, "both_10": 0}, "more facts are known"),
    ("swapped_counts", {"n": 64_000_000}, "swapped_counts counts more facts than were asked"),
    ("inner_counts", {"own_and_swapped": 99}, "more facts are known"),
    ("inner_counts", {"k": 7}, "k is '7', expected one of 1, 10, 100"),
)


@pytest.mark.parametrize(("table", "change", "said"), COUNTS, ids=[f"{table} {change}" for table, change, _ in COUNTS])
def test_counts_that_cannot_be_are_named_and_a_file_with_impossible_ones_is_not_read(
    tmp_path: Path, table: str, change: dict, said: str
):
    source = plant_runs(tmp_path / "runs")
    forget_predictions(source, RUN)
    path = source / RUN.run_id / f"{table}-{RUN.run_id}.parquet"
    first, *others = read_table(path, table).to_pylist()
    write_table(table, [first | change, *others], path)
    (problem,) = (one for one in check_store([source]) if said in one)
    with open_database(source) as db:
        assert (said in " ".join(db.left_out["why"])) == (path.name in problem)


@pytest.mark.parametrize("table", ["layer_counts", "total_counts"])
def test_a_run_without_counts_is_named(tmp_path: Path, table: str):
    source = plant_runs(tmp_path / "runs")
    (source / RUN.run_id / f"{table}-{RUN.run_id}.parquet").unlink()
    assert any(
        f"run {RUN.run_id}: {table}" in one and "counts of 0 facts, expected 10" in one for one in check_store([source])
    )


def test_counts_that_do_not_belong_to_what_is_stored_beside_them_are_named(tmp_path: Path):
    source = plant_runs(tmp_path / "runs")
    forget_predictions(source, RUN)
    facts = [row for row in read_table(source / "facts-trex.parquet", "facts").to_pylist() if row["relation"] != "P36"]
    write_table("facts", facts, source / "facts-trex.parquet")
    (problem,) = check_store([source])
    assert f"run {RUN.run_id}: no facts file has the relation P36 of its counts" in problem
    plant_runs(source, exposure={})
    plant_runs(tmp_path / "other")
    shutil.copy(tmp_path / "other" / "exposure-nesia-mini.parquet", source)
    assert any(
        "8 of its facts are counted with another exposure to the base's training text" in one
        for one in check_store([source])
    )


def test_swapped_subjects_by_another_rule_are_named(tmp_path: Path):
    """Their file, as earlier versions wrote it, is not read."""
    run = PlantedRun(swapped=False, made=(("lenders", "at random"),))
    (tmp_path / f"lenders-{run.run_id}.parquet").write_bytes(b"earlier")
    (problem,) = check_store([plant_runs(tmp_path, [run])])
    assert f"run {run.run_id}: its swapped subjects are chosen by another rule, 'at random'" in problem


def test_of_a_run_in_two_folders_the_first_ones_rows_count_however_they_are_divided_into_files(tmp_path: Path):
    """As of a run of one's own that ships, too: the snapshot has one file for the counts of all runs."""
    one, two = plant_runs(tmp_path / "one"), plant_runs(tmp_path / "two", SEVERAL[:2])
    for table in ("layer_counts", "total_counts", "swapped_counts"):
        files = sorted(two.rglob(f"{table}-*.parquet"))
        write_table(table, pa.concat_tables([read_table(path, table) for path in files]), two / f"{table}.parquet")
        for path in files:
            path.unlink()
    assert check_store([one, two]) == []
    unknown = plant_runs(tmp_path / "unknown", exposure={})
    with open_database(unknown) as alone, open_database(unknown, two) as both:
        assert run_queries.aggregate(both, [RUN.run_id]).equals(run_queries.aggregate(alone, [RUN.run_id]))
        assert len(fact_runs(both)) == 2


def test_a_run_in_two_folders_must_be_the_same_bytes(tmp_path: Path):
    one, two = plant_runs(tmp_path / "one"), plant_runs(tmp_path / "two")
    write_table(
        "runs", [run_row(RUN) | {"device": "cuda", "created": "2027"}], two / RUN.run_id / f"runs-{RUN.run_id}.parquet"
    )
    assert check_store([one, two]) == []
    _predictions([ROWS[0] | {"gold_rank": 7}, *ROWS[1:]])(two)
    (problem,) = check_store([one, two])
    name = f"{RUN.run_id}/predictions-{RUN.run_id}.parquet"
    assert problem == f"{two / name} differs from {one / name}, whose rows are used"


def test_fingerprints_take_either_spelling_of_letters_outside_ascii():
    for config in ('{"model":"Zoë"}', '{"model":"Zo\\u00eb"}'):
        assert fingerprint_problem(hashlib.sha256(config.encode()).hexdigest()[:16], config) is None


def test_facts_that_differ_in_the_name_of_their_template_set_only_are_no_contradiction(tmp_path: Path):
    source = plant_runs(tmp_path / "runs")
    rows = read_table(source / "facts-trex.parquet", "facts").to_pylist()
    write_table("facts", [row | {"template_set": "lama"} for row in rows], source / "facts-of-lama.parquet")
    assert check_store([source]) == []
    write_table(
        "facts", [row | {"template_set": "lama", "object": "else"} for row in rows], source / "facts-of-lama.parquet"
    )
    assert "differ from those with the same ['fact_id']" in check_store([source])[0]


EDGE_RUN = PlantedEdgeRun(task=SRL)


def test_the_planted_store_has_no_problem(tmp_path):
    assert check_store([plant_edge_runs(tmp_path / "runs")]) == []


def test_what_is_stored_of_some_tasks_only_or_of_dev_only_has_no_problem(tmp_path):
    def dev_only(table, rows):
        return [row for row in rows if row.get("part", "dev") != "test"]

    assert check_store([plant_edge_runs(tmp_path / "runs", [EDGE_RUN], dev_only)]) == []


def test_answers_to_our_own_sentences_need_no_scores(tmp_path):
    assert check_store([plant_edge_runs(tmp_path / "runs", change=own_too)]) == []


def first(rows, where, **change):
    """The rows with the first that fulfils the condition changed."""
    place = next(number for number, row in enumerate(rows) if where(row))
    return [row | change if number == place else row for number, row in enumerate(rows)]


ANY = lambda row: True  # noqa: E731
DAMAGE = {
    "fingerprint": (
        "edge_runs",
        lambda rows: first(rows, ANY, config=rows[0]["config"].replace('"seed":0', '"seed":7')),
        "the fingerprint of",
    ),
    "more layers": ("edge_runs", lambda rows: first(rows, ANY, layers=6), "expected [0, 1, 2, 3, 4, 5]"),
    "number of targets": ("edge_scores", lambda rows: first(rows, ANY, tn=rows[0]["tn"] + 1), "expected one number"),
    "strange label": ("edge_scores", lambda rows: [*rows, rows[0] | {"label": 40}], "each with as many rows"),
    "answers of a target": (
        "edge_predictions",
        lambda rows: [*rows, *({**row, "target": 900} for row in rows[:5])],
        "the target 900 of dev",
    ),
    "number of a label": (
        "edge_predictions",
        lambda rows: first(rows, ANY, top=77),
        "the label number 77, its task has 4 labels",
    ),
    "gold of an answer": (
        "edge_predictions",
        lambda rows: first(rows, ANY, p_gold=[]),
        "other gold labels than their targets",
    ),
    "label numbers": (
        "edge_labels",
        lambda rows: first(rows, ANY, label=9),
        "no labels of its task srl are stored, or not all",
    ),
    "gold label": ("edge_targets", lambda rows: first(rows, ANY, gold=[12]), "the label number 12"),
    "memory": ("edge_targets", lambda rows: first(rows, ANY, memory=[12]), "the label number 12"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_a_problem_is_named(tmp_path, name):
    table, change, said = DAMAGE[name]
    folder = plant_edge_runs(
        tmp_path / "runs", [EDGE_RUN], lambda found, rows: change(rows) if found == table else rows
    )
    problems = check_store([folder])
    assert any(said in problem for problem in problems), problems


def test_runs_of_two_folders_that_differ_are_named(tmp_path):
    one = plant_edge_runs(tmp_path / "one", [EDGE_RUN])

    def other(table, rows):
        return [row | {"weight": 1.0 if row["of_layer"] == 0 else 0.0} for row in rows] if table == "edge_mix" else rows

    two = plant_edge_runs(tmp_path / "two", [EDGE_RUN], other)
    assert any("differ from those with the same" in problem for problem in check_store([one, two]))

    def again(table, rows):
        return (
            [row | {"device": "cuda", "created": "2027-01-01T00:00:00Z"} for row in rows]
            if table == "edge_runs"
            else rows
        )

    assert check_store([one, plant_edge_runs(tmp_path / "three", [EDGE_RUN], again)]) == []
