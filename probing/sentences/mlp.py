"""Probes with one hidden layer, all trained at once, and their online code (Voita and Titov 2020)."""

import itertools
import math
from dataclasses import dataclass

import numpy as np
import torch
from torch.nn import functional

from probing.sentences.probes import CS, labels_of, own_scale, scale_of, standardised
from probing.sentences.solver import outputs_of, solve

UNITS = 128
BATCH = 256
RATE, DECAY = 1e-3, 0.01
#: Minimum number of steps between two evaluations on the development part; an evaluation follows a whole epoch.
STEPS_A_LOOK = 40
#: Maximum number of evaluations, and evaluations without a smaller loss after which a probe's training ends.
MAX_LOOKS, PATIENCE = 12, 3
_BETAS, _TINY = (0.9, 0.999), 1e-8
#: Sentences per batch of predictions.
_ASKED = 1024

Weights = list[torch.Tensor]


@dataclass(frozen=True)
class Mlp:
    """Trained probes of one hidden layer of GELU units; problems are all layers of all poolings."""

    #: (problems, hidden, units), (problems, 1, units), (problems, units, outputs), (problems, 1, outputs)
    weights: tuple[torch.Tensor, ...]
    mean: np.ndarray  #: (poolings, layers, hidden), of the training vectors
    scale: np.ndarray  #: (poolings, layers, hidden)
    dev_right: np.ndarray  #: (poolings, layers), number of correct development sentences
    looks: np.ndarray  #: (poolings, layers), number of the evaluation whose weights were kept


def fit_mlp(
    train: np.ndarray, labels: np.ndarray, dev: np.ndarray, dev_labels: np.ndarray, classes: int, seed: int
) -> Mlp:
    """Trains a probe per layer and pooling, each until its loss on the development part no longer falls.

    Vectors are (poolings, layers, sentences, hidden). All start with the same weights and read the sentences in the
    same order, so none depends on the others.
    """
    mean, scale = own_scale(train)
    flat = _Vectors(train, mean, scale)
    held = _Vectors(dev, mean, scale)
    problems, hidden = len(flat.vectors), train.shape[3]
    draw = torch.Generator().manual_seed(seed)
    weights = [weight.expand(problems, -1, -1).clone() for weight in _start(hidden, outputs_of(classes), draw)]
    best_weights, moments = (
        [weight.clone() for weight in weights],
        [(torch.zeros_like(weight), torch.zeros_like(weight)) for weight in weights],
    )
    gold, dev_gold = torch.from_numpy(labels.astype(np.int64)), torch.from_numpy(dev_labels.astype(np.int64))
    best, since = torch.full((problems,), torch.inf), torch.zeros(problems, dtype=torch.long)
    looks, right = torch.zeros(problems, dtype=torch.long), torch.zeros(problems, dtype=torch.long)
    running, steps = torch.arange(problems), 0
    passes = math.ceil(STEPS_A_LOOK / math.ceil(len(labels) / BATCH))
    for look in range(1, MAX_LOOKS + 1):
        order = torch.cat([torch.randperm(len(labels), generator=draw) for _ in range(passes)])
        for batch in order.split(BATCH):
            steps += 1
            _step(flat.of(running, batch), gold[batch], weights, moments, steps)
        loss, correct = _judged(held, running, weights, dev_gold)
        better = loss < best[running]
        now = running[better]
        for store, new in zip(best_weights, weights, strict=True):
            store[now] = new[better]
        best[now], right[now], looks[now] = loss[better], correct[better], look
        since[running] += 1
        since[now] = 0
        go_on = since[running] < PATIENCE
        if not go_on.any():
            break
        if not go_on.all():
            running, weights = running[go_on], [weight[go_on] for weight in weights]
            moments = [(first[go_on], second[go_on]) for first, second in moments]
    form = train.shape[:2]
    return Mlp(tuple(best_weights), mean, scale, right.numpy().reshape(form), looks.numpy().reshape(form))


def mlp_answers(mlp: Mlp, vectors: np.ndarray) -> np.ndarray:
    """Predictions of the probes: (poolings, layers, sentences) uint8 label numbers."""
    standardised = _Vectors(vectors, mlp.mean, mlp.scale)
    everything = torch.arange(len(standardised.vectors))
    guessed = np.empty((len(everything), vectors.shape[2]), np.uint8)
    with torch.inference_mode():
        for part in torch.arange(vectors.shape[2]).split(_ASKED):
            guessed[:, part] = labels_of(_logits(standardised.of(everything, part), mlp.weights).numpy())
    return guessed.reshape(vectors.shape[:3])


class _Vectors:
    """Vectors of all layers and poolings in one axis, standardised when read: a copy would double the memory."""

    def __init__(self, vectors: np.ndarray, mean: np.ndarray, scale: np.ndarray):
        problems = vectors.shape[0] * vectors.shape[1]
        self.vectors = torch.from_numpy(vectors.reshape(problems, *vectors.shape[2:]))
        self.mean, self.scale = (torch.from_numpy(array.reshape(problems, 1, -1)) for array in (mean, scale))

    def of(self, problems: torch.Tensor, sentences: torch.Tensor) -> torch.Tensor:
        """(problems, sentences, hidden)."""
        return self.vectors[problems[:, None], sentences].sub_(self.mean[problems]).div_(self.scale[problems])


def _start(hidden: int, outputs: int, draw: torch.Generator) -> Weights:
    # A third of the usual spread. Near 0 a GELU unit is nearly linear, so non-linear units are learned only if they
    # help.
    spread = (6 / (hidden + UNITS)) ** 0.5 / 3
    first = (torch.rand(1, hidden, UNITS, generator=draw) * 2 - 1) * spread
    # Last weights of 0, so that every probe starts with uniform predictions.
    return [first, torch.zeros(1, 1, UNITS), torch.zeros(1, UNITS, outputs), torch.zeros(1, 1, outputs)]


def _logits(vectors: torch.Tensor, weights: tuple[torch.Tensor, ...] | Weights) -> torch.Tensor:
    """(problems, sentences, outputs)."""
    inner = functional.gelu(torch.baddbmm(weights[1], vectors, weights[0]), approximate="tanh")
    return torch.baddbmm(weights[3], inner, weights[2])


def _losses(logits: torch.Tensor, gold: torch.Tensor) -> torch.Tensor:
    """(problems,), mean loss over sentences."""
    if logits.shape[2] == 1:
        margins = logits[:, :, 0]
        return (functional.softplus(margins) - margins * gold).mean(1)
    chosen = logits.gather(2, gold[None, :, None].expand(len(logits), -1, 1))[:, :, 0]
    return (torch.logsumexp(logits, 2) - chosen).mean(1)


def _judged(
    held: _Vectors, running: torch.Tensor, weights: Weights, gold: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Loss and number of correct sentences of each running probe on the development part."""
    loss, correct = torch.zeros(len(running)), torch.zeros(len(running), dtype=torch.long)
    with torch.inference_mode():
        for part in torch.arange(len(gold)).split(_ASKED):
            logits = _logits(held.of(running, part), weights)
            loss += _losses(logits, gold[part]) * len(part)
            correct += torch.from_numpy((labels_of(logits.numpy()) == gold[part].numpy()).sum(1))
    return loss.clone(), correct.clone()


def _step(
    vectors: torch.Tensor,
    gold: torch.Tensor,
    weights: Weights,
    moments: list[tuple[torch.Tensor, torch.Tensor]],
    number: int,
) -> None:
    """One step of Adam with decoupled weight decay, in place; probes do not depend on each other."""
    leaves = [weight.detach().requires_grad_() for weight in weights]
    gradients = torch.autograd.grad(_losses(_logits(vectors, leaves), gold).sum(), leaves)
    with torch.no_grad():
        for weight, gradient, (first, second) in zip(weights, gradients, moments, strict=True):
            first.lerp_(gradient, 1 - _BETAS[0])
            second.mul_(_BETAS[1]).addcmul_(gradient, gradient, value=1 - _BETAS[1])
            size = (second / (1 - _BETAS[1] ** number)).sqrt_().add_(_TINY)
            weight.mul_(1 - RATE * DECAY).addcdiv_(first, size, value=-RATE / (1 - _BETAS[0] ** number))


BLOCKS = 10


def block_ends(sentences: int) -> list[int]:
    """Ends of the blocks: a 512th, a 256th, ... a half, all; fewer blocks if there are fewer sentences."""
    return sorted({math.ceil(sentences / 2**power) for power in range(BLOCKS)})


def uniform_bits(sentences: int, classes: int) -> float:
    """Length of the uniform code: log2 of the number of labels, per sentence."""
    return sentences * math.log2(classes)


def code_lengths(train: np.ndarray, labels: np.ndarray, classes: int) -> np.ndarray:
    """(poolings, layers) bits of the online code of training labels; in their order every class should occur early."""
    ends = block_ends(len(labels))
    bits = np.zeros((*train.shape[:2], len(CS)))
    for start, end in itertools.pairwise(ends):
        if len(np.unique(labels[:start])) < classes:
            # No probe can be trained before every class has occurred.
            bits += uniform_bits(end - start, classes)
            continue
        for place in np.ndindex(*train.shape[:2]):
            mean, scale = scale_of(train[place][:start])
            path = solve(standardised(train[place][:start], mean, scale), labels[:start], classes, CS)
            sent = standardised(train[place][start:end], mean, scale)
            for number, (weights, bias) in enumerate(zip(path.weights, path.bias, strict=True)):
                bits[(*place, number)] += _bits(sent @ weights.T + bias, labels[start:end])
    return bits.min(2) + math.log2(len(CS)) + uniform_bits(ends[0], classes)


def _bits(logits: np.ndarray, labels: np.ndarray) -> float:
    """Bits of labels under a probe's probabilities; logits as (sentences, outputs)."""
    outputs = torch.from_numpy(logits).double()
    if outputs.shape[1] == 1:
        outputs = torch.cat([torch.zeros_like(outputs), outputs], 1)
    gold = torch.from_numpy(labels.astype(np.int64))
    return float(torch.nn.functional.cross_entropy(outputs, gold, reduction="sum")) / math.log(2)
