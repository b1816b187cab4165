"""The authors' probe with a leading axis, so that all layers, seeds and controls are one computation."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from torch.nn.functional import binary_cross_entropy_with_logits, log_softmax

from probing.edges.states import Batch, PartArrays, States, TrainingData, batch_of
from probing.edges.targets import TASK, layers_of_kind, layers_read


@dataclass(frozen=True)
class ProbeKey:
    """Identifies one probe of many."""

    kind: str  #: ``cumulative``, ``at`` or ``full``
    layer: int
    labels: str  #: of the task, or of the control task
    seed: int  #: of initialisation and dropout


def keys_of(kinds: Sequence[str], labels: Sequence[str], seeds: Sequence[int], last: int) -> list[ProbeKey]:
    """Keys of all probes, in a fixed order."""
    return [
        ProbeKey(kind, layer, which, seed)
        for seed in seeds
        for which in labels
        for kind in kinds
        for layer in layers_of_kind(kind, last)
    ]


@dataclass(frozen=True)
class Shape:
    """Sizes of a probe: layers that can be mixed, size of a state, number of spans, width, number of labels."""

    layers: int
    hidden: int
    spans: int
    width: int
    labels: int

    def parts(self) -> dict[str, tuple[int, ...]]:
        """Name of a parameter -> its shape in one probe."""
        shapes: dict[str, tuple[int, ...]] = {"mix": (self.layers,), "gamma": (1,)}
        for span in range(1, self.spans + 1):
            shapes |= {
                f"project{span}.weight": (self.hidden, self.width),
                f"project{span}.bias": (1, self.width),
                f"attend{span}.weight": (self.width, 1),
                f"attend{span}.bias": (1, 1),
            }
        return shapes | {
            "hidden.weight": (self.spans * self.width, self.width),
            "hidden.bias": (1, self.width),
            "norm.weight": (1, self.width),
            "norm.bias": (1, self.width),
            "out.weight": (self.width, self.labels),
            "out.bias": (1, self.labels),
        }

    @property
    def size(self) -> int:
        """Number of parameters per probe."""
        return sum(math.prod(shape) for shape in self.parts().values())


def start_of(shape: Shape, seed: int) -> torch.Tensor:
    """The parameters of an untrained probe, (size,): mix 0, scale 1, linear maps as ``torch.nn.Linear`` draws them."""
    draw = torch.Generator().manual_seed(seed)
    parts = []
    for name, form in shape.parts().items():
        if name in ("gamma", "norm.weight"):
            parts.append(torch.ones(math.prod(form)))
        elif name in ("mix", "norm.bias"):
            parts.append(torch.zeros(math.prod(form)))
        else:
            fan_in = shape.parts()[name.replace("bias", "weight")][0]
            parts.append((torch.rand(math.prod(form), generator=draw) * 2 - 1) / math.sqrt(fan_in))
    return torch.cat(parts)


def mask_of(keys: Sequence[ProbeKey], layers: int) -> torch.Tensor:
    """(probes, layers): 0 if a probe reads a layer, else -inf."""
    mask = torch.full((len(keys), layers), -math.inf)
    for number, key in enumerate(keys):
        mask[number, list(layers_read(key.kind, key.layer))] = 0.0
    return mask


def unpacked(flat: torch.Tensor, shape: Shape) -> dict[str, torch.Tensor]:
    """(probes, size) -> name of a parameter -> (probes, ...); views of the same memory."""
    parts = shape.parts()
    pieces = flat.split([math.prod(form) for form in parts.values()], 1)
    return {name: piece.view(len(flat), *form) for (name, form), piece in zip(parts.items(), pieces, strict=True)}


def mixing_weights(flat: torch.Tensor, shape: Shape, mask: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """(probes, layers) softmax weights, exactly 0 for layers that a probe does not read, and (probes,) scales."""
    parameters = unpacked(flat, shape)
    return torch.softmax(parameters["mix"] + mask, 1), parameters["gamma"][:, 0]


def logits_of(
    flat: torch.Tensor, shape: Shape, mask: torch.Tensor, batch: Batch, dropped: torch.Tensor | None = None
) -> torch.Tensor:
    """(probes, targets, labels) logits of (probes, size) parameters.

    ``mask``: (probes, layers); ``dropped``: (probes or 1, targets, width) factors of dropout, None drops nothing.
    """
    return logits_of_parts(unpacked(flat, shape), mask, batch, dropped)


def logits_of_parts(
    parameters: Mapping[str, torch.Tensor], mask: torch.Tensor, batch: Batch, dropped: torch.Tensor | None = None
) -> torch.Tensor:
    """As ``logits_of``, but with parameters by name, from ``unpacked``."""
    weights = torch.softmax(parameters["mix"] + mask, 1) * parameters["gamma"]
    pooled = []
    for span, (states, pieces, owners) in enumerate(zip(batch.states, batch.pieces, batch.owners, strict=True), 1):
        mixed = torch.matmul(weights, states).transpose(0, 1)
        projected = torch.baddbmm(parameters[f"project{span}.bias"], mixed, parameters[f"project{span}.weight"])
        # The attention's bias changes no softmax; it is kept because the authors' probe has it.
        scores = torch.baddbmm(parameters[f"attend{span}.bias"], projected, parameters[f"attend{span}.weight"])[:, :, 0]
        pooled.append(_pooled(projected, scores, pieces, owners, len(batch.targets)))
    hidden = torch.tanh(torch.baddbmm(parameters["hidden.bias"], torch.cat(pooled, 2), parameters["hidden.weight"]))
    normed = (
        torch.nn.functional.layer_norm(hidden, hidden.shape[-1:]) * parameters["norm.weight"] + parameters["norm.bias"]
    )
    if dropped is not None:
        normed = normed * dropped
    return torch.baddbmm(parameters["out.bias"], normed, parameters["out.weight"])


def _pooled(
    projected: torch.Tensor, scores: torch.Tensor, pieces: torch.Tensor, owners: torch.Tensor, targets: int
) -> torch.Tensor:
    """(probes, targets, width): states of each span summed with the softmax of their scores."""
    if len(pieces) == targets:
        # Every span is one piece, so its weight is 1.
        return projected.index_select(1, pieces)
    of_pairs = scores.index_select(1, pieces)
    highest = torch.full((len(scores), targets), -math.inf, device=scores.device)
    highest.scatter_reduce_(1, owners.expand(len(scores), -1), of_pairs.detach(), "amax")
    raised = torch.exp(of_pairs - highest.index_select(1, owners))
    total = torch.zeros_like(highest).index_add(1, owners, raised)
    shares = raised / total.index_select(1, owners)
    empty = torch.zeros((len(scores), targets, projected.shape[2]), device=scores.device)
    return empty.index_add(1, owners, shares[:, :, None] * projected.index_select(1, pieces))


def dropout_of(keys: Sequence[ProbeKey], rate: float, targets: int, width: int, step: int) -> torch.Tensor | None:
    """(probes, targets, width) dropout factors of one step; they depend on a probe's seed alone."""
    if rate == 0:
        return None
    seeds = sorted({key.seed for key in keys})
    masks = []
    for seed in seeds:
        draw = torch.Generator().manual_seed(_seed_of(seed, step))
        masks.append((torch.rand((targets, width), generator=draw) >= rate).float() / (1 - rate))
    if len(seeds) == 1:
        return masks[0][None]
    return torch.stack([masks[seeds.index(key.seed)] for key in keys])


def order_of(records: np.ndarray, epoch: int) -> np.ndarray:
    """Order of the sentences in an epoch; it is the same for all probes, so that they share every batch."""
    return np.random.default_rng([epoch]).permutation(records)


def _seed_of(seed: int, step: int) -> int:
    return int(np.random.SeedSequence([seed, step]).generate_state(1, np.uint64)[0] >> 1)


def label_variants(keys: Sequence[ProbeKey]) -> list[int]:
    """For each probe the variant of the gold labels that it learns: 0 the task's, 1 the control's."""
    return [0 if key.labels == TASK else 1 for key in keys]


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
