"""All that fine-tuning changed and whether tasks were learned, recomputed from planted rows in plain Python."""

import json
import math

import numpy as np
import pandas as pd
import pytest

from probing.compared.report import CONTROL as CONTROL_ROLE
from probing.compared.report import LOSSES, SEED, TUNED, by_layer, measures
from probing.compared.report_evidence import FactRuns, evidence
from probing.kernel.registry import REPOSITORY, read_registry
from probing.kernel.relatives import Relatives, beside, kin, tuned_models
from probing.kernel.stats.intervals import wilson_mean
from probing.kernel.store.database import Database
from probing.kernel.store.opening import open_database
from probing.kernel.store.parquet import read_table, write_table
from probing.kernel.success_report import COLUMNS, SHORT, learned, scores
from probing.sentences.examples import FIRST, MEAN, OURS
from probing.sentences.numbers import Cell
from tests.changes_planted import block_sums, planted_value
from tests.fine_tuning_planted import plant_everything, rank_of
from tests.planted_relatives import BASE, COLA, CONTROL, LAST, LAYERS, SEED_2, SEED_3, SQUAD, SST_2
from tests.planted_store import PlantedRun, plant_runs, planted_facts
from tests.sentences_planted import TASKS, PlantedSentenceRun, right

FACTS = FactRuns("tied", "trex", 1)


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory):
    folder = tmp_path_factory.mktemp("everything")
    with open_database(plant_everything(folder / "runs")) as database:
        yield database


@pytest.fixture(scope="module")
def found(db: Database) -> pd.DataFrame:
    return evidence(db, COLA.name, FACTS, OURS)


def kept(model, layer: int) -> tuple[int, int]:
    """How many of the facts that the base knows at a layer the model knows there, and how many these are."""
    known = [n for n in range(len(planted_facts("trex"))) if rank_of(BASE, n, layer) == 1]
    return sum(rank_of(model, n, layer) == 1 for n in known), len(known)


def changed(model, task, pooling: str, layer: int) -> float:
    """Accuracy of the model's own probe minus the base's, over the sentences that both can take."""
    runs = [PlantedSentenceRun(one, task) for one in (model, BASE)]
    asked = runs[0].asked
    return float(
        np.mean(right(runs[0], Cell(pooling, layer))[asked]) - np.mean(right(runs[1], Cell(pooling, layer))[asked])
    )


def log_perplexity(model, n: int) -> float:
    sums, masked = block_sums(model, n)
    return float(sums.astype(np.float64).sum() / masked.sum())


def test_relatives_are_known_of_models_that_were_asked_facts_only(db: Database):
    family = kin(db)
    assert family.stands[SEED_2.name] == family.stands[SEED_3.name] == COLA.name and family.control == {
        BASE.name: CONTROL.name
    }
    tuned = tuned_models(db).set_index("model")
    assert BASE.name not in tuned.index and list(tuned.index[tuned["control"]]) == [CONTROL.name]


def test_a_value_within_the_spread_of_the_controls_seeds_is_inside_its_change():
    family = Relatives(
        {"tuned": "tuned", "far": "far", "control": "control", "control-2": "control"}, {"base": "control"}
    )
    values = {"tuned": 0.97, "far": 0.9, "control": 0.99, "control-2": 0.95}
    rows = [
        {"model": name, "base": "base", "layer": 1, "value": value, "change": value - 1}
        for name, value in values.items()
    ]
    found = beside(family, pd.DataFrame(rows), ["layer"]).set_index("model")["inside_control"]
    assert found.to_dict() == {"tuned": True, "far": False, "control": False, "control-2": False}


def test_facts_kept_are_those_of_the_base_that_the_same_layer_still_knows(found: pd.DataFrame):
    rows = found[found["panel"] == "facts"].set_index("layer")
    assert list(rows.index) == [layer for layer in LAYERS if kept(COLA, layer)[1]]
    for layer, row in rows.iterrows():
        hits, n = kept(COLA, int(layer))
        assert (row["value"], row["n"], row["change"]) == (hits / n, n, hits / n - 1)
        assert row["low"] < row["value"] < row["high"]
        assert row["control_value"] == 1.0 and not row["inside_control"]


def test_probes_and_measures_are_those_of_the_models_rows_with_control_and_seeds(found: pd.DataFrame):
    for task in TASKS:
        for pooling in (FIRST, MEAN):
            rows = found[(found["panel"] == f"probe:{task.name}") & (found["line"] == pooling)].set_index("layer")
            for layer in LAYERS:
                row = rows.loc[layer]
                assert row["value"] == pytest.approx(changed(COLA, task, pooling, layer))
                assert row["control_value"] == pytest.approx(changed(CONTROL, task, pooling, layer))
                seeds = [changed(one, task, pooling, layer) for one in (COLA, SEED_2, SEED_3)]
                assert (row["seed_low"], row["seed_high"], row["seeds"]) == (
                    pytest.approx(min(seeds)),
                    pytest.approx(max(seeds)),
                    3,
                )
    for panel, line, measure in (
        ("entropy", "", "entropy-first"),
        ("distance", "", "emd-first"),
        ("likeness", "cka-mean", "cka-mean"),
    ):
        rows = found[(found["panel"] == panel) & (found["line"] == line)].set_index("layer")
        for layer, row in rows.iterrows():
            value, control = (planted_value(one, measure, int(layer), 255) for one in (COLA, CONTROL))
            assert (row["value"], row["control_value"]) == (value, control)
            before = {"entropy": 2.5, "distance": 0.0, "likeness": 1.0}[panel]
            assert row["change"] == pytest.approx(value - before)
            assert row["inside_control"] == (abs(value - before) <= abs(control - before))


def test_perplexity_stands_at_the_layers_that_are_the_bases(found: pd.DataFrame):
    rows = found[found["panel"] == "perplexity"].set_index(["line", "layer"])["value"]
    for layer in range(1, LAST + 1):
        assert rows["none", layer] == pytest.approx(math.exp(log_perplexity(COLA, 0)))
        assert rows["last", layer] == pytest.approx(math.exp(log_perplexity(COLA, LAST + 1 - layer)))
        assert rows["first", layer] == pytest.approx(math.exp(log_perplexity(COLA, layer)))
        assert rows["single", layer] == pytest.approx(math.exp(log_perplexity(COLA, 1)))
    paired = found[found["panel"] == "perplexity"]
    assert (paired["low"] <= paired["value"]).all() and (paired["value"] <= paired["high"]).all()
    assert (np.log(paired["high"] / paired["low"]) < 0.1).all(), "paired by block, not the spread of blocks"


def test_a_row_of_all_models_is_made_of_its_layers(db: Database):
    table = measures(db, by_layer(db, FACTS, OURS)).set_index("model")
    assert set(table.index) == {one.name for one in (COLA, SEED_2, SEED_3, SST_2, SQUAD, CONTROL)}
    assert table["role"].to_dict() == {
        COLA.name: TUNED,
        SST_2.name: TUNED,
        SQUAD.name: TUNED,
        CONTROL.name: CONTROL_ROLE,
        SEED_2.name: SEED,
        SEED_3.name: SEED,
    }
    for model in (COLA, SST_2, CONTROL):
        row = table.loc[model.name]
        upper = range(LAST // 2 + 1, LAST + 1)
        assert row["probes_first"] == pytest.approx(
            np.mean([changed(model, task, FIRST, layer) for task in TASKS for layer in upper])
        )
        hits, n = kept(model, LAST)
        assert row["facts_lost"] == pytest.approx(1 - hits / n) and row["tasks"] == 3
        assert row["perplexity"] == pytest.approx(math.exp(log_perplexity(model, 0)))
        above = range(1, LAST + 1)
        assert row["emd"] == pytest.approx(np.mean([planted_value(model, "emd-first", layer, 255) for layer in above]))
        assert row["cka_last"] == pytest.approx(planted_value(model, "cka-mean", LAST, 255))
        assert row["drift"] == pytest.approx(np.mean([0.02 * layer for layer in above]))
    assert math.isnan(table.loc[SQUAD.name, "facts_lost"]) and table.loc[CONTROL.name, "verdict"] == "control"


def test_drift_is_joined_with_what_the_same_layer_lost(db: Database):
    points = by_layer(db, FACTS, OURS).set_index(["model", "layer"])
    assert points.at[(COLA.name, 3), "drift"] == pytest.approx(0.06)
    assert points.at[(COLA.name, 3), "facts_lost"] == pytest.approx(1 - np.divide(*kept(COLA, 3)))
    lost = -np.mean([changed(COLA, task, MEAN, 3) for task in TASKS])
    assert points.at[(COLA.name, 3), "probes_lost_mean"] == pytest.approx(lost)
    cost = log_perplexity(COLA, 0) - log_perplexity(COLA, 1)
    assert points.at[(COLA.name, 3), "perplexity_cost"] == pytest.approx(cost)
    assert points.at[(COLA.name, 3), "cka_lost"] == pytest.approx(1 - planted_value(COLA, "cka-mean", 3, 255))
    assert set(LOSSES) <= set(points)


SNAPSHOT = REPOSITORY / "data" / "snapshot"
#: The fine-tuned models that ship, whose scores ship, too.
SHIPPED = tuple(entry.name for entry in read_registry().models if entry.shipped and entry.base)


@pytest.fixture
def opened(tmp_path):
    """A base, two models tuned from it of which one has a score, a control without a base, and a model that was never
    probed.
    """
    runs = [
        PlantedRun(),
        PlantedRun("tuned", base="nesia-mini", objective="QA-SQuAD-1"),
        PlantedRun("elsewhere", base="nesia-mini", objective=""),
        PlantedRun("more", objective="control"),
    ]
    source = plant_runs(tmp_path / "runs", runs)
    row = {"base": "nesia-mini", "metric": "F1", "n": 400, "value": 0.5}
    write_table(
        "tasks",
        [row | {"model": "tuned", "objective": "QA-SQuAD-1", "chance": 0.125, "chance_name": "random span"}],
        source / "tasks-a.parquet",
    )
    write_table(
        "tasks",
        [row | {"model": "unprobed", "objective": "QA-SQuAD-1", "chance": None, "chance_name": None}],
        source / "tasks-b.parquet",
    )
    with open_database(source) as db:
        yield db


def test_every_fine_tuned_model_has_a_verdict_and_a_base_has_none(opened):
    found = learned(opened).set_index("model")
    assert found["verdict"].to_dict() == {
        "elsewhere": "no score stored",
        "more": "control",
        "tuned": "partly",
        "unprobed": "cannot tell",
    }
    assert list(learned(opened, ("tuned",))["model"]) == ["tuned"] and learned(opened, ()).empty
    tuned = found.loc["tuned"]
    assert (tuned["low"], tuned["high"]) == wilson_mean(0.5, 400)
    assert (tuned["value"], tuned["baseline"], tuned["baseline_name"], tuned["n"]) == (0.5, 0.125, "random span", 400)
    assert math.isnan(found.loc["elsewhere", "value"])


def test_the_table_of_scores_has_a_row_for_each_metric_and_one_for_a_model_without(opened):
    found = scores(opened)
    assert list(found.columns) == list(COLUMNS)
    assert list(found["model"]) == ["elsewhere", "more", "tuned", "unprobed"]
    assert list(found["metric"]) == ["", "", "F1", "F1"]


def test_a_second_score_that_misses_its_baseline_is_named_with_the_verdict(tmp_path):
    source = plant_runs(tmp_path / "runs", [PlantedRun(), PlantedRun("cola", base="nesia-mini", objective="CoLA")])
    row = {"model": "cola", "base": "nesia-mini", "objective": "CoLA", "n": 1043}
    scored = [
        {"metric": "Matthews correlation", "value": 0.1, "chance": 0.0, "chance_name": "no correlation"},
        {"metric": "task accuracy", "value": 0.66, "chance": 0.69, "chance_name": "majority label"},
    ]
    write_table("tasks", [row | one for one in scored], source / "tasks-a.parquet")
    with open_database(source) as db:
        (found,) = learned(db).to_dict("records")
    assert (found["verdict"], found["metric"]) == ("partly", "Matthews correlation")
    assert tuple(found[name] for name in SHORT) == ("task accuracy", 0.66, 0.69, "majority label")


def test_every_score_of_a_model_has_the_one_verdict_of_the_deciding_score(tmp_path):
    def row(model, objective, metric, value, chance, chance_name):
        names = {"model": model, "base": "nesia-mini", "objective": objective, "metric": metric, "n": 1269}
        return names | {"value": value, "chance": chance, "chance_name": chance_name}

    planted = [
        row("qa", "QA-SQuAD-1", "F1", 0.08, 0.04, "random span"),
        row("qa", "QA-SQuAD-1", "exact match", 0.023, 0.005, "random span"),
        row("ner", "NER-CoNLL", "words tagged right", 0.825, 0.825, "O for every word"),
        row("ner", "NER-CoNLL", "entity F1", 0.0005, 0.0, "O for every word"),
    ]
    for model in ("qa", "ner"):
        write_table(
            "tasks", [one for one in planted if one["model"] == model], tmp_path / "runs" / f"tasks-{model}.parquet"
        )
    with open_database(tmp_path / "runs") as db:
        found, short = scores(db), learned(db)
    assert len(found) == len(planted)
    assert found.groupby("model")["verdict"].unique().map(list).to_dict() == {"ner": ["not learned"], "qa": ["partly"]}
    assert dict(zip(short["model"], short["verdict"], strict=True)) == {"ner": "not learned", "qa": "partly"}
    assert not (found["low"].between(0, 1e-12, inclusive="neither")).any()


def test_models_of_which_only_results_are_kept_are_printed_if_they_are_named(run, tmp_path, monkeypatch):
    (kept,) = {"nesia-mini-sst-2-seed-2"} & read_registry().results_only
    planted = [PlantedRun(), *(PlantedRun(model, base="nesia-mini", objective="SST-2") for model in ("tuned", kept))]
    monkeypatch.setenv("PROBING_SNAPSHOT", str(plant_runs(tmp_path / "runs", planted)))
    monkeypatch.setenv("PROBING_CACHE", str(tmp_path / "cache"))
    assert [one["model"] for one in json.loads(run("report", "tasks", "--json").output)] == ["tuned"]
    assert [one["model"] for one in json.loads(run("report", "tasks", "--json", "--model", kept).output)] == [kept]
    assert "'nobody'" in run("report", "tasks", "--model", "nobody", code=2).output


@pytest.fixture(scope="module")
def shipped(tmp_path_factory):
    """The shipped task scores with a run of each model: the shipped runs take long to count."""
    source = tmp_path_factory.mktemp("shipped")
    plant_runs(
        source,
        [PlantedRun(), *(PlantedRun(model, base="nesia-mini", objective=_objective(model)) for model in SHIPPED)],
    )
    for model in SHIPPED:
        write_table("tasks", _stored(model), source / f"tasks-{model}.parquet")
    with open_database(source) as db:
        yield db


def _stored(model):
    return read_table(SNAPSHOT / f"tasks-{model}.parquet", "tasks").to_pylist()


def _objective(model):
    return _stored(model)[0]["objective"]


def test_a_shipped_model_has_learned_if_its_interval_is_above_its_baseline(shipped):
    found = learned(shipped).set_index("model")
    assert set(found.index) == set(SHIPPED)
    for model, row in found.iterrows():
        if row["objective"] == "control":
            assert row["verdict"] == "control"
        elif row["low"] > row["baseline"]:
            assert row["verdict"] == ("partly" if row["closed"] < 0.5 else "learned"), model
        else:
            assert row["verdict"] in ("not learned", "cannot tell"), model


def test_the_score_the_baseline_and_the_way_to_the_published_score_are_those_of_the_stored_rows(shipped):
    for row in learned(shipped).itertuples():
        mine = [one for one in _stored(row.model) if one["metric"] == row.metric]
        assert {one["value"] for one in mine} == {row.value} and {one["n"] for one in mine} == {row.n}
        assert row.baseline in [one["chance"] for one in mine if one["chance_name"] == row.baseline_name]
        if not math.isnan(row.closed):
            (measured,) = {one["value"] for one in _stored(row.model) if one["metric"] == row.published_metric}
            floor = max(one["chance"] for one in _stored(row.model) if one["metric"] == row.published_metric)
            assert row.closed == pytest.approx((measured - floor) / (row.published - floor)), row.model
