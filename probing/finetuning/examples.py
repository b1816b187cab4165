"""Turns task data into rows of token ids and labels, and rows into batches; a head that labels whole sentences."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import wraps
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from transformers import PretrainedConfig, PreTrainedModel, PreTrainedTokenizerBase
from transformers.modeling_outputs import SequenceClassifierOutput

from probing.finetuning.tasks.conll import TaggedSentence
from probing.finetuning.tasks.glue import LabelledText
from probing.finetuning.tasks.squad import Question
from probing.kernel.errors import ModelError
from probing.kernel.models.arrays import IGNORED, mask_pieces
from probing.kernel.models.check import token_ids
from probing.kernel.objectives import MEAN

LONGEST_QUESTION = 64
#: Questions or pairs that are tokenised together.
_EXAMPLES = 1000


@dataclass(frozen=True)
class Row:
    """One input of a model."""

    ids: tuple[int, ...]
    types: tuple[int, ...] = ()  #: empty if the model has none
    labels: tuple[int, ...] = ()  #: a tag per token, (start, end) of the answer, one class, or empty (MLM: drawn later)
    origin: int = 0  #: number of the sentence, question or pair
    #: (first, last + 1) character of every token in the context, (0, 0) outside of it; QA only
    offsets: tuple[tuple[int, int], ...] = field(default=(), repr=False)


def _in_parts(rows_of: Callable[..., list[Row]]) -> Callable[..., list[Row]]:
    """The same rows, made of some examples at a time, with equal numbers and offsets in memory once.

    All at once, the encodings and rows of two million pairs would take 31 GB.
    """

    @wraps(rows_of)
    def rows(examples: Sequence[Any], *how: Any) -> list[Row]:
        known: dict[Any, Any] = {}
        found = []
        for start in range(0, len(examples), _EXAMPLES):
            for row in rows_of(examples[start : start + _EXAMPLES], *how):
                ids, offsets = (
                    tuple(known.setdefault(value, value) for value in values) for values in (row.ids, row.offsets)
                )
                types = known.setdefault(row.types, row.types)
                found.append(replace(row, ids=ids, types=types, offsets=offsets, origin=start + row.origin))
        return found

    return rows


def tag_rows(
    sentences: Sequence[TaggedSentence], tokenizer: PreTrainedTokenizerBase, tags: Sequence[str], limit: int
) -> list[Row]:
    """One row per sentence; only the first piece of a word has its tag (Devlin et al. 2019, section 5.3)."""
    number = {tag: place for place, tag in enumerate(tags)}
    encoded = tokenizer([list(s.words) for s in sentences], is_split_into_words=True, truncation=True, max_length=limit)
    rows = []
    for origin, sentence in enumerate(sentences):
        labels, before = [], None
        for word in encoded.word_ids(origin):
            labels.append(IGNORED if word is None or word == before else number[sentence.tags[word]])
            before = word
        rows.append(Row(tuple(encoded["input_ids"][origin]), _types(encoded, origin), tuple(labels), origin))
    return rows


@_in_parts
def question_rows(
    questions: Sequence[Question], tokenizer: PreTrainedTokenizerBase, limit: int, stride: int
) -> list[Row]:
    """Rows of question and passage, a long passage in windows that overlap by ``stride`` tokens.

    The label is the first and last token of the first recorded answer, or the first token of the row if the window does
    not contain the answer. A question is cut to 64 tokens, as in BERT's own code, or to half of a shorter row.
    """
    shortened = [_cut(q.question, tokenizer, min(LONGEST_QUESTION, limit // 2)) for q in questions]
    encoded = tokenizer(
        shortened,
        [q.context for q in questions],
        truncation="only_second",
        max_length=limit,
        stride=stride,
        return_overflowing_tokens=True,
        return_offsets_mapping=True,
    )
    rows = []
    for row, origin in enumerate(encoded["overflow_to_sample_mapping"]):
        sides = encoded.sequence_ids(row)
        offsets = [
            tuple(o) if side == 1 else (0, 0) for o, side in zip(encoded["offset_mapping"][row], sides, strict=True)
        ]
        start, end = 0, 0
        if questions[origin].answers:
            text, first = questions[origin].answers[0]
            last = first + len(text)
            inside = [i for i, (a, b) in enumerate(offsets) if b > first and a < last and b > a]
            if inside and offsets[inside[0]][0] <= first and offsets[inside[-1]][1] >= last:
                start, end = inside[0], inside[-1]
        rows.append(Row(tuple(encoded["input_ids"][row]), _types(encoded, row), (start, end), origin, tuple(offsets)))
    return rows


def _cut(text: str, tokenizer: PreTrainedTokenizerBase, limit: int) -> str:
    offsets = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)["offset_mapping"]
    return text if len(offsets) <= limit else text[: offsets[limit - 1][1]]


@_in_parts
def pair_rows(pairs: Sequence[tuple[str, str, bool]], tokenizer: PreTrainedTokenizerBase, limit: int) -> list[Row]:
    """Rows of query and passage with their class, 1 for relevant (Nogueira and Cho 2019)."""
    queries = [_cut(query, tokenizer, min(LONGEST_QUESTION, limit // 2)) for query, _, _ in pairs]
    encoded = tokenizer(queries, [p[1] for p in pairs], truncation="only_second", max_length=limit)
    return [Row(tuple(encoded["input_ids"][n]), _types(encoded, n), (int(pair[2]),), n) for n, pair in enumerate(pairs)]


def class_rows(
    texts: Sequence[LabelledText], tokenizer: PreTrainedTokenizerBase, classes: Sequence[str], limit: int
) -> list[Row]:
    """One row per sentence or pair, with its class; if a pair is too long, the longer sentence is cut first."""
    first, second = [example.text for example in texts], [example.pair for example in texts]
    encoded = tokenizer(first, second if any(second) else None, truncation="longest_first", max_length=limit)
    number = {label: place for place, label in enumerate(classes)}
    return [
        Row(tuple(encoded["input_ids"][n]), _types(encoded, n), (number[example.label],), n)
        for n, example in enumerate(texts)
    ]


def shuffled_labels(rows: Sequence[Row], kind: str, seed: int) -> list[Row]:
    """The rows with labels that say nothing about the input: the control of a task.

    Classes are exchanged among rows and tags among words, so each is as frequent as before. An answer becomes a random
    span of the passage, as long as another row's answer; a window without an answer keeps none.
    """
    rng = np.random.default_rng([seed, 7])
    if kind == "class":
        return [replace(row, labels=rows[n].labels) for row, n in zip(rows, rng.permutation(len(rows)), strict=True)]
    if kind == "tags":
        words = [label for row in rows for label in row.labels if label != IGNORED]
        drawn = iter(rng.permutation(words).tolist())
        return [
            replace(row, labels=tuple(label if label == IGNORED else next(drawn) for label in row.labels))
            for row in rows
        ]
    if kind != "span":
        raise ModelError("running text has no labels to shuffle; its control is the objective 'control'")
    lengths = [row.labels[1] - row.labels[0] for row in rows if row.labels != (0, 0)]
    shuffled = []
    for row in rows:
        if row.labels != (0, 0):
            inside = [place for place, (first, last) in enumerate(row.offsets) if last > first]
            length = min(int(rng.choice(lengths)), len(inside) - 1)
            start = int(rng.integers(len(inside) - length))
            row = replace(row, labels=(inside[start], inside[start + length]))
        shuffled.append(row)
    return shuffled


def text_rows(texts: Sequence[str], tokenizer: PreTrainedTokenizerBase, limit: int, *, joined: bool) -> list[Row]:
    """Rows of running text: all texts as one stream cut into blocks of ``limit`` tokens, or one row per text."""
    if not joined:
        encoded = tokenizer(list(texts), truncation=True, max_length=limit)["input_ids"]
        return [Row(tuple(ids), origin=n) for n, ids in enumerate(encoded) if len(ids) > 2]
    pieces = tokenizer(list(texts), add_special_tokens=False)["input_ids"]
    stream = [piece for row in pieces for piece in row]
    # The special tokens around an empty text: one before it, the rest after it.
    first, *last = tokenizer("")["input_ids"]
    room = limit - 1 - len(last)
    cut = [stream[start : start + room] for start in range(0, len(stream), room)]
    return [Row((first, *block, *last), origin=n) for n, block in enumerate(cut)]


def _types(encoded, row: int) -> tuple[int, ...]:
    return tuple(encoded["token_type_ids"][row]) if "token_type_ids" in encoded else ()


def collate(rows: Sequence[Row], tokenizer: PreTrainedTokenizerBase) -> dict[str, torch.Tensor]:
    """Input ids, attention mask and token types, if there are any: (rows, tokens), padded to the longest row."""
    width = max(len(row.ids) for row in rows)

    def padded(values: list[tuple[int, ...]], fill: int) -> torch.Tensor:
        return torch.tensor([[*row, *[fill] * (width - len(row))] for row in values])

    batch = {
        "input_ids": padded([row.ids for row in rows], tokenizer.pad_token_id),
        "attention_mask": padded([(1,) * len(row.ids) for row in rows], 0),
    }
    if all(row.types for row in rows):
        batch["token_type_ids"] = padded([row.types for row in rows], 0)
    return batch


def mask_tokens(
    batch: dict[str, torch.Tensor], tokenizer: PreTrainedTokenizerBase, share: float, rng: np.random.Generator
) -> torch.Tensor:
    """Masks a share of a batch's ordinary tokens in place, at least one of every row; returns (rows, tokens) labels."""
    ids = batch["input_ids"].numpy()
    special = np.isin(ids, tokenizer.all_special_ids)
    dice = np.where(special, 2.0, rng.random(ids.shape))
    chosen = (dice < share) | ((dice == dice.min(axis=1, keepdims=True)) & ~special)
    labels = np.where(chosen, ids, IGNORED)
    kind = rng.random(ids.shape)
    ordinary = np.setdiff1d(token_ids(tokenizer), tokenizer.all_special_ids)
    other = ordinary[rng.integers(len(ordinary), size=ids.shape)]
    read = ids.copy()
    read[chosen] = mask_pieces(ids[chosen], kind[chosen], other[chosen].__getitem__, tokenizer.mask_token_id, "first")
    batch["input_ids"] = torch.from_numpy(read)
    return torch.from_numpy(labels)


class SentenceClassifier(nn.Module):
    """Classes from tanh(W v + b) of the first token's state v or the mean (Mosbach et al. 2020, section 3).

    W, b and the layer on top are initialised at random, also if a base has its own pooler. Parameters of the body have
    the names that they have in the base. Special tokens count in the ``mean``.
    """

    def __init__(self, masked: PreTrainedModel, classes: int, pooling: str, dropout: float):
        super().__init__()
        self.base_model_prefix, self.config, self.pooling = masked.base_model_prefix, masked.config, pooling
        setattr(self, self.base_model_prefix, getattr(masked, self.base_model_prefix))
        width = int(masked.config.hidden_size)
        self.dense, self.classifier, self.dropout = (
            nn.Linear(width, width),
            nn.Linear(width, classes),
            nn.Dropout(dropout),
        )
        for layer in (self.dense, self.classifier):
            nn.init.normal_(layer.weight, std=float(getattr(masked.config, "initializer_range", 0.02)))
            nn.init.zeros_(layer.bias)

    @property
    def body(self) -> PreTrainedModel:
        return getattr(self, self.base_model_prefix)

    @property
    def device(self) -> torch.device:
        return self.dense.weight.device

    def get_input_embeddings(self) -> nn.Module:
        return self.body.get_input_embeddings()

    def save_pretrained(self, folder: Path) -> None:
        """Writes the body; the head is dropped."""
        self.body.save_pretrained(folder)

    def forward(
        self,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor,
        token_type_ids: torch.Tensor | None = None,
        labels: torch.Tensor | None = None,
    ) -> SequenceClassifierOutput:
        types = {} if token_type_ids is None else {"token_type_ids": token_type_ids}
        states = self.body(input_ids=input_ids, attention_mask=attention_mask, **types).last_hidden_state
        pooled = mean_state(states, attention_mask) if self.pooling == MEAN else states[:, 0]
        logits = self.classifier(self.dropout(torch.tanh(self.dense(pooled))))
        return SequenceClassifierOutput(loss=None if labels is None else F.cross_entropy(logits, labels), logits=logits)


def mean_state(states: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
    """(rows, hidden) means of (rows, tokens, hidden) over the tokens that are not padding."""
    there = attention_mask[..., None].to(states.dtype)
    return (states * there).sum(1) / there.sum(1)


def dropouts(config: PretrainedConfig, share: float) -> dict[str, float]:
    """Every dropout of a configuration set to ``share``."""
    return {
        name: share
        for name, value in config.to_dict().items()
        if "dropout" in name and isinstance(value, int | float) and not isinstance(value, bool)
    }
