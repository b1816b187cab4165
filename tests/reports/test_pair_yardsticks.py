"""Two models with their yardsticks: counted again in plain Python from the planted predictions."""

from collections import Counter
from dataclasses import replace

import pytest

from probing.core.stats.paired_tests import PairedCounts, paired_difference
from probing.reports.knowledge.pairs.paired_layers import paired_by_layer
from probing.reports.knowledge.pairs.yardsticks import paired_with_yardsticks
from probing.store.opening import open_database
from tests.store.planted import PlantedRun, plant_store, planted_facts

#: The model was not probed on the last fact, so the numbers are on the facts in common.
BASE = PlantedRun()
MODEL = PlantedRun(
    model="nesia-mini-qa",
    base="nesia-mini",
    facts=tuple(planted_facts("trex")[:9]),
    rank=lambda number, layer: 1 if number in (0, 3, 7) else 5 + layer,
)


@pytest.fixture(scope="module")
def db(tmp_path_factory):
    with open_database(plant_store(tmp_path_factory.mktemp("paired"), (BASE, MODEL))) as opened:
        yield opened


def lent(db, run: PlantedRun, layer: int, k: int, kept=lambda fact_id: True) -> PairedCounts:
    """Facts that have a swapped subject, by what the run knows of them with their own and with the swapped one."""
    rows = db.query(
        "SELECT * FROM predictions WHERE run_id = $run AND layer = $layer", {"run": run.run_id, "layer": layer}
    )
    cells = Counter(
        (row.gold_rank <= k, row.other_rank <= k)
        for row in rows.itertuples()
        if row.other_rank == row.other_rank and kept(row.fact_id)
    )
    return PairedCounts(cells[True, True], cells[True, False], cells[False, True], cells[False, False])


@pytest.mark.parametrize("k", [1, 10])
def test_swapped_subjects_are_each_runs_own_counts(db, k):
    table = paired_with_yardsticks(db, BASE.run_id, MODEL.run_id, k).set_index("layer")
    assert list(table.index) == [0, 1, 2, 3]
    for layer, row in table.iterrows():
        above = {}
        for prefix, run in (("base_", BASE), ("", MODEL)):
            counts = lent(db, run, layer, k)
            above[prefix] = paired_difference(counts)
            assert row[f"{prefix}swapped_n"] == counts.n > 0
            assert row[f"{prefix}matched"] == pytest.approx((counts.both + counts.first_only) / counts.n)
            assert row[f"{prefix}swapped"] == pytest.approx((counts.both + counts.second_only) / counts.n)
            assert row[f"{prefix}above_swapped"] == pytest.approx(row[f"{prefix}matched"] - row[f"{prefix}swapped"])
            assert row[f"{prefix}above_swapped_low"] == pytest.approx(above[prefix].low)
        assert row["more"] == pytest.approx(above[""].value - above["base_"].value)
        assert row["more_low"] <= row["more"] <= row["more_high"]
        width = ((above[""].high - above[""].value) ** 2 + (above["base_"].value - above["base_"].low) ** 2) ** 0.5
        assert row["more_high"] - row["more"] == pytest.approx(width)


def test_the_majority_answer_is_of_the_facts_in_common(db):
    common = planted_facts("trex")[:9]
    answers = {
        relation: Counter(fact.object for fact in common if fact.relation == relation)
        for relation in {f.relation for f in common}
    }
    hits = sum(max(counts.values()) for counts in answers.values())
    table = paired_with_yardsticks(db, BASE.run_id, MODEL.run_id, 1)
    assert set(table["n"]) == {9}
    assert set(table["majority"]) == {hits / 9}
    for prefix in ("base_", ""):
        for value, end in (("value", ""), ("low", "_low"), ("high", "_high")):
            expected = list(table[f"{prefix}{value}"] - hits / 9)
            assert list(table[f"{prefix}above_majority{end}"]) == pytest.approx(expected)
    assert paired_with_yardsticks(db, BASE.run_id, MODEL.run_id, 10)["majority"].isna().all()


def test_what_is_paired_is_left_as_it_is_and_filters_choose_the_facts(db):
    plain = paired_by_layer(db, BASE.run_id, MODEL.run_id, 1)
    assert paired_with_yardsticks(db, BASE.run_id, MODEL.run_id, 1)[list(plain)].equals(plain)
    stated = paired_with_yardsticks(db, BASE.run_id, MODEL.run_id, 1, exposures=("stated",))
    # Four facts are stated, "paris" twice of them; "paris" is the majority answer of P19, of which "french" and
    # "berlin" are no part.
    by_answer = {"paris", "french", "berlin"}
    kept = [
        fact
        for fact in planted_facts("trex")[:8]
        if fact.subject in ("Zoë Müller", "Jean O'Neil", "Victor Hugo", "Germany")
    ]
    assert set(stated["majority"]) == {sum(fact.object in by_answer for fact in kept) / 4}
    assert paired_with_yardsticks(db, BASE.run_id, MODEL.run_id, 1, exposures=()).empty


def test_a_run_without_swapped_subjects_leaves_the_other_ones_alone(tmp_path):
    bare = PlantedRun(probe_set="questions")
    other = PlantedRun(model="other", probe_set="questions", rank=lambda *_: 1)
    with open_database(plant_store(tmp_path, (bare, other))) as opened:
        table = paired_with_yardsticks(opened, bare.run_id, other.run_id, 1)
    assert len(table) == 4 and table[["swapped", "base_swapped", "more", "more_low"]].isna().all().all()
    assert table["majority"].notna().all()


def test_the_control_with_shuffled_labels_of_the_same_task_stands_next_to_the_pair(tmp_path):
    tuned = replace(MODEL, objective="QA")
    control = replace(
        MODEL,
        model="nesia-mini-qa-shuffled",
        objective="QA (shuffled labels)",
        rank=lambda number, layer: 1 + number % 2,
    )
    other = replace(
        control, model="nesia-mini-ner-shuffled", objective="NER (shuffled labels)", rank=lambda number, layer: 9
    )
    with open_database(plant_store(tmp_path, (BASE, tuned, control, other))) as opened:
        table = paired_with_yardsticks(opened, BASE.run_id, tuned.run_id, 1)
        assert list(table["shuffled"]) == [5 / 9] * 4
        counts = lent(opened, control, 3, 1)
        assert table["shuffled_above_swapped"].iloc[-1] == pytest.approx(
            (counts.first_only - counts.second_only) / counts.n
        )
        assert len(table) == 4 and paired_with_yardsticks(opened, BASE.run_id, other.run_id, 1)["shuffled"].isna().all()


def test_other_trainings_of_the_same_objective_give_the_smallest_and_the_largest_share(tmp_path):
    first = replace(MODEL, objective="QA", rank=lambda number, layer: 1)
    others = [
        replace(first, model=f"nesia-mini-qa-seed-{at}", rank=lambda number, layer, at=at: 1 + (number % at == 0))
        for at in (2, 3)
    ]
    with open_database(plant_store(tmp_path, (BASE, first, *others))) as opened:
        table = paired_with_yardsticks(opened, BASE.run_id, first.run_id, 1)
        shares = [paired_with_yardsticks(opened, BASE.run_id, one.run_id, 1)["value"].iloc[-1] for one in others]
        assert set(table["again_n"]) == {2} and shares[0] < shares[1] < 1
        assert [table["again_low"].iloc[-1], table["again_high"].iloc[-1]] == pytest.approx(shares)
        # A base was trained for nothing that others were.
        assert set(paired_with_yardsticks(opened, first.run_id, BASE.run_id, 1)["again_n"]) == {0}
