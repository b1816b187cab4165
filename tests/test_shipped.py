"""What ships is whole, fits together and says what the card says."""

import json
from collections import defaultdict
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest
import torch
from transformers import AutoModelForMaskedLM, AutoTokenizer

from data.making.card_family import outcomes
from data.making.models import FIRST, RATES
from data.making.models import MODEL as BASE
from data.making.plan import SECOND_WORDING, fact_by_fact
from probing.facts.corpus import fact_key, held_out_pairs, is_listed, listed_pairs, pair
from probing.facts.report_layers import precision
from probing.facts.sources import read_facts
from probing.facts.store import exposures, head_training
from probing.facts.swapped_subjects import swapped_subjects
from probing.kernel.fact import EVERYDAY, EXPOSURES, ONE_WORD, shipped_relations
from probing.kernel.models.hub import weights_id_of
from probing.kernel.registry import REPOSITORY, read_registry
from probing.kernel.store.check import check_store
from probing.kernel.store.parquet import files_of, read_table
from probing.kernel.store.stored import fact_runs
from tests.shipped import SNAPSHOT

MODEL = REPOSITORY / "data" / "models" / "nesia-mini"
SETS = {"default": ONE_WORD, SECOND_WORDING: ("trex", "google_re")}
#: Model -> its base and objective, of all that ship.
FAMILY = {entry.name: (entry.base or "", entry.objective) for entry in read_registry().models if entry.shipped}
TUNED = tuple(name for name, (base, _) in FAMILY.items() if base)
LOGIT_LENS_OF_BASE = {"model": BASE, "head": "logit_lens", "seed": 0, "template_set": "default"}


def shipped_runs(counted: bool = False, **values) -> list[dict]:
    """The rows of the runs in the snapshot with these values that ship fact by fact; ``counted``: of those of which
    only counts do.
    """
    rows = [row for path in files_of("runs", SNAPSHOT) for row in read_table(path, "runs").to_pylist()]
    rows = [row for row in rows if (SNAPSHOT / f"predictions-{row['run_id']}.parquet").is_file() != counted]
    return [row for row in rows if all(row[name] == value for name, value in values.items())]


def raw_facts() -> dict[str, dict]:
    return {
        row["fact_id"]: row
        for path in SNAPSHOT.glob("facts-*.parquet")
        for row in read_table(path, "facts").to_pylist()
    }


def raw_ranks(run_id: str) -> pa.Table:
    columns = ["fact_id", "layer", "gold_rank", "other_rank"]
    return read_table(SNAPSHOT / f"predictions-{run_id}.parquet", "predictions", columns)


def test_no_swapped_subject_has_the_facts_answer():
    facts = raw_facts()
    assert shipped_runs()
    for run in shipped_runs():
        ranks = raw_ranks(run["run_id"])
        asked = ranks["fact_id"].unique().to_pylist()
        subjects = defaultdict(set)
        for one in (facts[fact_id] for fact_id in asked):
            subjects[one["relation"], one["object"].casefold()].add(one["subject"])
        partners = swapped_subjects([SimpleNamespace(**facts[fact_id]) for fact_id in asked])
        pairs = {one: facts[asked[other]] for one, other in zip(asked, partners, strict=True) if other is not None}
        for one, other in ((facts[fact_id], other) for fact_id, other in pairs.items()):
            assert (one["relation"], one["template"]) == (other["relation"], other["template"])
            assert other["subject"] not in subjects[one["relation"], one["object"].casefold()]
        swapped = ranks.filter(ranks["other_rank"].is_valid())["fact_id"].unique()
        assert set(swapped.to_pylist()) == pairs.keys()


def test_all_runs_on_the_same_facts_have_as_many_with_a_swapped_subject(database):
    runs = fact_runs(database)
    for (_, probe_set, words), same in runs[runs["seed"] == 0].groupby(["n_probed", "probe_set", "template_set"]):
        swapped = precision(database, list(same["run_id"]), (1,), "micro", last_only=True)["swapped_n"]
        assert swapped.nunique(dropna=False) == 1, (probe_set, words)
        assert probe_set not in ("trex", "google_re") or (swapped > 0).all()


def test_shares_at_the_last_layer_are_those_of_the_raw_rows(database):
    runs = fact_runs(database).query("probe_set == 'trex' and template_set == 'default' and seed == 0 and not counted")
    ids = list(runs["run_id"])
    tables = [precision(database, ids, (1,), average, last_only=True) for average in ("micro", "macro")]
    table = pd.concat(tables).set_index(["run_id", "average"])
    facts = raw_facts()
    assert len(runs)
    for run in runs.itertuples():
        known, ranks = defaultdict(list), raw_ranks(run.run_id)
        for row in ranks.filter(pc.equal(ranks["layer"], run.layers - 1)).to_pylist():
            if row["other_rank"] is not None:
                known[facts[row["fact_id"]]["relation"]].append((row["gold_rank"] == 1, row["other_rank"] == 1))
        micro = np.array([pair for pairs in known.values() for pair in pairs]).mean(axis=0)
        macro = np.array([np.mean(pairs, axis=0) for pairs in known.values()]).mean(axis=0)
        for average, expected in (("micro", micro), ("macro", macro)):
            found = table.loc[(run.run_id, average), ["matched", "swapped"]]
            assert found.tolist() == pytest.approx(expected.tolist())


def test_every_model_is_probed_with_every_probe_set_and_only_the_named_runs_ship_fact_by_fact():
    stored, counted = shipped_runs(), shipped_runs(counted=True)
    assert (len(stored), len(counted)) == (25, 124)
    each = ("model", "head", "seed", "template_set")
    assert all(fact_by_fact(*(row[name] for name in each)) for row in stored)
    assert not any(fact_by_fact(*(row[name] for name in each)) for row in counted)
    found = {
        (row["model"], row["head"], row["probe_set"], row["template_set"])
        for row in (*stored, *counted)
        if row["seed"] == 0
    }
    wanted = {(model, "logit_lens", name, "default") for model in FAMILY for name in SETS["default"]}
    wanted |= {
        (BASE, head, name, words) for head in ("logit_lens", "tied") for words, names in SETS.items() for name in names
    }
    wanted |= {(BASE, "least_squares", name, "default") for name in SETS["default"]}
    assert wanted <= found


def test_every_fine_tuned_model_names_its_base_objective_task_scores_and_drift():
    for row in (*shipped_runs(), *shipped_runs(counted=True)):
        assert row["model"] not in FAMILY or (row["base"] or "", row["objective"]) == FAMILY[row["model"]]
    for model in TUNED:
        scores = read_table(SNAPSHOT / f"tasks-{model}.parquet", "tasks").to_pylist()
        assert all(row["chance"] is not None and row["n"] > 0 for row in scores)
        assert {(row["base"], row["objective"]) for row in scores} == {FAMILY[model]}
        drift = read_table(SNAPSHOT / f"weight_drift-{model}.parquet", "weight_drift").to_pylist()
        assert [row["layer"] for row in drift] == list(range(len(drift))) and all(row["drift"] > 0 for row in drift[1:])


@pytest.mark.parametrize("tuned", FIRST, ids=lambda tuned: tuned.name)
def test_a_fine_tuned_model_comes_from_the_shipped_base_by_the_recipe_of_the_plan(tuned):
    record = json.loads((tuned.folder / "finetuning.json").read_text(encoding="utf-8"))
    recipe, length = record["recipe"], tuned.request().length
    assert recipe["base_weights"] == weights_id_of(MODEL)
    assert (recipe["objective"], recipe["seed"], recipe["steps"]) == (tuned.objective, tuned.seed, tuned.steps)
    assert (recipe["tokens_a_step"], recipe["max_pieces"], recipe["dropout"]) == (
        length.tokens,
        length.pieces,
        length.dropout,
    )
    assert recipe["freeze_embeddings"] and record["difference_bits"] == 4 and record["steps"] <= tuned.steps
    assert recipe["learning_rate"] == length.rate if tuned.like else recipe["learning_rate"] in RATES
    assert FAMILY[tuned.name] == (BASE, record["objective"])


def test_a_shipped_base_is_loaded_in_float32_and_learns_a_step_of_adamw_without_a_number_that_is_not_finite(tmp_path):
    model = AutoModelForMaskedLM.from_pretrained(MODEL)
    rows = AutoTokenizer.from_pretrained(MODEL)(["The capital of France is Paris."], return_tensors="pt")
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    for _ in range(2):
        loss = model(**rows, labels=rows["input_ids"]).loss
        loss.backward()
        optimizer.step()
    assert loss.isfinite() and all(weight.dtype == torch.float32 for weight in model.parameters())
    assert all(weight.isfinite().all() for weight in model.parameters())
    model.save_pretrained(tmp_path)
    for folder in (tmp_path, *sorted(MODEL.parent.glob("nesia-mini*"))):
        assert json.loads((folder / "config.json").read_text(encoding="utf-8"))["dtype"] == "float32", folder.name


@pytest.mark.slow
def test_the_snapshot_checks_out_and_every_count_adds_up():
    assert check_store([SNAPSHOT]) == []
    for row in shipped_runs():
        assert row["n_read"] == row["n_probed"] + sum(json.loads(row["left_out"]).values())


def test_exposures_are_named_and_held_out_facts_are_few(database):
    ids = [
        run["run_id"] for name in ("trex", "google_re") for run in shipped_runs(**LOGIT_LENS_OF_BASE, probe_set=name)
    ]
    facts = exposures(database, ids).groupby("exposure")["n"].sum().to_dict()
    assert {"stated", "evidence", "unseen", "held out", "well known"} == set(facts) <= set(EXPOSURES)
    assert sum(facts.values()) == sum(run["n_probed"] for run in shipped_runs() if run["run_id"] in ids)
    assert 0 < facts["held out"] < 0.03 * sum(facts.values())


def test_every_held_out_fact_is_held_out():
    table = read_table(SNAPSHOT / "exposure-nesia-mini.parquet", "exposure").to_pylist()
    exposure = {row["fact_key"]: row["exposure"] for row in table}
    relations = shipped_relations()
    facts = [one for facts in read_facts("all", relations) if facts.probe_set != EVERYDAY for one in facts.facts]
    held = held_out_pairs(fact for fact in facts if fact.relation in relations)
    listed = listed_pairs(fact for facts in read_facts(EVERYDAY, relations) for fact in facts.facts)
    assert {fact_key(fact) for fact in facts if pair(fact) in held and not is_listed(fact, listed)} == {
        key for key, kind in exposure.items() if kind == "held out"
    }
    assert (SNAPSHOT / "exposure-nesia-mini.parquet").read_bytes() == (
        MODEL / "exposure-nesia-mini.parquet"
    ).read_bytes()


@pytest.mark.parametrize(("model", "head"), [(TUNED[0], "logit_lens"), (BASE, "tied"), (BASE, "least_squares")])
def test_a_shipped_model_answers_at_all_layers(model, head):
    from probing.live.ask import open_live

    live = open_live(model, head, Path("no-cache"), "cpu")
    answer = live.ask("Rocky Balboa was born in [MASK].", watch=("philadelphia",))
    assert [layer.layer for layer in answer.layers] == list(range(9))
    for layer in answer.layers:
        assert 0 < sum(token.probability for token in layer.tokens) <= 1.0001
        assert layer.watched[0].token == "philadelphia"


def test_the_blank_that_lama_templates_lose_makes_no_difference_to_the_shipped_tokenizer():
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(MODEL)
    asked = {
        text.replace("[X]", "Ann").replace("[Y]", "[MASK]")
        for one in shipped_relations().values()
        for text in one.templates.values()
    }
    closed = [text for text in asked if text.endswith(".")]
    assert len(closed) > 40
    assert all(tokenizer(text)["input_ids"] == tokenizer(f"{text[:-1]} .")["input_ids"] for text in closed)


@pytest.mark.parametrize("head", ["logit_lens", "tied"])
def test_the_card_prints_the_numbers_of_a_kind_of_heads_and_the_conditions(run, monkeypatch, tmp_path, head):
    card = (MODEL / "README.md").read_text(encoding="utf-8")
    monkeypatch.setenv("PROBING_CACHE", str(tmp_path))
    conditions, numbers = run("model-card", "--head", head).output.split("\n\n", 1)
    assert f"### {head}\n\n{numbers.rstrip()}" in card
    assert (conditions in card) == (head == "logit_lens")


def test_the_card_prints_the_tables_of_the_family(run, monkeypatch, tmp_path):
    card = (MODEL / "README.md").read_text(encoding="utf-8")
    monkeypatch.setenv("PROBING_CACHE", str(tmp_path))
    printed = run("model-card", "--family").output.strip()
    assert "\n## The family\n" in card and printed and printed in card.partition("\n## The family\n")[2]


def test_the_outcomes_of_the_card_add_up_to_100(database):
    for line in outcomes(database, BASE)[2:]:
        shares = [float(cell) for cell in line.strip("| ").split(" | ")[2:] if cell[0].isdigit()]
        assert sum(shares) == pytest.approx(100, abs=0.4)


def test_the_training_of_shipped_heads_is_stored(database):
    table = head_training(database)
    assert {(BASE, head) for head in ("tied", "least_squares")} <= {(row.model, row.head) for row in table.itertuples()}
    base = table.query("model == @BASE and head == 'least_squares' and layer >= 1 and layer <= 7")
    assert (base["loss"] < base["lens_loss"]).all(), "below the logit lens at every inner layer"
