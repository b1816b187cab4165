"""Groups of lost facts, what is taught before which are asked, and what becomes of each."""

import numpy as np
import pytest

from probing.core.forgetting.groups import LOST, NEVER_KNOWN, WRONG, Answered, drawn, groups_of, matched
from probing.core.forgetting.protocols import PARTS, lessons, part_of
from probing.core.forgetting.summary import outcomes_of
from probing.core.forgetting.ways import (
    AS_IN_BASE,
    AS_IT_IS,
    BY_ANSWER,
    BY_SUBJECT,
    FITTED_HEAD,
    LAYERS_BACK,
    MOVED,
    NOT_RECOVERED,
    OTHER_LAYER,
    RANDOM_BODY,
    RELEARNED,
    Tried,
    reworded,
)


def answered(**changed):
    """Six facts: kept, lost, lost, never known, a wrong answer of the same kind that is gone, one of another kind."""
    columns = {
        "subjects": ["Ann", "Bob", "Cid", "Dan", "Eve", "Flo"],
        "relations": ["born", "born", "born", "born", "born", "works"],
        "answers": np.array([7, 7, 8, 7, 8, 9]),
        "said": np.array([7, 7, 8, 7, 7, 7]),
        "base_rank": np.array([1, 1, 1, 5, 12, 3]),
        "rank": np.array([1, 40, 2, 30, 15, 2]),
        "rank_of_said": np.array([1, 40, 2, 1, 11, 60]),
    }
    columns |= changed
    logp = dict.fromkeys(
        ("base_logp", "logp", "base_logp_of_said", "logp_of_said", "first_logp"), np.full(len(columns["answers"]), -1.0)
    )
    return Answered(**columns, **logp)


def test_the_groups_of_a_table_that_is_worked_out_by_hand():
    facts = answered()
    assert facts.lost().tolist() == [1, 2] and facts.lost(10).tolist() == [1, 3]
    assert facts.never_known().tolist() == [3, 4, 5] and facts.never_known(10).tolist() == [4]
    assert facts.wrong_answers().tolist() == [4], (
        "7 is no answer of 'works', and the fourth fact's first answer is still given"
    )
    assert facts.wrong_answers(10).tolist() == [4]
    assert answered(rank_of_said=np.array([1, 40, 2, 1, 9, 60])).wrong_answers(10).tolist() == []


def test_a_lost_fact_is_matched_once_to_a_fact_of_its_relation_and_answer():
    facts = answered(
        relations=["born"] * 6,
        answers=np.array([7, 7, 7, 7, 8, 7]),
        base_rank=np.array([1, 1, 1, 5, 5, 5]),
        rank=np.array([9] * 6),
        rank_of_said=np.array([9] * 6),
    )
    pairs = matched(facts, facts.lost(), facts.never_known(), seed=1, most=10)
    assert len(pairs) == 2 and len(set(pairs[:, 0])) == 2 and set(pairs[:, 1]) == {3, 5}, (
        "the fifth fact has another answer"
    )
    assert len(matched(facts, facts.lost(), facts.never_known(), seed=1, most=1)) == 1
    assert matched(facts, facts.lost(), [], seed=1, most=9).shape == (0, 2)


def test_at_most_so_many_are_drawn_in_order():
    assert drawn(np.array([4, 6, 9]), 3, 1).tolist() == [4, 6, 9]
    some = drawn(np.arange(100), 10, 1)
    assert len(set(some.tolist())) == 10 and (np.diff(some) > 0).all()


def many(size=4000):
    """Facts of few answers and of subjects that several facts are about, some in another case."""
    random = np.random.default_rng(3)
    numbers = random.integers(0, 1500, size)
    ranks = random.choice([1, 1, 5], (3, size))
    return answered(
        subjects=[f"{'Subject' if n % 2 else 'subject'} {n // 2}" for n in numbers.tolist()],
        relations=random.choice(["born", "works", "plays"], size).tolist(),
        answers=random.integers(0, 60, size),
        said=random.integers(0, 60, size),
        base_rank=ranks[0],
        rank=ranks[1],
        rank_of_said=ranks[2],
    )


@pytest.mark.parametrize("protocol", (BY_ANSWER, BY_SUBJECT, RANDOM_BODY))
@pytest.mark.parametrize("seed", (1, 2))
def test_nothing_that_is_asked_was_taught_in_any_group(protocol, seed):
    facts = many()
    groups = groups_of(facts, 1, 300)
    assert [len(groups.of[name].facts) for name in (NEVER_KNOWN, WRONG)] == [300, 300]
    for part in range(PARTS[protocol]):
        taught = lessons(facts, groups, protocol, part, 10_000, seed)
        assert len(taught.facts) > 100 and np.isin(taught.facts, groups.of[LOST].facts).all()
        assert (taught.targets == facts.answers[taught.facts]).all()
        subjects = {facts.subjects[n].casefold() for n in taught.facts}
        # The same part of every group, as equal answers are in one part whichever group they are of.
        for group in groups.of.values():
            asked = group.some(part_of(facts, group, protocol, seed) == part)
            assert len(asked.facts) and subjects.isdisjoint(facts.subjects[n].casefold() for n in asked.facts)
            assert protocol == BY_SUBJECT or set(taught.targets.tolist()).isdisjoint(asked.targets.tolist())
    assert len(lessons(facts, groups, protocol, 0, 50, seed).facts) == 50


def test_matched_facts_know_their_partners_place_among_the_lost():
    facts = many()
    groups = groups_of(facts, 1, 300)
    partners, never = groups.of[LOST].facts[groups.matched_lost], groups.of[NEVER_KNOWN].facts
    assert (facts.answers[partners] == facts.answers[never]).all() and len(set(partners)) == len(never) == 300


def tried(way, *back, seeds=1, levels=(0,), protocol=AS_IT_IS):
    return Tried(way, protocol, levels, {LOST: np.array(back, bool).reshape(seeds, len(levels), -1)})


def test_a_fact_comes_back_by_the_first_way_that_brings_it_and_by_relearning_in_most_seeds():
    ways = [
        # Two layers; the base reads the second fact at the first of them, and the first at none.
        tried(OTHER_LAYER, [1, 0, 1, 0, 0, 0, 0], [0, 1, 1, 0, 0, 0, 0], levels=(3, 2)),
        tried(FITTED_HEAD, [1, 1, 1, 1, 0, 0, 0]),
        tried(LAYERS_BACK, [0, 0, 0, 1, 1, 0, 0], [0, 0, 0, 1, 0, 0, 0], levels=(1, 2)),
        # After 5, 15 and 45 steps with each of three seeds, of which the last brings nothing after 15.
        tried(
            RELEARNED,
            *[[1] * 7, [1, 1, 1, 1, 1, 1, 0], [1] * 7] * 2,
            *[[1] * 7, [0] * 7, [1] * 7],
            seeds=3,
            levels=(5, 15, 45),
            protocol=BY_ANSWER,
        ),
    ]
    in_base = np.array([[0, 1, 0, 0, 0, 0, 0], [0, 0, 1, 0, 0, 0, 0]], bool)
    by = {(one.way, one.protocol): one for one in ways}
    assert outcomes_of(by, in_base) == [MOVED, MOVED, AS_IN_BASE, FITTED_HEAD, LAYERS_BACK, RELEARNED, NOT_RECOVERED]
    by.pop((LAYERS_BACK, AS_IT_IS))
    assert outcomes_of(by, in_base)[3:] == [FITTED_HEAD, RELEARNED, RELEARNED, NOT_RECOVERED], (
        "they go on to the next way"
    )


def test_another_wording_shows_whether_a_fact_is_lost_in_general():
    assert len({reworded(True, False), reworded(False, False), reworded(True, True)}) == 3
    assert reworded(False, True) == reworded(True, True)
