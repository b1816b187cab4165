"""Kinds of fine-tuning examples: the head that reads them, their rows, and the scorer of the result."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import torch
from transformers import (
    AutoModelForMaskedLM,
    AutoModelForQuestionAnswering,
    AutoModelForSequenceClassification,
    AutoModelForTokenClassification,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)

from probing.core.errors import FactsError, ModelError
from probing.core.tasks.glue import without_scored
from probing.core.tasks.held_out import TEST_SHARE
from probing.core.tasks.objectives import FIRST, Kind, Parts
from probing.core.tasks.scores import majority_class
from probing.models.encoders.head import layout_of
from probing.models.finetuning import evaluation, examples
from probing.models.finetuning.sentence_classifier import SentenceClassifier, dropouts

#: Number of blocks of held-out text that masked language modelling is scored on.
_TEST_BLOCKS = 2000


@dataclass(frozen=True)
class Base:
    """A base that is fine-tuned.

    Attributes:
        where: the folder of its files.
        before: the base as a masked language model.
        tokenizer: its tokenizer.
        limit: maximum length of an input in word pieces.
        stride: overlap of the windows of a long passage.
        masked_share: share of tokens that masked language modelling masks.
        pooling: the input of a head that labels sentences, ``first`` or ``mean``.
        dropout: dropout of a model that labels sentences; None: the base's own, and none in the head.
    """

    where: Path
    before: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    limit: int
    stride: int
    masked_share: float
    pooling: str = FIRST
    dropout: float | None = None

    def with_head(self, head: Any, **more: Any) -> PreTrainedModel:
        """The base's body with a task's head, float32.

        Raises:
            ModelError: if transformers has no such head for the base's architecture.
        """
        if type(self.before.config) not in head._model_mapping:
            task = head.__name__.removeprefix("AutoModelFor")
            kind = self.before.config.model_type
            raise ModelError(f"transformers has no {task} head for {kind!r}, which {self.where} is; choose another objective or base")
        return head.from_pretrained(self.where, dtype=torch.float32, **layout_of(self.before.config), **more)


@dataclass(frozen=True)
class Training:
    """A model with its training rows and its scorer.

    Attributes:
        model: the base's body with the task's head.
        labels: kind of the rows' labels, see ``models.finetuning.trainer.PlannedSteps``.
        rows: training rows.
        test_words: description of the test part.
        score: computes the task's scores.
        left_out: reason -> number of training examples that are left out for it.
    """

    model: PreTrainedModel | SentenceClassifier
    labels: str
    rows: Sequence[examples.Row]
    test_words: str
    score: Callable[[], list[evaluation.Score]]
    left_out: Mapping[str, int] = field(default_factory=dict)


def _tags(base: Base, data: Path, parts: Parts) -> Training:
    train, test = parts
    check_parts(data, train, test)
    tags = sorted({tag for sentence in (*train, *test) for tag in sentence.tags})
    model = base.with_head(AutoModelForTokenClassification, num_labels=len(tags))
    rows = examples.tag_rows(train, base.tokenizer, tags, base.limit)
    score = partial(evaluation.score_tags, model, base.tokenizer, test, tags, base.limit)
    return Training(model, "tags", rows, f"{len(test):,} sentences", score)


def _spans(base: Base, data: Path, parts: Parts) -> Training:
    train, test = parts
    lengths = [len(question.answers[0][0].split()) for question in train if question.answers]
    check_parts(data, lengths, test)
    model = base.with_head(AutoModelForQuestionAnswering)
    rows = examples.question_rows(train, base.tokenizer, base.limit, base.stride)
    score = partial(evaluation.score_spans, model, base.tokenizer, test, lengths, base.limit, base.stride)
    return Training(model, "span", rows, f"{len(test):,} questions", score)


def _ranking(base: Base, data: Path, parts: Parts) -> Training:
    pairs, lists = parts
    check_parts(data, pairs, lists)
    model = base.with_head(AutoModelForSequenceClassification, num_labels=2)
    rows = examples.pair_rows(pairs, base.tokenizer, base.limit)
    score = partial(evaluation.score_ranking, model, base.tokenizer, lists, base.limit)
    return Training(model, "class", rows, f"{len(lists):,} ranked lists", score)


def _masked(base: Base, data: Path, parts: Parts, *, joined: bool) -> Training:
    check_parts(data, *parts)
    rows, held = (examples.text_rows(part, base.tokenizer, base.limit, joined=joined) for part in parts)
    test = held[:_TEST_BLOCKS]
    model = base.with_head(AutoModelForMaskedLM)
    score = partial(evaluation.score_masked, model, base.before, base.tokenizer, test, base.masked_share)
    return Training(model, "mlm", rows, f"{len(test):,} blocks of held-out text", score)


def _classes(base: Base, data: Path, parts: Parts, *, correlation: bool) -> Training:
    train, test = without_scored(*parts), parts[1]
    check_parts(data, train, test)
    classes = sorted({one.label for one in (*train, *test)})
    if len(classes) < 2:
        raise FactsError(f"{data} has the label {classes[0]!r} alone; expected sentences of two labels or more")
    changed = {} if base.dropout is None else dropouts(base.before.config, base.dropout)
    model = SentenceClassifier(base.with_head(AutoModelForMaskedLM, **changed), len(classes), base.pooling, base.dropout or 0.0)
    rows, held = (examples.class_rows(part, base.tokenizer, classes, base.limit) for part in (train, test))
    majority = classes.index(majority_class([one.label for one in train]))
    score = partial(evaluation.score_classes, model, base.tokenizer, held, majority, correlation=correlation)
    repeated = len(parts[0]) - len(train)
    return Training(model, "class", rows, f"{len(test):,} examples", score, {"also scored": repeated} if repeated else {})


KINDS: Mapping[Kind, Callable[[Base, Path, Parts], Training]] = {
    "tags": _tags,
    "spans": _spans,
    "ranking": _ranking,
    "blocks": partial(_masked, joined=True),
    "texts": partial(_masked, joined=False),
    "classes": partial(_classes, correlation=False),
    "acceptability": partial(_classes, correlation=True),
}


def check_parts(data: Path, train: Sequence[Any], test: Sequence[Any]) -> None:
    """Raises a ``FactsError`` if a part is empty, before hours of training rather than after them."""
    for part, what in ((train, "train on"), (test, "be scored on")):
        if not part:
            held = f"{TEST_SHARE:.0%} of the articles or queries are held out for scoring, decided by their names"
            raise FactsError(f"{data} has nothing to {what}; expected the official files, or more of them: {held}")
