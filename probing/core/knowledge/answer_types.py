"""What kind of word a layer puts first: the right one, another answer, a copied word, a bit of a word.

Answer-type drift is ours; BERTnesia (Wallat et al. 2020) counts right answers only.
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from probing.core.facts.fact import MASK

#: Kind -> how a reader sees it, in the order in which they are tried: the first that holds.
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

#: How vocabularies mark a piece: WordPiece the one that continues a word, the others the one that begins it.
_CONTINUES, _BEGINS = "##", ("\u0120", "\u2581")


@dataclass(frozen=True)
class Piece:
    """A token of a vocabulary as text.

    Attributes:
        text: without its marker, in lower case and without accents.
        whole: whether it begins a word; a piece inside a word never equals an answer or a word of the prompt.
    """

    text: str
    whole: bool

    @property
    def word(self) -> str | None:
        """The text where the piece is a word: it begins one and holds a letter or digit."""
        return self.text if self.whole and _spoken(self.text) else None

    @property
    def shape(self) -> str:
        """The kind of a piece that is no answer and not copied."""
        if not _spoken(self.text):
            return "punctuation"
        return "other word" if self.whole else "sub-word"


def plain(text: str) -> str:
    """Text as it is compared: case folded, accents taken off, as an uncased vocabulary writes it."""
    folded = text.strip().casefold()
    if folded.isascii():
        return folded
    return "".join(c for c in unicodedata.normalize("NFD", folded) if unicodedata.category(c) != "Mn")


def marker(tokens: Iterable[str]) -> str:
    """The marker that a vocabulary uses, the one that most of its tokens begin with; ``""`` where none has one."""
    counts = dict.fromkeys((_CONTINUES, *_BEGINS), 0)
    for token in tokens:
        for mark in counts:
            counts[mark] += token.startswith(mark)
    best = max(counts, key=lambda mark: counts[mark])
    return best if counts[best] else ""


def piece(token: str, mark: str) -> Piece:
    """A raw token (``##s``, ``\u0120paris``, ``\u2581paris``) of a vocabulary with this marker."""
    if mark == "\u0120":
        # Byte-level vocabularies spell every byte as a printable letter; a cut character has no text of its own.
        token = mark * token.startswith(mark) + _bytes_to_text(token.removeprefix(mark))
    text = token.removeprefix(mark)
    whole = (text == token) if mark in ("", _CONTINUES) else (text != token)
    return Piece(plain(text), whole)


def words(prompt: str) -> frozenset[str]:
    """The words of a prompt as they are compared: runs of letters and digits; the mask is none."""
    return frozenset(re.findall(r"[^\W_]+", plain(prompt.replace(MASK, " "))))


def shares(counts: Mapping[str, int]) -> dict[str, float | None]:
    """Kind -> share of the top tokens, in [0, 1]; all None where nothing is counted.

    Raises:
        ValueError: if a kind is unknown.
    """
    if unknown := sorted(set(counts) - set(KINDS)):
        raise ValueError(f"unknown kinds of answer {unknown}, expected some of {KINDS}")
    n = sum(counts.values())
    return {kind: counts.get(kind, 0) / n if n else None for kind in KINDS}


def _spoken(text: str) -> bool:
    return any(letter.isalnum() for letter in text)


def _byte_letters() -> dict[str, int]:
    """Letter -> byte: printable bytes stand for themselves, the others in order for the letters from 256 on."""
    own = [byte for byte in range(256) if 33 <= byte <= 126 or 161 <= byte <= 172 or byte >= 174]
    others = [byte for byte in range(256) if byte not in own]
    return {chr(byte): byte for byte in own} | {chr(256 + place): byte for place, byte in enumerate(others)}


_BYTES = _byte_letters()


def _bytes_to_text(token: str) -> str:
    if not all(letter in _BYTES for letter in token):
        return token
    return bytes(_BYTES[letter] for letter in token).decode("utf-8", errors="ignore")
