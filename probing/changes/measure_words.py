"""Occurrences of words and the similarity of their states: self-similarity and anisotropy (Ethayarajh 2019)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from transformers import BatchEncoding

from probing.changes.attention import GROUPS, jackknife, mean_cosine, unit_rows
from probing.changes.measures_numbers import mean_intervals

#: A word must occur in at least this many sentences.
CONTEXTS = 5


@dataclass(frozen=True)
class WordPlaces:
    """Every word of a text, once for each sentence that it occurs in."""

    #: for each row the number of each word and the positions of its pieces
    of_row: Sequence[Sequence[tuple[int, tuple[int, ...]]]]
    contexts: np.ndarray  #: (words,) number of sentences of each word

    @property
    def often(self) -> np.ndarray:
        """Numbers of the words with enough contexts."""
        return np.flatnonzero(self.contexts >= CONTEXTS)


def word_places(coded: BatchEncoding, left_out: np.ndarray, chosen: Sequence[int]) -> WordPlaces:
    """The words of the ``chosen`` sentences; words with the same pieces are the same word.

    ``left_out``, (tokens,) bool: tokens that are no part of a word.
    """
    numbers: dict[tuple[int, ...], int] = {}
    contexts: list[int] = []
    of_row = []
    for sentence in chosen:
        ids = coded["input_ids"][sentence]
        first_places: dict[tuple[int, ...], tuple[int, ...]] = {}
        at: dict[int, list[int]] = {}
        for place, word in enumerate(coded.word_ids(sentence)):
            if word is not None:
                at.setdefault(word, []).append(place)
        for places in at.values():
            pieces = tuple(ids[place] for place in places)
            if not left_out[list(pieces)].any():
                first_places.setdefault(pieces, tuple(places))
        words = []
        for pieces, where in first_places.items():
            word = numbers.setdefault(pieces, len(numbers))
            contexts[word : word + 1] = [contexts[word] + 1 if word < len(contexts) else 1]
            words.append((word, where))
        of_row.append(words)
    return WordPlaces(of_row, np.array(contexts, np.int64))


class WordStates:
    """Sums of the words' states by layer, each scaled to length 1; the cosines of all pairs follow from them."""

    def __init__(self, places: WordPlaces, layers: int, hidden: int):
        self._places = places
        self._slot = np.full(len(places.contexts), -1)
        self._slot[places.often] = np.arange(len(places.often))
        self._sums = np.zeros((len(places.often), layers, hidden))
        #: One occurrence of every word, by the group that is left out together.
        self._any = np.zeros((GROUPS, layers, hidden))
        self._first = _first_rows(places)

    def add(self, numbers: np.ndarray, states: np.ndarray) -> None:
        """Adds the states of some rows, (layers, rows, tokens, hidden)."""
        for row, number in enumerate(numbers):
            for word, places in self._places.of_row[number]:
                slot, first = self._slot[word], self._first[word] == number
                if slot >= 0 or first:
                    state = unit_rows(states[:, row, list(places)].mean(1))
                    if slot >= 0:
                        self._sums[slot] += state
                    if first:
                        self._any[word % GROUPS] += state

    def self_similarity(self, seed: int) -> tuple[int, list[tuple[float, float, float]]]:
        """Words, and per layer the mean over them of the mean cosine of a word's states, with intervals."""
        often = self._places.often
        if not len(often):
            return 0, []
        of_word = mean_cosine(self._sums, self._places.contexts[often][:, None])
        return len(often), [
            (float(value), float(low), float(high))
            for value, low, high in zip(*mean_intervals(of_word, seed), strict=True)
        ]

    def anisotropy(self) -> tuple[int, list[tuple[float, float, float]]]:
        """Words, and per layer the mean cosine of two different words' states, with intervals."""
        words = len(self._places.contexts)
        if words < 2 * GROUPS:
            return 0, []
        counted = np.bincount(np.arange(words) % GROUPS, minlength=GROUPS)

        def of_layer(layer: int):
            # The jackknife leaves out groups, so each group counts as one row here.
            return jackknife(
                lambda groups: float(mean_cosine(self._any[groups, layer].sum(0), counted[groups].sum())), GROUPS
            )

        return words, [of_layer(layer) for layer in range(self._any.shape[1])]


def _first_rows(places: WordPlaces) -> np.ndarray:
    """(words,) the first row of each word."""
    first = np.full(len(places.contexts), -1)
    for number, words in reversed(list(enumerate(places.of_row))):
        for word, _ in words:
            first[word] = number
    return first
