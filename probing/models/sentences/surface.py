"""The surface baseline: the same probe on what a sentence looks like, without any model."""

from pathlib import Path

import numpy as np

from probing import __version__
from probing.core.provenance import canonical_json, fingerprint_of
from probing.core.sentences.example import SentenceData
from probing.core.sentences.surface import surface_features
from probing.models.runtime.checked_arrays import read_sealed, write_sealed
from probing.models.sentences.probes import answers, fit_probes


def surface_answers(data: SentenceData) -> np.ndarray:
    """(sentences,) uint8: what a probe of length, first letter's case, final mark and words answers on the test part."""
    train = data.parts["train"]
    number_of = {label: number for number, label in enumerate(data.labels)}
    vectors, gold = {}, {}
    for name, part in data.parts.items():
        vectors[name] = surface_features(train, part)[None, None].astype(np.float32)
        gold[name] = np.array([number_of[one.label] for one in part], np.uint8)
    probes = fit_probes(vectors["train"], gold["train"], vectors["dev"], gold["dev"], len(data.labels), data.protocol)
    found: np.ndarray = answers(probes, vectors["test"])[0, 0]
    return found


def surface_right(data: SentenceData, cache: Path) -> int:
    """How many test sentences the surface baseline has right; kept in ``cache``, as no model decides it."""
    decides = [__version__, data.task, data.protocol, data.sha256]
    path = cache / f"surface-{fingerprint_of(canonical_json(decides))}.safetensors"
    try:
        return int(read_sealed(path)["right"][0])
    except (OSError, KeyError):
        number_of = {label: number for number, label in enumerate(data.labels)}
        gold = np.array([number_of[one.label] for one in data.parts["test"]], np.uint8)
        right = int((surface_answers(data) == gold).sum())
        write_sealed({"right": np.array([right], np.int64)}, path)
        return right
