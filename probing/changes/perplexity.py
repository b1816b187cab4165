"""Cross-entropy of one head on any body, with layers replaced by the base's (Mosbach et al. 2020, section 5.2).

The head is always the base's. A block's masks depend on its number and the seed alone, so all models with the same
tokenizer and all numbers of replaced layers predict the same tokens.
"""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from probing.kernel.errors import TextError
from probing.kernel.models.arrays import mask_pieces
from probing.kernel.models.check import token_ids
from probing.kernel.models.head import Head
from probing.kernel.models.layer_swap import replaced_batch
from probing.kernel.models.load import Encoder
from probing.kernel.models.states import all_hidden_states
from probing.kernel.options import spelled

#: Default number of word pieces per block, special tokens included, and default number of blocks.
BLOCK_PIECES, BLOCKS = 128, 300
MASKED_SHARE = 0.15
#: Word pieces per forward pass.
_PIECES_A_BATCH = 2048
#: Lines tokenised at once.
_LINES = 1000


@dataclass(frozen=True)
class MaskedBlocks:
    """Blocks of a text in which some word pieces are masked."""

    ids: np.ndarray  #: (blocks, pieces) token ids of the input, masks included
    labels: np.ndarray  #: (blocks, pieces) token ids of the text
    at: np.ndarray  #: (blocks, pieces) bool, the pieces that are predicted
    numbers: np.ndarray  #: (blocks,) their positions in the text

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def sha256(self) -> str:
        """Checksum of inputs, labels and masks."""
        digest = hashlib.sha256(repr(self.ids.shape).encode())
        for array in (self.ids, self.labels, self.at):
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()

    @property
    def masked(self) -> np.ndarray:
        """(blocks,) number of predicted pieces of each block."""
        return self.at.sum(1)

    def batches(self) -> Iterator[slice]:
        """Blocks of each forward pass. The last digits of a sum depend on the batch, so batches are always the same."""
        step = max(1, _PIECES_A_BATCH // self.ids.shape[1])
        yield from (slice(first, min(first + step, len(self))) for first in range(0, len(self), step))


def masked_blocks(
    lines: Sequence[str],
    tokenizer: PreTrainedTokenizerBase,
    blocks: int = BLOCKS,
    pieces: int = BLOCK_PIECES,
    seed: int = 0,
) -> MaskedBlocks:
    """Blocks of the concatenated lines, masked as in BERT's training: 15 % of the pieces.

    Blocks are spread over the text; a smaller number is a subset of a larger one. ``pieces`` includes special tokens.
    """
    ends = tokenizer("")["input_ids"]
    inside = pieces - len(ends)
    if inside < 1 or blocks < 1:
        raise TextError(f"got {blocks} blocks of {pieces} pieces, expected 1 or more of at least {len(ends) + 1}")
    text = _pieces(lines, tokenizer)
    there = len(text) // inside
    if there < blocks:
        raise TextError(
            f"the text gives {there} blocks of {pieces} pieces, expected {blocks}; ask for fewer ({spelled('blocks')})"
            " or give more text"
        )
    numbers = np.sort(np.random.default_rng([seed, inside]).permutation(there)[:blocks])
    labels = np.empty((blocks, pieces), np.int64)
    labels[:, :1], labels[:, 1 + inside :] = ends[:1], ends[1:]
    labels[:, 1 : 1 + inside] = text[: there * inside].reshape(there, inside)[numbers]
    special = np.array(sorted(set(tokenizer.all_special_ids)))
    ordinary = np.setdiff1d(token_ids(tokenizer), special)
    ids, at = labels.copy(), np.zeros(labels.shape, bool)
    for row, number in enumerate(numbers):
        # Every block takes the same number of draws, so the masks of one block do not depend on the text of another.
        rng = np.random.default_rng([seed, int(number)])
        chosen, dice, other = rng.random(pieces), rng.random(pieces), rng.choice(ordinary, pieces)
        at[row] = (chosen < MASKED_SHARE) & ~np.isin(labels[row], special)
        here = at[row]
        ids[row, here] = mask_pieces(ids[row, here], dice[here], other[here].__getitem__, tokenizer.mask_token_id)
    return MaskedBlocks(ids, labels, at, numbers)


def _pieces(lines: Sequence[str], tokenizer: PreTrainedTokenizerBase) -> np.ndarray:
    """(pieces,) token ids of the whole text."""
    parts = [
        np.array(row, np.int64)
        for start in range(0, len(lines), _LINES)
        for row in tokenizer(list(lines[start : start + _LINES]), add_special_tokens=False, verbose=False)["input_ids"]
    ]
    return np.concatenate([np.empty(0, np.int64), *parts])


def cross_entropy(
    body: PreTrainedModel, head: Head, blocks: MaskedBlocks, passed: Callable[[], object] | None = None
) -> np.ndarray:
    """(blocks,) cross-entropy in nats, summed over the masked pieces of each block.

    The body returns to its own mode afterwards; ``passed`` is called after each batch.
    """
    training = body.training
    body.eval()
    sums = []
    try:
        for some in blocks.batches():
            ids = torch.from_numpy(blocks.ids[some]).to(body.device)
            with torch.inference_mode():
                states = body(input_ids=ids, attention_mask=torch.ones_like(ids)).last_hidden_state
            sums.append(_sums(states, head, blocks, some))
            if passed:
                passed()
    finally:
        body.train(training)
    return np.concatenate(sums)


def replaced_cross_entropy(
    tuned: Encoder,
    base: Encoder,
    where: Literal["last", "first", "single"],
    blocks: MaskedBlocks,
    passed: Callable[[], object] | None = None,
) -> np.ndarray:
    """(n, blocks) sums with n = 0..L layers replaced by the base's, read by its head; ``single``: layer n alone.

    n = 0 is the fine-tuned model to the last bit. NotReplaceable: the two do not fit, or share layers (ALBERT).
    """
    sums = []
    for some in blocks.batches():
        rows = blocks.ids[some].tolist()
        sums.append([_sums(states, base.head, blocks, some) for _, states in replaced_batch(rows, tuned, base, where)])
        if passed:
            passed()
    return np.concatenate([np.array(part) for part in sums], axis=1)


def base_cross_entropy(base: Encoder, blocks: MaskedBlocks, passed: Callable[[], object] | None = None) -> np.ndarray:
    """(blocks,) sums of the base: the fine-tuned model after all layers and embeddings are replaced."""
    sums = []
    for some in blocks.batches():
        sums.append(_sums(all_hidden_states(blocks.ids[some].tolist(), base)[-1], base.head, blocks, some))
        if passed:
            passed()
    return np.concatenate(sums)


def _sums(states: torch.Tensor, head: Head, blocks: MaskedBlocks, some: slice) -> np.ndarray:
    """(blocks,) sums of one batch; each block is decoded separately, so its sum does not depend on the others."""
    sums = []
    with torch.inference_mode():
        for row, number in zip(states, range(some.start, some.stop), strict=True):
            at = torch.from_numpy(blocks.at[number])
            labels = torch.from_numpy(blocks.labels[number])[at].to(row.device)
            logits = head(row[at.to(row.device)])
            sums.append(
                float(torch.nn.functional.cross_entropy(logits.float(), labels, reduction="none").double().sum())
            )
    return np.array(sums)
