"""What a user asks a model live, what its layers predict, and why a sentence cannot be asked."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from probing.kernel.errors import PromptError
from probing.kernel.fact import MASK

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
#: Most tokens of a followed word, and of what fills a gap.
MAX_PIECES = 5


def with_masks(sentence: str) -> str:
    """The sentence with every gap written ``[MASK]``, however it was typed: ``[mask]``, ``<mask>`` or ``___``."""
    return _GAP.sub(MASK, sentence)


@dataclass(frozen=True)
class Question:
    """A sentence with a gap ``[MASK]``, and what to return of every layer."""

    prompt: str
    head: str
    top: int = 5
    #: Words to follow, each of up to ``MAX_PIECES`` tokens.
    watch: tuple[str, ...] = ()
    #: Which of several gaps is predicted, from 0; None if there is one, or for every gap.
    mask: int | None = None
    #: Tokens that fill the gap; None: as many as the first followed word has, else 1.
    pieces: int | None = None


@dataclass(frozen=True)
class TokenProbability:
    """One of a layer's best fillings of the gap; of several tokens see ``LiveModel.ask``."""

    token: str
    probability: float
    log_probability: float
    ids: tuple[int, ...]


@dataclass(frozen=True)
class WatchedToken:
    """A word that the user follows; rank from 1.

    Several tokens are all masked, and each is read at its own mask: the rank is the worst of theirs, the probability
    their product.
    """

    token: str
    rank: int
    probability: float
    ids: tuple[int, ...]


@dataclass(frozen=True)
class LayerAnswer:
    """What one layer predicts in the gap; entropy in nats, of several masks the sum."""

    layer: int
    tokens: tuple[TokenProbability, ...]
    watched: tuple[WatchedToken, ...]
    entropy: float


@dataclass(frozen=True)
class Answer:
    """Every layer's prediction for one prompt; layer 0 is the embeddings."""

    model: str
    head: str
    device: str
    #: From the typed text to the predictions.
    seconds: float
    prompt: str
    #: Of the prompt, with a mask for each token of the gap, the first of which is at ``mask_position``.
    pieces: tuple[str, ...]
    mask_position: int
    layers: tuple[LayerAnswer, ...]
    vocabulary: int
    #: What the model reads otherwise than the user may think, such as unknown pieces or typed special tokens.
    notes: tuple[str, ...] = ()

    @property
    def filled(self) -> int:
        """How many tokens fill the gap."""
        return len(self.layers[0].tokens[0].ids)


@dataclass(frozen=True, eq=False)
class EveryToken:
    """The predictions of every layer at every token of a sentence; layer 0 is the embeddings."""

    model: str
    head: str
    device: str
    seconds: float
    text: str
    pieces: tuple[str, ...]
    #: Token ids of the pieces, including special ones.
    own: tuple[int, ...]
    #: (layers, pieces, top) the best tokens of each cell, best first, with their probabilities.
    ids: np.ndarray
    probabilities: np.ndarray
    #: Token id -> its text, of all tokens in ``ids``.
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
    """A watched word cannot stand in the gap as one to ``MAX_PIECES`` tokens of the vocabulary; ``has`` says why."""

    def __init__(self, message: str, has: str):
        super().__init__(message)
        self.has = has
