"""The evidence on edge probing is computed from the planted answers: F1s, places of weights with their seeds, order, and yardsticks."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from probing.reports.reproduction.edges import tables
from probing.reports.reproduction.edges.measurements import evidence_of, places_of, runs_of
from probing.reports.reproduction.edges.paper import EDGE_PROBING
from probing.store.database import open_database
from tests.edges_planted import POS, RUNS, SRL, PlantedEdgeRun, answers, plant_edges, planted_part, planted_probabilities, run_rows

PAPER = EDGE_PROBING.numbers
TUNED = PlantedEdgeRun(model="nesia-mini-tuned", task=POS, base="nesia-mini")


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    with open_database(plant_edges(tmp_path_factory.mktemp("edges"), (*RUNS, TUNED))) as db:
        yield db


@pytest.fixture(scope="module")
def ours(database):
    return evidence_of(database, "nesia-mini", PAPER)


def cumulative(task, model: str = "nesia-mini") -> list[PlantedEdgeRun]:
    wanted = (task, model, "cumulative", "trained", "task")
    return [run for run in RUNS if (run.task, run.model, run.kind, run.encoder, run.labels) == wanted]


def f1_of(run: PlantedEdgeRun) -> np.ndarray:
    """(layers,) F1 on dev, from the planted answers."""
    said, gold, counted = answers(planted_probabilities(run, "dev")), planted_part(run.task, "dev").gold, run.task.counted
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


def test_places_of_weights_have_the_spread_that_the_seeds_share(ours):
    centres = {task.name: [weights_of(run) @ np.arange(run.layers) for run in cumulative(task)] for task in (POS, SRL)}
    # Only the three seeds of one task show how much seeds vary.
    error = np.std(centres["srl"], ddof=1)
    for task, seeds in (("pos", 1), ("srl", 3)):
        found, half = ours.place(task, "centre_of_gravity"), stats.t.ppf(0.975, 2) * error / seeds**0.5
        assert found.value == pytest.approx(np.mean(centres[task]))
        assert (found.low, found.high) == pytest.approx((found.value - half, found.value + half))
    middle = ours.place("srl", "middle")
    # Layers 2 and 3 of 4 lie between 9/24 and 20/24 of the depth.
    assert middle.value == pytest.approx(np.mean([weights_of(run)[2:4].sum() for run in cumulative(SRL)]))


def test_weights_of_single_seeds_have_no_ends():
    rows = [("a", "pos", layer, weight) for layer, weight in enumerate((0.2, 0.3, 0.5))]
    found = places_of(pd.DataFrame(rows, columns=["run_id", "task", "layer", "weight"])).set_index("measure")
    assert found.loc["centre_of_gravity", "value"] == pytest.approx(1.3)
    assert found[["low", "high"]].isna().all(axis=None)


def test_the_order_of_tasks_is_the_corrected_comparison(ours):
    found = ours.later("pos", "srl")
    assert found.value == pytest.approx(ours.expected("srl").value - ours.expected("pos").value) and found.low > 0
    back = ours.later("srl", "pos")
    assert (back.value, back.low, back.high) == pytest.approx((-found.value, -found.high, -found.low))
    # Proto-roles do not gain, so they have no expected layer and no order.
    assert ours.expected("proto-roles") is None and ours.later("pos", "proto-roles") is None


def test_another_pre_trained_encoder_of_another_depth_is_compared_and_a_tuned_one_has_none(database, ours):
    assert list(EDGE_PROBING.subjects(database)) == ["nesia-mini", "other-bert", "nesia-mini-tuned"]
    assert (ours.depth, ours.other.name, ours.other.depth) == (4, "other-bert", 6)
    assert evidence_of(database, "nesia-mini-tuned", PAPER).other is None


def test_only_pairs_of_the_pipeline_are_asked_who_settles_first(ours):
    assert set(zip(ours.left_order["later"], ours.left_order["earlier"], strict=True)) == {("srl", "pos")}
    (row,) = ours.left_order.to_dict("records")
    assert 0 <= row["before"] <= row["sentences"] <= 30


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
    bars = tables.bars(["pos", "srl"], ours).set_index(["task", "layer"])
    assert bars.loc["pos", "weight"].sum() == pytest.approx(1)
    assert bars.loc["pos", "gain"].sum() == pytest.approx(mine["f1_last"] - mine["f1_first"])
    assert tables.bars(["pos", "srl"], compared.papers["BERT-large"])["weight"].isna().all()
    assert len(compared.tables["points"]) == 3 * 5 + 8 * 13 + 8 * 25


def test_a_folder_under_the_authors_name_replaces_our_data(tmp_path):
    own = replace(POS, name="edges-pos-ontonotes", title="edges-pos-ontonotes")
    runs = (PlantedEdgeRun(task=own), PlantedEdgeRun(task=POS))
    with open_database(plant_edges(tmp_path, runs)) as db:
        found = evidence_of(db, "nesia-mini", PAPER)
        assert found.curves["pos"].values == pytest.approx(f1_of(runs[0])) and list(found.curves) == ["pos"]
        assert "pos" in found.beside["memory"] and EDGE_PROBING.compare(db, "nesia-mini").ours.run_ids == (runs[0].run_id,)
