"""The scores on the fine-tuning tasks, as data; ``terms`` lists them with the other quantities."""

from probing.kernel.metric import Metric

_RANKED = "equal scores keep the order of the list"
_SCORES = "finetuning.scores_scores"

TASK_METRICS = (
    Metric(
        "entity_f1",
        "entity F1",
        "F1",
        0.0,
        1.0,
        "higher",
        "Harmonic mean of precision and recall over named entities; an entity is right if its type and both its ends"
        " are. Predicting O for every word has 0.",
        "among equal scores the first tag",
        "0 if there is no entity and none is predicted",
        "CoNLL-2003 (Tjong Kim Sang and De Meulder 2003)",
        f"{_SCORES}.entity_f1",
    ),
    Metric(
        "words_tagged_right",
        "words tagged right",
        "share of words",
        0.0,
        1.0,
        "higher",
        "Share of words with the right tag, including O. Its interval counts sentences, because the words of a sentence"
        " are not independent.",
        "among equal scores the first tag",
        "undefined without words",
        "ours: entity F1 cannot fall below its baseline of 0, so this one decides whether the task was learned",
        f"{_SCORES}.words_tagged_right",
    ),
    Metric(
        "answer_f1",
        "F1",
        "mean over questions",
        0.0,
        1.0,
        "higher",
        "F1 of the words of the predicted answer against the best-matching recorded one, mean over questions; the right"
        " answer to a question without an answer is the empty one.",
        "among equally good spans the first",
        "undefined without questions",
        "SQuAD (Rajpurkar et al. 2016, 2018)",
        f"{_SCORES}.answer_f1",
    ),
    Metric(
        "answer_exact",
        "exact match",
        "share of questions",
        0.0,
        1.0,
        "higher",
        "Share of questions whose predicted answer equals a recorded one, without case, punctuation and articles.",
        "among equally good spans the first",
        "undefined without questions",
        "SQuAD (Rajpurkar et al. 2016, 2018)",
        f"{_SCORES}.answer_exact",
    ),
    Metric(
        "ndcg_at_10",
        "nDCG@10",
        "mean over queries",
        0.0,
        1.0,
        "higher",
        "Gain of the first ten passages, discounted by the logarithm of their position, divided by that of the ideal"
        " order; mean over queries with a relevant passage. Unjudged passages count as irrelevant.",
        _RANKED,
        "a query without a relevant passage takes no part",
        "TREC's Deep Learning tracks, linear gains as in trec_eval",
        f"{_SCORES}.ndcg",
    ),
    Metric(
        "mrr_at_10",
        "MRR@10",
        "mean over queries",
        0.0,
        1.0,
        "higher",
        "Mean over queries of 1 / position of the first relevant passage among the first ten, 0 if there is none.",
        _RANKED,
        "a query without a relevant passage takes no part",
        "MS MARCO (Nguyen et al. 2016)",
        f"{_SCORES}.reciprocal_rank",
    ),
    Metric(
        "masked_accuracy",
        "masked accuracy",
        "share of masked tokens",
        0.0,
        1.0,
        "higher",
        "Share of the masked tokens of held-out text that the model ranks first. The same tokens are masked for the"
        " base.",
        "among equal scores the smaller token id is first",
        "undefined without masked tokens",
        "ours; not in the paper",
        "finetuning.evaluation.masked_accuracy",
    ),
    Metric(
        "matthews",
        "Matthews correlation",
        "correlation",
        -1.0,
        1.0,
        "higher",
        "Correlation between predicted and gold labels of sentences. Random guessing has 0 on average, and so has"
        " always predicting the same label. Its 95 % interval is Fisher's, approximate for classes.",
        "among equal scores the first label by name",
        "0 if all predicted, or all gold, labels are the same",
        "CoLA (Warstadt et al. 2019)",
        f"{_SCORES}.matthews",
    ),
    Metric(
        "task_accuracy",
        "task accuracy",
        "share of sentences",
        0.0,
        1.0,
        "higher",
        "Share of sentences, or sentence pairs, that get their gold label, compared with always predicting the"
        " commonest training label.",
        "among equal scores the first label by name",
        "undefined without sentences",
        "SST-2 and RTE in GLUE (Wang et al. 2019)",
        f"{_SCORES}.labelled_right",
    ),
    Metric(
        "learned",
        "learned its task",
        "verdict",
        None,
        None,
        "neither",
        "Learned: the 95 % interval of the task score lies above its baseline, and the score closes at least half of"
        " the way from the baseline to what BERT-base is published to reach. Partly: only the interval does. Trained,"
        " not learned: the interval does not lie above the baseline, and its upper end is at most 5 points above it;"
        " for sentence labels, whenever it does not. Cannot tell: none of these, because too few items were scored. If"
        " no score is published (masked language modelling, ranking by our candidates, your own task), there is no"
        " partly, and learned is a low bar. For NER, words decide the interval, and entity F1 the way to the published"
        " score.",
        "a score that equals its baseline is not above it; exactly half of the way is learned",
        "undefined if no score is stored",
        "ours; not in the paper",
        "finetuning.success.verdict_of",
    ),
)
