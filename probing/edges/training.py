"""Many probes trained at once, each with its own learning rate and patience; online code (Voita and Titov 2020)."""

import contextlib
import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch

from probing.edges.probes import (
    THRESHOLD,
    CodeScore,
    F1Score,
    ProbeKey,
    Score,
    Shape,
    answers,
    counts_of,
    dropout_of,
    label_variants,
    logits_of_parts,
    mask_of,
    order_of,
    start_of,
    unpacked,
)
from probing.edges.requests import EdgeRecipe
from probing.edges.states import PartArrays, States, TrainingData, batch_of
from probing.kernel.models.arrays import read_sealed, write_sealed

BETAS, EPSILON = (0.9, 0.999), 1e-8
#: Minimum number of steps between two evaluations on the development part.
LEAST_STEPS = 50
#: Parameters per block of an Adam step on a CPU.
NUMBERS_A_PART = 1 << 18
#: State of each probe between two calls, in addition to its parameters.
_TENSORS = ("flat", "best", "first", "second", "highest")
_OF_PROBE = ("rate", "best_score", "best_step", "without_better", "since_halved", "stopped", "checks")


@dataclass(frozen=True)
class Trained:
    """The best checkpoint of each probe."""

    keys: tuple[ProbeKey, ...]
    shape: Shape
    flat: torch.Tensor  #: (probes, size)
    steps: np.ndarray  #: (probes,), in all
    best_step: np.ndarray  #: (probes,)
    best: np.ndarray  #: (probes,), the score of the best checkpoint
    rate: np.ndarray  #: (probes,), learning rate at the end
    stopped: np.ndarray  #: (probes,), whether patience ended the training


@dataclass
class _State:
    """State of a training; every array has the probes as its first axis."""

    flat: torch.Tensor
    best: torch.Tensor
    first: torch.Tensor
    second: torch.Tensor
    highest: torch.Tensor
    numbers: dict[str, np.ndarray]
    step: int = 0


def train_probes(
    data: TrainingData,
    keys: Sequence[ProbeKey],
    recipe: EdgeRecipe,
    device: torch.device,
    checkpoint: Path | None = None,
    score: Score | None = None,
    passed: Callable[[int, int], None] | None = None,
) -> Trained:
    """Trains all probes on the same batches; the best checkpoint of each is kept, of equals the earlier.

    A killed run resumes from ``checkpoint`` with the same result to the byte. ``score``: the loss, and the score that
    stops a probe; None: binary cross-entropy and micro F1. ``passed`` gets the number of steps and their maximum.
    """
    score = score or F1Score(data.counted)
    last = data.train_states.layers - 1
    shape = Shape(last + 1, data.train_states.hidden, len(data.train.spans), recipe.width, data.train.gold.shape[2])
    state = _read(checkpoint, len(keys)) or _begin(keys, shape, recipe)
    records = data.train.records()
    a_pass = math.ceil(len(records) / recipe.batch)
    every = recipe.check_every or max(LEAST_STEPS, math.ceil(a_pass / 2))
    limit = every * recipe.most_checks
    looked_at = data.dev.of_records(data.dev.records()[: recipe.check_records])
    mask, variants = mask_of(keys, last + 1).to(device), torch.tensor(label_variants(keys))
    order, epoch = order_of(records, 0), 0
    active = np.flatnonzero(~state.numbers["stopped"])
    live = _select_active(state, active, device)
    while len(active) and state.step < limit:
        now, within = divmod(state.step, a_pass)
        if now != epoch:
            order, epoch = order_of(records, now), now
        targets = data.train.of_records(order[within * recipe.batch : (within + 1) * recipe.batch])
        batch = batch_of(data.train, data.train_states, targets, device)
        state.step += 1
        here = [keys[int(number)] for number in active]
        dropped = dropout_of(here, recipe.dropout, len(targets), recipe.width, state.step)
        parameters = {name: part.requires_grad_(True) for name, part in unpacked(live.flat, shape).items()}
        logits = logits_of_parts(parameters, mask[active], batch, None if dropped is None else dropped.to(device))
        losses = score.losses(logits, batch.gold[variants[active].to(device)])
        # Attention inside a span has no gradient if every span is one piece.
        gradients = torch.autograd.grad(losses.sum(), list(parameters.values()), materialize_grads=True)
        torch.cat([gradient.flatten(1) for gradient in gradients], 1, out=live.gradient)
        _adam(live, state.step, torch.from_numpy(state.numbers["rate"][active]).to(device), recipe.clip)
        if state.step % every == 0:
            _record_check(
                state, active, live, score(live.flat, here, shape, mask[active], data, looked_at, device), recipe
            )
            active = np.flatnonzero(~state.numbers["stopped"])
            live = _select_active(state, active, device)
            _keep(checkpoint, state)
            if passed:
                passed(state.step, limit)
    numbers = state.numbers
    steps = np.where(numbers["stopped"], numbers["checks"] * every, state.step)
    stopped = numbers["stopped"] & (numbers["checks"] < recipe.most_checks)
    return Trained(
        tuple(keys), shape, state.best, steps, numbers["best_step"], numbers["best_score"], numbers["rate"], stopped
    )


def _begin(keys: Sequence[ProbeKey], shape: Shape, recipe: EdgeRecipe) -> _State:
    starts = {seed: start_of(shape, seed) for seed in {key.seed for key in keys}}
    flat = torch.stack([starts[key.seed] for key in keys])
    number = len(keys)
    numbers = {
        "rate": np.full(number, recipe.learning_rate),
        "best_score": np.full(number, -np.inf),
        "best_step": np.zeros(number, np.int64),
        "without_better": np.zeros(number, np.int64),
        "since_halved": np.zeros(number, np.int64),
        "checks": np.zeros(number, np.int64),
        "stopped": np.zeros(number, bool),
    }
    return _State(flat, flat.clone(), torch.zeros_like(flat), torch.zeros_like(flat), torch.zeros_like(flat), numbers)


@dataclass
class _Live:
    """Parameters, moments and gradient buffer, on the device, of the probes that still train."""

    flat: torch.Tensor
    first: torch.Tensor
    second: torch.Tensor
    highest: torch.Tensor
    gradient: torch.Tensor


def _select_active(state: _State, active: np.ndarray, device: torch.device) -> _Live:
    flat, first, second, highest = (
        getattr(state, name)[active].to(device) for name in ("flat", "first", "second", "highest")
    )
    return _Live(flat, first, second, highest, torch.empty_like(flat))


@torch.no_grad()
def _adam(live: _Live, step: int, rates: torch.Tensor, clip: float) -> None:
    """One step of Adam with amsgrad; each probe's gradient is clipped by its own norm.

    On a CPU the parameters are updated in blocks of one probe, so that a block stays in the processor's cache.
    """
    gradient = live.gradient
    norms = gradient.norm(dim=1, keepdim=True)
    scales = (clip / (norms + 1e-6)).clamp(max=1.0)
    factors = (-rates / (1 - BETAS[0] ** step)).float()[:, None]
    probes, size = gradient.shape
    rows, columns = (1, NUMBERS_A_PART) if gradient.device.type == "cpu" else (probes, size)
    room = torch.empty((2, rows, min(columns, size)), device=gradient.device)
    for row in range(0, probes, rows):
        for start in range(0, size, columns):
            place = slice(row, row + rows), slice(start, start + columns)
            part, first, second, highest = gradient[place], live.first[place], live.second[place], live.highest[place]
            root, change = room[:, :, : part.shape[1]]
            part.mul_(scales[place[0]])
            first.lerp_(part, 1 - BETAS[0])
            second.mul_(BETAS[1]).addcmul_(part, part, value=1 - BETAS[1])
            torch.maximum(highest, second, out=highest)
            torch.sqrt(highest, out=root).div_(math.sqrt(1 - BETAS[1] ** step)).add_(EPSILON)
            torch.mul(factors[place[0]], first, out=change)
            live.flat[place].add_(change.div_(root))


def _record_check(state: _State, active: np.ndarray, live: _Live, scores: np.ndarray, recipe: EdgeRecipe) -> None:
    """Records an evaluation: a better checkpoint is kept, else learning rate and patience decrease."""
    for name in ("flat", "first", "second", "highest"):
        getattr(state, name)[active] = getattr(live, name).detach().cpu()
    numbers = state.numbers
    better = active[scores > numbers["best_score"][active]]
    worse = np.setdiff1d(active, better)
    # With many labels none has a probability of one half at first: an F1 of 0 does not show that nothing is learned.
    worse = worse[numbers["best_score"][worse] != 0]
    state.best[better] = state.flat[better]
    numbers["best_score"][active] = np.maximum(scores, numbers["best_score"][active])
    numbers["best_step"][better] = state.step
    numbers["without_better"][better] = numbers["since_halved"][better] = 0
    numbers["without_better"][worse] += 1
    numbers["since_halved"][worse] += 1
    halved = worse[numbers["since_halved"][worse] >= recipe.halve_after]
    numbers["rate"][halved] /= 2
    numbers["since_halved"][halved] = 0
    numbers["checks"][active] += 1
    numbers["stopped"][worse[numbers["without_better"][worse] >= recipe.patience]] = True


def _keep(path: Path | None, state: _State) -> None:
    if path is not None:
        arrays = {name: getattr(state, name).numpy() for name in _TENSORS}
        arrays |= {name: np.asarray(state.numbers[name]).astype(np.float64) for name in _OF_PROBE}
        write_sealed(arrays | {"step": np.array([state.step])}, path)


def _read(path: Path | None, number: int) -> _State | None:
    """A stored training; None if there is none, or if it is damaged and starts again."""
    if path is None or not path.is_file():
        return None
    with contextlib.suppress(OSError, KeyError):
        arrays = read_sealed(path)
        flat, best, first, second, highest = (torch.from_numpy(arrays[name].copy()) for name in _TENSORS)
        kinds = {"rate": np.float64, "best_score": np.float64, "stopped": bool}
        numbers = {name: arrays[name].astype(kinds.get(name, np.int64)) for name in _OF_PROBE}
        if len(flat) == number:
            return _State(flat, best, first, second, highest, numbers, int(arrays["step"][0]))
    return None


#: Shares of the training part at which portions end, as in the authors' code.
ENDS = (0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.0625, 0.125, 0.25, 0.5, 1.0)
#: Sentences of the development part that decide when a portion's training ends.
CHECK_RECORDS = 500


@dataclass(frozen=True)
class Codes:
    """Code lengths in bits."""

    targets: np.ndarray  #: (portions,), number of targets in each
    bits: np.ndarray  #: (probes, portions); the first portion has the uniform code
    uniform: np.ndarray  #: (portions,)


def portions_of(arrays: PartArrays) -> list[np.ndarray]:
    """Sentences of each portion, in a fixed random order; empty portions are left out."""
    records = order_of(arrays.records(), 0)
    counts = np.array([len(arrays.of_records(np.array([record]))) for record in records])
    reached = np.cumsum(counts)
    ends = np.searchsorted(reached, np.array(ENDS) * reached[-1], side="left") + 1
    ends[-1] = len(records)
    cuts = sorted({0, *(int(end) for end in ends)})
    return [records[start:end] for start, end in itertools.pairwise(cuts)]


def online_codes(
    data: TrainingData,
    keys: Sequence[ProbeKey],
    recipe: EdgeRecipe,
    device: torch.device,
    folder: Path,
    passed: Callable[[int, int], None] | None = None,
) -> Codes:
    """Code length of the training labels under each probe; that of the development part stops each training.

    ``folder`` keeps finished portions, so that a killed run resumes; ``passed`` gets the numbers of coded and of all
    portions.
    """
    portions = portions_of(data.train)
    kinds = data.train.gold.shape[2]
    # No probe can predict a label that only the development part has.
    one_label = bool((data.train.gold[0].sum(1) == 1).all() and (data.dev.gold[0].sum(1) <= 1).all())
    score = CodeScore(one_label)
    recipe = recipe.model_copy(update={"check_records": min(recipe.check_records, CHECK_RECORDS)})
    sizes = np.array([len(data.train.of_records(np.sort(portion))) for portion in portions])
    uniform = sizes * (np.log2(kinds) if one_label else kinds)
    bits = np.zeros((len(keys), len(portions)))
    bits[:, 0] = uniform[0]
    mask = mask_of(keys, data.train_states.layers).to(device)
    for number in range(1, len(portions)):
        before = np.sort(np.concatenate(portions[:number]))
        part = _only(data.train, data.train.of_records(before))
        trained = train_probes(
            replace(data, train=part), keys, recipe, device, folder / f"portion-{number:02d}.safetensors", score
        )
        now = data.train.of_records(np.sort(portions[number]))
        for chosen, logits in answers(
            trained.flat.to(device), trained.shape, mask, data.train, data.train_states, now, device
        ):
            gold = torch.from_numpy(data.train.gold[:1, chosen]).to(device).float()
            bits[:, number] += score.bits(logits, gold.expand_as(logits)).sum(1).double().cpu().numpy()
        if passed:
            passed(number, len(portions) - 1)
    return Codes(sizes, bits, uniform)


def _only(arrays: PartArrays, targets: np.ndarray) -> PartArrays:
    """Some targets of a part, in their order."""
    spans = []
    for span in arrays.spans:
        pieces, owners = span.of(targets)
        spans.append(
            replace(
                span,
                starts=np.concatenate([[0], np.cumsum(np.bincount(owners, minlength=len(targets)))]),
                pieces=pieces,
            )
        )
    return replace(
        arrays,
        spans=tuple(spans),
        gold=arrays.gold[:, targets],
        unknown=arrays.unknown[targets],
        record=arrays.record[targets],
        target=arrays.target[targets],
    )


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
