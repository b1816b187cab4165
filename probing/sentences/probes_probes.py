"""Logistic regressions of every layer and pooling; the development part selects the regularisation."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from probing.sentences.examples import SENTEVAL
from probing.sentences.probes_scaling import own_scale, standardised
from probing.sentences.solver import outputs_of, solve

#: Inverse strengths of regularisation, from nearly constant predictions to nearly no penalty.
CS = tuple(2.0**power for power in range(-14, 5, 3))
#: SentEval's.
SENTEVAL_CS = tuple(2.0**power for power in range(-2, 4))


@dataclass(frozen=True)
class Probes:
    """The probes of one model and task."""

    #: (poolings, layers, outputs, hidden), for standardised vectors; one output for two classes, K for K
    weights: np.ndarray
    bias: np.ndarray  #: (poolings, layers, outputs)
    mean: np.ndarray  #: (poolings, layers, hidden), of the training vectors; 0 if the protocol does not standardise
    scale: np.ndarray  #: (poolings, layers, hidden); 1 if it does not; ``inf`` for a constant feature
    c: np.ndarray  #: (poolings, layers), the strength that the development part selected; of equal ones the smaller
    dev_right: np.ndarray  #: (poolings, layers), number of correct development sentences
    classes: int


def fit_probes(
    train: np.ndarray,
    train_labels: np.ndarray,
    dev: np.ndarray,
    dev_labels: np.ndarray,
    classes: int,
    protocol: str,
    pause: Callable[[], None] | None = None,
) -> Probes:
    """Trains a probe per layer and pooling on (poolings, layers, sentences, hidden).

    The protocol is one of ``PROTOCOLS``; SentEval's uses unscaled vectors and its own strengths.
    """
    raw = protocol == SENTEVAL
    cs = SENTEVAL_CS if raw else CS
    (poolings, layers, _, hidden), outputs = train.shape, outputs_of(classes)
    mean, scale = own_scale(train)
    probes = Probes(
        np.empty((poolings, layers, outputs, hidden), np.float32),
        np.empty((poolings, layers, outputs), np.float32),
        mean,
        scale,
        np.empty((poolings, layers)),
        np.empty((poolings, layers), np.int64),
        classes,
    )
    if raw:
        # Centred vectors give the same weights, and the solver needs fewer steps.
        scale[np.isfinite(scale)] = 1
    for place in np.ndindex(poolings, layers):
        path = solve(standardised(train[place], mean[place], scale[place]), train_labels, classes, cs, pause)
        here = standardised(dev[place], mean[place], scale[place])
        right = [int((_labels(here, w, b) == dev_labels).sum()) for w, b in zip(path.weights, path.bias, strict=True)]
        best = int(np.argmax(right))
        probes.weights[place], probes.bias[place] = path.weights[best], path.bias[best]
        probes.c[place], probes.dev_right[place] = cs[best], right[best]
    if raw:
        shift = np.einsum("plod,pld->plo", probes.weights.astype(np.float64), mean.astype(np.float64))
        probes.bias[:] = probes.bias - shift
        mean[:] = 0
    return probes


def answers(probes: Probes, vectors: np.ndarray) -> np.ndarray:
    """(poolings, layers, sentences) label numbers, of equal ones the first; vectors may be another model's."""
    guessed = np.empty(vectors.shape[:3], np.uint8)
    for place in np.ndindex(*vectors.shape[:2]):
        here = standardised(vectors[place], probes.mean[place], probes.scale[place])
        guessed[place] = _labels(here, probes.weights[place], probes.bias[place])
    return guessed


def labels_of(logits: np.ndarray) -> np.ndarray:
    """(..., outputs) -> (...): the label with the largest logit; of equal ones the first."""
    return logits[..., 0] > 0 if logits.shape[-1] == 1 else logits.argmax(-1)


def _labels(vectors: np.ndarray, weights: np.ndarray, bias: np.ndarray) -> np.ndarray:
    return labels_of(vectors @ weights.T + bias)
