"""Every report shows exactly what was planted: kept, gained, lost, and where the lost facts are."""

from collections.abc import Iterator

import pytest

from probing.core.knowledge.transitions import FATES, PARTS
from probing.core.stats.paired_tests import mcnemar_exact
from probing.reports.knowledge.transitions import transitions, transitions_by_relation
from probing.reports.runs import choose, pairs
from probing.store.database import Database
from probing.store.knowledge.fact_queries import count_facts, neighbours, search_facts
from probing.store.opening import open_database
from tests.reports.planted_forgetting import BASE, FACTS, KS, MODEL, ONLY_BASE, ONLY_MODEL, Planted, plant

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


def test_transitions_of_ranks_10_and_100_are_the_planted_ones(db: Database):
    ten, hundred = (transitions(db, pairs(choose(db)), (k,)).iloc[0] for k in (10, 100))
    assert ten[["kept", "gained", "lost", "never"]].tolist() == [7 + 3, 0, 4 + 2 + 1 + 5 + 3 + 2 + 6, 3 + 2 + 8]
    assert ten[list(FATES)].tolist() == [4, 2 + 1, 5 + 6, 3, 2]
    assert hundred[["kept", "gained", "lost", "never"]].tolist() == [7 + 3 + 4 + 5 + 6, 2, 2 + 1 + 3 + 2 + 3, 8]
    assert hundred[list(FATES)].tolist() == [0, 2 + 1, 0, 3 + 3, 2]


@pytest.mark.parametrize("k", KS)
@pytest.mark.parametrize("kept", FILTERS)
def test_transitions_under_filters_count_the_facts_that_pass(db: Database, kept: dict, k: int):
    found = transitions(db, [(BASE.run_id, MODEL.run_id)], (k,), **kept).iloc[0]
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


def test_a_part_needs_the_run_that_it_is_compared_with(db: Database):
    with pytest.raises(ValueError, match="needs versus"):
        count_facts(db, MODEL.run_id, part="lost")
    with pytest.raises(ValueError, match="unknown part 'forgotten'"):
        count_facts(db, MODEL.run_id, versus=BASE.run_id, part="forgotten")


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
