"""What a user asks a model live, and why a sentence cannot be asked."""

import re
from dataclasses import dataclass

from probing.core.errors import PromptError
from probing.core.facts.fact import MASK

#: ``[MASK]`` and ``<mask>`` in any case, and three or more underscores. Two underscores are no gap, as names of programs have them
#: (``__init__``), and neither are underscores between two letters or digits (``a___b``).
_GAP = re.compile(r"\[mask\]|<mask>|(?<!_)(?:(?<!\w)_{3,}|_{3,}(?!\w))", re.IGNORECASE)
#: How a gap can be written, for messages and labels.
SPELLINGS = ("[MASK]", "<mask>", "___")


def with_masks(sentence: str) -> str:
    """The sentence with every gap written ``[MASK]``, however it was typed: ``[mask]``, ``<mask>`` or ``___``."""
    return _GAP.sub(MASK, sentence)


@dataclass(frozen=True)
class Question:
    """A sentence with a gap, and what to return of every layer.

    Attributes:
        prompt: the sentence, its gaps written ``[MASK]``.
        head: kind of the decoding heads.
        top: tokens per layer.
        watch: words to follow, each one token.
        mask: which of several gaps is predicted, from 0; None if there is one, or for every gap.
    """

    prompt: str
    head: str
    top: int = 5
    watch: tuple[str, ...] = ()
    mask: int | None = None


class NoMask(PromptError):
    """The prompt has no mask."""


class SeveralMasks(PromptError):
    """The prompt has several masks and none was chosen."""

    def __init__(self, message: str, positions: tuple[int, ...]):
        super().__init__(message)
        self.positions = positions


class TooLong(PromptError):
    """The prompt has more word pieces than the model takes."""

    def __init__(self, message: str, pieces: int, limit: int):
        super().__init__(message)
        self.pieces, self.limit = pieces, limit


class UnknownWord(PromptError):
    """A watched word is not one token of the vocabulary."""
