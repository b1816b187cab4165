"""Every problem of stored edge probing is named."""

import pytest

from probing.store.check import check_store
from tests.edges_planted import ROLES, SRL, PlantedEdgeRun, own_too, plant_edge_runs

RUN = PlantedEdgeRun(task=SRL)


def test_the_planted_store_has_no_problem(tmp_path):
    assert check_store([plant_edge_runs(tmp_path / "runs")]) == []


def test_what_is_stored_of_some_tasks_only_or_of_dev_only_has_no_problem(tmp_path):
    def dev_only(table, rows):
        return [row for row in rows if row.get("part", "dev") != "test"]

    assert check_store([plant_edge_runs(tmp_path / "runs", [RUN], dev_only)]) == []


def test_answers_to_our_own_sentences_need_no_scores(tmp_path):
    assert check_store([plant_edge_runs(tmp_path / "runs", change=own_too)]) == []


def test_runs_that_two_folders_have_are_no_problem(tmp_path):
    one, two = (plant_edge_runs(tmp_path / name, [RUN]) for name in ("one", "two"))
    assert check_store([one, two]) == []


def first(rows, where, **change):
    """The rows with the first that fulfils the condition changed."""
    place = next(number for number, row in enumerate(rows) if where(row))
    return [row | change if number == place else row for number, row in enumerate(rows)]


def without(rows, where):
    return [row for row in rows if not where(row)]


ANY = lambda row: True  # noqa: E731
DAMAGE = {
    "fingerprint": (
        "edge_runs", lambda rows: first(rows, ANY, config=rows[0]["config"].replace('"seed":0', '"seed":7')), "the fingerprint of",
    ),
    "other task than configured": ("edge_runs", lambda rows: first(rows, ANY, width=3, seed=4), "its row says seed 4, its configuration 0"),
    "more layers": ("edge_runs", lambda rows: first(rows, ANY, layers=6), "expected [0, 1, 2, 3, 4, 5]"),
    "codes": ("edge_runs", lambda rows: first(rows, ANY, codes=True), "its row says codes true, its configuration false"),
    "scores of a layer": (
        "edge_scores", lambda rows: without(rows, lambda row: row["layer"] == 2), "edge_scores has the layers [0, 1, 3, 4]",
    ),
    "number of targets": ("edge_scores", lambda rows: first(rows, ANY, tn=rows[0]["tn"] + 1), "expected one number"),
    "gold at one layer": (
        "edge_scores", lambda rows: first(rows, lambda row: row["fn"] and row["tn"], fn=0, tn=999), "expected one number",
    ),
    "moved counts": (
        "edge_scores", lambda rows: [row | {"fp": row["fp"] - 1, "tn": row["tn"] + 1} if row["fp"] else row for row in rows],
        "its answers give",
    ),
    "other gold": (
        "edge_scores", lambda rows: [row | {"fn": row["fn"] + 1, "tn": row["tn"] - 1} if row["label"] == 1 else row for row in rows],
        "targets have it",
    ),
    "strange label": ("edge_scores", lambda rows: [*rows, rows[0] | {"label": 40}], "the label number 40"),
    "negative tn": ("edge_scores", lambda rows: without(rows, ANY), "edge_scores has the layers []"),
    "weights": ("edge_mix", lambda rows: [row | {"weight": row["weight"] / 2} for row in rows], "shares that sum to 1"),
    "weights above": (
        "edge_mix", lambda rows: first(
            [*without(rows, lambda row: row["layer"] == 0), rows[0] | {"weight": 0.5}, rows[0] | {"of_layer": 1, "weight": 0.5}], ANY,
        ), "weights above it",
    ),
    "training": ("edge_training", lambda rows: first(rows, ANY, best_step=9000), "comes after the last one"),
    "training of a layer": ("edge_training", lambda rows: rows[1:], "edge_training has the layers [1, 2, 3, 4]"),
    "answers missing": ("edge_predictions", lambda rows: rows[1:], "targets x 5 layers"),
    "answers of a target": (
        "edge_predictions", lambda rows: [*rows, *({**row, "target": 900} for row in rows[:5])], "the target 900 of dev",
    ),
    "other wrong label": ("edge_predictions", lambda rows: first(rows, ANY, wrong=(rows[0]["wrong"] + 1) % 4), "several best wrong labels"),
    "number of a label": ("edge_predictions", lambda rows: first(rows, ANY, top=77), "the label number 77, the probes have 4"),
    "gold of an answer": ("edge_predictions", lambda rows: first(rows, ANY, p_gold=[]), "other gold labels than their targets"),
    "sum": ("edge_predictions", lambda rows: first(rows, lambda row: row["p_sum"] > 1, p_sum=1), "above the sum of all"),
    "endless sum": ("edge_predictions", lambda rows: first(rows, ANY, p_sum=10**6), "is 1,000,000 steps, 4 labels give"),
    "labels of a part": ("edge_tasks", lambda rows: first(rows, ANY, labels=9), "edge_tasks says 9 labels of train, 4 are stored"),
    "above the top": ("edge_predictions", lambda rows: first(rows, ANY, p_top=0), "above that of the most probable label"),
    "given": ("edge_predictions", lambda rows: first(rows, lambda row: row["p_top"] >= 128, predicted=[]), "one half"),
    "labels": ("edge_labels", lambda rows: rows[:-1], "label number 3"),
    "no labels": ("edge_labels", lambda rows: [], "which no training target has"),
    "label numbers": ("edge_labels", lambda rows: first(rows, ANY, label=9), "its labels have the numbers"),
    "labels of a target": ("edge_targets", lambda rows: first(rows, ANY, gold=[0] * 5), "5 gold labels, its task has 4"),
    "label names": ("edge_labels", lambda rows: first(rows, ANY, name=rows[1]["name"]), "two labels are called"),
    "no parts": ("edge_tasks", lambda rows: [], "no training part of its data"),
    "fewer targets": ("edge_tasks", lambda rows: first(rows, lambda row: row["part"] == "dev", targets=3), "edge_tasks says 3"),
    "spans of a task": ("edge_tasks", lambda rows: [row | {"spans": 1} for row in rows], "other than [1] spans"),
    "sentence of a target": ("edge_targets", lambda rows: first(rows, ANY, sentence=500), "sentence 500 of dev"),
    "span backwards": ("edge_targets", lambda rows: first(rows, ANY, start1=4, end1=4), "ends before it begins"),
    "span beyond": ("edge_targets", lambda rows: first(rows, ANY, end2=90), "ends beyond its sentence"),
    "gold label": ("edge_targets", lambda rows: first(rows, ANY, gold=[12]), "the gold label number 12"),
    "memory": ("edge_targets", lambda rows: first(rows, ANY, memory=[12]), "the memory label number 12"),
    "seen": ("edge_targets", lambda rows: [row | {"seen": not row["seen"]} for row in rows], "its answers give"),
    "hash": ("edge_sentences", lambda rows: first(rows, ANY, text_sha256="me"), "no sha256 of a sentence"),
    "baseline": (
        "edge_baselines", lambda rows: first(rows, lambda row: row["baseline"] == "memory", fn=99), "of different gold labels",
    ),
    "baseline label": ("edge_baselines", lambda rows: first(rows, ANY, label=30), "the label number 30"),
}  # fmt: skip


@pytest.mark.parametrize("name", DAMAGE)
def test_a_problem_is_named(tmp_path, name):
    table, change, said = DAMAGE[name]
    folder = plant_edge_runs(tmp_path / "runs", [RUN], lambda found, rows: change(rows) if found == table else rows)
    problems = check_store([folder])
    assert any(said in problem for problem in problems), problems


def test_runs_of_two_folders_that_differ_are_named(tmp_path):
    one = plant_edge_runs(tmp_path / "one", [RUN])

    def other(table, rows):
        return [row | {"weight": 1.0 if row["of_layer"] == 0 else 0.0} for row in rows] if table == "edge_mix" else rows

    two = plant_edge_runs(tmp_path / "two", [RUN], other)
    assert any("differ from those with the same" in problem for problem in check_store([one, two]))

    def again(table, rows):
        return [row | {"device": "cuda", "created": "2027-01-01T00:00:00Z"} for row in rows] if table == "edge_runs" else rows

    assert check_store([one, plant_edge_runs(tmp_path / "three", [RUN], again)]) == []


def test_a_task_whose_labels_hold_together_or_not_at_all_is_counted_as_it_is(tmp_path):
    assert check_store([plant_edge_runs(tmp_path / "runs", [PlantedEdgeRun(task=ROLES)])]) == []
