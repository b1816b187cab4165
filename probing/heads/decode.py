"""Decodes hidden states with a head: ranks, log-probabilities and the best tokens, one block of facts at a time."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from probing.kernel.errors import ModelError
from probing.kernel.models.head import DecodingHead, Head, WholeHead

#: Rows decoded at once: (256, 30522) float32 logits are 31 MB for any number of facts, and stay in a CPU's cache.
ROWS = 256
#: Tokens of the vocabulary multiplied at once on a CPU: a block that fits its cache is faster than the whole matrix.
COLUMNS = 2048
#: Rows of logits start at multiples of this many numbers, because matrix products into other rows are slower.
ALIGNED = 64


@dataclass(frozen=True)
class Readout:
    """Predictions of one head for a block of facts; ranks from 1."""

    gold_rank: np.ndarray  #: (facts,) of the right answer in the vocabulary
    answer_rank: np.ndarray  #: (facts,) among the relation's answers
    swapped_rank: np.ndarray  #: (swapped,) of the answer of each fact that has this prompt as its swapped subject
    gold_logp: np.ndarray  #: (facts,) natural log-probability of the right answer
    top_ids: np.ndarray  #: (facts, k) best tokens, by score, then id
    top_logp: np.ndarray  #: (facts, k)


class LogitsBuffer:
    """A reused buffer for ``ROWS`` rows of logits: allocating memory for each block would cost more than reading it."""

    def __init__(self) -> None:
        self._room = torch.empty(0)

    def rows(self, count: int, vocabulary: int, like: torch.Tensor) -> torch.Tensor:
        """(count, vocabulary) uninitialised numbers like ``like``, in place of those of the last call."""
        width = -(-vocabulary // ALIGNED) * ALIGNED
        fits = self._room.dtype == like.dtype and self._room.device == like.device
        if not fits or self._room.numel() < count * width:
            self._room = torch.empty(max(count, ROWS) * width, dtype=like.dtype, device=like.device)
        return self._room[: count * width].view(count, width)[:, :vocabulary]


def decode(head: Head, states: torch.Tensor, buffer: LogitsBuffer) -> torch.Tensor:
    """(rows, hidden) -> (rows, vocabulary) logits, equal to ``head(states)``; in ``buffer``, if that is faster."""
    if isinstance(head, WholeHead):
        return head(states)
    inner = head.transform(states)
    weight, bias = head.vocabulary.weight, head.vocabulary.bias
    logits = buffer.rows(len(inner), len(weight), inner)
    step = COLUMNS if inner.device.type == "cpu" else len(weight)
    for first in range(0, len(weight), step):
        some = slice(first, first + step)
        torch.addmm(bias[some], inner, weight[some].T, out=logits[:, some])
    return logits


def layer_logits(heads: Sequence[Head], states: torch.Tensor, check: Callable[[], None] | None = None) -> torch.Tensor:
    """Logits of one position at every layer, (layers, hidden) -> (layers, vocabulary); ``check`` is called before each.

    Reading the vocabulary matrix is nearly all the work for one row, so heads that share it are decoded by one product.
    """
    inner, known = [], [head for head in heads if isinstance(head, DecodingHead)]
    for head, state in zip(heads, states, strict=True):
        if check:
            check()
        inner.append(head(state[None]) if isinstance(head, WholeHead) else head.transform(state[None]))
    if not known:
        return torch.cat(inner)
    matrix = known[0].vocabulary.weight
    if all(head.vocabulary.weight.data_ptr() == matrix.data_ptr() for head in known):
        logits = torch.mm(torch.cat(inner), matrix.T)
        for row, head in zip(logits, known, strict=True):
            row += head.vocabulary.bias
        return logits
    logits = inner[0].new_empty(len(known), len(matrix))
    for row, features, head in zip(logits, inner, known, strict=True):
        if check:
            check()
        torch.addmv(head.vocabulary.bias, head.vocabulary.weight, features[0], out=row)
    return logits


def best_tokens(scores: torch.Tensor, k: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The k best of each row, ordered by score, then id; (rows, k) values and ids."""
    k = min(k, scores.shape[1])
    values, ids = scores.topk(min(k + 1, scores.shape[1]), dim=1)
    # topk picks any of the tokens that tie at the cut. Rows in which the next token ties, too, are rare and are sorted
    # completely.
    tied = values[:, k - 1] == values[:, -1] if values.shape[1] > k else torch.zeros(len(values), dtype=torch.bool)
    values, ids = values[:, :k].contiguous(), ids[:, :k].contiguous()
    for row in torch.nonzero(tied).flatten().tolist():
        ids[row] = torch.sort(scores[row], descending=True, stable=True).indices[:k]
        values[row] = scores[row, ids[row]]
    by_id = ids.argsort(dim=1, stable=True)
    values, ids = values.gather(1, by_id), ids.gather(1, by_id)
    by_score = values.argsort(dim=1, descending=True, stable=True)
    return values.gather(1, by_score), ids.gather(1, by_score)


def ranks_of(scores: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
    """Rank of token ``ids`` in each row of ``scores``, from 1; ties take the worst rank."""
    return _at_least(scores, scores.gather(1, ids[:, None]))


def read_out(
    head: Head,
    states: np.ndarray,
    gold: Sequence[int],
    swapped: Sequence[Sequence[int]],
    answers: Sequence[Sequence[int]],
    top_k: int,
    device: torch.device,
    buffer: LogitsBuffer | None = None,
) -> Readout:
    """Decodes a block of facts at one layer; never holds more than ``ROWS`` rows of logits.

    ``states``: (facts, hidden) at the mask; for each fact, ``swapped`` are the answers of those that have its prompt as
    their swapped subject, ``answers`` those of its relation, as token ids. ModelError: a logit is NaN or infinite.
    """
    buffer = buffer or LogitsBuffer()
    parts: list[tuple[np.ndarray, ...]] = []
    with torch.inference_mode():
        for first in range(0, len(states), ROWS):
            rows = slice(first, first + ROWS)
            logits = decode(head, torch.from_numpy(states[rows]).to(device), buffer)
            norm = logits.logsumexp(1, keepdim=True)
            # A NaN or infinite logit makes its row's logsumexp non-finite.
            if not torch.isfinite(norm).all():
                raise ModelError("a head gave logits that are not finite; its training has diverged")
            own = logits.gather(1, torch.tensor(gold[rows], device=device)[:, None])
            values, ids = best_tokens(logits, top_k)
            columns = (
                _at_least(logits, own),
                _ranks_among(logits, own, answers[rows]),
                _swapped_ranks(logits, swapped[rows]),
                (own - norm)[:, 0],
                ids,
                values - norm,
            )
            parts.append(tuple(column.cpu().numpy() for column in columns))
    joined = [np.concatenate(column) for column in zip(*parts, strict=True)]
    kinds = (np.uint32, np.uint32, np.uint32, np.float32, np.uint32, np.float32)
    return Readout(*(column.astype(kind) for column, kind in zip(joined, kinds, strict=True)))


def _at_least(scores: torch.Tensor, thresholds: torch.Tensor) -> torch.Tensor:
    """Number of scores of each row that reach that row's threshold, (rows, 1)."""
    # In 32 bits, because torch sums booleans more slowly in 64, and no vocabulary has that many tokens.
    return (scores >= thresholds).sum(1, dtype=torch.int32)


def _swapped_ranks(logits: torch.Tensor, swapped: Sequence[Sequence[int]]) -> torch.Tensor:
    """(swapped,) ranks of the tokens in ``swapped`` in each row; one that occurs several times is ranked once."""
    asking = np.repeat(np.arange(len(swapped)), [len(tokens) for tokens in swapped])
    tokens = np.array([token for some in swapped for token in some], dtype=np.int64)
    different, where = np.unique(asking * logits.shape[1] + tokens, return_inverse=True)
    rows, ids = np.divmod(different, logits.shape[1])
    # Number of tokens before it in the same row.
    turn = np.arange(len(rows)) - np.searchsorted(rows, rows)
    ranks = torch.empty(len(rows), dtype=torch.int32)
    for number in range(turn.max(initial=-1) + 1):
        some = np.flatnonzero(turn == number)
        index = torch.from_numpy(rows[some]).to(logits.device)
        own_scores = logits[index, torch.from_numpy(ids[some]).to(logits.device)][:, None]
        # Selecting rows copies them, which takes longer than ranking some for nothing.
        if 2 * len(some) > len(logits):
            every = logits[:, :1].clone()
            every[index] = own_scores
            counts = _at_least(logits, every)[index]
        else:
            counts = _at_least(logits[index], own_scores)
        ranks[torch.from_numpy(some)] = counts.cpu()
    return ranks[torch.from_numpy(where)]


def _ranks_among(logits: torch.Tensor, own: torch.Tensor, answers: Sequence[Sequence[int]]) -> torch.Tensor:
    """(rows,) rank of ``own``, (rows, 1), among the answers; facts of one relation share one list object."""
    ranks = torch.empty(len(logits), dtype=torch.int32, device=logits.device)
    relations: dict[int, list[int]] = {}
    for row, ids in enumerate(answers):
        relations.setdefault(id(ids), []).append(row)
    for rows in relations.values():
        index = torch.tensor(rows, device=logits.device)
        among = logits[index[:, None], torch.tensor(answers[rows[0]], device=logits.device)]
        ranks[index] = _at_least(among, own[index])
    return ranks
