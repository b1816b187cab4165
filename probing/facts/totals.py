"""What kind of word a layer puts first: the right one, another answer, a copied word, a part of a word.

Answer-type drift is ours; BERTnesia (Wallat et al. 2020) counts right answers only.
"""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass

from probing.facts.fact import MASK
from probing.kernel.text import NO_TEXT

#: Kind -> its label, in the order in which kinds are tried: the first that applies counts.
KIND_LABELS: dict[str, str] = {
    "right": "right",
    "subject answer": "another recorded answer of this subject",
    "relation answer": "an answer of this relation",
    "copied": "copied from the prompt",
    "punctuation": "punctuation",
    "sub-word": "sub-word",
    "other word": "other word",
}
KINDS: tuple[str, ...] = tuple(KIND_LABELS)


@dataclass(frozen=True)
class Piece:
    """A token of a vocabulary in the form that is compared: without accents, case folded; empty for half a character.

    A piece inside a word, which is not ``whole``, never equals an answer or a word of the prompt.
    """

    text: str
    whole: bool

    @property
    def word(self) -> str | None:
        """The text if the piece is a word, that is, begins one and has a letter or digit; else None."""
        return self.text if self.whole and _spoken(self.text) else None

    @property
    def shape(self) -> str:
        """The kind of a piece that is no answer and not copied."""
        if not _spoken(self.text):
            return "punctuation"
        return "other word" if self.whole else "sub-word"


def plain(text: str) -> str:
    """Text in the form that is compared: case folded, accents removed, as an uncased vocabulary writes it."""
    folded = text.strip().casefold()
    if folded.isascii():
        return folded
    return "".join(c for c in unicodedata.normalize("NFD", folded) if unicodedata.category(c) != "Mn")


def piece(text: str, starts_word: bool) -> Piece:
    """A piece of a token's text in ``vocabulary``."""
    return Piece(plain(text.replace(NO_TEXT, "")), starts_word)


def words(prompt: str) -> frozenset[str]:
    """The words of a prompt in the form that is compared: runs of letters and digits, without the mask."""
    return frozenset(re.findall(r"[^\W_]+", plain(prompt.replace(MASK, " "))))


def shares(counts: Mapping[str, int]) -> dict[str, float | None]:
    """Kind -> share of the top tokens, in [0, 1]; all None if nothing is counted."""
    if unknown := sorted(set(counts) - set(KINDS)):
        raise ValueError(f"unknown kinds of answer {unknown}, expected some of {KINDS}")
    n = sum(counts.values())
    return {kind: counts.get(kind, 0) / n if n else None for kind in KINDS}


def _spoken(text: str) -> bool:
    return any(map(str.isalnum, text))
