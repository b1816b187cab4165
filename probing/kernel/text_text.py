"""The text of a token, without the marks of its vocabulary."""

from typing import NamedTuple

#: What is shown for a token that is a space.
SPACE = "␣"
#: What is shown for bytes that are not text by themselves: byte-level vocabularies have tokens of half a character.
NO_TEXT = "\ufffd"


class TokenText(NamedTuple):
    """A token as a reader writes it, and whether it begins a word, as WordPiece's ``##s`` does not."""

    text: str
    starts_word: bool
