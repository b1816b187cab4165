"""Predictions of probes and their scores."""

import math
from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np
import torch
from torch.nn.functional import binary_cross_entropy_with_logits, log_softmax

from probing.edges.probes import ProbeKey, Shape, label_variants, logits_of
from probing.edges.states_arrays import PartArrays, States, TrainingData, batch_of

#: A label is predicted from this probability on.
THRESHOLD = 0.5
#: Targets per batch of predictions.
DEV_TARGETS = 512


class Score(Protocol):
    """The loss that is minimised and the score that compares checkpoints."""

    def losses(self, logits: torch.Tensor, gold: torch.Tensor) -> torch.Tensor:
        """(probes, targets, labels) twice -> (probes,)."""

    def __call__(
        self,
        flat: torch.Tensor,
        keys: Sequence[ProbeKey],
        shape: Shape,
        mask: torch.Tensor,
        data: TrainingData,
        targets: np.ndarray,
        device: torch.device,
    ) -> np.ndarray:
        """(probes,) scores on some targets of the development part; higher is better."""


def answers(
    flat: torch.Tensor,
    shape: Shape,
    mask: torch.Tensor,
    arrays: PartArrays,
    states: States,
    targets: np.ndarray,
    device: torch.device,
) -> Iterator[tuple[np.ndarray, torch.Tensor]]:
    """Batches of targets with their logits, (probes, targets, labels)."""
    with torch.inference_mode():
        for start in range(0, len(targets), DEV_TARGETS):
            chosen = targets[start : start + DEV_TARGETS]
            yield chosen, logits_of(flat, shape, mask, batch_of(arrays, states, chosen, device))


def counts_of(predicted: np.ndarray, gold: np.ndarray) -> np.ndarray:
    """Counts by label: (probes, targets, labels) bool twice -> (probes, labels, 4): tp, fp, fn, tn."""
    both = (predicted & gold).sum(1)
    answered, held = predicted.sum(1), gold.sum(1)
    return np.stack([both, answered - both, held - both, gold.shape[1] - answered - held + both], 2)


class F1Score:
    """Binary cross-entropy, mean over targets and labels; micro F1 over the labels that count."""

    def __init__(self, counted: np.ndarray):
        self.counted = counted

    def losses(self, logits: torch.Tensor, gold: torch.Tensor) -> torch.Tensor:
        return binary_cross_entropy_with_logits(logits, gold, reduction="none").mean((1, 2))

    def __call__(self, flat, keys, shape, mask, data, targets, device) -> np.ndarray:
        """Gold labels that training does not have are misses."""
        variants = label_variants(keys)
        total = np.zeros((len(keys), shape.labels, 4), np.int64)
        for chosen, logits in answers(flat, shape, mask, data.dev, data.dev_states, targets, device):
            total += counts_of((logits >= 0).cpu().numpy(), data.dev.gold[:, chosen][variants])
        tp, fp, fn, _ = total[:, self.counted].sum(1).T
        missed = np.where(np.array(variants) == 0, int(data.dev.unknown[targets].sum()), 0)
        whole = 2 * tp + fp + fn + missed
        return np.where(whole > 0, 2 * tp / np.maximum(whole, 1), 0.0)


class CodeScore:
    """Code length in bits: of a softmax if every target has one label, else of a yes or no per label."""

    def __init__(self, one_label: bool):
        self.one_label = one_label

    def losses(self, logits: torch.Tensor, gold: torch.Tensor) -> torch.Tensor:
        """In bits per target."""
        return self.bits(logits, gold).mean(1)

    def bits(self, logits: torch.Tensor, gold: torch.Tensor) -> torch.Tensor:
        """(probes, targets) bits that the gold labels of each target cost."""
        if self.one_label:
            return -(log_softmax(logits, 2) * gold).sum(2) / math.log(2)
        return binary_cross_entropy_with_logits(logits, gold, reduction="none").sum(2) / math.log(2)

    def __call__(self, flat, keys, shape, mask, data, targets, device) -> np.ndarray:
        """Minus the bits of the development part."""
        total = np.zeros(len(keys))
        variants = label_variants(keys)
        for chosen, logits in answers(flat, shape, mask, data.dev, data.dev_states, targets, device):
            gold = torch.from_numpy(data.dev.gold[:, chosen]).to(device).float()[variants]
            total -= self.bits(logits, gold).sum(1).double().cpu().numpy()
        return total
