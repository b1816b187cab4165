"""The evidence for a claim on fine-tuning and sentence-level probing: encoders with their fine-tuned models, ours or the paper's."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

import pandas as pd

from probing.core.sentences.numbers import UPPER
from probing.reports.reproduction.decisions import Interval
from probing.reports.reproduction.findings import Evidence
from probing.reports.reproduction.words import in_points

#: Objectives of the paper, by their names in results, and CoLA fine-tuned on the mean over all tokens.
COLA, SST, RTE, SQUAD, COLA_MEAN = "CoLA", "SST-2", "RTE", "QA-SQuAD-1", "CoLA (mean)"
TUNED = (COLA, SST, RTE, SQUAD)
SHIFT, COORDINATION, ODD = "bigram-shift", "coordination-inversion", "odd-man-out"
TASKS = (SHIFT, COORDINATION, ODD)
BERT, ROBERTA, ALBERT = "BERT", "RoBERTa", "ALBERT"
#: Name of a pooling in sentences.
POOLED = {"first": "CLS", "mean": "mean"}
_ENDS = ("value", "low", "high")
POOLING_COLUMNS = ("encoder", "task", "layer", *_ENDS)
ACCURACY_COLUMNS = ("encoder", "task", "pooling", "layer", *_ENDS, "majority", "surface")
GROUP_COLUMNS = ("encoder", "objective", "task", "pooling", "group", *_ENDS, "control", "seed_low", "seed_high")
CHANGE_COLUMNS = (
    "encoder",
    "objective",
    "task",
    "pooling",
    "layer",
    *_ENDS,
    "q",
    "over_mean",
    "over_mean_low",
    "over_mean_high",
    "over_mean_q",
    "control",
)
VALUE_COLUMNS = ("encoder", "objective", "measure", "layer", *_ENDS, "base", "control")
PERPLEXITY_COLUMNS = ("encoder", "objective", "replaced", "n", "embeddings", *_ENDS, "perplexity")
EPOCH_COLUMNS = ("encoder", "objective", "epoch", "perplexity", "log_change")
LARGER_COLUMNS = ("encoder", "objective", "task", "pooling", *_ENDS)
FATE_COLUMNS = ("encoder", "objective", "fate", "linear", "neural", "cells")


def empty(columns: Iterable[str]) -> pd.DataFrame:
    """A table without rows."""
    return pd.DataFrame(columns=list(columns))


@dataclass(frozen=True)
class InterplayEvidence(Evidence):
    """The numbers of encoders. Unknown numbers have no row. Accuracies and changes are shares.

    Attributes:
        judged: the encoders that a claim on "all models" is judged for: one of ours, or the paper's three.
        depths: encoder -> number of layers above the embeddings.
        named: encoder of the paper -> the same encoder here, or its stand-in.
        accuracies: ``ACCURACY_COLUMNS``: probes of the pre-trained encoders.
        poolings: ``POOLING_COLUMNS``: accuracy with mean-pooling minus that with CLS-pooling, on the same sentences.
        groups: ``GROUP_COLUMNS``: change after fine-tuning, averaged over the lower and the upper layers, with the control's.
        changes: ``CHANGE_COLUMNS``: the same by layer, and ``over_mean``: against the encoder's own mean-pooled probe.
        values: ``VALUE_COLUMNS``: measures of attention, with those of the base and of the control.
        perplexities: ``PERPLEXITY_COLUMNS``: ``value`` is the log of the model's perplexity over its base's.
        epochs: ``EPOCH_COLUMNS``: perplexity while the model was fine-tuned.
        larger: ``LARGER_COLUMNS``: size of the upper layers' mean change minus that of the lower ones, by a bootstrap over sentences.
        fates: ``FATE_COLUMNS``: cells by fate and by the outcomes of the linear and of the neural probes of the same layer and pooling.
        models: encoder -> number of models, itself among them, with probes of the paper's tasks.
        probes: encoder -> number of their probes.
        published: whether the intervals are roundings of published numbers.
    """

    counts: ClassVar[str] = ""
    silent: ClassVar[str] = "It was trained but did not learn, so its numbers say nothing about the task."
    judged: tuple[str, ...]
    depths: Mapping[str, int]
    named: Mapping[str, str] = field(default_factory=dict)
    accuracies: pd.DataFrame = field(default_factory=lambda: empty(ACCURACY_COLUMNS))
    poolings: pd.DataFrame = field(default_factory=lambda: empty(POOLING_COLUMNS))
    groups: pd.DataFrame = field(default_factory=lambda: empty(GROUP_COLUMNS))
    changes: pd.DataFrame = field(default_factory=lambda: empty(CHANGE_COLUMNS))
    values: pd.DataFrame = field(default_factory=lambda: empty(VALUE_COLUMNS))
    perplexities: pd.DataFrame = field(default_factory=lambda: empty(PERPLEXITY_COLUMNS))
    epochs: pd.DataFrame = field(default_factory=lambda: empty(EPOCH_COLUMNS))
    larger: pd.DataFrame = field(default_factory=lambda: empty(LARGER_COLUMNS))
    fates: pd.DataFrame = field(default_factory=lambda: empty(FATE_COLUMNS))
    models: Mapping[str, int] = field(default_factory=dict)
    probes: Mapping[str, int] = field(default_factory=dict)
    published: bool = False

    def models_of(self, objectives: Collection[str] | None = None) -> list[tuple[str, str]]:
        """(encoder, objective) of the models with a verdict on what they learned."""
        return [key for key in self.learned if key[1] in (TUNED if objectives is None else objectives)]

    def called(self, model: tuple[str, str]) -> str:
        """ "CoLA", with its encoder if several are judged."""
        return f"{model[1]}{f' ({model[0]})' if len(self.judged) > 1 else ''}"

    def without(self, models: Collection[tuple[str, str]]) -> Self:
        """The same without some models."""
        kept = {}
        for name in ("groups", "changes", "larger", "values", "perplexities", "epochs", "fates"):
            frame = getattr(self, name)
            there = [key not in models for key in zip(frame["encoder"], frame["objective"], strict=True)]
            kept[name] = frame[pd.Series(there, index=frame.index, dtype=bool)]
        return replace(self, **kept)

    def accuracy(self, encoder: str, task: str, pooling: str) -> pd.DataFrame:
        """Rows of ``accuracies`` at layers 1 to L, by layer; layer 0 has no context."""
        rows = self.accuracies
        rows = rows[rows["encoder"].eq(encoder) & rows["task"].eq(task) & rows["pooling"].eq(pooling) & rows["layer"].ge(1)]
        return rows.sort_values("layer").reset_index(drop=True)

    def mean_accuracy(self, encoder: str, task: str, pooling: str) -> Interval | None:
        """Mean accuracy over layers 1 to L; its ends are the means of the layers' ends."""
        return averaged(self.accuracy(encoder, task, pooling))

    def readable(self, encoder: str, task: str, pooling: str) -> bool:
        """Whether the encoder's probes surely beat the majority label, since only then can a property be lost; true if published."""
        rows = self.accuracy(encoder, task, pooling)
        return self.published if rows.empty else bool((rows["low"] - rows["majority"]).mean() > 0)

    def change(self, encoder: str, objective: str, task: str, pooling: str, group: str = UPPER) -> Interval | None:
        """Change averaged over a group of layers; None if it is not known."""
        rows = self.groups
        rows = rows[rows["encoder"].eq(encoder) & rows["objective"].eq(objective) & rows["task"].eq(task)]
        rows = rows[rows["pooling"].eq(pooling) & rows["group"].eq(group)]
        return averaged(rows)

    def upper_larger(self, encoder: str, objective: str, task: str, pooling: str) -> Interval | None:
        """By how much the upper layers change more than the lower ones, in size; None if the predictions are not stored."""
        rows = self.larger
        rows = rows[rows["encoder"].eq(encoder) & rows["objective"].eq(objective) & rows["task"].eq(task) & rows["pooling"].eq(pooling)]
        return averaged(rows)

    def measure(self, encoder: str, objective: str, measure: str) -> pd.DataFrame:
        """Rows of ``values`` of one model and measure, by layer."""
        rows = self.values
        rows = rows[rows["encoder"].eq(encoder) & rows["objective"].eq(objective) & rows["measure"].eq(measure)]
        return rows.sort_values("layer").reset_index(drop=True)

    def perplexity(self, encoder: str, objective: str, replaced: str, n: int) -> Interval | None:
        """Log of the perplexity over the base's, with ``n`` layers put back; None if it was not measured."""
        rows = self.perplexities
        rows = rows[rows["encoder"].eq(encoder) & rows["objective"].eq(objective) & rows["replaced"].eq(replaced) & rows["n"].eq(n)]
        return averaged(rows[~rows["embeddings"].astype(bool)])

    def said(self, number: Interval) -> str:
        """A change in points, with its interval if it was measured."""
        return f"{100 * number.value:+.2f}" if self.published else in_points(number)


def averaged(rows: pd.DataFrame) -> Interval | None:
    """The mean of some numbers, with the means of their ends: the widest interval that any dependence between them allows."""
    return Interval(*(float(rows[end].astype("float64").mean()) for end in _ENDS)) if len(rows) else None


def sized(number: Interval) -> Interval:
    """A number without its sign."""
    ends = (abs(number.low), abs(number.high))
    return Interval(abs(number.value), 0.0 if number.low <= 0 <= number.high else min(ends), max(ends))
