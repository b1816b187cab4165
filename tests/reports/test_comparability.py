"""The conditions of a fair comparison, and the list of differences."""

import json

import pytest

from probing.core.registry import REPOSITORY, read_registry
from probing.reports.comparability import as_long, badge, comparability, differences, stored_comparability
from probing.store.opening import open_database
from probing.store.parquet import write_table
from probing.store.run_queries import runs as all_runs
from tests.store.planted import TOKENIZER, TOKENS, UNUSED, PlantedRun, plant_store, token_rows

RECIPE = {"epochs": 3, "learning_rate": 0.0005}


def row(model: str, base: str = "", **changes) -> dict:
    """A row of ``runs``; ``config_`` changes go into its configuration only."""
    found = {
        "model": model,
        "base": base,
        "objective": "QA" if base else "pre-training",
        "head": "tied",
        "seed": 0,
        "probe_set": "trex",
        "template_set": "default",
        "tokenizer": "nesia-mini-12000",
        "dtype": "float32",
        "n_read": 110,
        "n_probed": 100,
    }
    config = {
        "model": model,
        "base": base,
        "facts_sha256": "a" * 64,
        "head_recipe": json.dumps(RECIPE),
        "dtype": "float32",
    }
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
        "alike in vocabulary, casing, facts, head recipe, template set, precision; control: not checked"
    )


def test_every_difference_is_named_in_the_check_and_in_the_badge():
    recipe = json.dumps(RECIPE | {"epochs": 5})
    other = row(
        "bert-base-cased",
        tokenizer="bert-base-cased-28996",
        n_probed=90,
        template_set="lama",
        dtype="float64",
        seed=1,
        config_facts_sha256="b" * 64,
        config_head_recipe=recipe,
        config_casing="cased",
    )
    first = row("bert-base-uncased", tokenizer="bert-base-uncased-30522", config_casing="uncased")
    checks = {check.name: check for check in comparability(first, other)}
    assert not any(check.same for check in checks.values())
    assert checks["casing"].words == "uncased and cased"
    assert checks["facts"].words == "100 probed, 10 left out in one run, 90 probed, 20 left out in the other"
    left = [
        one | {"left_out": words}
        for one, words in ((first, '{"no answer": 10}'), (other, '{"no answer": 15, "duplicate": 5}'))
    ]
    said = {check.name: check.words for check in comparability(*left)}["facts"]
    assert said == f"{checks['facts'].words}; one run alone left out 5 duplicate"
    assert checks["head recipe"].words == "tied, but other epochs, seed"
    assert checks["precision"].words == "float32 and float64"
    line = badge(list(checks.values()))
    assert line.startswith(
        "not alike in vocabulary (bert-base-uncased-30522 and bert-base-cased-28996); casing (uncased and cased)"
    )
    assert "\n" not in line


def test_equal_numbers_of_other_facts_are_not_the_same_facts():
    (facts,) = (
        check for check in comparability(BASE, row("other", config_facts_sha256="b" * 64)) if check.name == "facts"
    )
    assert (facts.same, facts.words) == (False, "100 probed, 10 left out in both runs, but different facts")


def test_casing_is_not_guessed():
    (casing,) = (
        check for check in comparability(BASE, row("other-cased", tokenizer="other-cased-9")) if check.name == "casing"
    )
    assert (casing.same, casing.words) == (False, "not recorded")


def test_casing_is_what_the_runs_recorded_of_their_tokenizers_whatever_they_are_called():
    def casing(first, second):
        return next(check for check in comparability(first, second) if check.name == "casing")

    # Names that contradict the casing, or the same vocabulary with two casings.
    named = (
        row("my-uncased-model", tokenizer="a-1", config_casing="cased"),
        row("other-cased", tokenizer="b-1", config_casing="cased"),
    )
    assert (casing(*named).same, casing(*named).words) == (True, "cased")
    found = casing(row("a", config_casing="cased"), row("b", config_casing="uncased"))
    assert (found.same, found.words) == (False, "cased and uncased")
    # One vocabulary, and no record.
    assert casing(row("a"), row("b", config_casing="uncased")).same


def test_other_heads_are_named_by_their_kinds():
    (recipe,) = (check for check in comparability(BASE, row("other", head="logit_lens")) if check.name == "head recipe")
    assert (recipe.same, recipe.words) == (False, "tied and logit_lens")


def test_the_control_is_found_in_the_store_or_is_one_of_the_two(tmp_path):
    control = PlantedRun(model="nesia-mini-control", base="nesia-mini", objective="control")
    with open_database(plant_store(tmp_path / "with", [control])) as db:
        assert comparability(BASE, BASE, db)[-1].words == "nesia-mini-control"
        assert not comparability(row("y"), row("x", "other-base"), db)[-1].same
        assert not comparability(BASE | {"head": "logit_lens"}, TUNED | {"head": "logit_lens"}, db)[-1].same
    assert comparability(BASE, TUNED | {"objective": "control"})[-1].words == "nesia-mini-qa is one"


@pytest.mark.parametrize(
    ("control", "tuned", "same", "words"),
    [
        ((600, 2000, 8), (600, 2000, 32), True, "mine, trained as long: 600 steps of 2,000 tokens"),
        ((600, 0, 8), (600, 0, 8), True, "mine, trained as long: 600 steps of 8 rows"),
        (
            (600, 0, 8),
            (200, 0, 8),
            False,
            "mine, trained for 600 steps of 8 rows; nesia-mini-qa for 200 steps of 8 rows",
        ),
        (
            (600, 0, 8),
            (600, 0, 32),
            False,
            "mine, trained for 600 steps of 8 rows; nesia-mini-qa for 600 steps of 32 rows",
        ),
        ((600, 0, 8), None, False, "mine, but how long nesia-mini-qa was trained is not recorded here"),
        (None, None, False, "mine, but how long mine and 1 more was trained is not recorded here"),
    ],
)
def test_a_control_counts_only_where_it_is_recorded_that_it_was_trained_as_long(
    tmp_path, monkeypatch, control, tuned, same, words
):
    monkeypatch.setenv("PROBING_CACHE", str(tmp_path / "cache"))
    for name, length in (("mine", control), ("nesia-mini-qa", tuned)):
        if length:
            steps, tokens, batch = length
            folder = tmp_path / "cache" / "models" / name
            folder.mkdir(parents=True)
            note = {"steps": steps, "recipe": {"tokens_a_step": tokens, "batch": batch}}
            (folder / "finetuning.json").write_text(json.dumps(note), encoding="utf-8")
    stored = PlantedRun(model="mine", base="nesia-mini", objective="control")
    with open_database(plant_store(tmp_path / "store", [stored])) as db:
        check = comparability(BASE, TUNED, db)[-1]
    assert (check.same, check.words) == (same, words)
    # The same holds for a control that is compared with a fine-tuned model.
    assert comparability(row("mine", "nesia-mini", objective="control"), TUNED)[-1] == check


def test_the_shipped_control_is_as_long_as_the_shipped_models_that_took_as_many_steps():
    def length(name: str) -> tuple[int, int]:
        record = json.loads((REPOSITORY / "data" / "models" / name / "finetuning.json").read_text(encoding="utf-8"))
        return record["steps"], record["recipe"]["tokens_a_step"]

    shipped = [entry.name for entry in read_registry().models if entry.shipped and entry.base]
    assert len(shipped) > 5
    for name in shipped:
        assert as_long("nesia-mini-control", [name])[0] == (length(name) == length("nesia-mini-control")), name


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
    write_table(
        "vocabulary", token_rows((*TOKENS, *UNUSED), "planted-1018-0badcafe"), folder / "vocabulary-new.parquet"
    )
    write_table("vocabulary", token_rows(["[PAD]"], "other"), folder / "vocabulary-other.parquet")
    with open_database(folder) as db:
        for name, same in (("planted-1018-0badcafe", True), ("other", False), ("unknown", False)):
            checks = comparability(row("a", tokenizer=TOKENIZER), row("b", tokenizer=name), db)
            assert checks[0].name == "vocabulary" and checks[0].same is same, name


def test_stored_runs_are_compared_by_their_ids(tmp_path):
    one, other = PlantedRun(), PlantedRun(model="nesia-mini-qa", base="nesia-mini")
    with open_database(plant_store(tmp_path, [one, other])) as db:
        stored = all_runs(db).set_index("run_id", drop=False)
        expected = comparability(stored.loc[one.run_id].to_dict(), stored.loc[other.run_id].to_dict(), db)
        assert stored_comparability(db, one.run_id, other.run_id) == expected
