"""Files of the own probes of one model and task, for live sentences; the scaling is folded in."""

import json
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from probing.kernel.errors import HeadError
from probing.kernel.files import atomic_file
from probing.kernel.models.arrays import FILE, find_probe_files, sum_of
from probing.kernel.registry import REPOSITORY
from probing.sentences.probes_probes import Probes
from probing.sentences.solver import outputs_of

#: Shipped probes: one folder per model, with the model's name.
SHIPPED = REPOSITORY / "data" / "sentences"
_VERSION = 1


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
        "version": _VERSION,
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
    about["crc32"] = _sum_of(arrays, about)
    path = folder / FILE
    with atomic_file(path) as temporary:
        # One entry, because safetensors writes several in an order that changes from file to file.
        save_file(arrays, temporary, metadata={"probes": json.dumps(about, sort_keys=True)})
    return path


def read_probes(path: Path, weights_id: str = "") -> TaskProbes:
    """The probes of a file; HeadError if it cannot be read, or belongs to other weights (empty: any)."""
    try:
        with safe_open(path, framework="numpy") as stream:
            about = json.loads((stream.metadata() or {})["probes"])
            arrays = {name: stream.get_tensor(name) for name in stream.keys()}  # noqa: SIM118
        if about["version"] != _VERSION or about.pop("crc32") != _sum_of(arrays, about):
            raise ValueError("its checksum differs from the one that it was written with")
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


def _sum_of(arrays: dict[str, np.ndarray], about: dict[str, object]) -> str:
    """CRC-32 of the tensors and of their header."""
    return f"{zlib.crc32(json.dumps(about, sort_keys=True).encode(), int(sum_of(arrays), 16)):08x}"
