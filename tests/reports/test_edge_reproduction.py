"""Our numbers next to the paper on edge probing are computed from the planted answers: F1s, places of weights, and
yardsticks.
"""

from dataclasses import replace

import numpy as np
import pytest

from probing.reports.reproduction.edges import tables
from probing.reports.reproduction.edges.encoder_numbers import numbers_of, published_encoders, runs_of
from probing.reports.reproduction.edges.paper import EDGE_PROBING
from probing.store.opening import open_database
from tests.edges_planted import (
    POS,
    RUNS,
    SRL,
    PlantedEdgeRun,
    answers,
    plant_edges,
    planted_part,
    planted_probabilities,
    run_rows,
)

PAPER = EDGE_PROBING.numbers
TUNED = PlantedEdgeRun(model="nesia-mini-tuned", task=POS, base="nesia-mini")


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    with open_database(plant_edges(tmp_path_factory.mktemp("edges"), (*RUNS, TUNED))) as db:
        yield db


@pytest.fixture(scope="module")
def ours(database):
    return numbers_of(database, "nesia-mini", PAPER)


def cumulative(task, model: str = "nesia-mini") -> list[PlantedEdgeRun]:
    wanted = (task, model, "cumulative", "trained", "task")
    return [run for run in RUNS if (run.task, run.model, run.kind, run.encoder, run.labels) == wanted]


def f1_of(run: PlantedEdgeRun) -> np.ndarray:
    """(layers,) F1 on dev, from the planted answers."""
    said, gold, counted = (
        answers(planted_probabilities(run, "dev")),
        planted_part(run.task, "dev").gold,
        run.task.counted,
    )
    right = (said & gold)[..., counted].sum(axis=(1, 2))
    return 2 * right / (said[..., counted].sum(axis=(1, 2)) + gold[:, counted].sum())


def weights_of(run: PlantedEdgeRun) -> np.ndarray:
    """(layers,) mixing weights of the probe on all layers."""
    return np.array([row["weight"] for row in run_rows(run)["edge_mix"] if row["layer"] == run.layers - 1])


@pytest.mark.parametrize("task", [POS, SRL], ids=lambda task: task.name)
def test_curves_are_the_mean_over_seeds_of_the_planted_f1s(ours, task):
    runs = cumulative(task)
    assert len(runs) == (3 if task is SRL else 1)
    assert ours.curves[task.name].values == pytest.approx(np.mean([f1_of(run) for run in runs], axis=0))
    assert ours.beside["random"][task.name] == pytest.approx(
        f1_of(next(run for run in RUNS if run.task == task and run.encoder == "random"))[-1]
    )


def test_the_runs_behind_the_numbers_are_the_cumulative_ones_of_the_trained_encoder(database):
    ids = {run.run_id for task in (POS, SRL) for run in cumulative(task)}
    found = runs_of(database, "nesia-mini", PAPER)
    assert ids <= set(found["run_id"]) and len(found) == len(ids) + 1
    assert set(EDGE_PROBING.compare(database, "nesia-mini").ours.run_ids) == set(found["run_id"])


def test_tables_compare_ours_with_the_papers(database, ours):
    compared = EDGE_PROBING.compare(database, "nesia-mini")
    scores = compared.tables["scores"].set_index(["task", "encoder"])
    assert scores.loc[("pos", "nesia-mini"), "P(4)"] == pytest.approx(100 * f1_of(cumulative(POS)[0])[-1])
    summary = compared.tables["summary"].set_index(["row", "model"])
    mine, theirs = summary.loc[("pos", "nesia-mini")], summary.loc[("pos", "BERT-large")]
    assert mine["f1_last_low"] < mine["f1_last"] < mine["f1_last_high"] and np.isnan(theirs["f1_last_low"])
    assert theirs["memory"] != theirs["memory"] and mine["memory"] > 0
    mixed = np.mean([weights_of(run) for run in cumulative(SRL)], axis=0)
    assert (
        ours.centres["srl"]
        == pytest.approx(mixed @ np.arange(len(mixed)))
        == summary.loc[("srl", "nesia-mini"), "centre_of_gravity"]
    )
    # Proto-roles do not gain, so they have no expected layer.
    assert np.isnan(summary.loc[("proto-roles", "nesia-mini"), "expected_layer"])
    bars = tables.bars(["pos", "srl"], ours).set_index(["task", "layer"])
    assert bars.loc["pos", "weight"].sum() == pytest.approx(1)
    assert bars.loc["pos", "gain"].sum() == pytest.approx(mine["f1_last"] - mine["f1_first"])
    assert tables.bars(["pos", "srl"], published_encoders(PAPER)[1])["weight"].isna().all()
    assert len(compared.tables["points"]) == 3 * 5 + 8 * 13 + 8 * 25


def test_a_folder_under_the_authors_name_replaces_our_data(tmp_path):
    own = replace(POS, name="edges-pos-ontonotes", title="edges-pos-ontonotes")
    runs = (PlantedEdgeRun(task=own), PlantedEdgeRun(task=POS))
    with open_database(plant_edges(tmp_path, runs)) as db:
        found = numbers_of(db, "nesia-mini", PAPER)
        assert found.curves["pos"].values == pytest.approx(f1_of(runs[0])) and list(found.curves) == ["pos"]
        assert "pos" in found.beside["memory"] and EDGE_PROBING.compare(db, "nesia-mini").ours.run_ids == (
            runs[0].run_id,
        )
