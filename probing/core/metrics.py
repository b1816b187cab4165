"""Every quantity the project shows, as data: one table feeds tool-tips, axis titles, the Methods page and its tests."""

from probing.core.changes.measures import CHANGE_METRICS
from probing.core.edges.metrics import EDGE_METRICS
from probing.core.head_kinds import HEAD_METRICS
from probing.core.metric import Metric
from probing.core.sentences.metrics import SENTENCE_METRICS
from probing.core.tasks.measures import TASK_METRICS

#: A fact counts as known where its answer has rank <= k, for each of these k.
RANKS = (1, 10, 100)

_BERTNESIA = "Wallat, Singh and Anand 2020 (BERTnesia)"
_LAMA = "Petroni et al. 2019 (LAMA)"
_TIES = "a tied answer takes the worst place of its group"


def _precision(k: int) -> Metric:
    return Metric(
        f"p_at_{k}", f"P@{k}", "share of facts", 0.0, 1.0, "higher",
        f"Share of facts whose right answer has rank <= {k}, ranks counted from 1. Macro: mean over relations; micro: over facts.",
        _TIES,
        "no value without facts; a relation without facts takes no part in macro",
        f"{_LAMA}; {_BERTNESIA}, whose code tests ranks from 0 with <= k: there P@10 is a P@11. P@1 is not affected."
        if k > 1
        else f"{_LAMA}; {_BERTNESIA}",
        "reports.knowledge.precision.by_layer",
    )  # fmt: skip


def _difference(name: str, label: str, definition: str, empty: str) -> Metric:
    """A share minus its yardstick."""
    where = "reports.knowledge.precision.by_layer"
    ties = "as of the two shares"
    return Metric(name, label, "difference of shares", -1.0, 1.0, "higher", definition, ties, empty, "ours; not in the paper", where)


def _fate(name: str, definition: str, empty: str = "0 where nothing is lost") -> Metric:
    """What became of lost facts."""
    where = "store.knowledge.forgetting_queries.transition_counts"
    return Metric(name, name, "lost facts", 0.0, None, "neither", definition, _TIES, empty, "ours; not in the paper", where)


_ALL = (
    *map(_precision, RANKS),
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
        "reports.knowledge.precision.by_layer",
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
        "reports.knowledge.precision.by_layer",
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
        "core.knowledge.total.knowledge",
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
        "core.knowledge.total.intermediate_share",
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
        "models.heads.decode.read_out",
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
        "models.heads.decode.read_out",
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
        "models.heads.decode.read_out",
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
        "models.knowledge.ask.entropies",
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
        "models.heads.decode.read_out",
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
        "store.run_queries.majority",
    ),
    Metric(
        "swapped_subject",
        "swapped subject",
        "share of facts",
        0.0,
        1.0,
        "neither",
        "Baseline of P@k: the share of facts whose right answer has rank <= k when the same question is put about another subject "
        "of the relation, one whose recorded answers do not hold it. "
        "What of P@k lies above it comes from the subject: a model that knows everything has a baseline near 0. "
        "The share is of the facts that find such a subject; their number stands beside it.",
        _TIES,
        "no value where a probe set has no templates, where no other subject lacks the answer, or where a compact run has no counts of it",
        "ours; not in the paper",
        "reports.knowledge.precision.by_layer",
    ),
    Metric(
        "chance",
        "chance among answers",
        "share of facts",
        0.0,
        1.0,
        "neither",
        "Baseline of P@1 among answers: the mean of 1 / number of the relation's different answers. "
        "Who takes one of them at random, knowing no subject, has this share on average.",
        "no ties: a value, not an order",
        "no value for metrics of the whole vocabulary",
        "ours; not in the paper",
        "reports.knowledge.precision.by_layer",
    ),
    _difference(
        "above_majority",
        "minus majority",
        "Value minus majority answer, on the same facts. Its 95 % interval is the value's: the majority answer is a property of the facts.",
        "no value where the majority answer has none: for P@10, P@100 and MRR",
    ),
    _difference(
        "above_swapped",
        "minus swapped",
        "P@k minus the swapped subject's, both on the facts that have a swapped subject; P@k on these facts is called matched. "
        "Its 95 % interval is paired: Newcombe's for micro and for one relation, normal for the mean over relations.",
        "no value where the swapped subject has none",
    ),
    Metric(
        "total_null",
        "null of total knowledge",
        "facts",
        0.0,
        None,
        "neither",
        "Among the facts that the last layer misses with both prompts (its own subject and the swapped one): for how many some inner layer "
        "1..L-1 has rank <= k with its own subject, against how many with the swapped subject; exact McNemar on these pairs. "
        "Only the difference comes from the subject; the rest is what a union over layers finds by chance.",
        _TIES,
        "no value where no swapped subject is measured, or where only the last layer is stored",
        "ours; not in the paper",
        "reports.knowledge.total.total",
    ),
    Metric(
        "seed_union",
        "union over seeds",
        "share of facts",
        0.0,
        1.0,
        "neither",
        "Share of facts with rank <= k at the last layer under any of several heads that differ only in the seed they were trained with. "
        "What lies above the last layer is what a union gains by chance, without any inner layer.",
        _TIES,
        "no value where there is one head only",
        "ours; not in the paper",
        "store.knowledge.forgetting_queries.seed_unions",
    ),
    Metric(
        "forgotten_caption",
        "forgotten (caption)",
        "share of relations",
        0.0,
        1.0,
        "lower",
        "Share of relations whose P@k at the last layer is below that of some inner layer 1..L-1.",
        "equal shares are not forgetting",
        "no value for fewer than two relations; a relation without facts takes no part",
        f"{_BERTNESIA}, the caption of its Table 2; its cells come from the authors' code, which differs.",
        "core.knowledge.forgetting.forgetting",
    ),
    Metric(
        "forgotten_authors",
        "forgotten (authors)",
        "share of relations",
        0.0,
        1.0,
        "lower",
        "Share of relations whose best inner layer is above the last with p <= 0.05 in Student's unpaired t-test on the two layers' hits. "
        "On T-REx the count is divided by 42, one more than there are relations.",
        "of equally good inner layers the first; the p-value is the same",
        "no value for fewer than two relations; not forgotten where the test has no value",
        f"the code of {_BERTNESIA}: unpaired although the facts are the same, on the layer found best. "
        "Only this one stands beside the published cells.",
        "core.knowledge.forgetting.forgetting",
    ),
    Metric(
        "forgotten_strict",
        "forgotten (strict)",
        "share of relations",
        0.0,
        1.0,
        "lower",
        "Share of relations in which some inner layer is above the last by at least 2 points with p <= 0.05 in exact McNemar's test, "
        "adjusted by Benjamini and Hochberg over all relations and inner layers of the run; the size of that family is stated.",
        "a fact that both layers know, or neither, says nothing",
        "no value for fewer than two relations; a relation without facts takes no part in the family",
        "ours; not in the paper",
        "core.knowledge.forgetting.forgetting",
    ),
    Metric(
        "doubling",
        "doubling relation",
        "yes or no",
        0.0,
        1.0,
        "neither",
        "P@1 at the last layer is at least twice that of the best inner layer, and that is above 0.",
        _TIES,
        "no where no inner layer knows a fact",
        f"the code of {_BERTNESIA}; its text says about double.",
        "core.knowledge.forgetting.doubles",
    ),
    Metric(
        "onset",
        "onset of a relation",
        "layer",
        1.0,
        None,
        "neither",
        "First layer 1..L at which P@k of the relation is at least half of that at the last layer.",
        _TIES,
        "no value where the last layer knows no fact of the relation",
        "ours; not in the paper",
        "core.knowledge.onset.onset",
    ),
    Metric(
        "transitions",
        "transitions",
        "facts",
        0.0,
        None,
        "neither",
        "Facts that a model and its base were both asked, by rank <= k at the last layer: kept (both know it), gained (the model only), "
        "lost (the base only), never (neither). Their difference is tested by exact McNemar.",
        _TIES,
        "0 where the two share no fact",
        f"ours; {_BERTNESIA} compares means only.",
        "store.knowledge.forgetting_queries.transition_counts",
    ),
    _fate(
        "relocated",
        "Lost facts with rank 1 at an inner layer 1..L-1 of the fine-tuned model. "
        "Marked where the base has rank 1 at the same inner layer.",
    ),
    _fate(
        "suppressed",
        "Lost facts, not relocated, whose rank at the last layer of the fine-tuned model is <= 100.",
        "0 where nothing is lost; always 0 for k = 100",
    ),
    _fate(
        "displaced",
        "Lost facts, neither relocated nor suppressed, with rank <= 100 at some inner layer 1..L-1 of the fine-tuned model.",
    ),
    _fate("erased", "Lost facts with rank above 100 at every layer 1..L of the fine-tuned model. The four fates add up to lost."),
    Metric(
        "answer_drift",
        "kinds of answers",
        "share of facts",
        0.0,
        1.0,
        "neither",
        "What a layer puts first, the first that holds: right; another recorded answer of this subject; an answer of this relation; a word "
        "copied from the prompt; punctuation; a sub-word; another word. Words are compared without case and accents.",
        "of equal scores the token with the smaller number is first; right means rank 1, so a tie is not right",
        "no value without facts",
        "ours; not in the paper",
        "core.knowledge.answer_types.shares",
    ),
    Metric(
        "early_exit",
        "early exit",
        "share of facts",
        0.0,
        1.0,
        "higher",
        "Share of facts with rank <= k at the layer that was best for their relation on the other half of its facts; the halves are "
        "chosen by hash. Beside it the last layer and the union over layers 1..L on the same half.",
        "of equally good layers the last is chosen",
        "no value without facts in the scored half",
        "ours; not in the paper",
        "core.knowledge.early_exit.early_exit",
    ),
    Metric(
        "weight_drift",
        "weight drift",
        "relative change",
        0.0,
        None,
        "neither",
        "Frobenius norm of the difference of a layer's weights from the base's, divided by that of the base's weights. "
        "Layer 0 is the embeddings.",
        "no ties: a value, not an order",
        "no value where the weights were not compared",
        "ours; not in the paper",
        "models.encoders.weight_drift.weight_drift",
    ),
    *(HEAD_METRICS + TASK_METRICS + EDGE_METRICS + SENTENCE_METRICS + CHANGE_METRICS),
)

#: Name -> metric.
METRICS: dict[str, Metric] = {metric.name: metric for metric in _ALL}
