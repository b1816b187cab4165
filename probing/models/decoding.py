"""Reads hidden states through a head: ranks, log-probabilities and the best tokens, a block of facts at a time."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from probing.core.errors import ModelError
from probing.models.heads import DecodingHead

#: Rows decoded at once: (256, 30522) float32 logits are 31 MB, whatever the number of facts.
ROWS = 256


@dataclass(frozen=True)
class Readout:
    """What one head says of a block of facts.

    Attributes:
        gold_rank: (facts,) rank of the right answer in the vocabulary, from 1.
        answer_rank: (facts,) its rank among the relation's answers.
        guest_rank: (facts,) rank, at this fact's prompt, of the answer of the fact that borrows the prompt.
        gold_logp: (facts,) natural log-probability of the right answer.
        top_ids: (facts, k) best tokens, by score, then id.
        top_logp: (facts, k) their log-probabilities.
    """

    gold_rank: np.ndarray
    answer_rank: np.ndarray
    guest_rank: np.ndarray
    gold_logp: np.ndarray
    top_ids: np.ndarray
    top_logp: np.ndarray


def best_tokens(scores: torch.Tensor, k: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The k best of each row, ordered by score, then id; (rows, k) values and ids."""
    k = min(k, scores.shape[1])
    values, ids = scores.topk(k, dim=1)
    cut = values[:, -1:]
    # topk picks any of the tokens that tie at the cut; the few rows where that matters are sorted whole.
    for row in torch.nonzero((scores >= cut).sum(1) > k).flatten().tolist():
        ids[row] = torch.sort(scores[row], descending=True, stable=True).indices[:k]
        values[row] = scores[row, ids[row]]
    by_id = ids.argsort(dim=1, stable=True)
    values, ids = values.gather(1, by_id), ids.gather(1, by_id)
    by_score = values.argsort(dim=1, descending=True, stable=True)
    return values.gather(1, by_score), ids.gather(1, by_score)


def ranks_of(scores: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
    """Rank of token ``ids`` in each row of ``scores``, from 1; ties take the worst place."""
    return (scores >= scores.gather(1, ids[:, None])).sum(1)


def read_out(
    head: DecodingHead,
    states: np.ndarray,
    gold: Sequence[int],
    guests: Sequence[int],
    answers: Sequence[Sequence[int]],
    top_k: int,
    device: torch.device,
) -> Readout:
    """Decodes a block of facts at one layer; never holds more than ``ROWS`` rows of logits.

    Args:
        head: the layer's head.
        states: (facts, hidden) hidden states at the mask.
        gold: token id of each right answer.
        guests: token id whose rank at this prompt is wanted for another fact.
        answers: for each fact the token ids of its relation's answers, its own among them.
        top_k: how many best tokens to keep.
        device: where to compute.

    Raises:
        ModelError: if a logit is not a number.
    """
    parts: list[tuple[np.ndarray, ...]] = []
    with torch.inference_mode():
        for first in range(0, len(states), ROWS):
            rows = slice(first, first + ROWS)
            logits = head(torch.from_numpy(states[rows]).to(device))
            if torch.isnan(logits).any():
                raise ModelError("a head gave logits that are not numbers; its training has diverged")
            right = torch.tensor(gold[rows], device=device)
            norm = logits.logsumexp(1, keepdim=True)
            own = logits.gather(1, right[:, None])
            among = torch.stack(
                [(row[ids] >= score).sum() for row, ids, score in zip(logits, _index(answers[rows], device), own, strict=True)]
            )
            values, ids = best_tokens(logits, top_k)
            parts.append(
                tuple(
                    tensor.cpu().numpy()
                    for tensor in (
                        ranks_of(logits, right),
                        among,
                        ranks_of(logits, torch.tensor(guests[rows], device=device)),
                        (own - norm)[:, 0],
                        ids,
                        values - norm,
                    )
                )
            )
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    kinds = (np.uint32, np.uint32, np.uint32, np.float32, np.uint32, np.float32)
    return Readout(*(column.astype(kind) for column, kind in zip(columns, kinds, strict=True)))


def _index(answers: Sequence[Sequence[int]], device: torch.device) -> list[torch.Tensor]:
    # Facts of one relation share one list object, so each distinct list travels once.
    made = {key: torch.tensor(ids, device=device) for key, ids in {id(ids): ids for ids in answers}.items()}
    return [made[id(ids)] for ids in answers]
