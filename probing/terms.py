"""Every quantity that the project shows, as data: one table for tooltips, axis titles, the Methods page and tests."""

from probing.changes.measures import CHANGE_METRICS
from probing.edges.metrics import EDGE_METRICS
from probing.facts.forgotten import outcome_words
from probing.finetuning.scores import TASK_METRICS
from probing.kernel.metric import Metric
from probing.kernel.models.names import HEAD_METRICS
from probing.sentences.metrics import SENTENCE_METRICS

#: A fact is known at k if its answer has rank <= k, for each of these k.
RANKS = (1, 10, 100)

_BERTNESIA = "Wallat, Singh and Anand 2020 (BERTnesia)"
_LAMA = "Petroni et al. 2019 (LAMA)"
_TIES = "a tied answer takes the worst place of its group"


def _precision(k: int) -> Metric:
    return Metric(
        f"p_at_{k}",
        f"P@{k}",
        "share of facts",
        0.0,
        1.0,
        "higher",
        f"Share of facts whose right answer has rank <= {k}, ranks counted from 1. Macro: mean over relations; micro:"
        " over facts.",
        _TIES,
        "undefined without facts; a relation without facts is left out of macro",
        (
            f"{_LAMA}; {_BERTNESIA}, whose code tests ranks from 0 with <= k: there P@10 is a P@11. P@1 is not"
            " affected."
            if k > 1
            else f"{_LAMA}; {_BERTNESIA}"
        ),
        "facts.report_layers.by_layer",
    )


def _difference(name: str, label: str, definition: str, empty: str) -> Metric:
    """A share minus its baseline."""
    where = "facts.report_layers.by_layer"
    ties = "as of the two shares"
    return Metric(
        name,
        label,
        "difference of shares",
        -1.0,
        1.0,
        "higher",
        definition,
        ties,
        empty,
        "ours; not in the paper",
        where,
    )


def _fate(name: str, definition: str, empty: str = "0 if no fact is lost") -> Metric:
    """A fate of lost facts."""
    where = "facts.store_pairs.transition_counts"
    return Metric(
        name,
        outcome_words(name),
        "lost facts",
        0.0,
        None,
        "neither",
        definition,
        _TIES,
        empty,
        "ours; not in the paper",
        where,
    )


_ALL = (
    *map(_precision, RANKS),
    Metric(
        "mrr",
        "MRR",
        "mean of 1 / rank",
        0.0,
        1.0,
        "higher",
        "Mean reciprocal rank: mean over facts of 1 / rank of the right answer, ranks counted from 1. Macro or micro as"
        " for P@k.",
        _TIES,
        "undefined without facts",
        f"{_LAMA}; the code of {_BERTNESIA} counts from 0 and gives a right first answer a reciprocal rank of 0.",
        "facts.report_layers.by_layer",
    ),
    Metric(
        "answer_p_at_1",
        "P@1 among answers",
        "share of facts",
        0.0,
        1.0,
        "higher",
        "Share of facts whose right answer scores best among all objects that occur in its relation: informative even"
        " for a weak model.",
        _TIES,
        "undefined without facts; a relation with one answer always has 1",
        "ours; not in the paper",
        "facts.report_layers.by_layer",
    ),
    Metric(
        "total",
        "total knowledge",
        "share of facts",
        0.0,
        1.0,
        "higher",
        "Share of facts with rank <= k at any layer 1..L: a union over layers, not a maximum of means. "
        "Layer 0, the embeddings, does not count. A union over many noisy predictions grows by chance alone.",
        _TIES,
        "undefined without facts",
        _BERTNESIA,
        "facts.totals.knowledge",
    ),
    Metric(
        "intermediate_share",
        "intermediate share",
        "share of total knowledge",
        0.0,
        1.0,
        "neither",
        "(total - last) / total: the part of the total knowledge that the last layer does not have.",
        _TIES,
        "undefined if no fact is known at any layer",
        _BERTNESIA,
        "facts.totals.intermediate_share",
    ),
    Metric(
        "gold_rank",
        "rank",
        "rank",
        1.0,
        None,
        "lower",
        "Position of the right answer in the vocabulary sorted by score, counted from 1.",
        _TIES,
        "a NaN or infinite score is an error",
        f"{_LAMA}; the code of {_BERTNESIA} counts from 0.",
        "heads.decode.read_out",
    ),
    Metric(
        "answer_rank",
        "rank among answers",
        "rank",
        1.0,
        None,
        "lower",
        "Position of the right answer among all objects that occur in its relation, sorted by score, counted from 1.",
        _TIES,
        "a NaN or infinite score is an error",
        "ours; not in the paper",
        "heads.decode.read_out",
    ),
    Metric(
        "gold_logp",
        "log-probability",
        "nats",
        None,
        0.0,
        "higher",
        "Natural logarithm of the probability of the right answer, by softmax over the whole vocabulary.",
        "no ties: a value, not an order",
        "a NaN or infinite score is an error",
        "ours; the paper reports ranks only",
        "heads.decode.read_out",
    ),
    Metric(
        "entropy",
        "entropy",
        "nats",
        0.0,
        None,
        "neither",
        "Entropy of the probabilities over the whole vocabulary: 0 if one token has probability 1, "
        "the logarithm of the vocabulary's size if all are equal.",
        "no ties: a value, not an order",
        "a NaN or infinite score is an error",
        "ours; not in the paper",
        "live.ask.entropies",
    ),
    Metric(
        "probability",
        "probability",
        "share",
        0.0,
        1.0,
        "higher",
        "Softmax probability of a token over the whole vocabulary. Lists are sorted by score, then by token id.",
        "equal scores have equal probabilities",
        "a NaN or infinite score is an error",
        "ours; the paper reports ranks only",
        "heads.decode.read_out",
    ),
    Metric(
        "majority",
        "commonest answer",
        "share of facts",
        0.0,
        1.0,
        "neither",
        "Baseline of P@1: the share of facts whose object is the commonest object of their relation. "
        "A model that ignores the subject and always gives that answer has this P@1.",
        "among equally common objects the first by name; the share is the same",
        "undefined without facts",
        "ours; LAMA's Freq baseline (Petroni et al. 2019) counts in the training text instead",
        "facts.store.majority",
    ),
    Metric(
        "swapped_subject",
        "blind guess",
        "share of facts",
        0.0,
        1.0,
        "neither",
        "Baseline of P@k: the share of facts whose right answer has rank <= k if the same question is asked about"
        " another subject of the relation, whose recorded answers do not contain it. The part of P@k above this"
        " baseline comes from the subject: a model that knows everything has a baseline near 0. The share is over the"
        " facts that have such a subject; their number is shown with it.",
        _TIES,
        "undefined if a probe set has no templates, if no other subject lacks the answer, or if a compact run has no"
        " counts of it",
        "ours; not in the paper",
        "facts.report_layers.by_layer",
    ),
    Metric(
        "chance",
        "chance among answers",
        "share of facts",
        0.0,
        1.0,
        "neither",
        "Baseline of P@1 among answers: the mean of 1 / number of the relation's different answers. "
        "A random choice among these answers has this share on average.",
        "no ties: a value, not an order",
        "undefined for metrics of the whole vocabulary",
        "ours; not in the paper",
        "facts.report_layers.by_layer",
    ),
    _difference(
        "above_majority",
        "beyond the commonest answer",
        "Value minus that of the commonest answer, on the same facts. Its 95 % interval is the value's: the commonest"
        " answer is a property of the facts.",
        "undefined if the commonest answer is: for P@10, P@100 and MRR",
    ),
    _difference(
        "above_swapped",
        "beyond a blind guess",
        "P@k minus the blind guess's, both on the facts that have a swapped subject; P@k on these facts is called"
        " matched. Its 95 % interval is paired: Newcombe's for micro and for one relation, normal for the mean over"
        " relations.",
        "undefined if the blind guess is",
    ),
    Metric(
        "total_null",
        "null of total knowledge",
        "facts",
        0.0,
        None,
        "neither",
        "Facts that only an inner layer 1..L-1 finds, with the own subject, against those that it finds with a swapped"
        " one. Counted over the facts that the last layer misses with both; exact McNemar on these pairs. Only the"
        " difference comes from the subject; the rest is what a union over layers finds by chance.",
        _TIES,
        "undefined if no swapped subject is measured, or if only the last layer is stored",
        "ours; not in the paper",
        "facts.report_layers.total",
    ),
    Metric(
        "seed_union",
        "union over seeds",
        "share of facts",
        0.0,
        1.0,
        "neither",
        "Share of facts with rank <= k at the last layer under any of several heads that differ only in the seed of"
        " their training. Its gain over one head is what a union gains by chance, without any inner layer.",
        _TIES,
        "undefined for a single head",
        "ours; not in the paper",
        "facts.store_pairs.seed_unions",
    ),
    Metric(
        "forgotten_caption",
        "forgotten (caption)",
        "share of relations",
        0.0,
        1.0,
        "lower",
        "Share of relations that are better at an inner layer than at the last: P@k at the last layer is below that of"
        " some inner layer 1..L-1. It compares layers of one model; what fine-tuning lost against the base is another"
        " quantity.",
        "equal shares are not forgetting",
        "undefined for fewer than two relations; a relation without facts is left out",
        f"{_BERTNESIA}, the caption of its Table 2; its cells come from the authors' code, which differs.",
        "facts.forgotten.forgetting",
    ),
    Metric(
        "forgotten_authors",
        "forgotten (authors)",
        "share of relations",
        0.0,
        1.0,
        "lower",
        "Share of relations whose best inner layer is above the last with p <= 0.05 in Student's unpaired t-test on the"
        " two layers' hits. On T-REx the count is divided by 42, one more than there are relations.",
        "among equally good inner layers the first; the p-value is the same",
        "undefined for fewer than two relations; not forgotten if the test is undefined",
        f"the code of {_BERTNESIA}: unpaired although the facts are the same, on the best inner layer. "
        "The published cells are compared with this definition only.",
        "facts.forgotten.forgetting",
    ),
    Metric(
        "forgotten_strict",
        "forgotten (strict)",
        "share of relations",
        0.0,
        1.0,
        "lower",
        "Share of relations in which some inner layer is above the last by at least 2 points with p <= 0.05 in exact"
        " McNemar's test. Adjusted by Benjamini and Hochberg over all relations and inner layers of the run; the size"
        " of that family is stated.",
        "a fact that both layers know, or neither, has no influence",
        "undefined for fewer than two relations; a relation without facts is left out of the family",
        "ours; not in the paper",
        "facts.forgotten.forgetting",
    ),
    Metric(
        "doubling",
        "doubling relation",
        "yes or no",
        0.0,
        1.0,
        "neither",
        "P@1 at the last layer is at least twice that of the best inner layer, which is above 0.",
        _TIES,
        "no, if no inner layer knows a fact",
        f"the code of {_BERTNESIA}; the paper's text asks for about double.",
        "facts.forgotten.doubles",
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
        "undefined if the last layer knows no fact of the relation",
        "ours; not in the paper",
        "facts.totals.onset",
    ),
    Metric(
        "transitions",
        "transitions",
        "facts",
        0.0,
        None,
        "neither",
        "Facts that both a model and its base were probed on, by rank <= k at the last layer: kept (both know it),"
        " gained (only the model), lost (only the base), never (neither). The difference is tested by exact McNemar.",
        _TIES,
        "0 if the two share no fact",
        f"ours; {_BERTNESIA} compares means only.",
        "facts.store_pairs.transition_counts",
    ),
    _fate(
        "still_inside",
        "Lost facts with rank 1 at an inner layer 1..L-1 of the fine-tuned model at which the base has rank 1, too."
        " Beside it, for k = 1: the share of equally confident wrong answers with this fate. They are first answers of"
        " the base at its last layer, right for another fact of the relation, and no longer the fine-tuned model's.",
    ),
    _fate(
        "moved",
        "Lost facts with rank 1 at an inner layer 1..L-1 of the fine-tuned model, but at none at which the base has"
        " rank 1. Beside it the same yardstick.",
    ),
    _fate(
        "suppressed",
        "Lost facts, first at no inner layer, whose rank at the last layer of the fine-tuned model is <= 100.",
        "0 if no fact is lost; always 0 for k = 100",
    ),
    _fate(
        "displaced",
        "Lost facts, first at no inner layer and with rank > 100 at the last, that have rank <= 100 at some inner layer"
        " 1..L-1.",
    ),
    _fate(
        "not_read",
        "Lost facts with rank above 100 at every layer 1..L of the fine-tuned model. The five fates add up to lost. It"
        " says that these heads do not read the fact, not that the weights no longer hold it.",
    ),
    Metric(
        "answer_drift",
        "kinds of answers",
        "share of facts",
        0.0,
        1.0,
        "neither",
        "The kind of a layer's top token, the first that applies: right; another recorded answer of this subject; an"
        " answer of this relation; a word copied from the prompt; punctuation; a sub-word; another word. Words are"
        " compared without case and accents.",
        "among equal scores the smaller token id is first; right means rank 1, so a tie is not right",
        "undefined without facts",
        "ours; not in the paper",
        "facts.totals.shares",
    ),
    Metric(
        "early_exit",
        "early exit",
        "share of facts",
        0.0,
        1.0,
        "higher",
        "Share of facts with rank <= k at the layer that was best for their relation on the other half of its facts;"
        " the halves are chosen by hash. It is compared with the last layer and the union over layers 1..L on the same"
        " half.",
        "among equally good layers the last",
        "undefined without facts in the scored half",
        "ours; not in the paper",
        "facts.totals.early_exit",
    ),
    Metric(
        "weight_drift",
        "weight drift",
        "relative change",
        0.0,
        None,
        "neither",
        "Frobenius norm of the difference between a layer's weights and the base's, divided by the norm of the base's"
        " weights. Layer 0 is the embeddings.",
        "no ties: a value, not an order",
        "undefined if the weights were not compared",
        "ours; not in the paper",
        "kernel.models.states.weight_drift",
    ),
    *(HEAD_METRICS + TASK_METRICS + EDGE_METRICS + SENTENCE_METRICS + CHANGE_METRICS),
)

#: Name -> metric.
METRICS: dict[str, Metric] = {metric.name: metric for metric in _ALL}
