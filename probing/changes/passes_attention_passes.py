"""Forward passes that return the attention of every layer and head with the states."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch

from probing.changes.attention_attention import TokenKinds, as_distributions
from probing.kernel.errors import ModelError
from probing.kernel.models.layer_swap import sharing_copy
from probing.kernel.models.load import Encoder
from probing.kernel.models.states import all_hidden_states
from probing.kernel.models.tokens import token_texts
from probing.kernel.text import SPACE

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
    tokens = [str(token) for token in tokenizer.convert_ids_to_tokens(list(range(len(tokenizer))))]
    special = set(tokenizer.all_special_ids)
    separator = np.array([number == tokenizer.sep_token_id for number in range(len(tokens))])
    texts = [token.text.removeprefix("##") for token in token_texts(tokenizer, tokens)]
    marks = [
        bool(text) and text != SPACE and not any(sign.isalnum() or sign.isspace() for sign in text) for text in texts
    ]
    return separator, np.array([mark and number not in special for number, mark in enumerate(marks)])
