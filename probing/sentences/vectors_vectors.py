"""Sentence vectors of every layer from one pass: the first token's state and the mean over all tokens."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from probing.kernel.errors import ModelError
from probing.kernel.models.load import Encoder
from probing.kernel.models.states import all_hidden_states, batches_by_length
from probing.sentences.examples import POOLINGS, Example

TOKENS_A_BATCH = 4096
ENOUGH_TOKENS = 1024


@dataclass(frozen=True)
class Row:
    """The input of an encoder for a sentence or a pair, special tokens included."""

    ids: tuple[int, ...]
    types: tuple[int, ...] = ()  #: of a pair, if the encoder has several; empty: all 0


def sentence_rows(examples: Sequence[Example], encoder: Encoder) -> list[Row | None]:
    """Token ids of each sentence or pair, never truncated; None if it has more pieces than the model takes."""
    if not examples:
        return []
    rows: list[Row | None] = [None] * len(examples)
    # A pair with an empty second text would have one separator more than the text alone.
    for paired in (False, True):
        chosen = [place for place, example in enumerate(examples) if bool(example.pair) is paired]
        if not chosen:
            continue
        seconds = [examples[place].pair for place in chosen] if paired else None
        read = encoder.tokenizer([examples[place].text for place in chosen], seconds, truncation=False, verbose=False)
        # As in fine-tuning, types come from the tokenizer if the encoder has more than one.
        types = (
            read.get("token_type_ids") if paired and getattr(encoder.body.config, "type_vocab_size", 1) > 1 else None
        )
        for number, (place, ids) in enumerate(zip(chosen, read["input_ids"], strict=True)):
            if len(ids) <= encoder.max_pieces:
                rows[place] = Row(tuple(ids), tuple(types[number]) if types else ())
    return rows


def pooled_states(
    rows: Sequence[Row], encoder: Encoder, passed: Callable[[int], None] | None = None, tokens: int = TOKENS_A_BATCH
) -> np.ndarray:
    """(poolings, layers, sentences, hidden) float32: first token, then mean, of layers 0..L.

    The mean is with special tokens and without padding. ``passed`` is called after each batch with its number of rows.
    ModelError: a state is not finite.
    """
    result = np.empty((len(POOLINGS), encoder.layers, len(rows), encoder.hidden), np.float32)
    for batch in batches_by_length([len(row.ids) for row in rows], tokens, ENOUGH_TOKENS):
        chosen = [rows[place] for place in batch]
        width = max(len(row.ids) for row in chosen)
        types = [row.types or (0,) * len(row.ids) for row in chosen] if any(row.types for row in chosen) else None
        states = all_hidden_states([row.ids for row in chosen], encoder, types)
        share = torch.tensor([[1 / len(row.ids)] * len(row.ids) + [0.0] * (width - len(row.ids)) for row in chosen])[
            :, None
        ]
        share = share.to(encoder.device)
        with torch.inference_mode():
            for layer, state in enumerate(states):
                state = state.float()
                result[0, layer, batch] = state[:, 0].cpu().numpy()
                result[1, layer, batch] = torch.bmm(share, state)[:, 0].cpu().numpy()
        if not np.isfinite(result[:, :, batch]).all():
            raise ModelError(
                f"{encoder.name} gave states that are not finite; use float32 on another device, or other weights"
            )
        if passed:
            passed(len(batch))
    return result
