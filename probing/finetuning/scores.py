"""How well a fine-tuned model does its task, and how well chance does: entity F1, answer F1, ranking."""

import math
import re
import string
from collections import Counter
from collections.abc import Sequence

import numpy as np

from probing.kernel.metric import Metric

_RANKED = "equal scores keep the order of the list"
_SCORES = "finetuning.scores"

TASK_METRICS = (
    Metric(
        "entity_f1",
        "F1",
        "Harmonic mean of precision and recall over named entities; an entity is right if its type and both its ends"
        " are. Predicting O for every word has 0.",
        f"{_SCORES}.entity_f1",
        label="entity F1",
        better="higher",
        ties="among equal scores the first tag",
        empty="0 if there is no entity and none is predicted",
        source="CoNLL-2003 (Tjong Kim Sang and De Meulder 2003)",
    ),
    Metric(
        "words_tagged_right",
        "share of words",
        "Share of words with the right tag, including O. Its interval counts sentences, because the words of a sentence"
        " are not independent.",
        f"{_SCORES}.words_tagged_right",
        better="higher",
        ties="among equal scores the first tag",
        source="ours: entity F1 cannot fall below its baseline of 0, so this one decides whether the task was learned",
    ),
    Metric(
        "answer_f1",
        "mean over questions",
        "F1 of the words of the predicted answer against the best-matching recorded one, mean over questions; the right"
        " answer to a question without an answer is the empty one.",
        f"{_SCORES}.answer_f1",
        label="F1",
        better="higher",
        ties="among equally good spans the first",
        source="SQuAD (Rajpurkar et al. 2016, 2018)",
    ),
    Metric(
        "answer_exact",
        "share of questions",
        "Share of questions whose predicted answer equals a recorded one, without case, punctuation and articles.",
        f"{_SCORES}.answer_exact",
        label="exact match",
        better="higher",
        ties="among equally good spans the first",
        source="SQuAD (Rajpurkar et al. 2016, 2018)",
    ),
    Metric(
        "ndcg_at_10",
        "mean over queries",
        "Gain of the first ten passages, discounted by the logarithm of their position, divided by that of the ideal"
        " order; mean over queries with a relevant passage. Unjudged passages count as irrelevant.",
        f"{_SCORES}.ndcg",
        label="nDCG@10",
        better="higher",
        ties=_RANKED,
        source="TREC's Deep Learning tracks, linear gains as in trec_eval",
    ),
    Metric(
        "mrr_at_10",
        "mean over queries",
        "Mean over queries of 1 / position of the first relevant passage among the first ten, 0 if there is none.",
        f"{_SCORES}.reciprocal_rank",
        label="MRR@10",
        better="higher",
        ties=_RANKED,
        source="MS MARCO (Nguyen et al. 2016)",
    ),
    Metric(
        "masked_accuracy",
        "share of masked tokens",
        "Share of the masked tokens of held-out text that the model ranks first. The same tokens are masked for the"
        " base.",
        "finetuning.evaluation.masked_accuracy",
        better="higher",
        ties="among equal scores the smaller token id is first",
    ),
    Metric(
        "matthews",
        "correlation",
        "Correlation between predicted and gold labels of sentences. Random guessing has 0 on average, and so has"
        " always predicting the same label. Its 95 % interval is Fisher's, approximate for classes.",
        f"{_SCORES}.matthews",
        label="Matthews correlation",
        better="higher",
        ties="among equal scores the first label by name",
        empty="0 if all predicted, or all gold, labels are the same",
        source="CoLA (Warstadt et al. 2019)",
    ),
    Metric(
        "task_accuracy",
        "share of sentences",
        "Share of sentences, or sentence pairs, that get their gold label, compared with always predicting the"
        " commonest training label.",
        f"{_SCORES}.labelled_right",
        better="higher",
        ties="among equal scores the first label by name",
        empty="undefined without sentences",
        source="SST-2 and RTE in GLUE (Wang et al. 2019)",
    ),
    Metric(
        "learned",
        "verdict",
        "Learned: the 95 % interval of the task score lies above its baseline, and the score closes at least half of"
        " the way from the baseline to what BERT-base is published to reach. Partly: only the interval does. Trained,"
        " not learned: the interval does not lie above the baseline, and its upper end is at most 5 points above it;"
        " for sentence labels, whenever it does not. Cannot tell: none of these, because too few items were scored. If"
        " no score is published (masked language modelling, ranking by our candidates, your own task), there is no"
        " partly, and learned is a low bar. For NER, words decide the interval, and entity F1 the way to the published"
        " score.",
        "kernel.success.verdict_of",
        label="learned its task",
        ties="a score that equals its baseline is not above it; exactly half of the way is learned",
        empty="undefined if no score is stored",
    ),
)


def entities(tags: Sequence[str]) -> set[tuple[str, int, int]]:
    """(type, first word, word after the last) of every entity in IOB tags; a lone ``I-`` begins one too."""
    spans, start = set(), None
    for place, tag in enumerate([*tags, "O"]):
        inside = start is not None and tag[0] == "I" and tag[2:] == tags[start][2:]
        if start is not None and not inside:
            spans.add((tags[start][2:], start, place))
            start = None
        if tag != "O" and start is None:
            start = place
    return spans


def entity_f1(gold: Sequence[Sequence[str]], guessed: Sequence[Sequence[str]]) -> float:
    """Micro F1 over exactly matching entities, as in CoNLL-2003 (Tjong Kim Sang and De Meulder 2003)."""
    right = n_gold = n_guessed = 0
    for tags, guess in zip(gold, guessed, strict=True):
        true, predicted = entities(tags), entities(guess)
        right, n_gold, n_guessed = right + len(true & predicted), n_gold + len(true), n_guessed + len(predicted)
    return 2 * right / (n_gold + n_guessed) if n_gold + n_guessed else 0.0


def words_tagged_right(gold: Sequence[Sequence[str]], guessed: Sequence[Sequence[str]]) -> float:
    """Share of words with the right tag, including O."""
    right = sum(a == b for tags, guess in zip(gold, guessed, strict=True) for a, b in zip(tags, guess, strict=True))
    return right / sum(len(tags) for tags in gold)


def labelled_right(gold: Sequence[int], guessed: Sequence[int]) -> float:
    """Share of examples with the right class."""
    return sum(a == b for a, b in zip(gold, guessed, strict=True)) / len(gold)


def matthews(gold: Sequence[int], guessed: Sequence[int]) -> float:
    """Correlation of guessed with gold classes (Matthews 1975; of more than two Gorodkin 2004); 0 if undefined."""
    classes = max([*gold, *guessed], default=0) + 1
    gold_classes, guessed_classes = np.eye(classes)[list(gold)], np.eye(classes)[list(guessed)]
    gold_classes, guessed_classes = gold_classes - gold_classes.mean(0), guessed_classes - guessed_classes.mean(0)
    spread = float((gold_classes * gold_classes).sum() * (guessed_classes * guessed_classes).sum())
    return float((gold_classes * guessed_classes).sum()) / math.sqrt(spread) if spread else 0.0


def majority_class(labels: Sequence[str]) -> str:
    """The commonest label; of equally common ones the first in sorted order."""
    counts = Counter(labels)
    return min(counts, key=lambda label: (-counts[label], label))


def normal_answer(text: str) -> str:
    """Lower case, without punctuation, articles and doubled spaces (Rajpurkar et al. 2016)."""
    bare = "".join(c for c in text.lower() if c not in string.punctuation)
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", bare).split())


def answer_f1(guess: str, answers: Sequence[str]) -> float:
    """Word overlap of a guess with the best of the answers; without answers the empty guess is right."""
    return max(
        (_overlap(normal_answer(guess).split(), normal_answer(a).split()) for a in answers),
        default=float(not guess.strip()),
    )


def answer_exact(guess: str, answers: Sequence[str]) -> float:
    """1 if the guess equals an answer after normalisation, else 0; without answers the empty guess is right."""
    return max((float(normal_answer(guess) == normal_answer(a)) for a in answers), default=float(not guess.strip()))


def _overlap(guess: list[str], answer: list[str]) -> float:
    if not guess or not answer:
        return float(guess == answer)
    same = sum((Counter(guess) & Counter(answer)).values())
    return 2 * same / (len(guess) + len(answer))


def random_span(context: str, lengths: Sequence[int], rng: np.random.Generator) -> str:
    """A span of words at a random place, as long as a randomly drawn training answer: chance level of an answer."""
    words = [match.span() for match in re.finditer(r"\S+", context)]
    if not words:
        return ""
    length = min(int(rng.choice(lengths)), len(words))
    first = int(rng.integers(len(words) - length + 1))
    return context[words[first][0] : words[first + length - 1][1]]


def ndcg(grades: Sequence[int], judged: Sequence[int], cut: int = 10) -> float | None:
    """Normalised discounted cumulative gain at ``cut``, linear gains as trec_eval's; None if nothing is relevant.

    ``grades`` are in the list's order, unjudged 0; ``judged`` all above 0 of the query, whether in the list or not.
    """
    ideal = _gain(sorted(judged, reverse=True)[:cut])
    return _gain(grades[:cut]) / ideal if ideal else None


def reciprocal_rank(grades: Sequence[int], relevant_from: int, cut: int = 10) -> float:
    """1 / place of the first relevant passage among the first ``cut``; 0 if there is none (MRR@10 of MS MARCO)."""
    return next((1 / place for place, grade in enumerate(grades[:cut], 1) if grade >= relevant_from), 0.0)


def random_order(
    grades: Sequence[int], judged: Sequence[int], relevant_from: int, cut: int = 10
) -> tuple[float | None, float]:
    """Expected nDCG and reciprocal rank of the same passages in random order, exactly, not by drawing."""
    n, relevant = len(grades), sum(grade >= relevant_from for grade in grades)
    ideal = _gain(sorted(judged, reverse=True)[:cut])
    mean = sum(grades) / n
    expected = sum(mean / math.log2(place + 1) for place in range(1, min(cut, n) + 1)) / ideal if ideal else None
    # The first relevant passage is at this place: all before it are not relevant.
    reciprocal, none_before = 0.0, 1.0
    for place in range(1, min(cut, n) + 1):
        left = n - place + 1
        reciprocal += none_before * relevant / left / place
        none_before *= max(left - relevant, 0) / left
    return expected, reciprocal


def _gain(grades: Sequence[int]) -> float:
    return sum(grade / math.log2(place + 1) for place, grade in enumerate(grades, 1))
