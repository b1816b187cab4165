"""Made vectors of sentences, of which it is known what a probe can read."""

from pathlib import Path

import numpy as np

from probing.kernel.models.arrays import FILE
from probing.kernel.models.load import Encoder
from probing.sentences.examples import OURS
from probing.sentences.probes import Probes, TaskProbes, fit_probes, folded, probes_folder, write_probes


def drawn(
    sentences: int = 400, hidden: int = 12, layers: int = 3, classes: int = 2, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Correlated vectors (2, layers, sentences, hidden) that know half of a label, and the labels."""
    draw = np.random.default_rng(seed)
    mixed = np.eye(hidden) + 0.2 * np.random.default_rng(99).normal(size=(2, layers, hidden, hidden))
    vectors = (draw.normal(size=(2, layers, sentences, hidden)) @ mixed + 3).astype(np.float32)
    labels = np.arange(sentences) % classes
    vectors[..., 0] += labels * 1.5
    return vectors, labels.astype(np.uint8)


def noise(sentences: int = 300, hidden: int = 8, layers: int = 3, seed: int = 0) -> np.ndarray:
    """Vectors that know nothing, (2, layers, sentences, hidden)."""
    return np.random.default_rng(seed).normal(size=(2, layers, sentences, hidden)).astype(np.float32)


def balanced(sentences: int, classes: int = 2) -> np.ndarray:
    """Labels of which every beginning has as many of each class."""
    return (np.arange(sentences) % classes).astype(np.uint8)


def fitted(classes: int = 2, **sizes) -> Probes:
    """Probes of ``drawn`` vectors."""
    train, dev = drawn(classes=classes, **sizes), drawn(classes=classes, **sizes, seed=1)
    return fit_probes(*train, *dev, classes, OURS)


def task_probes(probes: Probes, identity: str = "a" * 64, task: str = "planted", pairs: bool = False) -> TaskProbes:
    """Probes as files have them, with made scores."""
    labels = tuple("abcdefgh"[: probes.classes])
    form = probes.c.shape
    right = np.arange(form[0] * form[1]).reshape(form)
    return TaskProbes(
        task, "Planted", pairs, labels, OURS, "tiny", identity, "d" * 64, right, 100, 50, probes.c, *folded(probes)
    )


def untrained_probes(
    encoder: Encoder, task: str = "order", labels: tuple[str, ...] = ("inverted", "original"), pairs: bool = False
) -> TaskProbes:
    """Probes with random weights; those of layer 0 are at chance, all others right for 90 of 100 sentences."""
    draw, outputs = np.random.default_rng(len(task)), 1 if len(labels) == 2 else len(labels)
    right = np.array([[50, *[90] * encoder.depth]] * 2)
    return TaskProbes(
        task,
        task.title(),
        pairs,
        labels,
        OURS,
        encoder.name,
        encoder.weights_id,
        "d" * 64,
        right,
        100,
        50,
        np.ones(right.shape),
        draw.normal(size=(*right.shape, outputs, encoder.hidden)).astype(np.float32),
        np.zeros((*right.shape, outputs), np.float32),
    )


def plant(cache: Path, probes: TaskProbes) -> Path:
    """Writes probes where those that were trained here lie."""
    folder = probes_folder(cache, probes.weights_id, probes.task)
    assert write_probes(probes, folder) == folder / FILE
    return folder / FILE
