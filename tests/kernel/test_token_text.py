"""Tokens as a reader writes them, by tokenizers of three families."""

import pytest

from probing.kernel.models.tokens import token_texts
from probing.kernel.text import NO_TEXT, SPACE
from probing.live.ask import readable_token
from tests.tiny_models import build


@pytest.fixture(scope="module")
def tokenizer_of():
    return lambda architecture: build(architecture)[1]


@pytest.mark.parametrize(
    ("architecture", "token", "expected"),
    [
        ("bert", "paris", ("paris", True)),
        ("bert", "##s", ("##s", False)),
        ("bert", ".", (".", True)),
        ("bert", "[MASK]", ("[MASK]", True)),
        # Letters that a byte-level vocabulary would write for bytes are letters here.
        ("bert", "são", ("são", True)),
        ("bert", "Ã©", ("Ã©", True)),
        ("bert", "東京", ("東京", True)),
        ("roberta", "Ġparis", ("paris", True)),
        ("roberta", "paris", ("paris", False)),
        ("roberta", "SÃ£o", ("São", False)),
        ("roberta", "ĠÃ©tÃ©", ("été", True)),
        ("roberta", "æĿ±", ("東", False)),
        ("roberta", "Ġ", (SPACE, True)),
        ("roberta", "ĊĊ", (SPACE, False)),
        ("roberta", "<mask>", ("<mask>", False)),
        ("roberta", "##s", ("##s", False)),
        ("modernbert", "ĠM", ("M", True)),
        ("modernbert", "Ã", (NO_TEXT, False)),
        ("modernbert", "ĠÃ", (NO_TEXT, True)),
        ("albert", "▁paris", ("paris", True)),
        ("albert", "s", ("s", False)),
        ("albert", "▁", (SPACE, True)),
    ],
)
def test_marks_of_a_word_become_a_column_and_bytes_letters(tokenizer_of, architecture, token, expected):
    assert token_texts(tokenizer_of(architecture), [token]) == [expected]


@pytest.mark.parametrize("architecture", ["bert", "roberta", "modernbert", "albert"])
def test_every_token_of_a_vocabulary_is_shown_by_its_text_if_it_has_one(tokenizer_of, architecture):
    tokenizer = tokenizer_of(architecture)
    tokens = tokenizer.convert_ids_to_tokens(list(range(len(tokenizer))))
    asked = token_texts(tokenizer, tokens)
    assert {said.starts_word for said in asked} == {True, False}
    # Half a character has no text, so its token is shown.
    expected = [token if NO_TEXT in said.text else said.text for token, said in zip(tokens, asked, strict=True)]
    assert [readable_token(tokenizer, number) for number in range(len(tokenizer))] == expected
