"""What the probes of every layer read of one small set of sentences, in memory: for a file that is tried, not stored."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from probing.core.errors import SentenceDataError
from probing.core.sentences.example import PARTS, SentenceData
from probing.core.sentences.majority import majority_right
from probing.core.sentences.surface import surface_features
from probing.models.encoders.load import Encoder
from probing.models.sentences.probes import answers, fit_probes
from probing.models.sentences.surface import surface_right
from probing.models.sentences.vectors import pooled_states, sentence_rows


@dataclass(frozen=True)
class Read:
    """Sentences as a model read them.

    Attributes:
        data: without the sentences that the model cannot take.
        states: part -> (poolings, layers, sentences, hidden).
        too_long: how many sentences were left out.
    """

    data: SentenceData
    states: dict[str, np.ndarray]
    too_long: int


@dataclass(frozen=True)
class Curve:
    """Test sentences that are right.

    Attributes:
        right: (poolings, layers) by the probes.
        c, dev_right: (poolings, layers) strength of regularisation that dev chose, and dev sentences that are right with it.
        majority_right, surface_right: by the commonest training label, and by the same probe on surface features.
        n_train, n_dev, n_test: sentences.
    """

    right: np.ndarray
    c: np.ndarray
    dev_right: np.ndarray
    majority_right: int
    surface_right: int
    n_train: int
    n_dev: int
    n_test: int


def read_sentences(data: SentenceData, encoder: Encoder, passed: Callable[[int], None] = lambda _: None) -> Read:
    """The vectors of all sentences, each read once.

    Args:
        data: a task's data.
        encoder: a frozen encoder.
        passed: called after each batch with its number of sentences.

    Raises:
        SentenceDataError: if a part lacks a class without the sentences that are too long.
    """
    rows = {part: sentence_rows(data.parts[part], encoder) for part in PARTS}
    parts = {
        part: tuple(one for one, row in zip(data.parts[part], rows[part], strict=True) if row is not None) for part in PARTS
    }  # fmt: skip
    for part in PARTS:
        if missing := sorted(set(data.labels) - {one.label for one in parts[part]}):
            raise SentenceDataError(
                f"{data.task}: without the sentences of more than {encoder.max_pieces} pieces the {part} part has no example of "
                f"{missing[0]!r}; give shorter sentences, or more of them"
            )
    states = {part: pooled_states([row for row in rows[part] if row is not None], encoder, passed) for part in PARTS}
    too_long = sum(row is None for part in PARTS for row in rows[part])
    return Read(SentenceData(data.task, data.protocol, parts, data.dropped), states, too_long)


def curve_of(read: Read, fitted: Callable[[int], None] = lambda _: None) -> Curve:
    """Fits a probe for every layer and pooling, and the baselines.

    Args:
        read: sentences with their vectors.
        fitted: called after each layer with its number.
    """
    data = read.data
    number = {label: place for place, label in enumerate(data.labels)}
    gold = {part: np.array([number[one.label] for one in data.parts[part]], np.uint8) for part in PARTS}
    surface = [surface_features(data.parts["train"], data.parts[part]) for part in PARTS]
    right, probes = [], []
    for layer in range(read.states["train"].shape[1]):
        train, dev, test = (read.states[part][:, layer : layer + 1] for part in PARTS)
        probes.append(fit_probes(train, gold["train"], dev, gold["dev"], len(number), data.protocol))
        right.append((answers(probes[-1], test) == gold["test"]).sum(2))
        fitted(layer)
    baseline = surface_right((surface[0], surface[1], surface[2]), (gold["train"], gold["dev"], gold["test"]), len(number))
    return Curve(
        np.concatenate(right, 1), np.concatenate([one.c for one in probes], 1), np.concatenate([one.dev_right for one in probes], 1),
        majority_right(data.parts["train"], data.parts["test"]), baseline, *(len(data.parts[part]) for part in PARTS),
    )  # fmt: skip
