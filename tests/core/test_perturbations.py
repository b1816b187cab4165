"""Sentences changed by rule, and what is said where a rule finds nothing."""

import pytest

from probing.core.perturb.entity_names import find_entity, other_entity
from probing.core.perturb.rules import misprimed, negated, renamed, shuffled, truncated, wrong_answers


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("A robin is a [MASK].", "A robin is not a [MASK]."),
        ("Birds can [MASK].", "Birds cannot [MASK]."),
        ("Rocky Balboa was born in [MASK] .", "Rocky Balboa was not born in [MASK] ."),
        ("He has been born in [MASK].", "He has not been born in [MASK]."),
        ("Lions have a [MASK].", "Lions do not have a [MASK]."),
        ("Miles Davis plays [MASK] .", "Miles Davis does not play [MASK] ."),
        ("Emile Zola died in [MASK] .", "Emile Zola did not die in [MASK] ."),
        ("Who plays in a band ? They make [MASK] .", "Who plays in a band ? They do not make [MASK] ."),
        ("[MASK] is the capital of [MASK].", "[MASK] is not the capital of [MASK]."),
        ("[MASK] can fly.", "[MASK] cannot fly."),
        ("May is the month of [MASK].", "May is not the month of [MASK]."),
        ("In May the sun is [MASK].", "In May the sun is not [MASK]."),
        ("Will Smith was born in [MASK].", "Will Smith was not born in [MASK]."),
        ("Will Smith plays the [MASK].", "Will Smith does not play the [MASK]."),
        ("Talk? Birds can [MASK].", "Talk? Birds cannot [MASK]."),
        ("BIRDS CAN [MASK].", "BIRDS CANNOT [MASK]."),
    ],
)
def test_a_sentence_is_negated_where_its_gap_is(sentence, expected):
    assert negated(sentence).text == expected


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("A robin is not a [MASK].", "A robin is a [MASK]."),
        ("Birds cannot [MASK].", "Birds can [MASK]."),
        ("It isn't in [MASK].", "It is in [MASK]."),
        ("It won’t be [MASK].", "It will be [MASK]."),
        ("He was never in [MASK].", "He was in [MASK]."),
    ],
)
def test_a_negated_sentence_loses_its_negation(sentence, expected):
    changed = negated(sentence)
    assert changed.text == expected
    assert "was negated" in changed.words


@pytest.mark.parametrize("sentence", ["[MASK]", "hello [MASK]", "The plays of [MASK]", ""])
def test_a_sentence_without_a_known_verb_is_not_negated_and_says_so(sentence):
    changed = negated(sentence)
    assert changed.text is None
    assert "no verb" in changed.words


@pytest.mark.parametrize(
    "sentence",
    [
        "Can birds [MASK]?",
        "can birds fly to [MASK]",
        "Is Paris the capital of [MASK]?",
        "May birds fly to [MASK]?",
        "Will you play [MASK]",
        "Does he play [MASK]?",
        "Has he been in [MASK]?",
        "Will it be said that he was in [MASK]?",
    ],
)
def test_a_question_that_begins_with_its_verb_is_refused_with_the_reason(sentence):
    changed = negated(sentence)
    assert changed.text is None
    assert "is a question" in changed.words


def test_a_misprime_is_put_before_the_sentence_as_a_question():
    assert misprimed("Birds can [MASK].", "talk").text == "Talk? Birds can [MASK]."
    assert misprimed("Birds can [MASK].", " talk? ").text == "Talk? Birds can [MASK]."


@pytest.mark.parametrize(
    ("prime", "expected"), [("", "type a word"), (" ?", "type a word"), ("[mask]", "contains a gap")]
)
def test_a_misprime_must_be_a_word(prime, expected):
    changed = misprimed("Birds can [MASK].", prime)
    assert changed.text is None
    assert expected in changed.words


def test_shuffling_moves_words_and_leaves_gap_and_punctuation():
    sentence = "In San Marino, official documents are written in [MASK]."
    changed = shuffled(sentence, 3).text
    assert changed != sentence
    assert changed.endswith("[MASK].") and changed.count(",") == 1
    assert sorted(changed.replace(",", "").split()) == sorted(sentence.replace(",", "").split())
    assert changed == shuffled(sentence, 3).text
    assert len({shuffled(sentence, seed).text for seed in range(8)}) > 4


@pytest.mark.parametrize("sentence", ["[MASK]", "Paris [MASK]", "the The [MASK]"])
def test_one_word_cannot_be_shuffled(sentence):
    assert shuffled(sentence).text is None


@pytest.mark.parametrize(
    ("sentence", "keep", "expected"),
    [
        ("The capital of France is [MASK].", 2, "France is [MASK]."),
        ("The capital of France is [MASK].", 0, "[MASK]."),
        ("The city of [MASK] lies on the river Seine .", 1, "of [MASK] lies ."),
        ("The capital of France is [MASK]", 4, "capital of France is [MASK]"),
    ],
)
def test_only_the_words_nearest_the_gap_stay(sentence, keep, expected):
    assert truncated(sentence, keep).text == expected


def test_a_short_sentence_or_one_without_gap_cannot_be_cut():
    assert "no more than 2 words" in truncated("Birds can [MASK].", 2).words
    assert "no [MASK]" in truncated("Birds can fly.", 1).words
    with pytest.raises(ValueError, match="at least 0"):
        truncated("Birds can [MASK].", -1)


@pytest.mark.parametrize(
    ("sentence", "name"),
    [
        ("Rocky Balboa was born in [MASK].", "Rocky Balboa"),
        ("The capital of France is [MASK].", "France"),
        ("France is in [MASK].", "France"),
        ("University of London is in [MASK]. It is old.", "University of London"),
        ("In San Marino, official documents are written in [MASK].", "San Marino"),
        ("iPod Touch is made by [MASK].", "iPod Touch"),
        ("Does Marie de France live in [MASK]?", "Marie de France"),
        ("A robin is a [MASK].", None),
        ("Fresh snow is [MASK].", None),
        ("[MASK] is a city.", None),
    ],
)
def test_a_name_is_recognised_by_its_capital_letters(sentence, name):
    assert find_entity(sentence) == name


def test_another_name_replaces_that_of_the_sentence():
    assert renamed("Rocky Balboa was born in [MASK].", "Hans Müller").text == "Hans Müller was born in [MASK]."
    assert renamed("Paris is in [MASK], not Parisian.", "Rome", "Paris").text == "Rome is in [MASK], not Parisian."


@pytest.mark.parametrize(
    ("sentence", "other", "name", "expected"),
    [
        ("fresh snow is [MASK].", "Rome", None, "no name was found"),
        ("Paris is in [MASK].", " ", None, "no other name"),
        ("Paris is in [MASK].", "Rome", "Berlin", "is not in the sentence"),
        ("Paris is in [MASK].", "Paris", None, "is already the name"),
    ],
)
def test_a_name_that_cannot_be_changed_is_explained(sentence, other, name, expected):
    changed = renamed(sentence, other, name)
    assert changed.text is None
    assert expected in changed.words


def test_a_name_is_offered_that_is_not_there_yet():
    assert other_entity("Rocky Balboa") == "Giovanni Rossi"
    assert other_entity("Giovanni Rossi") == "Hans Müller"
    assert other_entity("Italy") == "Poland"


def test_words_to_mislead_with_are_the_models_own_wrong_answers():
    assert wrong_answers(["paris", "##s", ".", " lyon", "a", "lyon", "rome"], ["Paris"]) == ["lyon", "rome"]
