"""The table of fine-tuning objectives: everything that names one names the same ones, and shipped recipes keep their
bytes.
"""

import json
from pathlib import Path

import pytest

from probing.core.errors import OptionError, RegistryError
from probing.core.knowledge.published import PublishedKnowledge
from probing.core.registry import read_registry
from probing.core.tasks.objectives import CALLED, TASKS, task_called, task_named
from probing.core.tasks.recipe import FinetuneRecipe

ROOT = Path(__file__).resolve().parents[2]
SHIPPED = sorted((ROOT / "data" / "models").glob("*/finetuning.json"))


def test_an_objective_has_one_slug_one_label_and_a_data_set_of_the_registry():
    data = {entry.name for entry in read_registry().data}
    assert len({task.label for task in TASKS.values()}) == len(TASKS)
    for slug, task in TASKS.items():
        assert task.slug == slug and task_called(task.label) is task
        assert not task.data_set or task.data_set in data
        FinetuneRecipe(objective=slug, base_weights="", data_sha256="", **task.settings)
    with pytest.raises(RegistryError, match="got the objective 'POETRY'; finetune knows NER-CoNLL"):
        task_called("POETRY")
    with pytest.raises(OptionError, match="got the objective 'poetry'; expected one of ner-conll, "):
        task_named("poetry")


def test_registry_and_published_numbers_name_objectives_of_the_table():
    registry, labels = read_registry(), {task.label for task in TASKS.values()}
    assert {member.objective for family in registry.families for member in family.members} <= labels
    assert {model.objective for model in PublishedKnowledge.read().models} <= labels | {"pre-training"}


@pytest.mark.parametrize("note", SHIPPED, ids=lambda path: path.parent.name)
def test_a_shipped_recipe_keeps_its_bytes(note):
    kept = json.loads(note.read_text(encoding="utf-8"))
    assert FinetuneRecipe.model_validate(kept["recipe"]).canonical() == json.dumps(
        kept["recipe"], sort_keys=True, separators=(",", ":")
    )
    assert task_called(kept["objective"]) is TASKS[kept["recipe"]["objective"]]


def test_what_came_later_is_left_out_of_a_recipe_that_does_not_use_it():
    plain = FinetuneRecipe(objective="cola", base_weights="", data_sha256="", learning_rate=1e-3)
    said = plain.model_copy(
        update={"pooling": "first", "schedule": "linear", "beta2": 0.999, "dropout": None, "fresh_pooler": False}
    )
    assert said.canonical() == plain.canonical() and "pooling" not in plain.fields()
    for name, value in {
        "pooling": "mean",
        "schedule": "constant",
        "beta2": 0.99,
        "dropout": 0.0,
        "fresh_pooler": True,
    }.items():
        assert plain.model_copy(update={name: value}).fields()[name] == value


def test_an_objective_whose_head_reads_the_mean_has_a_label_and_a_name_of_its_own():
    further = set(CALLED) - {task.label for task in TASKS.values()}
    shuffled = {label for label in further if label.endswith(" (shuffled labels)")}
    assert further - shuffled == {"CoLA (mean)", "SST-2 (mean)", "RTE (mean)"}
    assert {label.removesuffix(" (shuffled labels)") for label in shuffled} == {
        task.label for task in TASKS.values() if task.metrics != ("masked accuracy",)
    }
    assert CALLED["RTE (shuffled labels)"].name == "rte-shuffled"
    mean = task_called("SST-2 (mean)")
    assert (mean.slug, mean.name, mean.settings["pooling"], mean.kind) == ("sst-2", "sst-2-mean", "mean", "classes")
    assert TASKS["sst-2"].pooled("first") is TASKS["sst-2"] and TASKS["sst-2"].name == "sst-2"
    assert {name: value for name, value in mean.settings.items() if name != "pooling"} == dict(TASKS["sst-2"].settings)
    for slug, pooling in (("qa-squad-1", "mean"), ("cola", "middle")):
        with pytest.raises(
            OptionError,
            match=f"got the pooling '{pooling}' for {slug}; expected first or mean, with one of cola, sst-2, rte",
        ):
            TASKS[slug].pooled(pooling)


def test_sentences_are_labelled_with_the_papers_settings():
    for slug, epochs, pieces in (("cola", 3.0, 128), ("sst-2", 1.0, 128), ("rte", 3.0, 256)):
        recipe = FinetuneRecipe(objective=slug, base_weights="", data_sha256="", **TASKS[slug].settings)
        assert (recipe.learning_rate, recipe.batch, recipe.epochs, recipe.max_pieces) == (2e-5, 32, epochs, pieces)
        assert (recipe.warm_up, recipe.weight_decay, recipe.beta2, recipe.dropout) == (0.1, 0.01, 0.99, 0.1)
        assert (recipe.schedule, recipe.pooling, recipe.fresh_pooler) == ("constant", "first", True)
