"""What a probe can know without a model: length, first letter, final mark and words of a sentence."""

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np

from probing.sentences.examples import Example

#: How many of the commonest training words are features.
WORDS = 2_000
_MARKS = (".", "?", "!", ",", ";", ":", '"', "'", ")")
_WORD = re.compile(r"\w+|[^\w\s]")


def surface_features(train: Sequence[Example], part: Sequence[Example]) -> np.ndarray:
    """(examples, features) float32 of a part's examples; their words are those of the training examples.

    They are, for each sentence of an example, its length in words and in characters, whether it begins with an
    upper-case letter and which mark ends it; then whether the example has each of the commonest training words, in
    lower case.
    """
    counts: Counter[str] = Counter()
    for example in train:
        counts.update(_words(example))
    common = sorted(counts, key=lambda word: (-counts[word], word))[:WORDS]
    place = {word: number for number, word in enumerate(common)}
    paired = any(example.pair for example in train)
    shapes = [_shape(example.text) + (_shape(example.pair) if paired else []) for example in part]
    features = np.zeros((len(part), 3 + len(_MARKS) if not paired else 2 * (3 + len(_MARKS))), dtype=np.float32)
    features[:] = shapes
    words = np.zeros((len(part), len(common)), dtype=np.float32)
    for row, example in zip(words, part, strict=True):
        row[[place[word] for word in _words(example) if word in place]] = 1
    return np.concatenate([features, words], axis=1)


def _words(example: Example) -> set[str]:
    return set(_WORD.findall(f"{example.text} {example.pair}".lower()))


def _shape(text: str) -> list[float]:
    text = text.strip()
    return [len(text.split()), len(text), text[:1].isupper(), *(text.endswith(mark) for mark in _MARKS)]
