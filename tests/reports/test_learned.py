"""Task scores of stored models: rows that a test can read off, and the verdicts on the shipped family."""

import json
import math

import pytest

from probing.core.registry import REPOSITORY, read_registry
from probing.core.stats.intervals import wilson_mean
from probing.reports.task_success import COLUMNS, SHORT, learned, scores
from probing.store.opening import open_database
from probing.store.parquet import read_table, write_table
from tests.store.planted import PlantedRun, plant_runs

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
