"""Which runs a report takes, which may be compared, and how tables are written as text."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from probing.changes.report import perplexities, values
from probing.compared.report_evidence import ENTROPY, evidence
from probing.facts.report_forgotten import forgotten
from probing.facts.report_layers import early_exit, total
from probing.facts.report_pairs import transitions
from probing.facts.runs import badge, choose, comparability, differences, identities, pairs, stored_comparability
from probing.kernel.errors import StoreError
from probing.kernel.fact import Subset
from probing.kernel.provenance import canonical_json, fingerprint_of
from probing.kernel.report import NO_ROWS, latex_table, text_table, whole_runs, with_caption
from probing.kernel.store.check import check_store
from probing.kernel.store.database import Database
from probing.kernel.store.kinds import FACTS, KINDS
from probing.kernel.store.opening import open_database, write_counts
from probing.kernel.store.parquet import write_table
from probing.kernel.store.stored import fact_runs
from probing.sentences.examples import OWN, POOLINGS, READINGS
from probing.sentences.report_accuracy import accuracies
from probing.sentences.report_changes import where_gone
from tests.changes_planted import change_config, plant_changes
from tests.planted_relatives import BASE, COLA, CONTROL
from tests.planted_store import (
    SEVERAL,
    TOKENIZER,
    TOKENS,
    UNUSED,
    PlantedRun,
    plant_runs,
    plant_store,
    prediction_rows,
    run_row,
    token_rows,
)
from tests.sentences_planted import BIGRAM, PlantedSentenceRun, plant_sentence_runs

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


BASE_ROW, TUNED = row("nesia-mini"), row("nesia-mini-qa", "nesia-mini")


def test_a_base_and_its_fine_tuned_model_are_alike_in_everything():
    checks = {check.name: check for check in comparability(BASE_ROW, TUNED)}
    assert list(checks) == ["vocabulary", "casing", "facts", "head recipe", "template set", "precision", "control"]
    assert all(check.same for name, check in checks.items() if name != "control")
    assert checks["facts"].words == "100 probed, 10 left out"
    assert badge(list(checks.values())) == (
        "alike in vocabulary, casing, facts, head recipe, template set, precision; control: not checked"
    )


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


def test_the_control_is_found_in_the_store_or_is_one_of_the_two(tmp_path):
    control = PlantedRun(model="nesia-mini-control", base="nesia-mini", objective="control")
    with open_database(plant_store(tmp_path / "with", [control])) as db:
        assert comparability(BASE_ROW, BASE_ROW, db)[-1].words == "nesia-mini-control"
        assert not comparability(row("y"), row("x", "other-base"), db)[-1].same
        assert not comparability(BASE_ROW | {"head": "logit_lens"}, TUNED | {"head": "logit_lens"}, db)[-1].same
    assert comparability(BASE_ROW, TUNED | {"objective": "control"})[-1].words == "nesia-mini-qa is one"


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
        check = comparability(BASE_ROW, TUNED, db)[-1]
    assert (check.same, check.words) == (same, words)
    # The same holds for a control that is compared with a fine-tuned model.
    assert comparability(row("mine", "nesia-mini", objective="control"), TUNED)[-1] == check


def test_differences_are_the_fields_that_differ_and_no_others():
    other = row("nesia-mini-qa", "nesia-mini", config_head_recipe=json.dumps(RECIPE | {"epochs": 5, "warm_up": 0.1}))
    found = differences(BASE_ROW, other)
    assert found.to_dict("records") == [
        {"name": "base", "first": "", "second": "nesia-mini"},
        {"name": "head_recipe.epochs", "first": "3", "second": "5"},
        {"name": "head_recipe.warm_up", "first": "", "second": "0.1"},
        {"name": "model", "first": "nesia-mini", "second": "nesia-mini-qa"},
    ]
    assert differences(BASE_ROW, BASE_ROW).empty
    sums = differences(BASE_ROW, row("nesia-mini", config_facts_sha256="b" * 64)).iloc[0]
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
        stored = fact_runs(db).set_index("run_id", drop=False)
        expected = comparability(stored.loc[one.run_id].to_dict(), stored.loc[other.run_id].to_dict(), db)
        assert stored_comparability(db, one.run_id, other.run_id) == expected


#: At the last of its layers 0 to 2 the primary run knows facts 0 to 3 of 10, the replicates 2 to 5 and 9.
PRIMARY = PlantedRun(layers=3, rank=lambda number, layer: 1 if layer == 2 and number < 4 else 50)
REPLICATES = (
    PlantedRun(
        layers=3, seed=1, role="replicate", last_only=True, rank=lambda number, layer: 1 if 2 <= number <= 5 else 50
    ),
    PlantedRun(layers=3, seed=2, role="replicate", last_only=True, rank=lambda number, layer: 1 if number == 9 else 50),
)


def test_a_run_of_the_last_layer_only_has_no_transitions_because_fates_are_unknown(tmp_path: Path):
    whole = PlantedRun(model="tuned", base="nesia-mini", layers=3)
    short = replace(whole, seed=1, role="replicate", last_only=True)
    with open_database(plant_store(tmp_path, [PRIMARY, whole, short])) as db:
        found = transitions(db, [(PRIMARY.run_id, whole.run_id), (PRIMARY.run_id, short.run_id)], (1,))
        assert list(found["run_id"]) == [whole.run_id]


OTHER = PlantedRun(head="logit_lens", layers=3, rank=lambda number, layer: 1)


@pytest.fixture(scope="module")
def seeds(tmp_path_factory: pytest.TempPathFactory):
    with open_database(plant_store(tmp_path_factory.mktemp("seeds"), [PRIMARY, *REPLICATES, OTHER])) as db:
        yield db


def test_the_union_over_seeds_is_next_to_the_total(seeds: Database):
    row = total(seeds, [PRIMARY.run_id], (1,), ("micro",)).iloc[0]
    assert (row["n"], row["seeds"]) == (10, 3)
    assert (row["last_layer"], row["total"], row["seed_union"]) == (4 / 10, 4 / 10, 7 / 10)
    assert total(seeds, [PRIMARY.run_id], (100,), ("micro",)).iloc[0]["seed_union"] == 1.0
    alone = total(seeds, [OTHER.run_id], (1,), ("macro",)).iloc[0]
    assert alone["seeds"] == 1 and alone["seed_union"] != alone["seed_union"]


@pytest.mark.parametrize(("weights", "positions", "replicates"), [("a", 9, 2), ("b", 9, 1), ("a", 8, 1)])
def test_heads_of_other_weights_or_another_recipe_are_no_replicates(weights, positions, replicates, tmp_path: Path):
    def made(weights: str, positions: int, seed: int) -> tuple[tuple[str, str], ...]:
        recipe = {"positions": positions, "seed": seed, "text": 'a "b"'}
        return ("weights", weights), ("head_recipe", json.dumps(recipe, separators=(",", ":")))

    run = replace(PRIMARY, made=made("a", 9, 0))
    again = replace(REPLICATES[0], made=made(weights, positions, 1))
    with open_database(plant_store(tmp_path, [run, again])) as db:
        assert total(db, [run.run_id], (1,), ("micro",)).iloc[0]["seeds"] == replicates


def test_a_run_of_more_layers_than_can_be_counted_is_left_out_alone(tmp_path: Path):
    deep = PlantedRun(head="logit_lens", layers=66)
    with pytest.raises(StoreError, match=f"run {deep.run_id}: its rows cannot be counted"):
        plant_store(tmp_path, [PRIMARY, deep])
    with open_database(tmp_path / "runs") as db:
        assert list(choose(db)["run_id"]) == [PRIMARY.run_id]


def test_the_union_keeps_to_the_filters(seeds: Database):
    # Stated are the facts 1, 2, 4 and 7: the primary run knows 1 and 2, the first replicate 2 and 4.
    row = total(seeds, [PRIMARY.run_id], (1,), ("micro",), Subset(("stated",))).iloc[0]
    assert (row["n"], row["last_layer"], row["seed_union"]) == (4, 2 / 4, 3 / 4)


def test_a_run_of_its_last_layer_only_has_no_total_no_forgetting_and_no_exit(seeds: Database):
    row = total(seeds, [REPLICATES[0].run_id], (1,), ("micro",)).iloc[0]
    assert row["last_layer"] == 4 / 10
    assert row[["total", "intermediate_share"]].isna().all()
    assert forgotten(seeds, [REPLICATES[0].run_id]).empty
    assert early_exit(seeds, [REPLICATES[0].run_id]).empty


def test_a_replicate_may_store_its_last_layer_only_and_a_primary_run_may_not(tmp_path: Path):
    source = plant_runs(tmp_path / "runs", [PRIMARY, *REPLICATES])
    assert check_store([source]) == []
    short = PlantedRun(head="logit_lens", layers=3, last_only=True)
    plant_runs(source, [short])
    (problem,) = check_store([source])
    assert f"run {short.run_id}: 10 predictions, expected 30" in problem


def test_a_replicate_of_some_other_layer_or_without_a_fact_is_incomplete(tmp_path: Path):
    run = REPLICATES[0]
    rows = prediction_rows(run)
    for number, (wrong, words) in enumerate(
        (
            (rows[1:], "9 predictions, expected 10 (10 facts x 1 layer)"),
            ([row | {"layer": 1} for row in rows], "10 predictions, expected 30"),
        )
    ):
        source = plant_runs(tmp_path / str(number), [PRIMARY, run])
        write_table("predictions", wrong, source / run.run_id / f"predictions-{run.run_id}.parquet")
        assert any(f"run {run.run_id}: {words}" in problem for problem in check_store([source]))


def test_reports_take_primary_runs_of_the_default_templates_and_the_newest(tmp_path: Path):
    runs = [*SEVERAL, PlantedRun(template_set="lama"), *(PlantedRun(seed=seed, role="replicate") for seed in (1, 2))]
    source = plant_runs(tmp_path / "runs", runs)
    newer = PlantedRun(layers=4, template_set="default", objective="newer")
    made = {"created": "2027-01-01T00:00:00Z", "config": newer.config.replace("default", "other"), "run_id": "f" * 16}
    write_table("runs", [run_row(newer) | made], source / f"runs-{'f' * 16}.parquet")
    rows = [one | {"run_id": "f" * 16} for one in prediction_rows(newer)]
    write_table("predictions", rows, source / f"predictions-{'f' * 16}.parquet")
    write_counts(KINDS[FACTS], run_row(newer) | made, source, [source])
    with open_database(source) as db:
        found = choose(db)
        assert len(found) == len(SEVERAL)
        assert set(found["role"]) == {"primary"} and set(found["template_set"]) == {"default"}
        first = found[(found["model"] == "nesia-mini") & (found["head"] == "tied") & (found["probe_set"] == "trex")]
        assert list(first["run_id"]) == ["f" * 16]
        assert len(choose(db, models=["nesia-mini"], heads=["logit_lens"], probe_sets=["trex", "questions"])) == 2
        assert list(choose(db, ["nesia-mini"], ["tied"], ["trex"], seeds=(1, 2))["seed"]) == [1, 2]
        assert len(choose(db, templates="lama")) == 1
        both = pairs(found)
        assert set(both["model"]) == {"nesia-mini-qa"} and set(both["base"]) == {"nesia-mini"}
        assert len(both) == 2 * 3
        ids = [SEVERAL[3].run_id, "unknown", SEVERAL[1].run_id]
        assert list(identities(db, ids)["run_id"]) == [ids[0], ids[2]]
        assert len(transitions(db, both, (1, 10))) == len(both) * 2
        assert transitions(db, [("unknown", ids[0])]).empty


LATER = "2027-01-01T00:00:00Z"


def test_the_newest_run_counts_unless_an_older_one_has_all_that_it_has_and_more():
    runs = pd.DataFrame({"model": ["a", "a", "a", "b", "b"], "run": [5, 4, 3, 2, 1]})
    has = [frozenset(one) for one in ("xy", "xz", "xyz", "x", "y")]
    assert whole_runs(runs, ["model"], has)["run"].tolist() == [3, 2]
    assert whole_runs(runs.iloc[:0], ["model"], []).empty


class Described(PlantedSentenceRun):
    """A run that says which probes it has."""

    readings = READINGS

    @property
    def config(self) -> str:
        more = {"poolings": list(POOLINGS), "readings": list(self.readings), "portions": [1, 4, 16]}
        return canonical_json(json.loads(super().config) | more)


class OwnOnly(Described):
    readings = (OWN,)


def test_a_later_run_with_fewer_readings_does_not_hide_the_fates(tmp_path):
    few = OwnOnly(COLA, BIGRAM)

    def only_own(table, rows):
        mine = [one for one in rows if one.get("run_id") == few.run_id]
        if not mine:
            return rows
        if table == "sentence_runs":
            return [one | {"created": LATER} for one in rows]
        return [one for one in rows if one["reading"] == OWN]

    plant_sentence_runs(tmp_path / "runs", [Described(BASE, BIGRAM), Described(COLA, BIGRAM), few], only_own)
    with open_database(tmp_path / "runs") as db:
        assert (where_gone(db)["fate"] != "").any()
        assert set(accuracies(db, [COLA.name], readings=None)["reading"]) == set(READINGS)


def again(run_id: str, **changed):
    """What plants a model's rows as another, later run with another configuration."""

    def change(table, rows):
        found = []
        for one in rows:
            if table == "change_runs":
                config = canonical_json(json.loads(one["config"]) | changed)
                one = one | {"config": config, "created": LATER}
            found.append(one | ({"run_id": run_id} if "run_id" in one else {}))
        return found

    return change


def test_a_later_run_without_perplexity_does_not_hide_it(tmp_path):
    plant_changes(tmp_path / "runs", [BASE, COLA])
    less = {"blocks_sha256": "", "blocks": 0}
    config = json.loads(change_config(COLA)) | less
    run_id = fingerprint_of(canonical_json(config))

    def change(table, rows):
        if table in ("perplexity", "epoch_perplexity", "weight_drift"):
            return []
        return [one | ({"blocks": 0} if table == "change_runs" else {}) for one in again(run_id, **less)(table, rows)]

    plant_changes(tmp_path / "runs" / "later", [COLA], change)
    with open_database(tmp_path / "runs") as db:
        assert len(perplexities(db, [COLA.name]))


@pytest.fixture
def other_text(tmp_path):
    """A base and a control, and a fine-tuned model that was measured on sentences of its own."""
    plant_changes(tmp_path / "runs", [BASE, CONTROL])
    config = json.loads(change_config(COLA)) | {"sentences_sha256": "mine", "blocks_sha256": "mine"}
    change = again(fingerprint_of(canonical_json(config)), sentences_sha256="mine", blocks_sha256="mine")
    plant_changes(tmp_path / "runs" / "own", [COLA], change)
    with open_database(tmp_path / "runs") as db:
        yield db


def test_values_of_other_sentences_are_not_compared_with_a_models(other_text):
    found = values(other_text, [COLA.name])
    assert (
        len(found) and found[["base_value", "control_value"]].isna().all().all() and not found["inside_control"].any()
    )
    assert perplexities(other_text, [COLA.name])["control_log_change"].isna().all()


def test_without_the_bases_entropy_no_change_of_it_is_claimed(other_text):
    found = evidence(other_text, COLA.name, None, "ours")
    rows = found[found["panel"] == ENTROPY]
    assert len(rows) and rows["change"].isna().all() and rows["value"].notna().all()


TABLE = pd.DataFrame(
    {
        "model": ["nesia-mini", "50 % & more"],
        "P@1_x": [0.12345, np.nan],
        "p": [0.00012345, 1.0],
        "n": pd.array([12, None], dtype="Int64"),
        "layers": [(0, 1), None],
    }
)


def test_a_text_table_has_rounded_cells_in_columns_and_a_dash_where_nothing_was_measured():
    head, first, second = text_table(TABLE).splitlines()
    assert head.split() == ["model", "P@1_x", "p", "n", "layers"]
    assert first.split() == ["nesia-mini", "0.123", "0.0001234", "12", "[0,", "1]"]
    assert second.split() == ["50", "%", "&", "more", "-", "1.000", "-", "-"]
    assert len(head) == len(first) == len(second)


def test_long_cells_and_many_rows_are_written_whole():
    many = pd.DataFrame({"text": ["word " * 40] * 300, "wide" * 30: 1})
    lines = text_table(many).splitlines()
    assert len(lines) == 301 and "word " * 40 in lines[-1] and "..." not in lines[-1]


def test_a_latex_table_is_for_booktabs_and_its_text_is_escaped():
    awkward = pd.DataFrame({"a_b": ["& % $ # _ { } ~ ^ \\"], "p": [0.5]})
    assert latex_table(awkward).splitlines() == [
        r"\begin{tabular}{lr}",
        r"\toprule",
        r"a\_b & p \\",
        r"\midrule",
        r"\& \% \$ \# \_ \{ \} \textasciitilde \space \textasciicircum \space \textbackslash  & 0.500 \\",
        r"\bottomrule",
        r"\end{tabular}",
    ]


def test_what_all_rows_share_stands_above_them_and_results_stay_beside_their_intervals():
    rows = pd.DataFrame(
        {"head": ["a_b\n& c"] * 2, "layer": [1, 10], "value": [0.5] * 2, "low": [0.4] * 2, "wide": None}
    )
    caption, *text = with_caption(rows).splitlines()
    assert caption == "head a_b & c, wide -" and text[0].split() == ["layer", "value", "low"] and len(text) == 3
    caption, first, *_ = with_caption(rows, "latex").splitlines()
    assert caption == r"% \caption{head a\_b \& c, wide -}" and first == r"\begin{tabular}{rrr}"
    for alone in (rows.head(1), rows[["head", "wide"]]):
        assert with_caption(alone) == text_table(alone) and with_caption(alone, "latex") == latex_table(alone)


def test_a_table_without_rows_has_its_columns():
    assert text_table(TABLE.head(0)).splitlines() == ["model P@1_x p n layers", NO_ROWS]
    assert latex_table(TABLE.head(0)).count(r"\\") == 1
