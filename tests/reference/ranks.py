"""Ranks of right answers among scores, and what of them float32 may move."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

#: How far a logit may lie from its exact value in a batched float32 pass of a correct program.
LOGIT_TOLERANCE = 1e-4


def gold_ranks(scores: ArrayLike, gold: ArrayLike) -> NDArray[np.int64]:
    """Rank of each right answer, best score first.

    Ranks count from 1 as in LAMA (Petroni et al. 2019). Ties take the worst place of their group, so an untrained head
    can never look knowing by accident. The code of BERTnesia (Wallat et al. 2020) counts from 0.

    Args:
        scores: (facts, vocab) logits; larger is better.
        gold: (facts,) vocabulary index of each right answer.

    Returns:
        (facts,) ranks, 1 to vocab.

    Raises:
        ValueError: if the shapes do not pair up, an index is outside the vocabulary or a score is NaN.
    """
    scores, gold = _paired(scores, gold)
    own = np.take_along_axis(scores, gold[:, None], axis=1)
    return (scores >= own).sum(axis=1, dtype=np.int64)


def rank_within(scores: ArrayLike, gold: ArrayLike, answers: ArrayLike) -> NDArray[np.int64]:
    """Rank of each right answer among the answers of its relation only; ties take the worst place.

    Args:
        scores: (facts, vocab) logits of facts of one relation; larger is better.
        gold: (facts,) vocabulary index of each right answer.
        answers: (answers,) vocabulary indices of all objects seen in the relation; repetitions count once.

    Returns:
        (facts,) ranks, 1 to the number of distinct answers.

    Raises:
        ValueError: as ``gold_ranks``, or if a right answer is not among the answers.
    """
    scores, gold = _paired(scores, gold)
    distinct = np.unique(np.asarray(answers, dtype=np.int64))
    if distinct.size and (distinct[0] < 0 or distinct[-1] >= scores.shape[1]):
        raise ValueError(f"answers reach from {distinct[0]} to {distinct[-1]}, expected 0 to {scores.shape[1] - 1}")
    missing = np.setdiff1d(gold, distinct)
    if missing.size:
        raise ValueError(f"right answers {missing.tolist()[:5]} are not among the relation's {distinct.size} answers")
    return gold_ranks(scores[:, distinct], np.searchsorted(distinct, gold))


def rank_bounds(scores: ArrayLike, gold: ArrayLike, tolerance: float = LOGIT_TOLERANCE) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Best and worst rank of each right answer if every logit may be off by ``tolerance`` either way.

    Args:
        scores: (facts, vocab) logits.
        gold: (facts,) vocabulary index of each right answer.
        tolerance: how far each logit may move; two logits may so change their distance by twice as much.

    Returns:
        (facts,) best ranks and (facts,) worst ranks, both from 1.

    Raises:
        ValueError: as ``gold_ranks``, or if the tolerance is negative.
    """
    if not tolerance >= 0:
        raise ValueError(f"tolerance is {tolerance}, expected a number >= 0")
    scores, gold = _paired(scores, gold)
    scores = scores.astype(np.float64)
    own = np.take_along_axis(scores, gold[:, None], axis=1)
    best = (scores > own + 2 * tolerance).sum(axis=1, dtype=np.int64) + 1
    worst = (scores >= own - 2 * tolerance).sum(axis=1, dtype=np.int64)
    return best, worst


def ranks_agree(ranks: ArrayLike, scores: ArrayLike, gold: ArrayLike, tolerance: float = LOGIT_TOLERANCE) -> NDArray[np.bool_]:
    """Whether each rank lies within what ``tolerance`` in the logits allows.

    Args:
        ranks: (facts,) ranks found by another pass.
        scores: (facts, vocab) logits of this pass.
        gold: (facts,) vocabulary index of each right answer.
        tolerance: as in ``rank_bounds``.

    Returns:
        (facts,) true where the rank can be right.

    Raises:
        ValueError: as ``rank_bounds``, or if there is not one rank a fact.
    """
    best, worst = rank_bounds(scores, gold, tolerance)
    ranks = checked_ranks(ranks)
    if ranks.shape != best.shape:
        raise ValueError(f"ranks have the shape {ranks.shape}, expected one a fact: {best.shape}")
    return np.logical_and(best <= ranks, ranks <= worst)


def precision_at(ranks: ArrayLike, k: int) -> float | None:
    """Share of ranks <= k, in [0, 1]; None without ranks.

    The code of BERTnesia tests ranks from 0 with ``<= k``, so that its P@10 is a P@11; ours is not.
    """
    ranks = checked_ranks(ranks)
    if k < 1:
        raise ValueError(f"k is {k}, expected at least 1: ranks count from 1")
    return float((ranks <= k).mean()) if ranks.size else None


def reciprocal_ranks(ranks: ArrayLike) -> NDArray[np.float64]:
    """1 / rank, in (0, 1], in the shape of ``ranks``."""
    return 1.0 / checked_ranks(ranks)


def known_at_any_layer(ranks: ArrayLike, k: int) -> NDArray[np.bool_]:
    """Whether each fact has rank <= k at any transformer layer; the embeddings, layer 0, do not count.

    Args:
        ranks: (facts, layers) ranks of layers 0 to L.
        k: largest rank that counts as known.

    Returns:
        (facts,) true where any of the layers 1 to L knows the fact.
    """
    ranks = checked_ranks(ranks)
    if ranks.ndim != 2 or ranks.shape[1] < 2:
        raise ValueError(f"ranks have the shape {ranks.shape}, expected (facts, layers) with layers 0 to L, L >= 1")
    return np.any(ranks[:, 1:] <= k, axis=1)


def checked_ranks(ranks: ArrayLike) -> NDArray[np.int64]:
    """Ranks as an integer array.

    Raises:
        ValueError: if a rank is below 1 or no whole number: it was counted from 0, or is missing.
    """
    found = np.asarray(ranks)
    if found.size == 0:
        return found.astype(np.int64)
    if not np.isfinite(found).all() or (found < 1).any() or (found != np.floor(found)).any():
        raise ValueError(f"ranks reach from {found.min()} to {found.max()}, expected whole numbers from 1")
    return found.astype(np.int64)


def _paired(scores: ArrayLike, gold: ArrayLike) -> tuple[NDArray, NDArray[np.int64]]:
    """Scores (facts, vocab) and indices (facts,) that belong together."""
    scores, gold = np.asarray(scores), np.asarray(gold)
    if scores.ndim != 2 or gold.ndim != 1 or len(scores) != len(gold):
        raise ValueError(f"scores {scores.shape} and gold {gold.shape} do not pair up; expected (facts, vocab), (facts,)")
    if gold.size and not np.issubdtype(gold.dtype, np.integer):
        raise ValueError(f"gold holds {gold.dtype}, expected vocabulary indices")
    gold = gold.astype(np.int64)
    if gold.size and (gold.min() < 0 or gold.max() >= scores.shape[1]):
        raise ValueError(f"gold reaches from {gold.min()} to {gold.max()}, expected 0 to {scores.shape[1] - 1}")
    if np.isnan(scores).any():
        where = int(np.flatnonzero(np.isnan(scores).any(axis=1))[0])
        raise ValueError(f"a score of fact {where} is NaN, expected numbers; the model or its head is broken")
    return scores, gold
