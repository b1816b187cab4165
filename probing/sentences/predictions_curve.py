"""Accuracy by layer on a user's own sentences, computed at once: nothing is stored, and it can be cancelled."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from probing.kernel.errors import SentenceDataError
from probing.kernel.models.load import Encoder
from probing.kernel.stats.intervals import wilson
from probing.sentences.examples import PARTS, SentenceData
from probing.sentences.examples_majority import majority_right
from probing.sentences.numbers_surface import surface_features
from probing.sentences.probes_probes import answers, fit_probes
from probing.sentences.probes_surface import surface_right
from probing.sentences.splits import MAX_AT_ONCE
from probing.sentences.vectors_vectors import pooled_states, sentence_rows

#: The encoder's share of the work on a small model.
_READING = 0.8
#: Tokens per forward pass: BERT-base takes about a second for them on two cores, and other users wait for no longer
#: than that.
_TOKENS = 512


@dataclass(frozen=True)
class Curve:
    """Accuracy of own probes on a user's sentences."""

    right: np.ndarray  #: (poolings, layers), number of correct test sentences
    low: np.ndarray  #: (poolings, layers), Wilson's 95 % interval of the accuracy
    high: np.ndarray  #: (poolings, layers)
    c: np.ndarray  #: (poolings, layers), the strength that the development part selected
    dev_right: np.ndarray  #: (poolings, layers), number of its correct sentences
    n_train: int  #: that the model can take
    n_dev: int
    n_test: int
    majority: int  #: correct test sentences of the majority label
    surface: int  #: of the surface baseline
    too_long: int


def check_size(data: SentenceData) -> None:
    """Raises a ``SentenceDataError`` for more sentences than a page accepts."""
    if (number := sum(map(len, data.parts.values()))) > MAX_AT_ONCE:
        raise SentenceDataError(
            f"{data.task} has {number:,} sentences, expected at most {MAX_AT_ONCE:,} here; give fewer, or train from"
            " the command line: python -m probing sentences train --tasks FILE"
        )


def quick_curve(
    data: SentenceData,
    encoder: Encoder,
    progress: Callable[[float], None] | None = None,
    pause: Callable[[], None] | None = None,
) -> Curve:
    """Trains probes on a user's sentences; ``progress`` gets the finished share.

    ``pause`` is called between pieces of work, when the model is not in use. SentenceDataError: too many sentences, or
    too few that the model can take.
    """
    check_size(data)
    rows = {part: sentence_rows(data.parts[part], encoder) for part in PARTS}
    readable = {
        part: [(row, example) for row, example in zip(rows[part], data.parts[part], strict=True) if row is not None]
        for part in PARTS
    }
    known = [{example.label for _, example in readable[part]} for part in PARTS]
    if not all(known) or known[0] != set(data.labels):
        raise SentenceDataError(
            f"{data.task}: too few sentences fit {encoder.name}, which takes {encoder.max_pieces} word pieces; give"
            " shorter sentences"
        )
    total, done = sum(map(len, readable.values())), 0

    def report(share: float) -> None:
        if pause:
            pause()
        if progress:
            progress(share)

    def passed(number: int) -> None:
        nonlocal done
        done += number
        report(_READING * done / total)

    number_of = {label: number for number, label in enumerate(data.labels)}
    gold = {part: np.array([number_of[example.label] for _, example in readable[part]], np.uint8) for part in PARTS}
    vectors = {
        part: pooled_states([row for row, _ in readable[part] if row is not None], encoder, passed, _TOKENS)
        for part in PARTS
    }
    probes, hits = [], []
    for layer in range(encoder.layers):
        train, dev, test = (vectors[part][:, layer : layer + 1] for part in PARTS)
        with torch.inference_mode():
            probes.append(fit_probes(train, gold["train"], dev, gold["dev"], len(data.labels), data.protocol, pause))
            hits.append((answers(probes[-1], test) == gold["test"]).sum(2))
        report(_READING + (1 - _READING) * layer / (encoder.layers))
    right = np.concatenate(hits, 1)
    examples = {part: [example for _, example in readable[part]] for part in PARTS}
    words = [surface_features(examples["train"], examples[part]) for part in PARTS]
    surface = surface_right(
        (words[0], words[1], words[2]), (gold["train"], gold["dev"], gold["test"]), len(data.labels), pause
    )
    if progress:
        progress(1.0)
    limits = np.array([wilson(count, len(gold["test"])) for count in right.flat]).reshape(*right.shape, 2)
    return Curve(
        right=right,
        low=limits[..., 0],
        high=limits[..., 1],
        c=np.concatenate([of_layer.c for of_layer in probes], 1),
        dev_right=np.concatenate([of_layer.dev_right for of_layer in probes], 1),
        n_train=len(gold["train"]),
        n_dev=len(gold["dev"]),
        n_test=len(gold["test"]),
        majority=majority_right(examples["train"], examples["test"]),
        surface=surface,
        too_long=sum(row is None for part in PARTS for row in rows[part]),
    )
