"""What must be alike is named, and what differs is listed."""

import json

from probing.reports.comparability import badge, comparability, differences
from probing.store.build import build_database
from probing.store.database import open_database
from probing.store.parquet import write_table
from tests.store.planted import TOKENIZER, TOKENS, PlantedRun, plant_store

RECIPE = {"epochs": 3, "learning_rate": 0.0005}


def row(model: str, base: str = "", **changes) -> dict:
    """A row of ``runs``; ``config_`` changes go into its configuration only."""
    found = {
        "model": model, "base": base, "objective": "QA" if base else "pre-training", "head": "tied", "seed": 0, "probe_set": "trex",
        "template_set": "default", "tokenizer": "nesia-mini-12000", "dtype": "float32", "n_read": 110, "n_probed": 100,
    }  # fmt: skip
    config = {"model": model, "base": base, "facts_sha256": "a" * 64, "head_recipe": json.dumps(RECIPE), "dtype": "float32"}
    for name, value in changes.items():
        if name.startswith("config_"):
            config[name.removeprefix("config_")] = value
        else:
            found[name] = value
    return found | {"config": json.dumps(config)}


BASE, TUNED = row("nesia-mini"), row("nesia-mini-qa", "nesia-mini")


def test_a_base_and_its_fine_tuned_model_are_alike_in_everything():
    checks = {check.name: check for check in comparability(BASE, TUNED)}
    assert list(checks) == ["vocabulary", "casing", "facts", "head recipe", "template set", "precision", "control"]
    assert all(check.same for name, check in checks.items() if name != "control")
    assert checks["facts"].words == "100 probed, 10 left out"
    assert badge(list(checks.values())) == (
        "alike in vocabulary, casing, facts, head recipe, template set, precision; control: not looked for"
    )


def test_every_difference_is_named_in_the_check_and_in_the_badge():
    recipe = json.dumps(RECIPE | {"epochs": 5})
    other = row(
        "bert-base-cased", tokenizer="bert-base-cased-28996", n_probed=90, template_set="lama", dtype="float64", seed=1,
        config_facts_sha256="b" * 64, config_head_recipe=recipe,
    )  # fmt: skip
    checks = {check.name: check for check in comparability(row("bert-base-uncased", tokenizer="bert-base-uncased-30522"), other)}
    assert not any(check.same for check in checks.values())
    assert checks["casing"].words == "uncased and cased"
    assert checks["facts"].words == "100 probed, 10 left out on one side, 90 probed, 20 left out on the other"
    assert checks["head recipe"].words == "tied, but other epochs, seed"
    assert checks["precision"].words == "float32 and float64"
    line = badge(list(checks.values()))
    assert line.startswith("not alike in vocabulary (bert-base-uncased-30522 and bert-base-cased-28996); casing (uncased and cased)")
    assert "\n" not in line


def test_equal_numbers_of_other_facts_are_not_the_same_facts():
    (facts,) = (check for check in comparability(BASE, row("other", config_facts_sha256="b" * 64)) if check.name == "facts")
    assert (facts.same, facts.words) == (False, "100 probed, 10 left out on either side, but not the same")


def test_casing_is_not_guessed_where_no_name_says_it():
    (casing,) = (check for check in comparability(BASE, row("other", tokenizer="other-9")) if check.name == "casing")
    assert (casing.same, casing.words) == (False, "not recorded")


def test_other_heads_are_named_by_their_kinds():
    (recipe,) = (check for check in comparability(BASE, row("other", head="lens")) if check.name == "head recipe")
    assert (recipe.same, recipe.words) == (False, "tied and lens")


def test_the_control_is_found_in_the_store_or_is_one_of_the_two(tmp_path):
    control = PlantedRun(model="nesia-mini-control", base="nesia-mini", objective="control")
    with open_database(plant_store(tmp_path / "with", [control])) as db:
        assert comparability(BASE, TUNED, db)[-1].words == "nesia-mini-control"
        assert comparability(BASE, row("x", "other-base"), db)[-1].same  # the base's control
        assert not comparability(row("y"), row("x", "other-base"), db)[-1].same
        assert not comparability(BASE | {"head": "lens"}, TUNED | {"head": "lens"}, db)[-1].same
    assert comparability(BASE, TUNED | {"objective": "control"})[-1].words == "nesia-mini-qa is one"


def test_differences_are_the_fields_that_differ_and_no_others():
    other = row("nesia-mini-qa", "nesia-mini", config_head_recipe=json.dumps(RECIPE | {"epochs": 5, "warm_up": 0.1}))
    found = differences(BASE, other)
    assert found.to_dict("records") == [
        {"name": "base", "first": "", "second": "nesia-mini"},
        {"name": "head_recipe.epochs", "first": "3", "second": "5"},
        {"name": "head_recipe.warm_up", "first": "", "second": "0.1"},
        {"name": "model", "first": "nesia-mini", "second": "nesia-mini-qa"},
    ]
    assert differences(BASE, BASE).empty
    sums = differences(BASE, row("nesia-mini", config_facts_sha256="b" * 64)).iloc[0]
    assert (sums["first"], sums["second"]) == ("a" * 12, "b" * 12)


def test_a_vocabulary_that_an_earlier_version_named_otherwise_is_the_same_by_its_tokens(tmp_path):
    folder = plant_store(tmp_path, [PlantedRun()])
    tokens = [{"tokenizer": "planted-18-0badcafe", "id": number, "token": token} for number, token in enumerate(TOKENS)]
    write_table("vocabulary", tokens, tmp_path / "runs" / "vocabulary-new.parquet")
    write_table("vocabulary", [{"tokenizer": "other", "id": 0, "token": "[PAD]"}], tmp_path / "runs" / "vocabulary-other.parquet")
    build_database([tmp_path / "runs"], folder)
    with open_database(folder) as db:
        for name, same in (("planted-18-0badcafe", True), ("other", False), ("unknown", False)):
            checks = comparability(row("a", tokenizer=TOKENIZER), row("b", tokenizer=name), db)
            assert checks[0].name == "vocabulary" and checks[0].same is same, name
