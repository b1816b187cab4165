"""Logistic regressions of every layer and pooling, the surface baseline, and files of probes for live sentences."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from safetensors import SafetensorError

from probing.kernel.errors import HeadError
from probing.kernel.models.arrays import find_probe_files, read_probe_file, write_probe_file
from probing.kernel.registry import REPOSITORY
from probing.sentences.examples import OURS, SENTEVAL
from probing.sentences.solver import outputs_of, solve

#: A feature with a deviation below this share of its mean (or of 1) is constant: it varies only by rounding in float32,
#: such as between batches of different shapes. Standardised to 1, this noise would give collinear features.
CONSTANT = 1e-4


def own_scale(train: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(poolings, layers, hidden) mean and standard deviation over the sentences, computed in float64.

    A constant feature has the scale ``inf``, so that it is always 0 after standardisation.
    """
    scales = np.empty((2, *train.shape[:2], train.shape[3]), np.float32)
    for place in np.ndindex(*train.shape[:2]):
        scales[(slice(None), *place)] = scale_of(train[place])
    return scales[0], scales[1]


def scale_of(vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """``own_scale`` of one layer and pooling, (sentences, hidden) -> two of (hidden,)."""
    exact = vectors.astype(np.float64)
    mean = exact.mean(0)
    exact -= mean
    deviation = np.sqrt(np.einsum("nd,nd->d", exact, exact) / len(exact))
    constant = deviation < CONSTANT * np.maximum(1, np.abs(mean))
    return mean.astype(np.float32), np.where(constant, np.inf, deviation).astype(np.float32)


def standardised(vectors: np.ndarray, mean: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """(sentences, hidden) vectors of one layer and pooling minus their mean, divided by their scale; a new array."""
    centred: np.ndarray = vectors - mean
    centred /= scale
    return centred


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


#: Shipped probes: one folder per model, with the model's name.
SHIPPED = REPOSITORY / "data" / "sentences"


@dataclass(frozen=True)
class TaskProbes:
    """The own probes of one model and task, ready for prediction."""

    task: str
    title: str
    pairs: bool
    labels: tuple[str, ...]  #: in order of number
    protocol: str  #: one of ``PROTOCOLS``
    model: str
    weights_id: str  #: identity of the encoder's weights
    data: str  #: ``SentenceData.sha256``
    right: np.ndarray  #: (poolings, layers), number of correct test sentences
    tested: int
    majority: int  #: test sentences with the most frequent training label
    c: np.ndarray  #: (poolings, layers), the strength that the development part chose
    weights: np.ndarray  #: (poolings, layers, outputs, hidden), for unscaled vectors
    bias: np.ndarray  #: (poolings, layers, outputs)


def folded(probes: Probes) -> tuple[np.ndarray, np.ndarray]:
    """Weights and bias for unscaled vectors, in their stored form: 16 bits, each row divided by its largest.

    The bias is computed from the rounded weights, so that rounding affects only a vector's distance from the mean.
    """
    weights = probes.weights.astype(np.float64) / probes.scale[:, :, None]
    rounded = _unpacked(*_packed(weights))
    bias = probes.bias - np.einsum("plod,pld->plo", rounded.astype(np.float64), probes.mean.astype(np.float64))
    return rounded, bias.astype(np.float32)


def probes_folder(cache: Path, weights_id: str, task: str) -> Path:
    """Folder of the probes of a task that were trained on an encoder with these weights."""
    return cache / "sentences" / weights_id[:16] / task


def find_probes(model: str, weights_id: str, cache: Path) -> dict[str, Path]:
    """Files of all probes of an encoder, by task, as ``find_probe_files``."""
    return find_probe_files(probes_folder(cache, weights_id, "any").parent, SHIPPED / model, weights_id, "identity")


def write_probes(probes: TaskProbes, folder: Path) -> Path:
    """Writes probes with an atomic write; equal probes are equal bytes."""
    weights, size = _packed(probes.weights)
    arrays = {"weights": weights, "size": size, "bias": np.ascontiguousarray(probes.bias, np.float32)}
    about = {
        "task": probes.task,
        "title": probes.title,
        "pairs": probes.pairs,
        "labels": list(probes.labels),
        "protocol": probes.protocol,
        "model": probes.model,
        "identity": probes.weights_id,
        "data": probes.data,
        "right": probes.right.tolist(),
        "tested": int(probes.tested),
        "majority": int(probes.majority),
        "c": probes.c.tolist(),
    }
    return write_probe_file(arrays, about, folder)


def read_probes(path: Path, weights_id: str = "") -> TaskProbes:
    """The probes of a file; HeadError if it cannot be read, or belongs to other weights (empty: any)."""
    try:
        arrays, about = read_probe_file(path)
        weights, bias = _unpacked(arrays["weights"], arrays["size"]), arrays["bias"]
        right, c = np.array(about["right"]), np.array(about["c"])
        form = (*right.shape, outputs_of(len(about["labels"])))
        if weights.shape[:-1] != form or bias.shape != form or c.shape != right.shape:
            raise ValueError(f"its weights have the shape {weights.shape}, expected {(*form, 'hidden')}")
        if not (np.isfinite(weights).all() and np.isfinite(bias).all()):
            raise ValueError("it holds values that are not finite")
        probes = TaskProbes(
            about["task"],
            about["title"],
            bool(about["pairs"]),
            tuple(about["labels"]),
            about["protocol"],
            about["model"],
            about["identity"],
            about["data"],
            right,
            about["tested"],
            about["majority"],
            c,
            weights,
            bias,
        )
    except (OSError, SafetensorError, ValueError, KeyError, TypeError) as error:
        raise HeadError(
            f"cannot read the sentence probes in {path}: {error}; delete the file and train them again"
        ) from error
    if weights_id and probes.weights_id != weights_id:
        raise HeadError(
            f"the probes in {path} were trained on weights {probes.weights_id[:12]} ({probes.model}), expected"
            f" {weights_id[:12]}; train them again"
        )
    return probes


def _packed(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weights divided by each row's largest, in float16, and the largest, so that none is out of range."""
    size = np.abs(weights).max(-1, keepdims=True).astype(np.float32)
    shares = weights / np.where(size > 0, size, 1)
    return np.ascontiguousarray(shares.astype(np.float16)), np.ascontiguousarray(size[..., 0])


def _unpacked(shares: np.ndarray, size: np.ndarray) -> np.ndarray:
    """Inverse of ``_packed``, in float32; packing the result again gives the same."""
    weights: np.ndarray = shares.astype(np.float32) * size[..., None]
    return weights
