"""The surface baseline: the same probe on features that need no model, such as length and words."""

import numpy as np

from probing.core.sentences.example import OURS
from probing.models.sentences.probes import answers, fit_probes


def surface_answers(
    train: np.ndarray, train_labels: np.ndarray, dev: np.ndarray, dev_labels: np.ndarray, test: np.ndarray, classes: int
) -> np.ndarray:
    """Predictions of a probe on surface features for the test sentences, (sentences,) uint8 label numbers.

    Args:
        train, dev, test: (sentences, features) float32, from ``surface_features``.
        train_labels, dev_labels: (sentences,), label numbers.
        classes: K.
    """
    probes = fit_probes(train[None, None], train_labels, dev[None, None], dev_labels, classes, OURS)
    return answers(probes, test[None, None])[0, 0]


def surface_right(parts: tuple[np.ndarray, np.ndarray, np.ndarray], labels: tuple[np.ndarray, np.ndarray, np.ndarray], classes: int) -> int:
    """Number of test sentences that a probe on surface features gets right.

    Args:
        parts: features of training, development and test part.
        labels: their label numbers.
        classes: K.
    """
    found = surface_answers(parts[0], labels[0], parts[1], labels[1], parts[2], classes)
    return int((found == labels[2]).sum())
