"""Scores a fine-tuned model on its own task, with its baselines and comparisons."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from probing.finetuning.examples import (
    Row,
    SentenceClassifier,
    collate,
    mask_tokens,
    pair_rows,
    question_rows,
    tag_rows,
)
from probing.finetuning.scores import (
    answer_exact,
    answer_f1,
    entity_f1,
    labelled_right,
    majority_class,
    matthews,
    ndcg,
    random_order,
    random_span,
    reciprocal_rank,
    words_tagged_right,
)
from probing.finetuning.tasks.conll import TaggedSentence
from probing.finetuning.tasks.msmarco import RankedList
from probing.finetuning.tasks.squad import Question
from probing.kernel.models.arrays import IGNORED, plan_batches
from probing.kernel.models.head import masked_logits
from probing.kernel.objectives import ACCURACY, MATTHEWS
from probing.kernel.success import (
    BEFORE,
    BM25,
    COMMONEST_TOKEN,
    MAJORITY,
    NO_ANSWER,
    NO_CORRELATION,
    NO_ENTITY,
    RANDOM_ORDER,
    RANDOM_SPAN,
    WORDS_TAG,
)

LONGEST_ANSWER = 30
_TOKENS = 8_000


@dataclass(frozen=True)
class Score:
    """A task metric with one other value, a baseline or a comparison, whose name is ``chance_name``.

    ``n`` counts the scored sentences, questions, queries or tokens. ``kernel.success`` decides which value the
    metric has to exceed.
    """

    metric: str
    value: float
    chance: float | None
    chance_name: str
    n: int


def _outputs(
    model: PreTrainedModel | SentenceClassifier, rows: Sequence[Row], tokenizer: PreTrainedTokenizerBase
) -> Iterator[tuple[list[int], object]]:
    with torch.inference_mode():
        for batch in plan_batches([len(row.ids) for row in rows], _TOKENS, 0):
            inputs = {
                name: value.to(model.device) for name, value in collate([rows[n] for n in batch], tokenizer).items()
            }
            yield batch, model(**inputs)


def score_tags(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    sentences: Sequence[TaggedSentence],
    tags: Sequence[str],
    limit: int,
) -> list[Score]:
    """Entity F1; a model that predicts O everywhere has 0."""
    guessed = _tagged(model, tokenizer, sentences, tags, limit, "O")
    gold = [s.tags for s in sentences]
    words = sum(len(s.words) for s in sentences)
    none = sum(tag == "O" for s in sentences for tag in s.tags)
    return [
        Score("entity F1", entity_f1(gold, guessed), 0.0, NO_ENTITY, len(sentences)),
        Score("words tagged right", words_tagged_right(gold, guessed), none / words, NO_ENTITY, words),
    ]


def score_words(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    sentences: Sequence[TaggedSentence],
    tags: Sequence[str],
    limit: int,
    train: Sequence[TaggedSentence],
) -> list[Score]:
    """Share of words with the right tag, of all words and by form, with that of the commonest tag in training."""
    seen: dict[str, Counter[str]] = defaultdict(Counter)
    for sentence in train:
        for word, tag in zip(sentence.words, sentence.tags, strict=True):
            seen[word.lower()][tag] += 1
    commonest = majority_class([tag for sentence in train for tag in sentence.tags])
    by_form = {word: majority_class(list(counted.elements())) for word, counted in seen.items()}
    gold = [s.tags for s in sentences]
    value = words_tagged_right(gold, _tagged(model, tokenizer, sentences, tags, limit, commonest))
    words = sum(len(s.words) for s in sentences)
    guesses = {
        WORDS_TAG: [[by_form.get(word.lower(), commonest) for word in s.words] for s in sentences],
        MAJORITY: [[commonest] * len(s.words) for s in sentences],
    }
    return [
        Score("words tagged right", value, words_tagged_right(gold, guessed), name, words)
        for name, guessed in guesses.items()
    ]


def _tagged(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    sentences: Sequence[TaggedSentence],
    tags: Sequence[str],
    limit: int,
    unread: str,
) -> list[list[str]]:
    """The tag of every word; ``unread`` for words that a cut sentence has lost."""
    rows = tag_rows(sentences, tokenizer, tags, limit)
    guessed = [[unread] * len(s.words) for s in sentences]
    for batch, output in _outputs(model, rows, tokenizer):
        best = output.logits.argmax(-1).cpu().tolist()  # type: ignore[attr-defined]
        for n, line in zip(batch, best, strict=True):
            first = [tag for tag, label in zip(line, rows[n].labels, strict=False) if label != IGNORED]
            for word, tag in enumerate(first):
                guessed[rows[n].origin][word] = tags[tag]
    return guessed


def score_spans(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    questions: Sequence[Question],
    lengths: Sequence[int],
    limit: int,
    stride: int,
) -> list[Score]:
    """Answer F1 and exact match; chance is a random span of the passage as long as a training answer.

    If some questions have no answer, always giving the empty answer is a second chance level.
    """
    rows = question_rows(questions, tokenizer, limit, stride)
    impossible = any(not q.answers for q in questions)
    best: dict[int, tuple[float, str]] = {}
    nothing: dict[int, float] = defaultdict(lambda: float("inf"))
    for batch, output in _outputs(model, rows, tokenizer):
        starts, ends = output.start_logits.float().cpu(), output.end_logits.float().cpu()  # type: ignore[attr-defined]
        for line, n in enumerate(batch):
            row, width = rows[n], len(rows[n].ids)
            start, end = starts[line, :width].clone(), ends[line, :width].clone()
            nothing[row.origin] = min(nothing[row.origin], float(start[0] + end[0]))
            inside = torch.tensor([b > a for a, b in row.offsets])
            pairs = start.masked_fill(~inside, -torch.inf)[:, None] + end.masked_fill(~inside, -torch.inf)[None, :]
            pairs = pairs.masked_fill(
                ~torch.ones(width, width, dtype=torch.bool).triu().tril(LONGEST_ANSWER - 1), -torch.inf
            )
            place = int(pairs.argmax())
            first, last = divmod(place, width)
            score = float(pairs[first, last])
            if score > best.get(row.origin, (-float("inf"), ""))[0]:
                best[row.origin] = (score, questions[row.origin].context[row.offsets[first][0] : row.offsets[last][1]])
    rng = np.random.default_rng(0)
    got: dict[str, list[float]] = defaultdict(list)
    for n, question in enumerate(questions):
        score, answer = best.get(n, (-float("inf"), ""))
        prediction = "" if impossible and nothing[n] > score else answer
        chance = random_span(question.context, lengths, rng)
        answers = [text for text, _ in question.answers]
        got["F1"].append(answer_f1(prediction, answers))
        got["exact match"].append(answer_exact(prediction, answers))
        got["chance F1"].append(answer_f1(chance, answers))
        got["chance exact match"].append(answer_exact(chance, answers))
        got["never"].append(float(not answers))
    mean = {name: float(np.mean(values)) for name, values in got.items()}
    scores = [
        Score(name, mean[name], mean[f"chance {name}"], RANDOM_SPAN, len(questions)) for name in ("F1", "exact match")
    ]
    if impossible:
        scores += [Score(name, mean[name], mean["never"], NO_ANSWER, len(questions)) for name in ("F1", "exact match")]
    return scores


def score_ranking(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, lists: Sequence[RankedList], limit: int
) -> list[Score]:
    """nDCG@10 and reciprocal rank of the re-ranked lists; a random order's expectation, and BM25's values."""
    pairs = [(candidates.query, passage.text, False) for candidates in lists for passage in candidates.passages]
    rows = pair_rows(pairs, tokenizer, limit)
    relevance = np.zeros(len(rows))
    for batch, output in _outputs(model, rows, tokenizer):
        relevance[batch] = output.logits.float().softmax(-1)[:, 1].cpu().numpy()  # type: ignore[attr-defined]
    got: dict[str, list[float]] = defaultdict(list)
    start = 0
    for candidates in lists:
        grades = [passage.grade or 0 for passage in candidates.passages]
        order = np.argsort(-relevance[start : start + len(grades)], kind="stable")
        start += len(grades)
        chance_gain, chance_place = random_order(grades, candidates.judged, candidates.relevant_from)
        reranked, listed = [grades[n] for n in order], ndcg(grades, candidates.judged)
        if listed is None or chance_gain is None:
            continue
        got["nDCG@10"].append(ndcg(reranked, candidates.judged) or 0.0)
        got["random nDCG@10"].append(chance_gain)
        got["BM25 nDCG@10"].append(listed)
        got["MRR@10"].append(reciprocal_rank(reranked, candidates.relevant_from))
        got["random MRR@10"].append(chance_place)
        got["BM25 MRR@10"].append(reciprocal_rank(grades, candidates.relevant_from))
    mean = {name: float(np.mean(values)) for name, values in got.items()}
    n = len(got["nDCG@10"])
    return [
        Score(metric, mean[metric], mean[f"{chance} {metric}"], name, n)
        for metric in ("nDCG@10", "MRR@10")
        for chance, name in (("random", RANDOM_ORDER), ("BM25", BM25))
    ]


def score_classes(
    model: SentenceClassifier,
    tokenizer: PreTrainedTokenizerBase,
    rows: Sequence[Row],
    majority: int,
    *,
    correlation: bool,
) -> list[Score]:
    """Accuracy, with that of always predicting ``majority``; before it, if wanted, Matthews' correlation, with 0."""
    gold, guessed = [row.labels[0] for row in rows], [0] * len(rows)
    for batch, output in _outputs(model, rows, tokenizer):
        for n, best in zip(batch, output.logits.argmax(-1).cpu().tolist(), strict=True):  # type: ignore[attr-defined]
            guessed[n] = best
    scores = [Score(ACCURACY, labelled_right(gold, guessed), gold.count(majority) / len(rows), MAJORITY, len(rows))]
    return (
        [Score(MATTHEWS, matthews(gold, guessed), 0.0, NO_CORRELATION, len(rows)), *scores] if correlation else scores
    )


def masked_accuracy(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, rows: Sequence[Row], share: float
) -> tuple[float, float, int]:
    """Share of masked tokens that are predicted at rank 1, share of the most frequent of them, and their number."""
    rng, right = np.random.default_rng(0), 0
    labels_seen: Counter[int] = Counter()
    with torch.inference_mode():
        for batch in plan_batches([len(row.ids) for row in rows], _TOKENS, 0):
            inputs = collate([rows[n] for n in batch], tokenizer)
            labels = mask_tokens(inputs, tokenizer, share, rng)
            inputs = {name: value.to(model.device) for name, value in inputs.items()}
            masked = labels != IGNORED
            best = masked_logits(model, inputs, masked.to(model.device)).argmax(-1).cpu()
            right += int((best == labels[masked]).sum())
            labels_seen.update(labels[masked].tolist())
    n = sum(labels_seen.values())
    return right / n, labels_seen.most_common(1)[0][1] / n, n


def score_masked(
    model: PreTrainedModel,
    before: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    rows: Sequence[Row],
    share: float,
) -> list[Score]:
    """Accuracy at masked tokens of held-out text, with the most frequent token's share and with the base's accuracy."""
    value, most, n = masked_accuracy(model, tokenizer, rows, share)
    return [
        Score("masked accuracy", value, most, COMMONEST_TOKEN, n),
        Score("masked accuracy", value, masked_accuracy(before, tokenizer, rows, share)[0], BEFORE, n),
    ]
