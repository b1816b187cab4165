"""Hidden states of every layer at the mask, from one forward pass."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import torch

from probing.kernel.errors import ModelError
from probing.kernel.models.arrays import read_sealed, write_sealed
from probing.kernel.models.load import Encoder
from probing.kernel.models.states_masked_prompts import tokenize

TOKENS_A_BATCH = 4096
#: A batch of prompts with this many tokens takes no longer row: more tokens are not faster, and padding is wasted work.
ENOUGH_TOKENS = 256


def batches_by_length(
    lengths: Sequence[int], tokens: int = TOKENS_A_BATCH, enough: int | None = None
) -> Iterator[list[int]]:
    """Indices of the rows of each batch, sorted by length, with at most ``tokens`` padded tokens per batch.

    A longer row is a batch alone. A batch with ``enough`` tokens takes no longer row; None: it grows to ``tokens``.
    """
    batch: list[int] = []
    for i in sorted(range(len(lengths)), key=lambda i: (lengths[i], i)):
        longer = (
            bool(batch)
            and enough is not None
            and lengths[i] > lengths[batch[-1]]
            and len(batch) * lengths[batch[-1]] >= enough
        )
        if batch and (longer or (len(batch) + 1) * lengths[i] > tokens):
            yield batch
            batch = []
        batch.append(i)
    if batch:
        yield batch


def all_hidden_states(
    rows: Sequence[Sequence[int]], encoder: Encoder, types: Sequence[Sequence[int]] | None = None
) -> tuple[torch.Tensor, ...]:
    """States of layers 0..L for one padded batch, each (rows, tokens, hidden), on the encoder's device."""
    inputs = padded_inputs(rows, encoder, types)
    with torch.inference_mode():
        output = encoder.body(**inputs, output_hidden_states=True)
    states = output.hidden_states
    if len(states) != encoder.layers:
        raise ModelError(
            f"{encoder.name} gave {len(states)} hidden states, expected {encoder.layers} (embeddings and layers)"
        )
    return states


def padded_inputs(
    rows: Sequence[Sequence[int]], encoder: Encoder, types: Sequence[Sequence[int]] | None = None
) -> dict[str, torch.Tensor]:
    """Input ids, attention mask and, if given, token types of one batch, each (rows, tokens), on the device."""
    width = max(len(row) for row in rows)
    ids = torch.full((len(rows), width), encoder.tokenizer.pad_token_id or 0, dtype=torch.long)
    attention_mask = torch.zeros((len(rows), width), dtype=torch.long)
    for i, row in enumerate(rows):
        ids[i, : len(row)] = torch.tensor(row)
        attention_mask[i, : len(row)] = 1
    inputs = {"input_ids": ids, "attention_mask": attention_mask}
    if types is not None:
        inputs["token_type_ids"] = torch.tensor([[*row, *[0] * (width - len(row))] for row in types])
    return {name: tensor.to(encoder.device) for name, tensor in inputs.items()}


def states_at(
    rows: Sequence[Sequence[int]],
    positions: Sequence[int],
    encoder: Encoder,
    tokens: int = TOKENS_A_BATCH,
    passed: Callable[[int], None] | None = None,
) -> np.ndarray:
    """(layers, rows, hidden) states of layers 0..L at one position of each row, float32 or the encoder's float64.

    ``passed`` is called after each batch with its number of rows.
    """
    double = next(encoder.body.parameters()).dtype == torch.float64
    dtype = torch.float64 if double else torch.float32
    result = np.empty((encoder.layers, len(rows), encoder.hidden), dtype=np.float64 if double else np.float32)
    for batch in batches_by_length([len(row) for row in rows], tokens, ENOUGH_TOKENS):
        states = all_hidden_states([rows[i] for i in batch], encoder)
        index = torch.tensor([positions[i] for i in batch], device=encoder.device)
        which = torch.arange(len(batch), device=encoder.device)
        result[:, batch] = torch.stack([state[which, index] for state in states]).to(dtype).cpu().numpy()
        if passed:
            passed(len(batch))
    return result


def mask_positions(rows: Sequence[Sequence[int]], encoder: Encoder) -> list[int]:
    """Position of the one mask of each row; ModelError if a row does not have exactly one."""
    mask, positions = encoder.tokenizer.mask_token_id, []
    for row in rows:
        if row.count(mask) != 1:
            raise ModelError(f"a prompt became {row.count(mask)} mask tokens in {encoder.name}'s tokenizer, expected 1")
        positions.append(row.index(mask))
    return positions


def read_states(path: Path | None) -> np.ndarray | None:
    """Hidden states stored at ``path``, (layers, prompts, hidden); None if there are none that can be read."""
    if path is not None and path.is_file():
        with contextlib.suppress(OSError, KeyError):  # A missing or damaged cache file is computed again.
            return read_sealed(path)["states"]
    return None


def cached_states(
    prompts: Sequence[str],
    encoder: Encoder,
    path: Path | None,
    rows: Sequence[Sequence[int]] | None = None,
    later: Callable[..., None] | None = None,
    passed: Callable[[int], None] | None = None,
) -> np.ndarray:
    """(layers, prompts, hidden) states at the mask of each prompt; from ``path`` if they were computed before.

    ``rows`` are the prompts' token ids, if known. ``later`` schedules the writing; None writes at once. ``passed`` as
    in ``states_at``; never called if the states are read.
    """
    stored = read_states(path)
    if stored is not None:
        return stored
    rows = tokenize(prompts, encoder) if rows is None else rows
    states = states_at(rows, mask_positions(rows, encoder), encoder, TOKENS_A_BATCH, passed)
    if path is not None:
        if later is None:
            write_sealed({"states": states}, path)
        else:
            later(write_sealed, {"states": states}, path)
    return states
