"""Kinds of top tokens, by vocabularies of three families."""

import pytest

from probing.core.knowledge.answer_types import KINDS, piece, plain, shares, words
from probing.core.tokens.text import NO_TEXT, SPACE
from tests.reference.knowledge import classify

ASKED = {
    "right": False,
    "subject_answers": ("Paris", "Lyon"),
    "relation_answers": ("Paris", "Lyon", "Berlin", "Zürich", "New York"),
    "prompt": "Victor Hugo's friend was born in [MASK] .",
}


@pytest.mark.parametrize(
    ("text", "starts_word", "kind"),
    [
        ("lyon", True, "subject answer"),
        ("berlin", True, "relation answer"),
        ("zurich", True, "relation answer"),
        ("hugo", True, "copied"),
        ("in", True, "copied"),
        (".", True, "punctuation"),
        ("##,", False, "punctuation"),
        ("##berlin", False, "sub-word"),
        ("##s", False, "sub-word"),
        ("mask", True, "other word"),
        ("york", True, "other word"),
        ("it", True, "other word"),
        ("Lyon", True, "subject answer"),
        ("Zürich", True, "relation answer"),
        ("Hugo", True, "copied"),
        ("Berlin", False, "sub-word"),
        (".", False, "punctuation"),
        (SPACE, True, "punctuation"),
        # Half a character has no text.
        (NO_TEXT, True, "punctuation"),
        (NO_TEXT, False, "punctuation"),
        (f"Lyon{NO_TEXT}", True, "subject answer"),
    ],
)
def test_a_token_is_of_the_first_kind_that_holds(text: str, starts_word: bool, kind: str):
    assert classify(text, starts_word=starts_word, **ASKED) == kind
    assert classify(text, starts_word=starts_word, **ASKED | {"right": True}) == "right"
    assert kind in KINDS


def test_the_right_answer_below_rank_1_is_a_recorded_answer():
    assert classify("paris", starts_word=True, **ASKED) == "subject answer"


def test_a_word_is_compared_without_case_and_accents():
    assert piece("Málaga", True).word == "malaga" and piece("Málaga", False).word is None


def test_words_are_compared_without_case_and_accents_and_the_mask_is_none():
    assert plain(" Málaga ") == plain("malaga") == "malaga"
    assert words("O'Neil lives in [MASK], Köln.") == {"o", "neil", "lives", "in", "koln"}


def test_shares_add_up_to_one_and_have_every_kind():
    found = shares({"right": 3, "copied": 1})
    assert found["right"] == 3 / 4
    assert list(found) == list(KINDS)
    assert sum(value or 0.0 for value in found.values()) == 1
    assert set(shares({}).values()) == {None}
    with pytest.raises(ValueError, match="unknown kinds"):
        shares({"wrong": 1})
