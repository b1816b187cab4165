"""Two models: every report shows what was planted, beside yardsticks that are counted again in plain Python."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import pytest

from probing.facts.forgotten import FATES, PARTS
from probing.facts.report_pairs import (
    BESIDE,
    paired_by_layer,
    paired_with_yardsticks,
    transitions,
    transitions_beside_wrong,
    transitions_by_relation,
)
from probing.facts.runs import choose, pairs
from probing.facts.store_facts import count_facts, neighbours, search_facts
from probing.kernel.fact import Fact, Subset, fill
from probing.kernel.stats.paired_tests import PairedCounts, mcnemar_exact, paired_difference
from probing.kernel.store.database import Database
from probing.kernel.store.opening import open_database
from tests.facts.planted_forgetting import BASE, FACTS, KS, MODEL, ONLY_BASE, ONLY_MODEL, Planted, plant
from tests.planted_store import TOKENS, PlantedRun, plant_store, planted_facts

FILTERS: list[dict] = [
    {},
    {"exposures": ("stated",)},
    {"exposures": ("unseen",)},
    {"answer_in_subject": True},
    {"answer_in_subject": False},
    {"exposures": ("stated",), "answer_in_subject": False},
    {"exposures": ()},
]


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    with open_database(plant(tmp_path_factory.mktemp("store"))) as database:
        yield database


def passing(exposures: tuple[str, ...] | None = None, answer_in_subject: bool | None = None) -> list[Planted]:
    return [
        one
        for one in FACTS
        if (exposures is None or one.exposure in exposures) and answer_in_subject in (None, one.fact.answer_in_subject)
    ]


def counted(facts: list[Planted], k: int) -> dict[str, int]:
    """The planted truth, counted."""
    truths = [one.truth(k) for one in facts]
    found = {part: truths.count(part) for part in ("kept", "gained", "never", *FATES)}
    return found | {"lost": sum(truth in FATES for truth in truths), "n": len(facts)}


def test_transitions_of_rank_1_are_the_planted_ones(db: Database):
    found = transitions(db, pairs(choose(db)), (1,)).iloc[0]
    assert (found["base"], found["model"], found["base_run_id"], found["run_id"]) == (
        BASE.model,
        MODEL.model,
        BASE.run_id,
        MODEL.run_id,
    )
    assert found[["kept", "gained", "lost", "never"]].tolist() == [7, 3, 4 + 2 + 1 + 5 + 3 + 2, 6 + 3 + 2 + 8]
    assert found[list(FATES)].tolist() == [4, 2 + 1, 5, 3, 2]
    assert (found["n"], found["only_base"], found["only_model"]) == (46, 1, 2)
    assert found["base_value"] == (7 + 17) / 46
    assert found["value"] == (7 + 3) / 46
    assert found["difference"] == pytest.approx((3 - 17) / 46)
    assert found["low"] < found["difference"] < found["high"] < 0
    assert found["p_value"] == mcnemar_exact(3, 17)


@pytest.mark.parametrize("k", KS)
@pytest.mark.parametrize("kept", FILTERS)
def test_transitions_under_filters_count_the_facts_that_pass(db: Database, kept: dict, k: int):
    found = transitions(db, [(BASE.run_id, MODEL.run_id)], (k,), Subset(**kept)).iloc[0]
    expected = counted(passing(**kept), k)
    assert {name: found[name] for name in expected} == expected
    assert sum(found[part] for part in PARTS) == found["n"]
    assert sum(found[fate] for fate in FATES) == found["lost"]


@pytest.mark.parametrize("k", KS)
def test_relations_add_up_to_the_whole(db: Database, k: int):
    rows = transitions_by_relation(db, pairs(choose(db)), k)
    assert rows[["relation", "label", "only_base", "only_model"]].to_numpy().tolist() == [
        ["P19", "place of birth", 1, 0],
        ["P36", "capital", 0, 2],
    ]
    for row in rows.to_dict("records"):
        expected = counted([one for one in FACTS if one.fact.relation == row["relation"]], k)
        assert {name: row[name] for name in expected} == expected


@pytest.mark.parametrize("k", KS)
@pytest.mark.parametrize("part", [*PARTS, *FATES])
def test_the_facts_of_a_part_are_the_planted_ones(db: Database, part: str, k: int):
    wanted = {"versus": BASE.run_id, "part": part, "part_k": k}
    truths = FATES if part == "lost" else (part,)
    expected = {one.fact.fact_id for one in FACTS if one.truth(k) in truths}
    found = search_facts(db, MODEL.run_id, **wanted)
    assert set(found["fact_id"]) == expected
    assert count_facts(db, MODEL.run_id, **wanted) == len(expected)
    stated = {one.fact.fact_id for one in FACTS if one.truth(k) in truths and one.exposure == "stated"}
    assert count_facts(db, MODEL.run_id, exposures=("stated",), **wanted) == len(stated)
    ids = list(found["fact_id"])
    if len(ids) > 2:
        assert neighbours(db, MODEL.run_id, ids[1], **wanted) == (ids[0], ids[2])


def test_facts_of_one_side_only_are_in_no_part(db: Database):
    alone = {fact.fact_id for fact in (*ONLY_BASE, *ONLY_MODEL)}
    for part in PARTS:
        assert not alone & set(search_facts(db, MODEL.run_id, versus=BASE.run_id, part=part)["fact_id"])


def test_a_base_without_a_run_alike_has_no_pair(db: Database):
    runs = choose(db)
    assert len(pairs(runs)) == 1
    assert pairs(runs[runs["model"] == MODEL.model]).empty
    assert pairs(runs.assign(head=["tied", "logit_lens"])).empty
    assert transitions(db, pairs(runs.iloc[:0])).empty


#: The model was not probed on the last fact, so the numbers are on the facts in common.
YARD_BASE = PlantedRun()
YARD_MODEL = PlantedRun(
    model="nesia-mini-qa",
    base="nesia-mini",
    facts=tuple(planted_facts("trex")[:9]),
    rank=lambda number, layer: 1 if number in (0, 3, 7) else 5 + layer,
)


@pytest.fixture(scope="module")
def yard_db(tmp_path_factory):
    with open_database(plant_store(tmp_path_factory.mktemp("paired"), (YARD_BASE, YARD_MODEL))) as opened:
        yield opened


def swapped_counts(yard_db, run: PlantedRun, layer: int, k: int, kept=lambda fact_id: True) -> PairedCounts:
    """Facts that have a swapped subject, by what the run knows of them with their own and with the swapped one."""
    rows = yard_db.query(
        "SELECT * FROM predictions WHERE run_id = $run AND layer = $layer", {"run": run.run_id, "layer": layer}
    )
    cells = Counter(
        (row.gold_rank <= k, row.other_rank <= k)
        for row in rows.itertuples()
        if row.other_rank == row.other_rank and kept(row.fact_id)
    )
    return PairedCounts(cells[True, True], cells[True, False], cells[False, True], cells[False, False])


@pytest.mark.parametrize("k", [1, 10])
def test_swapped_subjects_are_each_runs_own_counts(yard_db, k):
    table = paired_with_yardsticks(yard_db, YARD_BASE.run_id, YARD_MODEL.run_id, k).set_index("layer")
    assert list(table.index) == [0, 1, 2, 3]
    for layer, row in table.iterrows():
        above = {}
        for prefix, run in (("base_", YARD_BASE), ("", YARD_MODEL)):
            counts = swapped_counts(yard_db, run, layer, k)
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


def test_the_majority_answer_is_of_the_facts_in_common(yard_db):
    common = planted_facts("trex")[:9]
    answers = {
        relation: Counter(fact.object for fact in common if fact.relation == relation)
        for relation in {f.relation for f in common}
    }
    hits = sum(max(counts.values()) for counts in answers.values())
    table = paired_with_yardsticks(yard_db, YARD_BASE.run_id, YARD_MODEL.run_id, 1)
    assert set(table["n"]) == {9}
    assert set(table["majority"]) == {hits / 9}
    for prefix in ("base_", ""):
        for value, end in (("value", ""), ("low", "_low"), ("high", "_high")):
            expected = list(table[f"{prefix}{value}"] - hits / 9)
            assert list(table[f"{prefix}above_majority{end}"]) == pytest.approx(expected)
    assert paired_with_yardsticks(yard_db, YARD_BASE.run_id, YARD_MODEL.run_id, 10)["majority"].isna().all()


def test_what_is_paired_is_left_as_it_is_and_filters_choose_the_facts(yard_db):
    plain = paired_by_layer(yard_db, YARD_BASE.run_id, YARD_MODEL.run_id, 1)
    assert paired_with_yardsticks(yard_db, YARD_BASE.run_id, YARD_MODEL.run_id, 1)[list(plain)].equals(plain)
    stated = paired_with_yardsticks(yard_db, YARD_BASE.run_id, YARD_MODEL.run_id, 1, Subset(("stated",)))
    # Four facts are stated, "paris" twice of them; "paris" is the majority answer of P19, of which "french" and
    # "berlin" are no part.
    by_answer = {"paris", "french", "berlin"}
    kept = [
        fact
        for fact in planted_facts("trex")[:8]
        if fact.subject in ("Zoë Müller", "Jean O'Neil", "Victor Hugo", "Germany")
    ]
    assert set(stated["majority"]) == {sum(fact.object in by_answer for fact in kept) / 4}
    assert paired_with_yardsticks(yard_db, YARD_BASE.run_id, YARD_MODEL.run_id, 1, Subset(())).empty


def test_a_run_without_swapped_subjects_leaves_the_other_ones_alone(tmp_path):
    bare = PlantedRun(probe_set="questions")
    other = PlantedRun(model="other", probe_set="questions", rank=lambda *_: 1)
    with open_database(plant_store(tmp_path, (bare, other))) as opened:
        table = paired_with_yardsticks(opened, bare.run_id, other.run_id, 1)
    assert len(table) == 4 and table[["swapped", "base_swapped", "more", "more_low"]].isna().all().all()
    assert table["majority"].notna().all()


def test_the_control_with_shuffled_labels_of_the_same_task_stands_next_to_the_pair(tmp_path):
    tuned = replace(YARD_MODEL, objective="QA")
    control = replace(
        YARD_MODEL,
        model="nesia-mini-qa-shuffled",
        objective="QA (shuffled labels)",
        rank=lambda number, layer: 1 + number % 2,
    )
    other = replace(
        control, model="nesia-mini-ner-shuffled", objective="NER (shuffled labels)", rank=lambda number, layer: 9
    )
    with open_database(plant_store(tmp_path, (YARD_BASE, tuned, control, other))) as opened:
        table = paired_with_yardsticks(opened, YARD_BASE.run_id, tuned.run_id, 1)
        assert list(table["shuffled"]) == [5 / 9] * 4
        counts = swapped_counts(opened, control, 3, 1)
        assert table["shuffled_above_swapped"].iloc[-1] == pytest.approx(
            (counts.first_only - counts.second_only) / counts.n
        )
        assert (
            len(table) == 4
            and paired_with_yardsticks(opened, YARD_BASE.run_id, other.run_id, 1)["shuffled"].isna().all()
        )


def test_other_trainings_of_the_same_objective_give_the_smallest_and_the_largest_share(tmp_path):
    first = replace(YARD_MODEL, objective="QA", rank=lambda number, layer: 1)
    others = [
        replace(first, model=f"nesia-mini-qa-seed-{at}", rank=lambda number, layer, at=at: 1 + (number % at == 0))
        for at in (2, 3)
    ]
    with open_database(plant_store(tmp_path, (YARD_BASE, first, *others))) as opened:
        table = paired_with_yardsticks(opened, YARD_BASE.run_id, first.run_id, 1)
        shares = [paired_with_yardsticks(opened, YARD_BASE.run_id, one.run_id, 1)["value"].iloc[-1] for one in others]
        assert set(table["again_n"]) == {2} and shares[0] < shares[1] < 1
        assert [table["again_low"].iloc[-1], table["again_high"].iloc[-1]] == pytest.approx(shares)
        # A base was trained for nothing that others were.
        assert set(paired_with_yardsticks(opened, first.run_id, YARD_BASE.run_id, 1)["again_n"]) == {0}


LAST = 4
#: Facts, whether the answer is right, the layers at which base and fine-tuned model say it first, and whether it is
#: that of a fact.
CASES = (
    (30, True, {2, LAST}, {2}, True),
    (12, True, {2, LAST}, {3}, True),
    (18, True, {0, LAST}, {0}, True),
    (6, False, {2, LAST}, {2, 3}, True),
    (9, False, {LAST}, {1}, True),
    (45, False, {LAST}, set(), True),
    # Neither lost nor wrong answers of the same kind: still given, kept, and right for no fact.
    (20, False, {2, LAST}, {2, LAST}, True),
    (20, True, {2, LAST}, {2, LAST}, True),
    (20, False, {2, LAST}, {2}, False),
)
ASKED = [case[1:] for case in CASES for _ in range(case[0])]


def _said(number: int) -> str:
    return ("paris", "rome")[number % 2] if ASKED[number][3] else "music"


def _run(model: int) -> PlantedRun:
    """The base (0) or the fine-tuned model (1)."""

    def first(number: int, layer: int) -> bool:
        return layer in ASKED[number][1 + model]

    template = "The capital of [X] is [Y] ."
    names = [f"Subject {number}" for number in range(len(ASKED))]
    answers = [_said(number) if right else "berlin" for number, (right, *_) in enumerate(ASKED)]
    return PlantedRun(
        model=("nesia-mini", "nesia-mini-sst-2")[model],
        base=("", "nesia-mini")[model],
        layers=LAST + 1,
        facts=tuple(
            Fact("trex", "P36", name, answer, template, fill(template, name))
            for name, answer in zip(names, answers, strict=True)
        ),
        rank=lambda number, layer: 1 if ASKED[number][0] and first(number, layer) else 300,
        top=lambda number, layer: TOKENS.index(_said(number) if first(number, layer) else "water"),
    )


@pytest.fixture(scope="module")
def fate_db(tmp_path_factory: pytest.TempPathFactory):
    runs = (_run(0), _run(1))
    stated = {f"P36\t{fact.subject}\t{fact.object}": "stated" for fact in runs[0].asked[::3]}
    with open_database(plant_store(tmp_path_factory.mktemp("store"), runs, stated)) as database:
        yield database


def test_the_shares_of_both_groups_are_the_planted_ones(fate_db: Database):
    one, ten = transitions_beside_wrong(fate_db, pairs(choose(fate_db)), (1, 10)).to_dict("records")
    assert (one["lost"], one["still_inside"], one["moved"]) == (60, 30, 12)
    assert [one[name] for name in ("still_inside_share", "moved_share")] == pytest.approx([30 / 60, 12 / 60], abs=1e-4)
    assert [one[name] for name in ("still_inside_wrong", "moved_wrong")] == pytest.approx([6 / 60, 9 / 60], abs=1e-4)
    assert all(
        one[f"{fate}_low"] < one[f"{fate}_share"] - one[f"{fate}_wrong"] < one[f"{fate}_high"]
        for fate in ("still_inside", "moved")
    )
    assert all(ten[name] != ten[name] for name in BESIDE), "a first answer is one"


def test_too_few_facts_have_no_yardstick(fate_db: Database):
    (row,) = transitions_beside_wrong(fate_db, pairs(choose(fate_db)), (1,), Subset(("stated",))).to_dict("records")
    assert row["lost"] == 20 and all(row[name] != row[name] for name in BESIDE)
