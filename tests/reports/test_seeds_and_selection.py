"""Replicates, the union over seeds, and which runs a report takes."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from probing.core.errors import StoreError
from probing.reports.knowledge.early_exit import early_exit
from probing.reports.knowledge.forgotten_relations import forgotten
from probing.reports.knowledge.total import total
from probing.reports.knowledge.transitions import transitions
from probing.reports.runs import choose, identities, pairs
from probing.store.check import check_store
from probing.store.counts import write_counts
from probing.store.database import Database
from probing.store.kinds import FACTS, KINDS
from probing.store.opening import open_database
from probing.store.parquet import write_table
from tests.store.planted import SEVERAL, PlantedRun, plant_runs, plant_store, prediction_rows, run_row

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
    row = total(seeds, [PRIMARY.run_id], (1,), ("micro",), exposures=("stated",)).iloc[0]
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
