"""Which facts' prompts are used for the swapped subject, compared with a slow version and by hand."""

import random
import time
from collections import Counter

import pytest

from probing.core.facts.fact import Fact, fill
from probing.core.knowledge.swapped_subjects import swapped_subjects

CAPITAL = "The capital of [X] is [Y]."


def facts_of(pairs, template=CAPITAL, relation="P36"):
    return [Fact("trex", relation, subject, answer, template, fill(template, subject)) for subject, answer in pairs]


def may_be_used(borrower, owner, facts):
    """The rule in plain words."""
    recorded = {
        one.object.lower()
        for one in facts
        if (one.probe_set, one.relation, one.subject) == (owner.probe_set, owner.relation, owner.subject)
    }
    same = (borrower.probe_set, borrower.relation, borrower.template) == (
        owner.probe_set,
        owner.relation,
        owner.template,
    )
    return (
        same
        and "[X]" in owner.template
        and borrower.subject != owner.subject
        and borrower.object.lower() not in recorded
    )


def made_up(rng):
    """Several relations and templates, subjects with several answers, some answers frequent."""
    found = {}
    for number in range(rng.randrange(2, 60)):
        relation, template = rng.choice((("P36", CAPITAL), ("P36", "[X]: [Y]."), ("P19", "[X] was born in [Y].")))
        answer = rng.choice(("Paris", "paris", "Rome", f"city {number % 9}"))
        subject = f"subject {rng.randrange(25)}"
        found[relation, subject, answer, template] = Fact(
            "trex", relation, subject, answer, template, fill(template, subject)
        )
    return list(found.values())


def test_every_lender_is_another_subject_without_the_answer_and_is_missing_only_where_there_is_none():
    rng = random.Random(1)
    for _ in range(200):
        facts = made_up(rng)
        for number, lender in enumerate(swapped_subjects(facts)):
            able = [owner for owner in facts if may_be_used(facts[number], owner, facts)]
            assert facts[lender] in able if lender is not None else not able


def test_a_relation_with_one_answer_has_no_lender():
    assert swapped_subjects(facts_of((f"land {n}", "Rome") for n in range(5))) == [None] * 5


def test_answers_are_compared_without_case():
    assert swapped_subjects(facts_of([("Italy", "Rome"), ("Lazio", "ROME")])) == [None, None]


def test_an_answer_recorded_under_another_template_counts_too():
    first, second = facts_of([("France", "Paris"), ("Italy", "Rome")])
    (also,) = facts_of([("Italy", "Paris")], "[X] has the capital [Y].")
    assert swapped_subjects([first, second]) == [1, 0]
    assert swapped_subjects([first, second, also]) == [None, 0, None]


def test_a_prompt_without_a_place_for_the_subject_is_not_lent():
    facts = [
        Fact("squad", "squad", name, answer, f"{name} is [MASK].", f"{name} is [MASK].")
        for name, answer in (("x", "a"), ("y", "b"))
    ]
    assert swapped_subjects(facts) == [None, None]
    facts = [
        Fact("squad", "squad", name, answer, "It is [MASK].", "It is [MASK].")
        for name, answer in (("x", "a"), ("y", "b"))
    ]
    assert swapped_subjects(facts) == [None, None]


def test_every_prompt_is_lent_once_where_no_answer_has_more_than_half_of_the_facts():
    rng = random.Random(2)
    for _ in range(50):
        sizes = [rng.randrange(1, 9) for _ in range(6)]
        sizes.append(min(9, sum(sizes)))
        facts = facts_of(
            (f"land {answer} {n}", f"city {answer}") for answer, size in enumerate(sizes) for n in range(size)
        )
        rng.shuffle(facts)
        assert sorted(swapped_subjects(facts)) == list(range(len(facts)))


def test_an_answer_with_most_of_the_facts_takes_the_others_prompts_in_turn():
    facts = facts_of((f"land {n}", "Rome" if n < 75 else f"city {n}") for n in range(100))
    lent = Counter(swapped_subjects(facts)[:75])
    assert set(lent) == set(range(75, 100)) and set(lent.values()) == {3}


def test_swapped_subjects_do_not_depend_on_the_order_of_the_facts():
    facts = made_up(random.Random(3))

    def borrowed(some):
        return {
            some[n].fact_id: None if lender is None else some[lender].fact_id
            for n, lender in enumerate(swapped_subjects(some))
        }

    assert borrowed(facts) == borrowed(facts[::-1])


@pytest.mark.parametrize("answers", [12_514, 2_000, 2])
def test_a_relation_of_12514_facts_takes_no_time(answers):
    facts = facts_of((f"subject {n // 2}", f"answer {n * 7919 % answers}") for n in range(12_514))
    start = time.perf_counter()
    found = swapped_subjects(facts)
    assert time.perf_counter() - start < 10
    assert sum(lender is not None for lender in found) >= (12_000 if answers > 2 else 0)
