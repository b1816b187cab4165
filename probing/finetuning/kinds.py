"""Kinds of fine-tuning examples: the head that reads them, their rows, and the scorer of the result."""

import logging
from collections.abc import Callable, Hashable, Mapping, Sequence
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

from probing.finetuning import evaluation, examples
from probing.finetuning.examples import SentenceClassifier, dropouts
from probing.finetuning.readers import DEV, Parts
from probing.finetuning.scores import majority_class
from probing.finetuning.tasks.data_files import DEVELOPMENT_SHARE, TEST_SHARE, development_part
from probing.finetuning.tasks.glue import without_scored
from probing.finetuning.tasks.msmarco import ranked_lists
from probing.kernel.errors import FactsError, ModelError
from probing.kernel.models.head import layout_of
from probing.kernel.objectives import FIRST, Kind, Task
from probing.kernel.text import doubts_of_parts

_log = logging.getLogger(__name__)

#: Number of blocks of held-out text that masked language modelling is scored on.
_TEST_BLOCKS = 2000


@dataclass(frozen=True)
class Base:
    """A base that is fine-tuned."""

    where: Path
    before: PreTrainedModel  #: as a masked language model
    tokenizer: PreTrainedTokenizerBase
    limit: int  #: longest input in word pieces
    stride: int  #: overlap of the windows of a long passage
    masked_share: float
    pooling: str = FIRST  #: input of a head that labels sentences, ``first`` or ``mean``
    dropout: float | None = None  #: None: the base's own, and none in a head that labels sentences

    def with_head(self, head: Any, **more: Any) -> PreTrainedModel:
        """The base's body with a task's head, float32; ModelError if transformers has none for its architecture."""
        if type(self.before.config) not in head._model_mapping:
            task = head.__name__.removeprefix("AutoModelFor")
            kind = self.before.config.model_type
            raise ModelError(
                f"transformers has no {task} head for {kind!r}, which {self.where} is; choose another objective or base"
            )
        changed = {} if self.dropout is None else dropouts(self.before.config, self.dropout)
        return head.from_pretrained(self.where, dtype=torch.float32, **layout_of(self.before.config), **changed, **more)


@dataclass(frozen=True)
class Training:
    """A model, the base's body with the task's head, with its training rows and its scorer."""

    model: PreTrainedModel | SentenceClassifier
    labels: str  #: kind of the rows' labels, see ``PlannedSteps``
    rows: Sequence[examples.Row]
    test: Sequence[Any]
    what: str  #: name of the items of ``test``
    scores: Callable[[Sequence[Any]], list[evaluation.Score]]  #: the main one first
    left_out: Mapping[str, int] = field(default_factory=dict)  #: reason -> number of examples

    @property
    def test_words(self) -> str:
        return f"{len(self.test):,} {self.what}"

    def score(self) -> list[evaluation.Score]:
        """The scores on the test part."""
        return self.scores(self.test)


def _tags(base: Base, data: Path, parts: Parts) -> Training:
    return _tagged(
        base,
        data,
        parts,
        lambda model, tags, scored: evaluation.score_tags(model, base.tokenizer, scored, tags, base.limit),
    )


def _words(base: Base, data: Path, parts: Parts) -> Training:
    return _tagged(
        base,
        data,
        parts,
        lambda model, tags, scored: evaluation.score_words(model, base.tokenizer, scored, tags, base.limit, parts[0]),
    )


def _tagged(
    base: Base, data: Path, parts: Parts, score: Callable[[Any, Sequence[str], Sequence[Any]], list[evaluation.Score]]
) -> Training:
    train, test = parts
    check_parts(data, train, test)
    tags = sorted({tag for sentence in (*train, *test) for tag in sentence.tags})
    model = base.with_head(AutoModelForTokenClassification, num_labels=len(tags))
    rows = examples.tag_rows(train, base.tokenizer, tags, base.limit)
    return Training(model, "tags", rows, test, "sentences", partial(score, model, tags))


def _spans(base: Base, data: Path, parts: Parts) -> Training:
    train, test = parts
    lengths = [len(question.answers[0][0].split()) for question in train if question.answers]
    check_parts(data, lengths, test)
    model = base.with_head(AutoModelForQuestionAnswering)
    rows = examples.question_rows(train, base.tokenizer, base.limit, base.stride)
    score = partial(
        evaluation.score_spans, model, base.tokenizer, lengths=lengths, limit=base.limit, stride=base.stride
    )
    return Training(model, "span", rows, test, "questions", score)


def _ranking(base: Base, data: Path, parts: Parts) -> Training:
    pairs, lists = parts
    check_parts(data, pairs, lists)
    model = base.with_head(AutoModelForSequenceClassification, num_labels=2)
    rows = examples.pair_rows(pairs, base.tokenizer, base.limit)
    return Training(
        model,
        "class",
        rows,
        lists,
        "ranked lists",
        partial(evaluation.score_ranking, model, base.tokenizer, limit=base.limit),
    )


def _masked(base: Base, data: Path, parts: Parts, *, joined: bool) -> Training:
    check_parts(data, *parts)
    rows, held = (examples.text_rows(part, base.tokenizer, base.limit, joined=joined) for part in parts)
    model = base.with_head(AutoModelForMaskedLM)

    def score(scored: Sequence[Any]) -> list[evaluation.Score]:
        blocks = (
            scored
            if isinstance(scored[0], examples.Row)
            else examples.text_rows(scored, base.tokenizer, base.limit, joined=joined)
        )
        return evaluation.score_masked(model, base.before, base.tokenizer, blocks[:_TEST_BLOCKS], base.masked_share)

    return Training(model, "mlm", rows, held[:_TEST_BLOCKS], "blocks of held-out text", score)


def _classes(base: Base, data: Path, parts: Parts, *, correlation: bool) -> Training:
    train, test = without_scored(*parts), parts[1]
    check_parts(data, train, test)
    classes = sorted({example.label for example in (*train, *test)})
    if len(classes) < 2:
        raise FactsError(f"{data} has the label {classes[0]!r} alone; expected sentences of two labels or more")
    model = SentenceClassifier(base.with_head(AutoModelForMaskedLM), len(classes), base.pooling, base.dropout or 0.0)
    rows = examples.class_rows(train, base.tokenizer, classes, base.limit)
    majority = classes.index(majority_class([example.label for example in train]))

    def score(scored: Sequence[Any]) -> list[evaluation.Score]:
        held = examples.class_rows(scored, base.tokenizer, classes, base.limit)
        return evaluation.score_classes(model, base.tokenizer, held, majority, correlation=correlation)

    repeated = len(parts[0]) - len(train)
    return Training(model, "class", rows, test, "examples", score, {"also scored": repeated} if repeated else {})


KINDS: Mapping[Kind, Callable[[Base, Path, Parts], Training]] = {
    "tags": _tags,
    "words": _words,
    "spans": _spans,
    "ranking": _ranking,
    "blocks": partial(_masked, joined=True),
    "texts": partial(_masked, joined=False),
    "classes": partial(_classes, correlation=False),
    "acceptability": partial(_classes, correlation=True),
}
#: Kind -> what decides whether an example is in the development part; equal examples are in one part.
_GROUPS: Mapping[Kind, Callable[[Any], str]] = {
    "tags": lambda sentence: " ".join(sentence.words),
    "words": lambda sentence: " ".join(sentence.words),
    "spans": lambda question: question.context,
    "ranking": lambda pair: pair[0],
    "blocks": lambda text: text,
    "texts": lambda text: text,
    "classes": lambda example: example.text,
    "acceptability": lambda example: example.text,
}


#: Kind -> text and labels of an example of which training could have seen too much, or nothing.
_DOUBTED: Mapping[Kind, Callable[[Any], tuple[Hashable, Sequence[str]]]] = {
    "tags": lambda sentence: (sentence.words, [tag.partition("-")[2] for tag in sentence.tags if tag != "O"]),
    "words": lambda sentence: (sentence.words, sentence.tags),
    "spans": lambda question: ((question.context, question.question), ()),
}


def say_doubts(task: Task, data: Path, parts: Mapping[str, Sequence[Any]]) -> None:
    """Logs parts that repeat a part before them, or whose labels are not those of training, the first part."""
    if read := _DOUBTED.get(task.kind):
        for doubt in doubts_of_parts({name: list(map(read, examples)) for name, examples in parts.items()}):
            _log.warning("%s: %s", data, doubt)


def with_development(task: Task, data: Path, parts: Parts) -> tuple[Parts, Sequence[Any]]:
    """Parts without the development part, and that part: the data set's own, or a tenth of the training part.

    Of ranking, the pairs of a query become its list. FactsError: the development part is empty.
    """
    if task.slug in DEV:
        return parts, DEV[task.slug](data)
    train, held = development_part(parts[0], _GROUPS[task.kind])
    if not held:
        raise FactsError(
            f"{data} has {len(parts[0]):,} training examples, too few for a development part of {DEVELOPMENT_SHARE:.0%}"
        )
    return (train, parts[1]), ranked_lists(held) if task.kind == "ranking" else held


def check_parts(data: Path, train: Sequence[Any], test: Sequence[Any]) -> None:
    """Raises a ``FactsError`` if a part is empty, before hours of training rather than after them."""
    for part, what in ((train, "train on"), (test, "be scored on")):
        if not part:
            held = f"{TEST_SHARE:.0%} of the articles or queries are held out for scoring, decided by their names"
            raise FactsError(f"{data} has nothing to {what}; expected the official files, or more of them: {held}")
