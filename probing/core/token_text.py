"""What a token of a vocabulary says, apart from how its vocabulary writes it."""

from typing import NamedTuple

#: What stands for a token that is a space.
SPACE = "␣"
#: What stands for bytes that are no text of their own: byte-level vocabularies have tokens of half a character.
NO_TEXT = "\ufffd"


class TokenText(NamedTuple):
    """A token as a reader writes it, and whether it begins a word: WordPiece's ``##s`` does not, byte-level ``Ġparis`` does."""

    text: str
    starts_word: bool
