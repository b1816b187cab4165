"""Made targets and states, of which it is known what a probe can read."""

from collections.abc import Sequence

import numpy as np

from probing.edges.states import ArrayStates, PartArrays, TrainingData, ragged


def arrays_of(
    gold: np.ndarray, spans: Sequence[Sequence[Sequence[int]]], unknown: Sequence[int] = (), a_record: int = 1
) -> PartArrays:
    """A part with these labels, (variants, targets, labels), and pieces of each span of each target; so many targets a
    sentence.
    """
    number = gold.shape[1]
    return PartArrays(
        tuple(ragged([np.array(one) for one in span]) for span in spans),
        gold.astype(bool),
        np.array(unknown or [0] * number),
        np.arange(number) // a_record,
        np.arange(number),
        {},
    )


def one_hot(numbers: np.ndarray, labels: int) -> np.ndarray:
    """(targets,) -> (1, targets, labels)."""
    return np.eye(labels, dtype=bool)[numbers][None]


def planted_part(layer: int | None, last: int = 3, targets: int = 600, labels: int = 4, hidden: int = 8, seed: int = 0):
    """Targets of one piece with noise for states, and their label one-hot in one layer, or in none; (arrays,
    states).
    """
    draw = np.random.default_rng(seed)
    label = draw.integers(0, labels, targets)
    states = draw.normal(size=(targets, last + 1, hidden)).astype(np.float32)
    if layer is not None:
        states[:, layer, :labels] += 8 * np.eye(labels, dtype=np.float32)[label]
    return arrays_of(one_hot(label, labels), [[[piece] for piece in range(targets)]]), ArrayStates(states)


def planted(layer: int | None, **sizes) -> TrainingData:
    """Training and development part with a label in one layer."""
    (train, train_states), (dev, dev_states) = planted_part(layer, **sizes), planted_part(layer, **sizes, seed=1)
    return TrainingData(train, train_states, dev, dev_states, np.ones(dev.gold.shape[2], bool))


def drawn_part(spans: int = 1, targets: int = 90, labels: int = 5, hidden: int = 6, last: int = 2, seed: int = 0):
    """Targets of overlapping spans of one to four pieces with none, one or several labels, two variants of them;
    (arrays, states).
    """
    draw = np.random.default_rng(seed)
    pieces = targets // 2 + 4
    states = draw.normal(size=(pieces, last + 1, hidden)).astype(np.float32)
    starts = draw.integers(0, pieces - 4, (spans, targets))
    lengths = draw.integers(1, 5, (spans, targets))
    chosen = [
        [range(start, start + length) for start, length in zip(*one, strict=True)]
        for one in zip(starts, lengths, strict=True)
    ]
    seen = np.array(
        [sum(states[list(span)].mean((0, 1)).sum() for span in of_target) for of_target in zip(*chosen, strict=True)]
    )
    gold = draw.random((2, targets, labels)) < 0.3
    gold[0, :, 0] = seen > 0
    return arrays_of(gold, chosen, a_record=3), ArrayStates(states)


def drawn(spans: int = 1, **sizes) -> TrainingData:
    """Training and development part of ``drawn_part``; the last label does not count."""
    (train, train_states), (dev, dev_states) = drawn_part(spans, **sizes), drawn_part(spans, **sizes, seed=1)
    counted = np.arange(dev.gold.shape[2]) < dev.gold.shape[2] - 1
    return TrainingData(train, train_states, dev, dev_states, counted)
