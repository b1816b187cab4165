"""The numbers of a stored base compared with the paper: recomputed from planted answers."""

from collections.abc import Iterator

import numpy as np
import pytest

from probing.reports.reproduction.paper import Reproduction
from probing.reports.reproduction.sentences.paper import INTERPLAY
from probing.reports.reproduction.sentences.plots import PUT_BACK, plot
from probing.store.database import Database
from probing.store.opening import open_database
from probing.store.parquet import write_table
from tests.changes_planted import plant_changes, planted_value
from tests.planted_relatives import BASE, COLA, CONTROL, LAST, LAYERS, SEED_2, SQUAD, SST_2
from tests.sentences_planted import COORDINATION, TASKS, PlantedSentenceRun, plant_sentence_runs, right
from tests.sentences_planted import Cell as Probe

MODELS = (BASE, COLA, SEED_2, SST_2, SQUAD, CONTROL)
SCORES = [
    ("planted-cola", "CoLA", "Matthews correlation", 0.4, 1043, 0.0, "no correlation"),
    ("planted-sst-2", "SST-2", "task accuracy", 0.51, 872, 0.509, "majority label"),
]


@pytest.fixture(scope="module")
def db(tmp_path_factory) -> Iterator[Database]:
    folder = tmp_path_factory.mktemp("interplay")
    plant_sentence_runs(folder / "runs", [PlantedSentenceRun(model, task) for model in MODELS for task in TASKS])
    plant_changes(folder / "runs", MODELS)
    columns = ("model", "objective", "metric", "value", "n", "chance", "chance_name")
    rows = [dict(zip(columns, row, strict=True)) | {"base": "planted"} for row in SCORES]
    write_table("tasks", rows, folder / "runs" / "tasks-planted.parquet")
    with open_database(folder / "runs") as found:
        yield found


@pytest.fixture(scope="module")
def compared(db) -> Reproduction:
    return INTERPLAY.compare(db, "planted")


def share(model, task, pooling: str, layer: int) -> float:
    return float(right(PlantedSentenceRun(model, task), Probe(pooling, layer)).mean())


def test_the_model_with_the_least_seed_stands_for_an_objective(db):
    (family,) = INTERPLAY.subjects(db).values()
    assert (family.base, family.depth, family.protocol) == ("planted", LAST, "ours")
    assert family.members == {
        "CoLA": "planted-cola",
        "SST-2": "planted-sst-2",
        "QA-SQuAD-1": "planted-squad",
        "control": "planted-control",
    }


@pytest.mark.parametrize("model", [COLA, SQUAD], ids=lambda one: one.name)
@pytest.mark.parametrize("task", TASKS, ids=lambda one: one.name)
@pytest.mark.parametrize("pooling", ["first", "mean"])
def test_a_cell_of_tables_2_and_5_is_the_mean_change_of_its_layers(compared, model, task, pooling):
    mine = compared.tables["changes"]
    named = INTERPLAY.numbers.objectives[model.objective]
    mine = mine[mine["tuned"].eq(named) & mine["task"].eq(task.name) & mine["pooling"].eq(pooling)].set_index("group")
    for group, layers in (("lower", range(LAST // 2 + 1)), ("upper", range(LAST // 2 + 1, LAST + 1))):
        wanted = np.mean([share(model, task, pooling, layer) - share(BASE, task, pooling, layer) for layer in layers])
        assert mine.at[group, "ours"] == pytest.approx(100 * wanted)
        assert mine.at[group, "low"] <= mine.at[group, "ours"] <= mine.at[group, "high"]
    assert mine["control"].notna().all() and (mine["why"] == "").all()


def test_published_cells_are_next_to_ours_and_six_are_empty(compared):
    table = compared.tables["changes"].set_index(["tuned", "task", "pooling", "group"])
    assert len(table) == 4 * 3 * 2 * 2
    assert table.at[("CoLA", "bigram-shift", "mean", "upper"), "RoBERTa"] == 1.74
    assert table[["BERT", "RoBERTa", "ALBERT"]].isna().sum().sum() == 6


def test_a_cell_without_a_model_names_the_command_that_would_fill_it(compared):
    rows = compared.tables["changes"][compared.tables["changes"]["tuned"] == "RTE"]
    assert rows["ours"].isna().all()
    assert set(rows["why"]) == {"no model; to make it: python -m probing finetune --model planted --objective rte"}
    empty = INTERPLAY.compare(None)
    assert empty.tables["changes"]["ours"].isna().all() and empty.tables["scores"]["why"].str.contains("finetune").all()


def test_table_1_has_ours_with_interval_and_what_it_has_to_beat(compared):
    table = compared.tables["scores"].set_index(["tuned", "metric"])
    row = table.loc[("CoLA", "Matthews correlation")]
    assert (row["ours"], row["baseline"], row["baseline_name"], row["BERT"]) == (40.0, 0.0, "no correlation", 59.5)
    assert row["low"] < 40 < row["high"] and row["Devlin et al. (2019)"] == 52.1
    assert table.at[("SQuAD", "F1"), "why"] == "its task score is not stored" and len(table) == 5


def test_a_model_that_did_not_learn_is_marked(compared):
    assert compared.ours.about.learned["SST-2"] == "not learned"
    rows = compared.tables["changes"][compared.tables["changes"]["tuned"] == "SST-2"]
    assert set(rows["why"]) == {"trained, not learned"}


def test_stars_are_the_first_token_after_against_the_mean_before(compared):
    stars = plot(compared.ours.about, "first").stars
    mine = stars[stars["objective"].eq("CoLA") & stars["panel"].eq(COORDINATION.name)].set_index("x")
    for layer in LAYERS:
        assert mine.at[layer, "value"] == pytest.approx(
            share(COLA, COORDINATION, "first", layer) - share(BASE, COORDINATION, "mean", layer)
        )
        assert mine.at[layer, "low"] <= mine.at[layer, "value"] <= mine.at[layer, "high"]
    assert plot(compared.ours.about, "mean").stars.empty


def test_figures_have_our_points_with_yardsticks(compared):
    accuracy = plot(compared.ours.about, "accuracy")
    assert len(accuracy.points) == len(TASKS) * 2 * (LAST + 1) and set(accuracy.levels["name"]) == {
        "majority",
        "surface",
    }
    entropy = plot(compared.ours.about, "entropy").points
    assert set(entropy["objective"]) == {"pre-training", "CoLA", "control"}
    mine = entropy[entropy["objective"] == "CoLA"].set_index("x")["value"]
    assert mine[LAST] == pytest.approx(planted_value(COLA, "entropy-first", LAST, 255))
    replaced = plot(compared.ours.about, "replaced")
    assert set(replaced.points["panel"]) == set(PUT_BACK.values()) and set(replaced.points["x"]) == set(LAYERS)
    cola = compared.ours.about.perplexities[compared.ours.about.perplexities["objective"] == "CoLA"]
    n0 = float(cola.loc[cola["replaced"] == "none", "perplexity"].iloc[0])
    points = replaced.points[replaced.points["objective"] == "CoLA"]
    assert (points.loc[points["x"] == 0, "value"] == n0).all() and (points["low"] <= points["value"]).all()
    assert set(plot(compared.ours.about, "epochs").points["x"]) == {0.0, 0.5, 1.0}


def test_settings_of_the_paper_are_next_to_those_of_our_objectives(compared):
    table = compared.tables["settings"].set_index("setting")
    assert table.at["Learning rate", "published"] == "2e-5"
    assert [table.at["Learning rate", one] for one in ("CoLA", "SST-2", "RTE")] == ["2e-05"] * 3
    assert table.at["Epochs", "SST-2"] == "1.0" and table.at["Learning rate schedule", "CoLA"] == "constant"
