"""The data that models are measured on: minimal pairs of words at a gap, and WikiText-2's raw test part."""

import difflib
import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import scipy

from probing.facts.corpus import share_of
from probing.facts.lama import json_lines
from probing.kernel.errors import PromptError, TextError
from probing.kernel.fact import MASK
from probing.kernel.registry import REPOSITORY
from probing.kernel.text import wikitext_sentences

#: The pairs that ship.
FILE = REPOSITORY / "data" / "sentences" / "minimal_pairs.jsonl"
#: Kind of shipped pairs -> its title.
KINDS = {
    "agreement": "agreement across distractors",
    "negative polarity": "negative polarity items",
    "roles": "who does what",
}


@dataclass(frozen=True)
class Gap:
    """A sentence with one ``[MASK]``, and the word whose probability is measured there."""

    sentence: str
    word: str

    def __post_init__(self) -> None:
        if self.sentence.count(MASK) != 1 or not self.word.strip():
            raise PromptError(f"got {self.sentence!r} with the word {self.word!r}, expected one {MASK} and a word")

    @property
    def text(self) -> str:
        """The sentence with its word."""
        return self.sentence.replace(MASK, self.word)


@dataclass(frozen=True)
class MinimalPair:
    """Two gaps, of which the word of ``good`` should be likelier; either the words differ or the sentences."""

    kind: str
    good: Gap
    bad: Gap


def two_words(sentence: str, good: str, bad: str, kind: str = "own") -> MinimalPair:
    """Two words for one gap; the sentence has exactly one ``[MASK]``."""
    return MinimalPair(kind, Gap(sentence, good), Gap(sentence, bad))


def two_sentences(good: str, bad: str, kind: str = "own") -> MinimalPair:
    """Two sentences that differ in one word or in several that are next to each other, which become the gap."""
    words = good.split(), bad.split()
    changed = [op for op in difflib.SequenceMatcher(None, *words, autojunk=False).get_opcodes() if op[0] != "equal"]
    if len(changed) != 1 or changed[0][0] != "replace":
        raise PromptError(
            f"got {good!r} and {bad!r}, expected two sentences that differ in one place by other words, "
            f"or a sentence with {MASK} and two words"
        )
    _, first, last, other, until = changed[0]
    gaps = [
        Gap(" ".join([*row[:start], MASK, *row[end:]]), " ".join(row[start:end]))
        for row, start, end in ((words[0], first, last), (words[1], other, until))
    ]
    return MinimalPair(kind, *gaps)


def typed_pair(good: str, bad: str) -> MinimalPair:
    """A pair as a user types it: two sentences, or a sentence with ``[MASK]`` and two words separated by a comma."""
    if MASK not in good:
        return two_sentences(good, bad)
    words = [word.strip() for word in bad.split(",")]
    if len(words) != 2:
        raise PromptError(
            f"got {bad!r} for the gap of {good!r}, expected two words separated by a comma, the likelier first"
        )
    return two_words(good, *words)


def by_guessing(pairs: int) -> tuple[int, int]:
    """The 95 % interval of the number of pairs that random guessing gets right."""
    low, high = scipy.stats.binom.interval(0.95, pairs, 0.5)
    return int(low), int(high)


def read_minimal_pairs(path: Path = FILE) -> list[MinimalPair]:
    """The pairs of a JSONL file: ``kind, good, good_word, bad, bad_word``."""
    pairs = []
    try:
        for _, row in json_lines(path):
            pairs.append(MinimalPair(row["kind"], Gap(row["good"], row["good_word"]), Gap(row["bad"], row["bad_word"])))
    except (KeyError, TypeError, AttributeError, PromptError) as error:
        raise TextError(
            f"{path}: line {len(pairs) + 1} is no minimal pair ({error!r}); expected kind, good, good_word, bad,"
            " bad_word"
        ) from error
    return pairs


#: The data set of the registry, and its file.
DATA_SET, TEXT_FILE = "wikitext-2-raw", "wiki.test.raw"
#: How many words a sentence has that attention and states are measured on.
FEWEST_WORDS, MAX_WORDS = 5, 28


def raw_text(downloads: Path) -> Path:
    """The raw test text of WikiText-2."""
    path = downloads / DATA_SET / TEXT_FILE
    if not path.is_file():
        raise TextError(
            f"no {path}; perplexity and attention are measured on it: fetch it with: python -m probing fetch {DATA_SET}"
        )
    return path


def text_lines(path: Path) -> list[str]:
    """The lines that are not empty, `` @-@ `` and the like undone, in order."""
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise TextError(f"cannot read {path}: {error}; expected UTF-8 text") from error
    cleaned = [re.sub(r" @(\W)@ ", r"\1", line.strip()) for line in lines if line.strip()]
    if not cleaned:
        raise TextError(f"{path} has no text; expected lines of words")
    return cleaned


def chosen_sentences(path: Path, limit: int, plain: bool = False) -> list[str]:
    """Up to ``limit`` distinct sentences of 5 to 28 words, by hash: fewer are the beginning of more.

    ``plain``: each line is a sentence, of any length; otherwise the text is in WikiText's layout.
    """
    lines = text_lines(path)
    sentences = (
        lines
        if plain
        else [text for text in wikitext_sentences(path) if FEWEST_WORDS <= len(text.split()) <= MAX_WORDS]
    )
    chosen = sorted(dict.fromkeys(sentences), key=lambda text: (share_of("changes", text), text))[:limit]
    if len(chosen) < 2:
        kind = "lines" if plain else f"sentences of {FEWEST_WORDS} to {MAX_WORDS} words"
        raise TextError(f"{path} has {len(chosen)} different {kind}, expected at least 2")
    return chosen


def text_sha256(lines: Sequence[str]) -> str:
    """Fingerprint of lines in their order."""
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()
