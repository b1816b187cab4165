"""What a fact is, its stable name, and how facts that cannot be asked are counted."""

import hashlib
from collections import Counter

import pytest

from probing.core.facts.fact import (
    DUPLICATE,
    JUDGED_WRONG,
    MASK,
    NOT_ONE_MASK,
    SEVERAL_TOKENS,
    Fact,
    contains_words,
    fill,
    restrict,
    select,
)


def fact(subject="Rocky Balboa", answer="Philadelphia", relation="P19", prompt=None):
    prompt = f"{subject} was born in {MASK}." if prompt is None else prompt
    return Fact("trex", relation, subject, answer, "[X] was born in [Y].", prompt)


def test_the_id_is_the_sum_of_the_json_list():
    text = '["trex","P19","Rocky Balboa","Philadelphia","[X] was born in [Y]."]'
    assert fact().fact_id == hashlib.sha256(text.encode()).hexdigest()[:16]


def test_the_id_of_the_running_example_never_changes():
    assert fact().fact_id == "b656294705244c1f"


def test_letters_beyond_ascii_are_hashed_as_themselves():
    text = '["trex","P19","Björk","Reykjavík","[X] was born in [Y]."]'
    assert fact("Björk", "Reykjavík").fact_id == hashlib.sha256(text.encode()).hexdigest()[:16]


def test_another_template_is_another_fact_and_another_prompt_is_not():
    other = Fact("trex", "P19", "Rocky Balboa", "Philadelphia", "The birthplace of [X] is [Y].", "")
    assert other.fact_id != fact().fact_id
    assert fact(prompt="something else").fact_id == fact().fact_id


@pytest.mark.parametrize(
    ("subject", "answer", "inside"),
    [
        ("Hotel de Paris", "Paris", True),
        ("hotel de paris", "Paris", True),
        ("Parisian cafe", "Paris", False),
        ("University of Oxford", "oxford", True),
        ("C++ compiler", "C++", True),
        ("Rocky Balboa", "Philadelphia", False),
        ("", "Paris", False),
    ],
)
def test_an_answer_is_inside_the_subject_as_whole_words_only(subject, answer, inside):
    assert fact(subject, answer).answer_in_subject is inside
    assert contains_words(subject, answer) is inside


def test_fill_puts_subject_and_mask_into_the_template():
    assert fill("[Y] is where [X] was born.", "Rocky Balboa") == "[MASK] is where Rocky Balboa was born."


def test_a_subject_that_holds_a_placeholder_stays_as_it_is():
    assert fill("[X] is in [Y].", "The [Y] of [X]") == "The [Y] of [X] is in [MASK]."


def test_select_counts_what_it_leaves_out():
    read = [fact(), fact(), fact("A"), fact("B", prompt="no mask"), fact("C", prompt="[MASK] and [MASK]")]
    found = select("trex", read)
    assert [f.subject for f in found.facts] == ["Rocky Balboa", "A"]
    assert found.left_out == {DUPLICATE: 1, NOT_ONE_MASK: 2}
    assert found.n_read == 5 == 2 + 1 + 2


def test_select_adds_what_the_reader_left_out_already():
    found = select("google_re", [fact()], Counter({JUDGED_WRONG: 3}), "paraphrase")
    assert (found.n_read, found.left_out, found.template_set) == (1 + 3, {JUDGED_WRONG: 3}, "paraphrase")


def test_the_first_of_two_duplicates_is_kept():
    found = select("trex", [fact(prompt=f"first {MASK}"), fact(prompt=f"second {MASK}")])
    assert [f.prompt for f in found.facts] == [f"first {MASK}"]


def test_labels_that_differ_by_case_only_are_two_facts():
    assert len(select("trex", [fact(answer="Turkey"), fact(answer="turkey")]).facts) == 2


def test_facts_without_subjects_are_told_apart_by_their_prompts():
    read = [fact("", prompt=f"One {MASK}."), fact("", prompt=f"Two {MASK}."), fact("", prompt=f"Two {MASK}.")]
    assert len(select("squad", read).facts) == 2


def test_restrict_counts_by_the_reason_it_is_given():
    found = restrict(
        select("trex", [fact(), fact(), fact("A", "New York")]),
        lambda f: SEVERAL_TOKENS if " " in f.object else None,
    )
    assert [f.object for f in found.facts] == ["Philadelphia"]
    assert found.left_out == {DUPLICATE: 1, SEVERAL_TOKENS: 1}
    assert found.n_read == 3 == 1 + 1 + 1


def test_a_table_without_gaps_is_told_how_a_gap_is_written():
    found = select("own", [fact(subject=name, prompt=f"{name} is in {{}}.") for name in "abc"] + [fact()])
    assert (
        found.left_out_in_words == "3 not exactly one mask; a gap is written [MASK], <mask> or ___, once in each prompt"
    )
    assert select("own", [fact(), fact(subject="x", prompt="x")]).left_out_in_words == "1 not exactly one mask"
    assert select("own", [fact()]).left_out_in_words == "none"
