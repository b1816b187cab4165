"""Kinds of top tokens, by vocabularies of three families."""

import pytest

from probing.core.knowledge.answer_types import KINDS, marker, piece, plain, shares, words
from tests.reference.knowledge import classify

WORDPIECE, BYTES, SENTENCE = "##", "\u0120", "\u2581"
ASKED = {
    "right": False,
    "subject_answers": ("Paris", "Lyon"),
    "relation_answers": ("Paris", "Lyon", "Berlin", "Zürich", "New York"),
    "prompt": "Victor Hugo's friend was born in [MASK] .",
}


@pytest.mark.parametrize(
    ("token", "mark", "kind"),
    [
        ("lyon", WORDPIECE, "subject answer"),
        ("berlin", WORDPIECE, "relation answer"),
        ("zurich", WORDPIECE, "relation answer"),
        ("hugo", WORDPIECE, "copied"),
        ("in", WORDPIECE, "copied"),
        (".", WORDPIECE, "punctuation"),
        ("##,", WORDPIECE, "punctuation"),
        ("##berlin", WORDPIECE, "sub-word"),
        ("##s", WORDPIECE, "sub-word"),
        ("mask", WORDPIECE, "other word"),
        ("york", WORDPIECE, "other word"),
        ("it", WORDPIECE, "other word"),
        ("\u0120Lyon", BYTES, "subject answer"),
        ("\u0120Z\u00c3\u00bcrich", BYTES, "relation answer"),
        ("\u0120Hugo", BYTES, "copied"),
        ("Berlin", BYTES, "sub-word"),
        ("\u0120.", BYTES, "punctuation"),
        (".", BYTES, "punctuation"),
        ("\u0120", BYTES, "punctuation"),
        ("\u0120it", BYTES, "other word"),
        ("\u2581berlin", SENTENCE, "relation answer"),
        ("\u2581hugo", SENTENCE, "copied"),
        ("ing", SENTENCE, "sub-word"),
        ("it", "", "other word"),
        ("berlin", "", "relation answer"),
    ],
)
def test_a_token_is_of_the_first_kind_that_holds(token: str, mark: str, kind: str):
    assert classify(token, mark=mark, **ASKED) == kind
    assert classify(token, mark=mark, **ASKED | {"right": True}) == "right"
    assert kind in KINDS


def test_the_right_answer_below_rank_1_is_a_recorded_answer():
    assert classify("paris", mark=WORDPIECE, **ASKED) == "subject answer"


def test_the_marker_of_a_vocabulary_is_the_one_that_most_tokens_begin_with():
    assert marker(["[CLS]", "the", "##s", "##ing", "\u0120"]) == WORDPIECE
    assert marker(["<s>", "\u0120the", "\u0120of", "ing", "##"]) == BYTES
    assert marker(["<s>", "\u2581the", "ing"]) == SENTENCE
    assert marker(["the", "of"]) == ""


def test_bytes_are_read_as_the_text_that_they_spell():
    assert piece("\u0120M\u00c3\u00a1laga", BYTES).word == "malaga"
    # Half a character has no text.
    assert piece("\u0120\u00c3", BYTES).shape == "punctuation"


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
