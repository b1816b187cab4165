"""Forward passes that return attention with the states: of one sentence, its distance, repeated words and pairs."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd
import torch
from transformers import BatchEncoding

from probing.changes.attention import (
    TokenKinds,
    as_distributions,
    entropy,
    mean_cosine,
    movers_distance,
    total_variation,
    unit_rows,
)
from probing.changes.minimal_pairs import Gap, MinimalPair
from probing.kernel.errors import ModelError, PromptError
from probing.kernel.models.check import tokens_of
from probing.kernel.models.layer_swap import sharing_copy
from probing.kernel.models.load import Encoder
from probing.kernel.models.states import all_hidden_states, fill_gaps, own_mask, states_at
from probing.kernel.models.tokens import token_texts
from probing.kernel.questions import TooLong, with_masks
from probing.kernel.text import SPACE, refuse_half_characters

#: Word pieces per forward pass. Attention needs this number times the length of a row, for every layer and head.
_PIECES_A_BATCH = 1024


@dataclass(frozen=True)
class Passed:
    """The result of one forward pass over rows of equal length."""

    numbers: np.ndarray  #: (rows,) indices of these rows among all rows
    maps: np.ndarray  #: (layers, rows, heads, tokens, tokens) of layers 1..L, from the last axis but one to the last
    states: np.ndarray  #: (layers, rows, tokens, hidden) of layers 0..L, float64


class Attending:
    """An encoder that returns its attention; it shares all weights with the encoder that it is made from."""

    def __init__(self, encoder: Encoder):
        # transformers hooks a model's layers at its first pass. A copy made before that pass has the hooks twice or not
        # at all.
        all_hidden_states([[encoder.tokenizer.mask_token_id]], encoder)
        body = sharing_copy(encoder.body)
        # Faster kernels do not return attention: they return an empty tuple and write one log line.
        body.set_attn_implementation("eager")
        self.encoder = replace(encoder, body=body)
        self.heads = int(body.config.num_attention_heads)

    def read(
        self, rows: Sequence[Sequence[int]], types: Sequence[Sequence[int]] | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Maps and states, as ``Passed`` has them, of rows of one length, so that nothing is padded."""
        device = self.encoder.device
        ids = torch.tensor([list(row) for row in rows], device=device)
        more = (
            {"token_type_ids": torch.tensor([list(row) for row in types], device=device)} if types is not None else {}
        )
        with torch.inference_mode():
            output = self.encoder.body(
                input_ids=ids,
                attention_mask=torch.ones_like(ids),
                output_attentions=True,
                output_hidden_states=True,
                **more,
            )
        attentions = output.attentions or ()
        if len(attentions) != self.encoder.depth:
            raise ModelError(
                f"{self.encoder.name} returned the attention of {len(attentions)} layers, expected {self.encoder.depth}"
            )
        return as_distributions(torch.stack(attentions).cpu().numpy()), torch.stack(
            output.hidden_states
        ).double().cpu().numpy()

    def passes(self, rows: Sequence[Sequence[int]]) -> Iterator[Passed]:
        """All rows, batched by length; nothing is padded, so no number depends on other rows."""
        for batch in batches_of_equal_length([len(row) for row in rows]):
            yield Passed(np.array(batch), *self.read([rows[number] for number in batch]))

    def kinds(self, rows: Sequence[Sequence[int]]) -> TokenKinds:
        """Masks of the separators and of the punctuation in rows of equal length."""
        ids = np.array([list(row) for row in rows])
        separator, punctuation = self._by_id
        return TokenKinds(separator[ids], punctuation[ids])

    def no_words(self) -> np.ndarray:
        """(tokens,) bool: the tokens of the vocabulary that are special or punctuation, so no part of a word."""
        marked = self._by_id[1].copy()
        marked[list(self.encoder.tokenizer.all_special_ids)] = True
        return marked

    @cached_property
    def _by_id(self) -> tuple[np.ndarray, np.ndarray]:
        return _kinds_by_id(self.encoder)


def batches_of_equal_length(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Indices of the rows of each batch: rows of one length, shorter ones first."""
    of_length: dict[int, list[int]] = {}
    for number, length in enumerate(lengths):
        of_length.setdefault(length, []).append(number)
    for length, numbers in sorted(of_length.items()):
        size = max(1, _PIECES_A_BATCH // length)
        yield from (numbers[first : first + size] for first in range(0, len(numbers), size))


def _kinds_by_id(encoder: Encoder) -> tuple[np.ndarray, np.ndarray]:
    """(tokens,) bool each: separators, and punctuation, which has neither letter nor digit nor space."""
    tokenizer = encoder.tokenizer
    tokens = tokens_of(tokenizer)
    special = set(tokenizer.all_special_ids)
    separator = np.array([number == tokenizer.sep_token_id for number in range(len(tokens))])
    texts = [token.text.removeprefix("##") for token in token_texts(tokenizer, tokens)]
    marks = [
        bool(text) and text != SPACE and not any(sign.isalnum() or sign.isspace() for sign in text) for text in texts
    ]
    return separator, np.array([mark and number not in special for number, mark in enumerate(marks)])


#: A sentence's token ids, the place of one of its masks, and the token that is wanted there.
_Piece = tuple[tuple[int, ...], int, int]


@dataclass(frozen=True)
class RepeatedWord:
    """A word that occurs more than once in a sentence; in lower case if the model is uncased."""

    word: str
    places: tuple[tuple[int, ...], ...]  #: positions of each occurrence's pieces
    similarity: np.ndarray  #: (layers,) mean cosine of its states, from layer 0 on
    before: np.ndarray | None  #: the same in the base


@dataclass(frozen=True)
class OneModel:
    """The attention of one model in layers 1..L."""

    name: str
    maps: np.ndarray  #: (layers, heads, tokens, tokens), from the last axis but one to the last
    entropy: np.ndarray  #: (layers, heads, tokens), in nats
    #: target (``first``, ``separator``, ``punctuation``, ``self``) -> (layers, heads, tokens)
    shares: dict[str, np.ndarray]

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in (self.maps, self.entropy, *self.shares.values()))


@dataclass(frozen=True)
class SentenceAttention:
    """Attention on one sentence, or pair of sentences, in a model and in its base."""

    tokens: tuple[str, ...]  #: word pieces, special ones included
    own: OneModel
    before: OneModel | None
    distance: np.ndarray | None  #: (layers, heads, tokens) earth mover's distance from the base, in tokens
    variation: np.ndarray | None  #: (layers, heads, tokens) total variation
    repeated: tuple[RepeatedWord, ...]

    @property
    def nbytes(self) -> int:
        return sum(part.nbytes for part in (self.own, self.before, self.distance, self.variation) if part is not None)

    def by_layer(self, token: int | None = 0, head: int | None = None) -> Iterator[tuple[str, str, np.ndarray]]:
        """Measure, model and (layers,) values of layers 1..L, of one token and head or (None) their mean."""

        def chosen(values: np.ndarray) -> np.ndarray:
            of_head = values.mean(1) if head is None else values[:, head]
            of_token: np.ndarray = of_head.mean(1) if token is None else of_head[:, token]
            return of_token

        for model in (self.before, self.own):
            if model is not None:
                for measure, values in {"entropy": model.entropy, **model.shares}.items():
                    yield measure, model.name, chosen(values)
        for measure, between in (("distance", self.distance), ("variation", self.variation)):
            if between is not None:
                yield measure, self.own.name, chosen(between)

    def similarities(self) -> pd.DataFrame:
        """``model, word, times, layer, similarity`` of the words that occur more than once."""
        rows = [
            (model.name, word.word, len(word.places), layer, float(value))
            for word in self.repeated
            for model, values in ((self.before, word.before), (self.own, word.similarity))
            if model is not None and values is not None
            for layer, value in enumerate(values)
        ]
        return pd.DataFrame(rows, columns=["model", "word", "times", "layer", "similarity"])


def ask_attention(
    text: str, model: Attending, base: Attending | None = None, pair: str = "", pause: Callable[[], None] = lambda: None
) -> SentenceAttention:
    """Attention of every layer and head for one sentence, or for two.

    ``pause`` is called when no model is in use; an error that it raises stops the computation. PromptError: no text, or
    too long; ModelError: the two models split it into different pieces.
    """
    if not text.strip():
        raise PromptError("the sentence is empty; expected words")
    refuse_half_characters(text + pair, "the sentence", PromptError)
    tokenizer = model.encoder.tokenizer
    sentences = [
        own_mask(with_masks(sentence), model.encoder) for sentence in ((text, pair) if pair.strip() else (text,))
    ]
    coded = tokenizer([sentences] if len(sentences) > 1 else sentences, verbose=False)
    row, types = coded["input_ids"][0], coded.get("token_type_ids") if len(sentences) > 1 else None
    readers = [model] if base is None else [model, base]
    for reader in readers:
        if len(row) > reader.encoder.max_pieces:
            raise TooLong(
                f"the text is {len(row)} word pieces long; {reader.encoder.name} takes at most"
                f" {reader.encoder.max_pieces}",
                len(row),
                reader.encoder.max_pieces,
            )
    if base is not None and base.encoder.tokenizer(*sentences, verbose=False)["input_ids"] != row:
        raise ModelError(
            f"{model.encoder.name} and {base.encoder.name} split the sentence into different tokens, so they cannot be"
            " compared"
        )
    kinds, models, states = model.kinds([row]), [], []
    for reader in readers:
        pause()
        maps, hidden = reader.read([row], types)
        models.append(_one_model(reader.encoder.name, maps[:, 0], kinds.separator[0], kinds.punctuation[0]))
        states.append(hidden[:, 0])
    tokens = tuple(str(token) for token in tokenizer.convert_ids_to_tokens(row))
    own, before = models[0], models[1] if base is not None else None
    return SentenceAttention(
        tokens,
        own,
        before,
        _between(movers_distance, own, before, pause) if before else None,
        _between(total_variation, own, before, pause) if before else None,
        tuple(_repeated(coded, tokens, model, states)),
    )


def _one_model(name: str, maps: np.ndarray, separator: np.ndarray, punctuation: np.ndarray) -> OneModel:
    # Copies: a view would keep the maps in float64.
    shares = {
        "first": maps[..., 0].copy(),
        "separator": maps[..., separator].sum(-1),
        "punctuation": maps[..., punctuation].sum(-1),
        "self": np.diagonal(maps, axis1=-2, axis2=-1).copy(),
    }
    return OneModel(name, maps.astype(np.float32), np.stack([entropy(layer) for layer in maps]), shares)


def _between(
    measure: Callable[..., np.ndarray], own: OneModel, before: OneModel, pause: Callable[[], None]
) -> np.ndarray:
    """(layers, heads, tokens) of a distance; layer by layer, to save memory."""
    distances = []
    for ours, theirs in zip(own.maps, before.maps, strict=True):
        pause()
        distances.append(measure(ours.astype(np.float64), theirs.astype(np.float64)))
    return np.stack(distances)


def _repeated(
    coded: BatchEncoding, tokens: Sequence[str], model: Attending, states: Sequence[np.ndarray]
) -> Iterator[RepeatedWord]:
    """Words that occur more than once; the two sentences of a pair count as one text."""
    row, no_words, tokenizer = coded["input_ids"][0], model.no_words(), model.encoder.tokenizer
    of_words: dict[tuple[int, ...], list[tuple[int, ...]]] = {}
    at: dict[tuple[int | None, int], list[int]] = {}
    for place, (sequence, word) in enumerate(zip(coded.sequence_ids(0), coded.word_ids(0), strict=True)):
        if word is not None:
            at.setdefault((sequence, word), []).append(place)
    for places in at.values():
        pieces = [row[place] for place in places]
        if not no_words[pieces].any():
            of_words.setdefault(tuple(pieces), []).append(tuple(places))
    for occurrences in of_words.values():
        if len(occurrences) > 1:
            text = "".join(
                piece.removeprefix("##")
                for piece, _ in token_texts(tokenizer, [tokens[place] for place in occurrences[0]])
            )
            units = [
                unit_rows(np.stack([of_model[:, list(occurrence)].mean(1) for occurrence in occurrences]))
                for of_model in states
            ]
            alike = [mean_cosine(unit.sum(0), len(occurrences)) for unit in units]
            yield RepeatedWord(text, tuple(occurrences), alike[0], alike[1] if len(alike) > 1 else None)


def pair_scores(
    pairs: Sequence[MinimalPair], encoder: Encoder, pause: Callable[[], None] = lambda: None
) -> list[np.ndarray | PromptError]:
    """Of each minimal pair, (layers, 2) log-probabilities of its good and bad word, by the logit lens at layers 0..L.

    Every piece of a word is masked, and the log-probabilities of its pieces are added, so words of several pieces are
    at a disadvantage. An error says why a pair cannot be asked. ``pause`` is called between passes.
    """
    read: list[tuple[list[_Piece], list[_Piece]] | PromptError] = []
    for pair in pairs:
        try:
            read.append((_pieces(pair.good, encoder), _pieces(pair.bad, encoder)))
        except PromptError as error:
            read.append(error)
    pieces = list(
        dict.fromkeys(piece for of_pair in read if isinstance(of_pair, tuple) for gap in of_pair for piece in gap)
    )
    # Both words of a gap are read at one state.
    spots = {spot: n for n, spot in enumerate(dict.fromkeys(piece[:2] for piece in pieces))}
    states = states_at([row for row, _ in spots], [place for _, place in spots], encoder, passed=lambda _: pause())
    index = [spots[piece[:2]] for piece in pieces], [token for _, _, token in pieces]
    layers = []
    with torch.inference_mode():
        for state in states:
            pause()
            logp = encoder.head(torch.from_numpy(state).to(encoder.device)).log_softmax(-1)
            layers.append(logp[index].double().cpu().numpy())
    score = dict(zip(pieces, np.stack(layers, axis=1), strict=True))
    return [
        (
            of_pair
            if isinstance(of_pair, PromptError)
            else np.stack([np.sum([score[piece] for piece in gap], axis=0) for gap in of_pair], axis=1)
        )
        for of_pair in read
    ]


def _pieces(gap: Gap, encoder: Encoder) -> list[_Piece]:
    """The pieces of a gap's word, all masked."""
    (filled,) = fill_gaps([gap.sentence], [[gap.word]], encoder)
    row, places = filled.ids, filled.own_pieces(0)
    if len(row) > encoder.max_pieces:
        raise TooLong(
            f"the sentence is {len(row)} word pieces long; {encoder.name} takes at most {encoder.max_pieces}",
            len(row),
            encoder.max_pieces,
        )
    tokens = [row[place] for place in places]
    if not places or encoder.tokenizer.unk_token_id in tokens:
        raise PromptError(
            f"{gap.word!r} is unknown to {encoder.name}, or one token with letters beside it; choose another word"
        )
    for place in places:
        row[place] = encoder.tokenizer.mask_token_id
    return [(tuple(row), place, token) for place, token in zip(places, tokens, strict=True)]
