"""The surface baseline: the same probe on features that need no model, such as length and words."""

from collections.abc import Callable

import numpy as np

from probing.sentences.examples import OURS
from probing.sentences.probes_probes import answers, fit_probes


def surface_answers(
    train: np.ndarray,
    train_labels: np.ndarray,
    dev: np.ndarray,
    dev_labels: np.ndarray,
    test: np.ndarray,
    classes: int,
    pause: Callable[[], None] | None = None,
) -> np.ndarray:
    """(sentences,) label numbers by a probe on surface features, (sentences, features), for the test sentences."""
    probes = fit_probes(train[None, None], train_labels, dev[None, None], dev_labels, classes, OURS, pause)
    return answers(probes, test[None, None])[0, 0]


def surface_right(
    parts: tuple[np.ndarray, np.ndarray, np.ndarray],
    labels: tuple[np.ndarray, np.ndarray, np.ndarray],
    classes: int,
    pause: Callable[[], None] | None = None,
) -> int:
    """Number of test sentences that a probe on surface features gets right; ``parts``: training, development, test."""
    guessed = surface_answers(parts[0], labels[0], parts[1], labels[1], parts[2], classes, pause)
    return int((guessed == labels[2]).sum())
