"""Predictions of probes for every target: counts by label, and each target's trace through the layers."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from probing.edges.probes import ProbeKey, label_variants, mask_of
from probing.edges.probes_scoring import THRESHOLD, answers, counts_of
from probing.edges.states_arrays import PartArrays, States
from probing.edges.training import Trained

#: A stored probability is a multiple of 1 over this.
STEPS = 255


@dataclass(frozen=True)
class Traces:
    """Predictions of one run's probes for some targets."""

    predicted: np.ndarray  #: (layers, targets, labels) bool
    top: np.ndarray  #: (layers, targets), the most probable label
    wrong: np.ndarray  #: (targets,), wrong label of the greatest mean normalised probability over all layers
    p: np.ndarray  #: (layers, targets, labels) in steps of 1/255


def probabilities(
    trained: Trained, chosen: Sequence[int], arrays: PartArrays, states: States, device: torch.device
) -> np.ndarray:
    """(probes, targets, labels) float32 probabilities of some probes for all targets of a part."""
    layers = states.layers
    mask = mask_of([trained.keys[number] for number in chosen], layers).to(device)
    flat = trained.flat[list(chosen)].to(device)
    p = np.zeros((len(chosen), len(arrays), trained.shape.labels), np.float32)
    for targets, logits in answers(flat, trained.shape, mask, arrays, states, np.arange(len(arrays)), device):
        p[:, targets] = torch.sigmoid(logits).cpu().numpy()
    return p


def counts_by_label(p: np.ndarray, keys: Sequence[ProbeKey], arrays: PartArrays, chosen: np.ndarray) -> np.ndarray:
    """(probes, labels, 4): tp, fp, fn, tn of some targets, each probe against the labels that it learned."""
    variants = label_variants(keys)
    return counts_of(p[:, chosen] >= THRESHOLD, arrays.gold[variants][:, chosen])


def traces_of(p: np.ndarray, gold: np.ndarray) -> Traces:
    """Traces of one run from (layers, targets, labels) probabilities and (targets, labels) bool."""
    normalised = p / np.maximum(p.sum(2, keepdims=True), 1e-12)
    mean = np.where(gold, -1.0, normalised.mean(0))
    return Traces(p >= THRESHOLD, p.argmax(2), mean.argmax(1), np.rint(p * STEPS).astype(np.uint8))
