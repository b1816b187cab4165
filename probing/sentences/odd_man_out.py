"""Our own odd-man-out, made by rule from UD English EWT: in half of the sentences one noun or verb was replaced.

X-Probe's own file cannot be used: 4,248 of its 10,650 texts have both labels.
"""

import hashlib
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import exp, log1p
from pathlib import Path

from probing.kernel.errors import SentenceDataError
from probing.kernel.text import TreebankSentence, conllu_sentences, numbered_lines
from probing.sentences.examples import PARTS, Example

CHANGED, ORIGINAL = "changed", "original"
#: Sentences have at least and at most as many words as in SentEval.
SHORTEST, LONGEST = 5, 28
#: Reason for which a sentence that was to be changed is left out.
NO_CANDIDATE = "no other word of the same form and frequency"
_REPLACED = ("NOUN", "VERB")
#: Before the first and after the last word.
_EDGE = ""


@dataclass(frozen=True, slots=True)
class _Sentence:
    words: tuple[str, ...]
    universal: tuple[str, ...]
    tags: tuple[str, ...]

    @property
    def lower(self) -> tuple[str, ...]:
        return tuple(word.lower() for word in self.words)


def make_odd_man_out(folder: Path) -> list[Example]:
    """The examples of UD English EWT, in the order of its sentences."""
    return odd_man_out(folder)[0]


def odd_man_out(folder: Path) -> tuple[list[Example], int]:
    """The examples of UD English EWT, and how many sentences had no word that could be replaced.

    Distinct sentences of 5 to 28 words with a noun or verb; those with an odd hash stay unchanged. In the others one
    noun or verb is replaced by a word with the same part of speech (XPOS). The natural logarithms of the two words'
    counts, of their counts after the previous word and of those before the next word (plus 1, as most are 0) differ by
    at most 1. Hashes choose word and replacement.
    """
    sentences = _distinct(folder)
    words = _Words(sentences)
    examples: list[Example] = []
    without = 0
    for sentence in sentences:
        if not (SHORTEST <= len(sentence.words) <= LONGEST and set(sentence.universal) & set(_REPLACED)):
            continue
        text = " ".join(sentence.words)
        if _hash(text.lower()) % 2:
            examples.append(Example(text, ORIGINAL))
        elif changed := words.changed(sentence):
            examples.append(Example(" ".join(changed), CHANGED))
        else:
            without += 1
    return examples, without


class _Words:
    """Counts of words and of neighbours, and the words of each part of speech by frequency; all in lower case."""

    def __init__(self, sentences: Sequence[_Sentence]) -> None:
        self._single: Counter[str] = Counter()
        self._pairs: Counter[tuple[str, str]] = Counter()
        kinds: defaultdict[str, set[str]] = defaultdict(set)
        for sentence in sentences:
            self._single.update(sentence.lower)
            self._pairs.update(pairwise((_EDGE, *sentence.lower, _EDGE)))
            for word, universal, tag in zip(sentence.lower, sentence.universal, sentence.tags, strict=True):
                if universal in _REPLACED and word.isalpha():
                    kinds[tag].add(word)
        self._words = {
            tag: sorted(words, key=lambda word: (self._single[word], _hash(word))) for tag, words in kinds.items()
        }
        self._counts = {tag: [self._single[word] for word in words] for tag, words in self._words.items()}

    def changed(self, sentence: _Sentence) -> list[str] | None:
        """The words with one replaced; None if no word can be."""
        places = [place for place, universal in enumerate(sentence.universal) if universal in _REPLACED]
        around = (_EDGE, *sentence.lower, _EDGE)
        text = " ".join(around)
        for place in sorted(places, key=lambda place: _hash(f"{text}\t{place}")):
            old = sentence.words[place]
            for new in self._candidates(sentence.tags[place], old.lower(), _hash(f"{text}\t{old}")):
                if self._alike((around[place], old.lower(), around[place + 2]), new):
                    return [*sentence.words[:place], _as_written(new, old), *sentence.words[place + 1 :]]
        return None

    def _candidates(self, tag: str, old: str, number: int) -> Iterator[str]:
        """Other words of about the same frequency, starting at the one that the number chooses."""
        counts = self._counts.get(tag, [])
        start, end = bisect_left(counts, self._single[old] / exp(1)), bisect_right(counts, self._single[old] * exp(1))
        for step in range(end - start):
            if (word := self._words[tag][start + (number + step) % (end - start)]) != old:
                yield word

    def _alike(self, three: tuple[str, str, str], new: str) -> bool:
        before, old, behind = three
        pairs = ((before, old), (before, new)), ((old, behind), (new, behind))
        return all(abs(log1p(self._pairs[was]) - log1p(self._pairs[would_be])) <= 1 for was, would_be in pairs)


def _as_written(new: str, old: str) -> str:
    if old.isupper() and len(old) > 1:
        return new.upper()
    return new.capitalize() if old[0].isupper() else new


def _distinct(folder: Path) -> list[_Sentence]:
    """Sentences of all parts, the first of those with the same words in any case."""
    distinct: dict[tuple[str, ...], _Sentence] = {}
    for part in PARTS:
        path = folder / f"en_ewt-ud-{part}.conllu"
        for sentence in conllu_sentences(numbered_lines(path, SentenceDataError), path, SentenceDataError):
            tagged = _sentence(sentence)
            distinct.setdefault(tagged.lower, tagged)
    return list(distinct.values())


def _sentence(sentence: TreebankSentence) -> _Sentence:
    return _Sentence(sentence.column(1), sentence.column(3), sentence.column(4))


def _hash(text: str) -> int:
    return int(hashlib.sha256(f"odd man out\t{text}".encode()).hexdigest()[:12], 16)
