"""Texts that are measured on, and minimal pairs."""

import json

import pytest

from probing.core.changes.minimal_pairs import KINDS, read_minimal_pairs, two_sentences, two_words
from probing.core.changes.text import chosen_sentences, raw_text, text_lines
from probing.core.errors import PromptError, TextError


def test_a_text_that_was_not_fetched_is_named_with_the_command(tmp_path):
    with pytest.raises(TextError, match="probing fetch wikitext-2-raw"):
        raw_text(tmp_path)


def test_lines_lose_the_marks_of_the_data_set_and_nothing_else(tmp_path):
    path = tmp_path / "text"
    path.write_text(" = A heading = \n\n A well @-@ known\u2028man of 1 @,@ 000 . \n", encoding="utf-8")
    assert text_lines(path) == ["= A heading =", "A well-known\u2028man of 1,000 ."]


@pytest.mark.parametrize("content", [b"", b"\n \n", b"caf\xe9"])
def test_a_text_without_words_or_in_another_encoding_is_named(tmp_path, content):
    (tmp_path / "text").write_bytes(content)
    with pytest.raises(TextError, match="expected"):
        text_lines(tmp_path / "text")


def test_fewer_sentences_are_the_beginning_of_more_and_repeats_count_once(tmp_path):
    path = tmp_path / "text"
    path.write_text(
        "".join(f" This is the sentence number {n} .\n" for n in [*range(20), *range(20)]) + " Too short .\n",
        encoding="utf-8",
    )
    many = chosen_sentences(path, 50)
    assert len(many) == len(set(many)) == 20
    assert chosen_sentences(path, 7) == many[:7]
    assert "Too short ." in chosen_sentences(path, 50, plain=True)
    (tmp_path / "one").write_text("one line\n", encoding="utf-8")
    with pytest.raises(TextError, match="has 1 different lines, expected at least 2"):
        chosen_sentences(tmp_path / "one", 50, plain=True)


def test_thirty_pairs_ship_ten_of_each_kind():
    pairs = read_minimal_pairs()
    assert [sum(pair.kind == kind for pair in pairs) for kind in KINDS] == [10, 10, 10]
    assert len({(pair.good, pair.bad) for pair in pairs}) == 30
    for pair in pairs:
        assert (pair.good.sentence == pair.bad.sentence) != (pair.good.word == pair.bad.word)


def test_two_sentences_become_a_gap_where_they_differ():
    pair = two_sentences("the keys to the cabinet are here", "the keys to the cabinet is here")
    assert pair == two_words("the keys to the cabinet [MASK] here", "are", "is")
    assert two_sentences("no man saw it", "each old man saw it").bad.sentence == "[MASK] man saw it"


@pytest.mark.parametrize(("good", "bad"), [("a b c", "a b c"), ("a b c d", "x b c y"), ("a b c", "a b c d")])
def test_sentences_without_one_place_to_ask_are_named(good, bad):
    with pytest.raises(PromptError, match="differ in one place"):
        two_sentences(good, bad)


def test_a_file_of_pairs_that_is_none_is_named_by_line(tmp_path):
    path = tmp_path / "pairs.jsonl"
    row = {"kind": "own", "good": "a [MASK]", "good_word": "b", "bad": "a [MASK]", "bad_word": "c"}
    path.write_text(json.dumps(row) + "\n" + json.dumps(row | {"bad": "no gap"}) + "\n", encoding="utf-8")
    with pytest.raises(TextError, match="line 2 is no minimal pair"):
        read_minimal_pairs(path)
