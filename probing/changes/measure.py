"""Attention, states and similarity of words of a model, compared with those of its base on the same sentences."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from transformers import BatchEncoding

from probing.changes.attention import (
    GROUPS,
    MAX_IN_MATRIX,
    between,
    jackknife,
    linear_cka,
    mean_cosine,
    of_model,
    rsa,
    unit_rows,
)
from probing.changes.measures import BY_HEAD, mean_intervals
from probing.changes.passes import Attending, Passed
from probing.kernel.errors import ModelError, TextError
from probing.kernel.models.catalogue import check_comparable
from probing.kernel.models.load import Encoder

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


class WordSums:
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


#: Word pieces of the shortest row. With a single piece, attention has only one place to go.
_SHORTEST = 2


@dataclass(frozen=True)
class Value:
    """A measure at a layer, with its interval; ``n`` counts sentences or words."""

    measure: str
    layer: int
    head: int | None  #: None: a measure of the whole layer
    value: float
    low: float
    high: float
    n: int


@dataclass(frozen=True)
class Measured:
    """All measures in order, the number of sentences measured, and reason -> number of those left out."""

    values: tuple[Value, ...]
    sentences: int
    left_out: Mapping[str, int]


def measure(
    sentences: Sequence[str],
    encoder: Encoder,
    base: Encoder | None,
    seed: int = 0,
    passed: Callable[[int], object] | None = None,
) -> Measured:
    """Every measure of attention and states; without a base only the model's own measures.

    ``passed`` is called after each batch with its number of sentences. ModelError: the two models split sentences
    differently, or differ in layers or heads; TextError: fewer than two sentences can be read.
    """
    if base:
        check_comparable(encoder, base)
    coded = encoder.tokenizer(list(sentences), verbose=False)
    longest = min(encoder.max_pieces, base.max_pieces) if base else encoder.max_pieces
    lengths = np.array([len(row) for row in coded["input_ids"]])
    readable = np.flatnonzero((lengths >= _SHORTEST) & (lengths <= longest))
    left_out = {
        "too long for the model": int((lengths > longest).sum()),
        "of one piece": int((lengths < _SHORTEST).sum()),
    }
    if len(readable) < 2:
        raise TextError(
            f"{encoder.name} can read {len(readable)} of {len(sentences)} sentences, expected 2 or more of at most"
            f" {longest} pieces"
        )
    rows = [coded["input_ids"][number] for number in readable]
    own, before = Attending(encoder), Attending(base) if base else None
    if base:
        _check_same_pieces(encoder, base, sentences, coded["input_ids"])
    measured = _Measures(own, rows, before is not None)
    measured.words = WordSums(word_places(coded, own.no_words(), readable.tolist()), encoder.layers, encoder.hidden)
    for batch, other in _pairs(own, before, rows):
        measured.add(batch, other)
        if passed:
            passed(len(batch.numbers))
    return Measured(tuple(measured.values(seed)), len(rows), {reason: n for reason, n in left_out.items() if n})


def _pairs(
    own: Attending, before: Attending | None, rows: Sequence[Sequence[int]]
) -> Iterator[tuple[Passed, Passed | None]]:
    if before is None:
        yield from ((batch, None) for batch in own.passes(rows))
    else:
        yield from zip(own.passes(rows), before.passes(rows), strict=True)


def _check_same_pieces(encoder: Encoder, base: Encoder, sentences: Sequence[str], ids: Sequence) -> None:
    if base.tokenizer(list(sentences), verbose=False)["input_ids"] != ids:
        raise ModelError(
            f"{encoder.name} and {base.name} split the sentences into different tokens, so they cannot be compared;"
            " name its base"
        )


class _Measures:
    """Accumulates the measures of every batch."""

    words: WordSums

    def __init__(self, own: Attending, rows: Sequence[Sequence[int]], compared: bool):
        self._own, self._rows, self._compared = own, rows, compared
        layers, hidden, count = own.encoder.layers, own.encoder.hidden, len(rows)
        self._attention: dict[str, np.ndarray] = {}
        shape = (layers, count, hidden)
        self._pooled = (
            {(name, which): np.empty(shape) for name in ("first", "mean") for which in range(2)} if compared else {}
        )
        self._same_token = np.empty((layers, count))

    def add(self, batch: Passed, other: Passed | None) -> None:
        """Adds one batch of the model, and the same batch of its base."""
        kinds = self._own.kinds([self._rows[number] for number in batch.numbers])
        attention = of_model(batch.maps, kinds)
        if other is not None:
            attention |= between(batch.maps, other.maps)
            for which, states in enumerate((batch.states, other.states)):
                self._pooled["first", which][:, batch.numbers] = states[:, :, 0]
                self._pooled["mean", which][:, batch.numbers] = states.mean(2)
            dot, squares, other_squares = (
                (a * b).sum(-1)
                for a, b in ((batch.states, other.states), (batch.states, batch.states), (other.states, other.states))
            )
            self._same_token[:, batch.numbers] = (dot / np.sqrt(squares * other_squares)).mean(-1)
        self.words.add(batch.numbers, batch.states)
        for name, values in attention.items():
            layers, _, heads = values.shape
            by_sentence = self._attention.setdefault(name, np.empty((layers, len(self._rows), heads)))
            by_sentence[:, batch.numbers] = values

    def values(self, seed: int) -> Iterator[Value]:
        """All values with their intervals."""
        for name, by_sentence in self._attention.items():
            yield from _rows_of(name, by_sentence.mean(2), 1, None, seed)
            if name in BY_HEAD:
                for head in range(by_sentence.shape[2]):
                    yield from _rows_of(name, by_sentence[:, :, head], 1, head, seed)
        if self._compared:
            yield from _rows_of("same-token-cosine", self._same_token, 0, None, seed)
            yield from self._alike()
        for name, (n, ends) in (
            ("self-similarity", self.words.self_similarity(seed)),
            ("anisotropy", self.words.anisotropy()),
        ):
            yield from (Value(name, layer, None, *three, n) for layer, three in enumerate(ends))

    def _alike(self) -> Iterator[Value]:
        """CKA and RSA by layer and pooling; none if all states are the same."""
        for pooling in ("first", "mean"):
            own, before = self._pooled[pooling, 0], self._pooled[pooling, 1]
            for name, alike, most in (("cka", _cka, None), ("rsa", _rsa, MAX_IN_MATRIX)):
                for layer, (x, y) in enumerate(zip(own[:, :most], before[:, :most], strict=True)):
                    estimate = jackknife(partial(alike, x, y), len(x))
                    if estimate is not None:
                        value, low, high = estimate
                        yield Value(
                            f"{name}-{pooling}", layer, None, value, max(low, -1.0), min(high, max(1.0, value)), len(x)
                        )


def _cka(x: np.ndarray, y: np.ndarray, rows: np.ndarray) -> float | None:
    return linear_cka(x[rows], y[rows])


def _rsa(x: np.ndarray, y: np.ndarray, rows: np.ndarray) -> float | None:
    return rsa(x[rows], y[rows])


def _rows_of(name: str, by_sentence: np.ndarray, first_layer: int, head: int | None, seed: int) -> Iterator[Value]:
    """Means over sentences of (layers, sentences) values."""
    for number, (value, low, high) in enumerate(zip(*mean_intervals(by_sentence.T, seed), strict=True)):
        yield Value(name, first_layer + number, head, float(value), float(low), float(high), by_sentence.shape[1])
