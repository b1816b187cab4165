"""What a user asks a model live, what its layers predict, and why a sentence cannot be asked."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from probing.core.errors import PromptError
from probing.core.facts.fact import MASK

#: A letter or digit of a script that writes blanks between words; Chinese, Japanese, Thai, Lao, Khmer and others write
#: none.
_SPACED = (
    r"[^\W\u0e00-\u109f\u1780-\u17ff\u1950-\u1aaf\u2e80-\u312f\u31a0-\u9fff\ua980-\uaadf\uf900-\ufaff\uff66-\uff9f"
    r"\U0001b000-\U0001b16f\U00020000-\U0003ffff]"
)
#: ``[MASK]``, ``[BLANK]`` and ``<mask>`` in any case, blanks inside allowed, and three or more underscores, also
#: full-width ones. Two underscores are no gap, as names of programs have them (``__init__``), and neither are
#: underscores between two letters or digits (``a___b``) of scripts that write blanks.
_GAP = re.compile(
    r"\[[\s\u200b]*(?:mask|blank)[\s\u200b]*\]|<\s*mask\s*>"
    rf"|(?<![_\uff3f])(?:(?<!{_SPACED})[_\uff3f]{{3,}}|[_\uff3f]{{3,}}(?!{_SPACED}))",
    re.IGNORECASE,
)
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


@dataclass(frozen=True)
class TokenProbability:
    """One of a layer's best tokens."""

    token: str
    probability: float
    log_probability: float
    id: int


@dataclass(frozen=True)
class WatchedToken:
    """A token that the user follows; rank from 1."""

    token: str
    rank: int
    probability: float
    id: int


@dataclass(frozen=True)
class LayerAnswer:
    """What one layer predicts at the mask; entropy in nats."""

    layer: int
    tokens: tuple[TokenProbability, ...]
    watched: tuple[WatchedToken, ...]
    entropy: float


@dataclass(frozen=True)
class Answer:
    """Every layer's prediction for one prompt.

    Attributes:
        model, head, device: what predicted, and where.
        seconds: from the typed text to the predictions.
        prompt: the sentence, its gaps written ``[MASK]``.
        pieces: its word pieces.
        mask_position: position of the gap among them.
        layers: 0 is the embeddings.
        of_best: (layers,) probabilities of the last layer's best token.
        vocabulary: number of tokens that each layer's probabilities are over.
        notes: sentences on what the model reads otherwise than the user may think: unknown pieces, special tokens that
            were typed.
    """

    model: str
    head: str
    device: str
    seconds: float
    prompt: str
    pieces: tuple[str, ...]
    mask_position: int
    layers: tuple[LayerAnswer, ...]
    of_best: tuple[float, ...]
    vocabulary: int
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class EveryToken:
    """The predictions of every layer at every token of a sentence.

    Attributes:
        model, head, device: what predicted, and where.
        seconds: from the typed text to the predictions.
        text: the sentence, its gaps, if there are any, written ``[MASK]``.
        pieces, own: its word pieces, including special tokens, and their token ids.
        ids: (layers, pieces, top) the best tokens of each cell, best first; layer 0 is the embeddings.
        probabilities: (layers, pieces, top) their probabilities.
        words: token id -> its text, of all tokens in ``ids``.
    """

    model: str
    head: str
    device: str
    seconds: float
    text: str
    pieces: tuple[str, ...]
    own: tuple[int, ...]
    ids: np.ndarray
    probabilities: np.ndarray
    words: Mapping[int, str]


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
