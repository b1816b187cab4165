"""Every quantity the project shows, as data: one table feeds tool-tips, axis titles, the Methods page and its tests."""

from dataclasses import dataclass
from typing import Literal

_BERTNESIA = "Wallat, Singh and Anand 2020 (BERTnesia)"
_LAMA = "Petroni et al. 2019 (LAMA)"
_TIES = "a tied answer takes the worst place of its group"


@dataclass(frozen=True)
class Metric:
    """A quantity with everything a reader needs to judge it.

    Attributes:
        name: key in ``METRICS``.
        label: what a figure writes, "P@1".
        unit: "share of facts", "rank", "nats", ...
        low: smallest value possible; None where there is none.
        high: largest value possible; None where there is none.
        better: which direction is more knowledge; ``neither`` where the question has no sense.
        definition: one or two sentences.
        ties: what happens to equal scores.
        empty: the value where there is nothing to count.
        source: paper that defines it, and where we depart from it.
    """

    name: str
    label: str
    unit: str
    low: float | None
    high: float | None
    better: Literal["higher", "lower", "neither"]
    definition: str
    ties: str
    empty: str
    source: str


def _precision(k: int) -> Metric:
    return Metric(
        f"p_at_{k}",
        f"P@{k}",
        "share of facts",
        0.0,
        1.0,
        "higher",
        f"Share of facts whose right answer has rank <= {k}, ranks counted from 1. Macro: mean over relations; micro: over facts.",
        _TIES,
        "no value without facts; a relation without facts takes no part in macro",
        f"{_LAMA}; {_BERTNESIA}, whose code tests ranks from 0 with <= k: there P@10 is a P@11. P@1 is not affected."
        if k > 1
        else f"{_LAMA}; {_BERTNESIA}",
    )


_ALL = (
    _precision(1),
    _precision(10),
    _precision(100),
    Metric(
        "mrr",
        "MRR",
        "mean of 1 / rank",
        0.0,
        1.0,
        "higher",
        "Mean reciprocal rank: mean over facts of 1 / rank of the right answer, ranks counted from 1. Macro or micro as P@k.",
        _TIES,
        "no value without facts",
        f"{_LAMA}; the code of {_BERTNESIA} gives a right first answer, its rank 0, a reciprocal rank of 0.",
    ),
    Metric(
        "answer_p_at_1",
        "P@1 among answers",
        "share of facts",
        0.0,
        1.0,
        "higher",
        "Share of facts whose right answer scores best among all objects seen in its relation: readable even for a weak model.",
        _TIES,
        "no value without facts; a relation with one answer always has 1",
        "ours; not in the paper",
    ),
    Metric(
        "total",
        "total knowledge",
        "share of facts",
        0.0,
        1.0,
        "higher",
        "Share of facts with rank <= k at any layer 1..L: a union over layers, not a maximum of means. "
        "Layer 0, the embeddings, does not count. A union over many noisy read-outs grows by chance alone.",
        _TIES,
        "no value without facts",
        _BERTNESIA,
    ),
    Metric(
        "intermediate_share",
        "intermediate share",
        "share of total knowledge",
        0.0,
        1.0,
        "neither",
        "(total - last) / total: the part of the total knowledge that the last layer does not give.",
        _TIES,
        "no value where nothing is known at any layer",
        _BERTNESIA,
    ),
    Metric(
        "gold_rank",
        "rank",
        "rank",
        1.0,
        None,
        "lower",
        "Place of the right answer in the vocabulary ordered by score, counted from 1.",
        _TIES,
        "a score that is no number is an error",
        f"{_LAMA}; the code of {_BERTNESIA} counts from 0.",
    ),
    Metric(
        "answer_rank",
        "rank among answers",
        "rank",
        1.0,
        None,
        "lower",
        "Place of the right answer among all objects seen in its relation, counted from 1.",
        _TIES,
        "a score that is no number is an error",
        "ours; not in the paper",
    ),
    Metric(
        "gold_logp",
        "log-probability",
        "nats",
        None,
        0.0,
        "higher",
        "Natural logarithm of the probability that the softmax over the whole vocabulary gives the right answer.",
        "no ties: a value, not an order",
        "a score that is no number is an error",
        "ours; the paper reports ranks only",
    ),
    Metric(
        "entropy",
        "entropy",
        "nats",
        0.0,
        None,
        "neither",
        "Entropy of the probabilities over the whole vocabulary: 0 where one token has it all, "
        "log of the vocabulary's size where all are equal.",
        "no ties: a value, not an order",
        "a score that is no number is an error",
        "ours; not in the paper",
    ),
    Metric(
        "probability",
        "probability",
        "share",
        0.0,
        1.0,
        "higher",
        "What the softmax over the whole vocabulary gives one token. Lists are ordered by score, then by the token's number.",
        "equal scores have equal probabilities",
        "a score that is no number is an error",
        "ours; the paper reports ranks only",
    ),
    Metric(
        "majority",
        "majority answer",
        "share of facts",
        0.0,
        1.0,
        "neither",
        "Baseline of P@1: the share of facts whose object is the most frequent object of their relation. "
        "Who always gives that answer, knowing no subject, has this P@1.",
        "of equally frequent objects the first by name is taken; the share is the same",
        "no value without facts",
        "ours; LAMA's Freq baseline (Petroni et al. 2019) counts in the training text instead",
    ),
    Metric(
        "other_subject",
        "another subject",
        "share of facts",
        0.0,
        1.0,
        "neither",
        "Baseline of P@k: the share of facts whose right answer has rank <= k when another subject of the same "
        "relation is asked. "
        "What of P@k lies above it comes from the subject.",
        _TIES,
        "no value where a probe set has no templates, or a relation no second subject",
        "ours; not in the paper",
    ),
)

#: Name -> metric.
METRICS: dict[str, Metric] = {metric.name: metric for metric in _ALL}
