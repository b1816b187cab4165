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
        return (
            [row | {"device": "cuda", "created": "2027-01-01T00:00:00Z"} for row in rows]
            if table == "edge_runs"
            else rows
        )

    assert check_store([one, plant_edge_runs(tmp_path / "three", [RUN], again)]) == []


def test_a_task_whose_labels_hold_together_or_not_at_all_is_counted_as_it_is(tmp_path):
    assert check_store([plant_edge_runs(tmp_path / "runs", [PlantedEdgeRun(task=ROLES)])]) == []
