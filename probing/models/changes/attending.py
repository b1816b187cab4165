"""Passes that give the attention of every layer and head beside the states."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch

from probing.core.changes.attention import TokenKinds, as_distributions
from probing.core.errors import ModelError
from probing.core.tokens.text import SPACE
from probing.models.encoders.hidden_states import all_hidden_states
from probing.models.encoders.layer_swap import sharing_copy
from probing.models.encoders.load import Encoder
from probing.models.encoders.token_text import token_texts

#: Pieces that are passed at once: attention takes their number times the length of a row, for every layer and head.
_PIECES_A_BATCH = 1024


@dataclass(frozen=True)
class Passed:
    """What one pass gives of rows of equal length.

    Attributes:
        numbers: (rows,) of the rows among all that were given.
        maps: (layers, rows, heads, tokens, tokens) attention of layers 1..L, from the second last axis to the last.
        states: (layers, rows, tokens, hidden) of layers 0..L, float64.
    """

    numbers: np.ndarray
    maps: np.ndarray
    states: np.ndarray


class Attending:
    """An encoder that says what it attends to; it shares every weight with the one that it is made of."""

    def __init__(self, encoder: Encoder):
        # transformers hooks a model's layers at its first pass: without one, a copy has the hooks twice or lacks them.
        all_hidden_states([[encoder.tokenizer.mask_token_id]], encoder)
        body = sharing_copy(encoder.body)
        # Faster kernels compute no attention that could be given: they answer with an empty tuple, and say so in a log line alone.
        body.set_attn_implementation("eager")
        self.encoder = replace(encoder, body=body)
        self.heads = int(body.config.num_attention_heads)

    def read(self, rows: Sequence[Sequence[int]], types: Sequence[Sequence[int]] | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Maps and states, as ``Passed`` has them, of rows that all have the same length, so that nothing is padded.

        Args:
            rows: token ids.
            types: token types, for pairs of sentences.

        Raises:
            ModelError: if the model gives no attention.
        """
        device = self.encoder.device
        ids = torch.tensor([list(row) for row in rows], device=device)
        more = {"token_type_ids": torch.tensor([list(row) for row in types], device=device)} if types is not None else {}
        with torch.inference_mode():
            output = self.encoder.body(
                input_ids=ids, attention_mask=torch.ones_like(ids), output_attentions=True, output_hidden_states=True, **more
            )
        found = output.attentions or ()
        if len(found) != self.encoder.layers:
            raise ModelError(f"{self.encoder.name} gave the attention of {len(found)} layers, expected {self.encoder.layers}")
        return as_distributions(torch.stack(found).cpu().numpy()), torch.stack(output.hidden_states).double().cpu().numpy()

    def passes(self, rows: Sequence[Sequence[int]]) -> Iterator[Passed]:
        """All rows, those of equal length together; nothing is padded, so that no number depends on other rows."""
        for batch in batches_of_equal_length([len(row) for row in rows]):
            yield Passed(np.array(batch), *self.read([rows[number] for number in batch]))

    def kinds(self, rows: Sequence[Sequence[int]]) -> TokenKinds:
        """Which tokens of rows of equal length are separators, and which punctuation."""
        ids = np.array([list(row) for row in rows])
        separator, punctuation = self._by_id
        return TokenKinds(separator[ids], punctuation[ids])

    def no_words(self) -> np.ndarray:
        """(tokens,) bool: which tokens are special or punctuation, and no part of a word."""
        found = self._by_id[1].copy()
        found[list(self.encoder.tokenizer.all_special_ids)] = True
        return found

    @cached_property
    def _by_id(self) -> tuple[np.ndarray, np.ndarray]:
        return _kinds_by_id(self.encoder)


def batches_of_equal_length(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Numbers of the rows of each batch, shorter ones first: rows of one length, at most some thousand tokens."""
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
    texts = [found.text.removeprefix("##") for found in token_texts(tokenizer, tokens)]
    marks = [bool(text) and text != SPACE and not any(sign.isalnum() or sign.isspace() for sign in text) for text in texts]
    return separator, np.array([mark and number not in special for number, mark in enumerate(marks)])
