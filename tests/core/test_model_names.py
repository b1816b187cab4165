"""What a reader calls a model: short, different for any two, and the same whatever is shown."""

import random

import pytest

from probing.core.errors import RegistryError
from probing.core.naming.model_names import known_model, short_names
from probing.core.registry import REGISTRY as REGISTRY_FILE
from probing.core.registry import read_registry
from probing.core.tasks.objectives import TASKS

REGISTRY = read_registry()
SHIPPED = [entry.name for entry in REGISTRY.models if entry.shipped]


def named(*models: str | tuple[str, str, str]) -> dict[str, str]:
    rows = [(model, "", "") if isinstance(model, str) else model for model in models]
    return short_names([known_model(REGISTRY, *row) for row in rows])


def test_a_shipped_model_is_called_by_its_objective_and_a_base_by_its_name():
    names = named(*SHIPPED, "bert-base-uncased")
    assert names["nesia-mini-qa-squad-1"] == "QA-SQuAD-1" and names["nesia-mini-control"] == "control"
    assert names["nesia-mini"] == "nesia-mini" and names["bert-base-uncased"] == "bert-base-uncased"


def test_a_further_seed_of_which_only_results_ship_is_called_by_objective_and_seed():
    names = named(
        "nesia-mini",
        "nesia-mini-sst-2",
        *(("nesia-mini-sst-2-seed-2", "nesia-mini", "SST-2"), ("mine-seed-2", "nesia-mini", "SST-2")),
    )
    assert list(names.values()) == ["nesia-mini", "SST-2", "SST-2, seed 2", "mine-seed-2"]


def test_what_finetune_names_by_itself_is_called_by_its_objective_and_another_folder_by_its_name():
    standard, own = ("roberta-base-mlm-squad", "roberta-base", "MLM-SQuAD"), ("my-model", "roberta-base", "MLM-SQuAD")
    assert named("roberta-base", standard, own) == {
        "roberta-base": "roberta-base",
        "roberta-base-mlm-squad": "MLM-SQuAD",
        "my-model": "my-model",
    }


def test_the_name_of_a_model_of_ones_own_never_hides_a_shipped_one():
    names = named("nesia-mini", "nesia-mini-qa-squad-1", "qa-squad-1", ("QA-SQuAD-2", "", ""), "nesia-mini-qa-squad-2")
    assert names["nesia-mini-qa-squad-1"] == "nesia-mini · QA-SQuAD-1" and names["qa-squad-1"] == "qa-squad-1"
    assert names["nesia-mini-qa-squad-2"] == "nesia-mini · QA-SQuAD-2"


@pytest.mark.parametrize("seed", range(200))
def test_any_set_of_models_has_names_that_differ_and_do_not_depend_on_their_order(seed):
    draw = random.Random(seed)
    listed = [entry.name for entry in REGISTRY.models]
    objectives = ["", "unknown", "pre-training", *(task.label for task in TASKS.values())]
    slugs = [f"{base}-{slug}" for base in ("nesia-mini", "roberta-base", "own") for slug in TASKS]
    odd = [
        "control",
        "QA-SQuAD-1",
        "qa-squad-1",
        "nesia-mini · QA-SQuAD-1",
        "x" * 70,
        "x" * 71,
        "…",
        "a/checkpoint-1",
        "b/checkpoint-1",
    ]
    long = [f"{'run-' * draw.randint(5, 20)}{draw.choice('ab')}{'-more' * draw.randint(3, 9)}" for _ in range(8)]
    pool = sorted({*listed, *slugs, *odd, *long})
    chosen = draw.sample(pool, draw.randint(1, len(pool)))
    models = [
        known_model(REGISTRY, name, draw.choice(["", *listed, "own"]), draw.choice(objectives)) for name in chosen
    ]
    names = short_names(models)
    assert set(names) == set(chosen)
    assert len(set(names.values())) == len(names), "two models have one name"
    assert not any(short in names and short != full for full, short in names.items()), (
        "a model has the full name of another"
    )
    draw.shuffle(models)
    assert short_names(models) == names
    assert all(len(short) <= len(full) or " · " in short or short in objectives for full, short in names.items())


def test_a_colour_of_the_registry_has_six_digits(tmp_path):
    path, text = tmp_path / "registry.toml", REGISTRY_FILE.read_text(encoding="utf-8")
    path.write_text(text.replace('colour = "#8C6BD1"', 'colour = "red"'), encoding="utf-8")
    with pytest.raises(RegistryError, match="colour"):
        read_registry(path)
