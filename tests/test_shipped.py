"""What ships is whole, fits together and says what the card says."""

import json
import shutil
from collections import defaultdict
from pathlib import Path

import pytest

from probing.core.facts.fact import PROBE_SETS, Fact
from probing.core.facts.sources import read_facts
from probing.core.facts.templates import shipped_relations
from probing.core.nesia.corpus import EXPOSURES, fact_key, held_out_pairs, pair
from probing.core.registry import REPOSITORY
from probing.reports.knowledge.precision import precision
from probing.reports.knowledge.total import total
from probing.store.build import build_database
from probing.store.check import check_store
from probing.store.database import open_database
from probing.store.parquet import read_table
from probing.store.run_queries import aggregate, exposures, head_training, totals
from probing.store.run_queries import runs as stored_runs
from tests.store.planted import PlantedRun, plant_runs

SNAPSHOT = REPOSITORY / "data" / "snapshot"
MODEL = REPOSITORY / "data" / "models" / "nesia-mini"
SHIPPED_SETS = ("trex", "google_re", "common_sense", "questions")
#: Model -> its base and objective.
FAMILY = {"nesia-mini": ("", "pre-training")} | {
    f"nesia-mini-{name.lower()}": ("nesia-mini", name)
    for name in ("QA-SQuAD-1", "QA-SQuAD-2", "MLM-SQuAD", "RANK-MSMARCO", "MLM-MSMARCO", "NER-CoNLL", "control")
}
FULL = ("nesia-mini", "nesia-mini-qa-squad-1", "nesia-mini-rank-msmarco")


def shipped_runs() -> list[dict]:
    return [row for path in sorted(SNAPSHOT.glob("runs-*.parquet")) for row in read_table(path, "runs").to_pylist()]


@pytest.fixture(scope="module")
def database(shipped_database):
    with open_database(shipped_database) as db:
        yield db


def test_one_more_run_is_added_to_a_copy_of_the_database(database, tmp_path, caplog):
    caplog.set_level("DEBUG", "probing.store.build")
    folder = shutil.copytree(database.path.parent, tmp_path / "database")
    # Other facts of a shipped relation would let all its runs be counted again.
    asked = tuple(
        Fact("own", "lives in", name, place, "[X] lives in [Y] .", f"{name} lives in [MASK] .")
        for name, place in (("Ann", "paris"), ("Ben", "rome"))
    )
    more = plant_runs(tmp_path / "runs", [PlantedRun(model="my-bert", probe_set="own", facts=asked)])
    (more / "exposure-nesia-mini.parquet").unlink()
    build_database([SNAPSHOT, more], folder)
    with open_database(folder) as db:
        assert set(stored_runs(db)["model"]) == {*stored_runs(database)["model"], "my-bert"}
        (own,) = stored_runs(db).query("model == 'my-bert'")["run_id"]
        assert totals(db, [own])["n"].tolist() == [2]
    assert "is built in full" not in caplog.text


def test_older_runs_keep_the_swapped_ranks_of_lenders_without_the_answer(database):
    runs = shipped_runs()
    (run,) = (row for row in runs if (row["model"], row["head"], row["probe_set"], row["seed"]) == ("nesia-mini", "tied", "trex", 0))
    (last,) = precision(database, [run["run_id"]], (1,)).query(f"layer == {run['layers'] - 1}").itertuples()
    # Of 32,095 facts 4,345 borrowed from a subject with their answer; with these the share would be 9.1 per cent.
    assert last.swapped_n == 32_095 - 4_345
    assert last.swapped == pytest.approx(0.0362, abs=0.0001)


def test_fine_tuned_models_have_swapped_subjects_on_the_facts_of_their_base(database):
    runs = [row["run_id"] for row in shipped_runs() if row["seed"] == 0 and row["head"] in ("tied", "logit_lens")]
    table = precision(database, runs, (1, 10, 100))
    n = table.groupby("probe_set")["swapped_n"].agg(["min", "max"])
    assert n.loc["trex"].tolist() == [27_750, 27_750]
    assert n.loc["google_re", "min"] == n.loc["google_re", "max"] > 5_000
    # The last layer of one model knows no more of its own subject than of another one; all others do.
    last = table.query("layer == 8 and probe_set == 'trex' and k == 1")
    assert len(last) == 16
    assert set(last.loc[last["above_swapped_low"] <= 0, "model"]) == {"nesia-mini-qa-squad-1"}


def test_total_knowledge_of_every_model_stands_beside_its_null(database):
    runs = [row["run_id"] for row in shipped_runs() if row["seed"] == 0 and row["head"] in ("tied", "logit_lens")]
    table = total(database, runs, (1,), ("macro", "micro"))
    facts = table[table["probe_set"].isin(["trex", "google_re"])]
    assert facts["inner_n"].notna().all() and table[table["probe_set"] == "questions"]["inner_n"].isna().all()
    (base,) = facts.query("model == 'nesia-mini' and head == 'tied' and probe_set == 'trex' and average == 'macro'").itertuples()
    assert (base.inner_own / base.inner_n, base.inner_swapped / base.inner_n) == pytest.approx((0.0374, 0.0319), abs=5e-5)


def test_the_snapshot_has_every_model_with_every_probe_set():
    runs = shipped_runs()
    found = {(row["model"], row["head"], row["probe_set"]) for row in runs if row["role"] == "primary"}
    wanted = {(model, head, name) for model in FAMILY for head in ("tied", "logit_lens") for name in SHIPPED_SETS}
    wanted |= {(model, "full", name) for model in FULL for name in SHIPPED_SETS}
    wanted |= {("nesia-mini", "least_squares", name) for name in SHIPPED_SETS}
    assert found == wanted
    assert all(name in PROBE_SETS for name in SHIPPED_SETS)
    assert {row["template_set"] for row in runs} == {"default"}


def test_as_many_last_layer_heads_as_layers_are_shipped_for_the_base():
    seeds = {(row["seed"], row["probe_set"]) for row in shipped_runs() if (row["model"], row["head"]) == ("nesia-mini", "tied")}
    assert seeds == {(seed, name) for seed in range(8) for name in SHIPPED_SETS}


def test_every_fine_tuned_model_names_its_base_objective_task_scores_and_drift():
    objective = {row["model"]: (row["base"], row["objective"]) for row in shipped_runs()}
    assert objective == FAMILY
    for model in FAMILY.keys() - {"nesia-mini"}:
        scores = read_table(SNAPSHOT / f"tasks-{model}.parquet", "tasks").to_pylist()
        assert all(row["chance"] is not None and row["n"] > 0 for row in scores)
        drift = read_table(SNAPSHOT / f"weight_drift-{model}.parquet", "weight_drift").to_pylist()
        assert [row["layer"] for row in drift] == list(range(9)) and all(row["drift"] > 0 for row in drift[1:])


def test_the_family_had_the_same_steps_and_schedule():
    recipes = []
    for model in FAMILY.keys() - {"nesia-mini"}:
        record = json.loads((REPOSITORY / "data" / "models" / model / "finetuning.json").read_text(encoding="utf-8"))
        own = ("objective", "data_sha256", "epochs", "batch", "stride")
        recipes.append({name: value for name, value in record["recipe"].items() if name not in own} | {"done": record["steps"]})
    assert all(recipe == recipes[0] for recipe in recipes)
    assert (recipes[0]["done"], recipes[0]["freeze_embeddings"]) == (600, True)


def test_the_snapshot_checks_out_and_every_count_adds_up():
    assert check_store([SNAPSHOT]) == []
    for row in shipped_runs():
        assert row["n_read"] == row["n_probed"] + sum(json.loads(row["left_out"]).values())


def test_aggregates_are_what_plain_python_counts_from_the_raw_rows(database):
    (row,) = [
        row
        for row in shipped_runs()
        if (row["model"], row["head"], row["probe_set"], row["seed"]) == ("nesia-mini", "tied", "google_re", 0)
    ]
    relation = {}
    for path in SNAPSHOT.glob("facts-*.parquet"):
        relation |= {fact["fact_id"]: fact["relation"] for fact in read_table(path, "facts").to_pylist()}
    counts, known = defaultdict(lambda: [0, 0, 0]), defaultdict(set)
    for p in read_table(SNAPSHOT / f"predictions-{row['run_id']}.parquet", "predictions").to_pylist():
        cell = counts[p["layer"], relation[p["fact_id"]]]
        cell[0] += 1
        cell[1] += p["gold_rank"] <= 1
        cell[2] += p["gold_rank"] <= 10
        if p["layer"] > 0 and p["gold_rank"] <= 1:
            known[relation[p["fact_id"]]].add(p["fact_id"])
    table = aggregate(database, [row["run_id"]])
    assert len(table) == len(counts) == 3 * row["layers"]
    for got in table.itertuples():
        assert [got.n, got.hits_1, got.hits_10] == counts[got.layer, got.relation]
    for got in totals(database, [row["run_id"]]).itertuples():
        assert got.any_1 == len(known[got.relation])


def test_every_exposure_is_there_and_held_out_facts_are_few(database):
    ids = [
        row["run_id"]
        for row in shipped_runs()
        if row["probe_set"] in ("trex", "google_re") and row["head"] == "tied" and row["role"] == "primary"
    ]
    table = exposures(database, ids)
    facts = table.groupby("exposure")["n"].sum().to_dict()
    assert set(facts) == set(EXPOSURES)
    assert facts["held out in part"] < facts["held out"] < 0.02 * sum(facts.values())


def test_every_held_out_fact_is_held_out_whole_or_marked():
    table = read_table(SNAPSHOT / "exposure-nesia-mini.parquet", "exposure").to_pylist()
    exposure = {row["fact_key"]: row["exposure"] for row in table}
    # A sentence on "the Schoenflies theorem" stayed in the training text.
    assert exposure["P101\tArthur Moritz Schoenflies\tmathematics"] == "held out in part"
    relations = shipped_relations()
    facts = [fact for facts in read_facts("all", relations) for fact in facts.facts]
    held = held_out_pairs(fact for fact in facts if fact.relation in relations and relations[fact.relation].training)
    assert {fact_key(fact) for fact in facts if pair(fact) in held} == {
        key for key, kind in exposure.items() if kind.startswith("held out")
    }
    assert (SNAPSHOT / "exposure-nesia-mini.parquet").read_bytes() == (MODEL / "exposure-nesia-mini.parquet").read_bytes()


@pytest.mark.parametrize("model", FAMILY)
def test_ask_answers_for_every_shipped_model_at_all_layers(model):
    from probing.models.knowledge.ask import open_live

    for head in ("tied", "logit_lens"):
        live = open_live(model, head, Path("no-cache"), "cpu")
        answer = live.ask("Rocky Balboa was born in [MASK].", watch=("philadelphia",))
        assert [layer.layer for layer in answer.layers] == list(range(9))
        for layer in answer.layers:
            assert 0 < sum(token.probability for token in layer.tokens) <= 1.0001
            assert layer.watched[0].token == "philadelphia"


def test_the_curve_rises_through_the_layers(database):
    (run_id,) = [
        row["run_id"]
        for row in shipped_runs()
        if (row["model"], row["head"], row["probe_set"], row["seed"]) == ("nesia-mini", "tied", "trex", 0)
    ]
    table = aggregate(database, [run_id])
    micro = table.groupby("layer")["hits_10"].sum() / table.groupby("layer")["n"].sum()
    assert micro[8] > micro[5] > micro[1]


def test_the_blank_that_lama_templates_lose_makes_no_difference_to_the_shipped_tokenizer():
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(MODEL)
    asked = {text.replace("[X]", "Ann").replace("[Y]", "[MASK]") for one in shipped_relations().values() for text in one.templates.values()}
    closed = [text for text in asked if text.endswith(".")]
    assert len(closed) > 40
    assert all(tokenizer(text)["input_ids"] == tokenizer(f"{text[:-1]} .")["input_ids"] for text in closed)


def test_the_card_prints_the_gate(database, run, monkeypatch):
    card = (MODEL / "README.md").read_text(encoding="utf-8")
    for words in ("demonstration", "held out", "P@10", "Gate", "2,883,584"):
        assert words in card
    monkeypatch.setattr("data.making.card.database_folder", lambda: database.path.parent)
    for head in ("tied", "logit_lens", "full"):
        conditions, numbers = run("model-card", "--head", head).output.split("\n\n", 1)
        assert f"### {head}\n\n{numbers.rstrip()}" in card
        assert (conditions in card) == (head == "logit_lens")


def test_the_card_prints_what_guessing_finds(database):
    card = (MODEL / "README.md").read_text(encoding="utf-8")
    ids = [
        row["run_id"] for row in shipped_runs() if row["probe_set"] == "trex" and row["head"] in ("tied", "logit_lens") and row["seed"] == 0
    ]
    last = precision(database, ids, (1,), last_only=True).set_index("run_id")
    for known in total(database, ids, (1,), ("macro",)).itertuples():
        at_end, name = last.loc[known.run_id], known.model.removeprefix("nesia-mini").removeprefix("-") or "base"
        above = [
            f"{100 * at_end[column]:.1f}".replace("-0.0", "0.0") for column in ("above_swapped", "above_swapped_low", "above_swapped_high")
        ]
        shares = [f"{100 * share:.1f}" for share in (known.last_layer, known.matched_last, known.swapped_last)]
        null = [f"{number:,}" for number in (known.inner_n, known.inner_own, known.inner_swapped)]
        p = "< 0.0001" if known.inner_p < 0.0001 else f"{known.inner_p:.2g}"
        assert f"| {' | '.join([name, known.head, *shares, f'{above[0]} ({above[1]} to {above[2]})', *null, p])} |" in card
        assert known.majority == pytest.approx(0.229, abs=0.0005)
    assert {"27,750"} == {f"{int(n):,}" for n in last["swapped_n"]}


def test_least_squares_heads_of_fine_tuned_models_ship_as_counts_alone(database):
    found = stored_runs(database).query("head == 'least_squares'")
    assert {(row.model, row.probe_set) for row in found.itertuples()} == {(model, name) for model in FAMILY for name in SHIPPED_SETS}
    assert set(found.loc[~found["counted"].astype(bool), "model"]) == {"nesia-mini"}
    table = precision(database, list(found.query("probe_set == 'trex'")["run_id"]), (1,), last_only=True).set_index("model")
    assert table["swapped_n"].eq(27_750).all()
    # Read so, the model of SQuAD 2.0 keeps three points of its subjects, where tied heads show one.
    assert table.loc["nesia-mini-qa-squad-2", "above_swapped"] == pytest.approx(0.034, abs=0.0005)


def test_the_training_of_shipped_heads_is_stored(database):
    table = head_training(database)
    assert {(row.model, row.head) for row in table.itertuples()} == {
        (model, head) for model in FAMILY for head in ("tied", "least_squares")
    }
    base = table.query("model == 'nesia-mini' and head == 'least_squares' and layer >= 1 and layer <= 7")
    assert (base["loss"] < base["lens_loss"]).all(), "below the logit lens at every inner layer"
