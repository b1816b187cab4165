"""What the scores on the fine-tuning tasks are, as data; ``core.metrics`` lists them with the other quantities."""

from probing.core.metric import Metric

_RANKED = "equal scores keep the order of the list"
_SCORES = "core.tasks.scores"

TASK_METRICS = (
    Metric(
        "entity_f1", "entity F1", "F1", 0.0, 1.0, "higher",
        "Harmonic mean of precision and recall over named entities; one counts where its type and both its ends are right. Saying O for "
        "every word has 0.",
        "of equal scores the first tag is taken", "0 where there is no entity and none is said",
        "CoNLL-2003 (Tjong Kim Sang and De Meulder 2003)", f"{_SCORES}.entity_f1",
    ),
    Metric(
        "words_tagged_right", "words tagged right", "share of words", 0.0, 1.0, "higher",
        "Share of words with the right tag, O among them. Its interval counts sentences, as the words of one sentence hang together.",
        "of equal scores the first tag is taken", "no value without words",
        "ours: entity F1 cannot fall below its baseline of 0, so this one decides whether the task was learned",
        f"{_SCORES}.words_tagged_right",
    ),
    Metric(
        "answer_f1", "F1", "mean over questions", 0.0, 1.0, "higher",
        "Overlap in words of the given answer with the best of the recorded ones, mean over questions; a question without an answer "
        "wants the empty one.",
        "of equally good spans the first", "no value without questions",
        "SQuAD (Rajpurkar et al. 2016, 2018)", f"{_SCORES}.answer_f1",
    ),
    Metric(
        "answer_exact", "exact match", "share of questions", 0.0, 1.0, "higher",
        "Share of questions whose given answer equals a recorded one, without case, punctuation and articles.",
        "of equally good spans the first", "no value without questions",
        "SQuAD (Rajpurkar et al. 2016, 2018)", f"{_SCORES}.answer_exact",
    ),
    Metric(
        "ndcg_at_10", "nDCG@10", "mean over queries", 0.0, 1.0, "higher",
        "Gain of the first ten passages, discounted by the logarithm of their place, over that of the ideal order; mean over queries "
        "with a relevant passage. Unjudged passages count as irrelevant.",
        _RANKED, "a query without a relevant passage takes no part",
        "TREC's Deep Learning tracks, linear gains as in trec_eval", f"{_SCORES}.ndcg",
    ),
    Metric(
        "mrr_at_10", "MRR@10", "mean over queries", 0.0, 1.0, "higher",
        "Mean over queries of 1 / place of the first relevant passage among the first ten, 0 where there is none.",
        _RANKED, "a query without a relevant passage takes no part",
        "MS MARCO (Nguyen et al. 2016)", f"{_SCORES}.reciprocal_rank",
    ),
    Metric(
        "masked_accuracy", "masked accuracy", "share of masked tokens", 0.0, 1.0, "higher",
        "Share of the masked tokens of held-out text that the model puts first. The same tokens are masked for the base.",
        "of equal scores the token with the smaller number is first", "no value without masked tokens",
        "ours; not in the paper", "models.finetuning.evaluation.masked_accuracy",
    ),
    Metric(
        "matthews", "Matthews correlation", "correlation", -1.0, 1.0, "higher",
        "Correlation of the given with the gold labels of sentences. Guessing without looking has 0 on average, and so has always giving "
        "the same label. Its 95 % interval is Fisher's, approximate for classes.",
        "of equal scores the label that is first by name", "0 where one label alone is given, or is gold",
        "CoLA (Warstadt et al. 2019)", f"{_SCORES}.matthews",
    ),
    Metric(
        "task_accuracy", "task accuracy", "share of sentences", 0.0, 1.0, "higher",
        "Share of sentences, or pairs of them, that get their gold label, beside always giving the commonest label of training.",
        "of equal scores the label that is first by name", "no value without sentences",
        "SST-2 and RTE in GLUE (Wang et al. 2019)", "models.finetuning.evaluation.score_classes",
    ),
    Metric(
        "learned", "learned its task", "verdict", None, None, "neither",
        "Learned: the 95 % interval of the task score lies above its baseline. Not learned: it does not, and its upper end is at most 5 "
        "points above the baseline; of labels of sentences, whenever it does not. Cannot tell: neither, as too few items were scored. It "
        "is a low bar: a model that learned its task need not be good at it.",
        "a score that equals its baseline is not above it", "no verdict where no score is stored",
        "ours; not in the paper", "core.tasks.learned.judged",
    ),
)  # fmt: skip
