"""Tokens as a reader writes them."""

import pytest

from probing.core.tokens import readable


@pytest.mark.parametrize(
    ("token", "expected"),
    [
        ("Ġparis", "paris"), ("paris", "paris"), ("▁paris", "paris"), ("##s", "##s"), ("Ġ", "␣"), ("▁", "␣"), ("SÃ£o", "São"),
        ("ĠÃ©tÃ©", "été"), ("æĿ±", "東"), ("ĊĊ", "␣"),
        # Half a letter's bytes, a WordPiece vocabulary's letters, other scripts, special tokens.
        ("Ã", "Ã"), ("são", "são"), ("zürich", "zürich"), ("東京", "東京"), ("[MASK]", "[MASK]"), ("<mask>", "<mask>"), ("#12", "#12"),
    ],
)  # fmt: skip
def test_marks_of_a_space_are_dropped_and_bytes_become_letters(token, expected):
    assert readable(token) == expected


def test_a_vocabulary_that_is_known_not_to_be_byte_level_keeps_its_letters():
    assert readable("Ġ", byte_letters=False) == "Ġ" and readable("▁a", byte_letters=False) == "a"
