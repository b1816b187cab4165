"""Trains a decoding head per layer, or a tuned lens (Belrose et al. 2023), from hidden states computed once."""

import json
import logging
import time
from collections import defaultdict
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from torch import nn
from tqdm import tqdm

from probing.heads.files import HeadIdentity, head_path, read_identity, save_head, stored_dtype, write_seconds
from probing.heads.lenses import AffineMap, Target, least_squares, sums_of
from probing.heads.recipe import (
    HeadRecipe,
    MaskedText,
    most_positions,
    steps_from,
    steps_of,
    steps_per_epoch,
)
from probing.heads.states import LayerStates, MaskedStates, StatesCache, masked_text_of, place_of, plan
from probing.kernel.errors import HeadError
from probing.kernel.locks import shared_lock
from probing.kernel.models.arrays import read_sealed, write_sealed
from probing.kernel.models.head import DecodingHead, fresh_copy
from probing.kernel.models.load import Encoder
from probing.kernel.models.names import TUNED_LENS

log = logging.getLogger(__name__)

MULTIPLE = 64


class SoftmaxLoss:
    """Mean cross-entropy in nats of a head's vocabulary matrix, and its gradients.

    The head's matrix and bias become views of padded buffers; padding rows have weight 0 and bias minus infinity, so
    their probability and gradients are 0. ``bfloat16`` is for the three products alone.
    """

    def __init__(self, head: DecodingHead, max_positions: int, precision: str = "float32"):
        self.matrix = head.vocabulary
        self.size, width = self.matrix.weight.shape
        rows = -(-self.size // MULTIPLE) * MULTIPLE
        self._weight = self.matrix.weight.new_zeros((rows, width))
        self._bias = self.matrix.weight.new_full((rows,), float("-inf"))
        for name, padded in (("weight", self._weight), ("bias", self._bias)):
            old = getattr(self.matrix, name)
            padded[: self.size] = old.detach()
            setattr(self.matrix, name, nn.Parameter(padded[: self.size], requires_grad=old.requires_grad))
        self._scores = self._weight.new_empty((max_positions, rows))
        self._gradient = torch.empty_like(self._weight) if self.matrix.weight.requires_grad else None
        self._low = precision == "bfloat16"
        if self._low:
            self._low_weight = self._weight.bfloat16()
            self._low_scores = torch.empty((max_positions, rows), dtype=torch.bfloat16, device=self._scores.device)

    @torch.no_grad()
    def loss(self, features: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Mean cross-entropy of (positions, embedding) features."""
        return self._exponentials(features, labels)[0].mean()

    @torch.no_grad()
    def loss_and_gradients(self, features: torch.Tensor, labels: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Mean cross-entropy and its gradient by the features; those by matrix and bias are in ``.grad``.

        The matrix's gradient is a buffer that the next call overwrites.
        """
        losses, powers, total = self._exponentials(features, labels)
        # The gradient by the scores: probabilities minus 1 at the label, divided by the number of positions.
        powers.mul_(1 / (len(labels) * total))
        which = torch.arange(len(labels), device=labels.device)
        powers[which, labels] -= 1 / len(labels)
        if self.matrix.bias.requires_grad:
            self.matrix.bias.grad = powers.sum(0)[: self.size]
        if self._low:
            powers = self._low_scores[: len(labels)].copy_(powers)
        if self._gradient is not None:
            if self._low:
                self._gradient.copy_(powers.T @ features.bfloat16())
            else:
                torch.mm(powers.T, features, out=self._gradient)
            self.matrix.weight.grad = self._gradient[: self.size]
        return losses.mean(), self._by_features(powers).to(features.dtype)

    @torch.no_grad()
    def gradient_to(self, features: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        """Gradient by the features of the mean KL divergence of their distributions from the target's."""
        nobody = torch.zeros(len(features), dtype=torch.long, device=features.device)
        _, powers, total = self._exponentials(target, nobody)
        probabilities = powers / total
        _, powers, total = self._exponentials(features, nobody)
        powers.div_(total).sub_(probabilities).div_(len(features))
        return self._by_features(self._low_scores[: len(features)].copy_(powers) if self._low else powers).to(
            features.dtype
        )

    def _by_features(self, by_scores: torch.Tensor) -> torch.Tensor:
        """(positions, rows) gradient by the scores -> (positions, embedding) gradient by the features."""
        return by_scores @ (self._low_weight if self._low else self._weight)

    def _exponentials(
        self, features: torch.Tensor, labels: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Losses (positions,), exponentials of scores minus maximum (positions, rows), their sums (positions, 1)."""
        scores = self._scores[: len(labels)]
        if self._low:
            # The weights have changed since the last step.
            self._low_weight.copy_(self._weight)
            scores.copy_(torch.mm(features.bfloat16(), self._low_weight.T, out=self._low_scores[: len(labels)])).add_(
                self._bias
            )
        else:
            torch.addmm(self._bias, features, self._weight.T, out=scores)
        highest = scores.amax(1, keepdim=True)
        right = scores.gather(1, labels[:, None])
        powers = scores.sub_(highest).exp_()
        total = powers.sum(1, keepdim=True)
        return (highest + total.log() - right).squeeze(1), powers, total


#: Positions decoded at once in validation.
VALIDATED_AT_ONCE = 512


class HeadStep:
    """One head in training, with its optimiser; kinds of training override parameters and gradient."""

    def __init__(self, encoder: Encoder, recipe: HeadRecipe, steps: int, max_positions: int):
        self.recipe, self.steps, self.device = recipe, steps, encoder.device
        self.head = start_of(encoder, recipe)
        for parameter in self.owned().values():
            parameter.requires_grad_()
        self.vocabulary = SoftmaxLoss(self.head, max(max_positions, VALIDATED_AT_ONCE), recipe.precision)
        # Collected after the vocabulary's parameters have become views of the padded ones.
        self.own: dict[str, nn.Parameter] = self.owned()
        self.optimiser = torch.optim.AdamW(
            self.own.values(), lr=recipe.learning_rate, weight_decay=recipe.weight_decay, fused=True
        )

    def owned(self) -> dict[str, nn.Parameter]:
        """The trained parameters, by name."""
        return self.head.trainable(self.recipe.kind)

    def features(self, states: torch.Tensor) -> torch.Tensor:
        """(positions, hidden) -> (positions, embedding), the input of the vocabulary matrix."""
        return self.head.transform(states)

    def gradient(self, features: torch.Tensor, targets: np.ndarray) -> torch.Tensor:
        """Gradient of the loss by the features; those by vocabulary matrix and bias are written to ``.grad``."""
        return self.vocabulary.loss_and_gradients(features, torch.from_numpy(targets).to(self.device))[1]

    def targets(self, states: LayerStates, target: LayerStates | None, positions: np.ndarray) -> np.ndarray:
        """What the head learns to give at these positions: labels, or states that it follows."""
        return states.labels[positions]

    def begin_at(self, affine: AffineMap) -> None:
        """Puts a map before the head."""
        self.head.fold(affine.weight, affine.bias)

    def trained(self) -> DecodingHead:
        """The head in its stored form."""
        return self.head

    def take(self, step: int, states: np.ndarray, targets: np.ndarray) -> None:
        """Takes one step, counted from 0, on (positions, hidden) states and their (positions,) labels."""
        features = self.features(torch.from_numpy(states).to(self.device))
        self.optimiser.zero_grad()
        features.backward(self.gradient(features.detach(), targets))
        torch.nn.utils.clip_grad_norm_(self.own.values(), 1.0)
        for group in self.optimiser.param_groups:
            group["lr"] = self.recipe.rate(step, self.steps)
        self.optimiser.step()

    def validation_loss(
        self, states: LayerStates, end: int | None = None, known: tuple[int, float] = (0, 0.0)
    ) -> float:
        """Mean cross-entropy in nats over the first ``end`` positions.

        ``known``: the number of first positions whose mean is known, and that mean; they are not decoded again.
        """
        end = len(states) if end is None else end
        counted, mean = known
        total = mean * counted
        for first in range(counted, end, VALIDATED_AT_ONCE):
            positions = np.arange(first, min(first + VALIDATED_AT_ONCE, end))
            labels = torch.from_numpy(states.labels[positions]).to(self.device)
            with torch.inference_mode():
                features = self.features(torch.from_numpy(states.at(positions)).to(self.device))
                total += self.vocabulary.loss(features, labels).item() * len(positions)
        return total / end

    def weights(self) -> dict[str, torch.Tensor]:
        """A copy of the head's own weights."""
        return {name: p.detach().clone() for name, p in self.own.items()}

    @torch.no_grad()
    def put(self, weights: dict[str, torch.Tensor]) -> None:
        """Sets the head's own weights."""
        for name, p in self.own.items():
            p.copy_(weights[name])


def start_of(encoder: Encoder, recipe: HeadRecipe) -> DecodingHead:
    """The head that training starts from."""
    recipe.check()
    head = fresh_copy(encoder.head, recipe.kind)
    if recipe.mapped:
        head.give_bias()
    if recipe.start == "random":
        torch.manual_seed(recipe.seed)
        head.dense.reset_parameters()
        head.norm.reset_parameters()
        if recipe.form.own_vocabulary:
            head.vocabulary.reset_parameters()
    return head


class TunedLensStep(HeadStep):
    """A map in training. It starts as the identity and learns from the target's states instead of labels."""

    def __init__(self, encoder: Encoder, recipe: HeadRecipe, steps: int, max_positions: int):
        self.map = nn.Linear(encoder.hidden, encoder.hidden, device=encoder.device)
        with torch.no_grad():
            self.map.weight.copy_(torch.eye(encoder.hidden))
            self.map.bias.zero_()
        super().__init__(encoder, recipe, steps, max_positions)

    def owned(self) -> dict[str, nn.Parameter]:
        return dict(self.map.named_parameters())

    def features(self, states: torch.Tensor) -> torch.Tensor:
        return self.head.transform(self.map(states))

    def gradient(self, features: torch.Tensor, targets: np.ndarray) -> torch.Tensor:
        """Gradient of the mean KL divergence from the head's distribution on the target's states."""
        return self.vocabulary.gradient_to(features, self.head.transform(torch.from_numpy(targets).to(self.device)))

    def targets(self, states: LayerStates, target: LayerStates | None, positions: np.ndarray) -> np.ndarray:
        assert target is not None
        return target.at(positions)

    @torch.no_grad()
    def begin_at(self, affine: AffineMap) -> None:
        self.map.weight.copy_(affine.weight.float())
        self.map.bias.copy_(affine.bias.float())

    def trained(self) -> DecodingHead:
        head = fresh_copy(self.head, self.recipe.kind)
        head.fold(self.map.weight, self.map.bias)
        return head


#: Kind of head -> how it is trained, if not as a ``HeadStep``.
STEPS: dict[str, type[HeadStep]] = {TUNED_LENS: TunedLensStep}


#: Inside an epoch a checkpoint is written when the last one is this many seconds old.
CHECKPOINT_SECONDS = 300.0


@dataclass
class Progress:
    """State of a head's training."""

    step: int
    curve: list[list[float]]  #: ``[step, validation loss]`` at the start and at every validation
    best: dict[str, torch.Tensor] = field(repr=False)  #: weights of the best point of the curve
    starts: dict[str, float] = field(default_factory=dict)  #: as in ``HeadIdentity``
    seconds: float = 0.0  #: before this process resumed it


def train_head(
    encoder: Encoder,
    layer: int,
    recipe: HeadRecipe,
    train: MaskedStates,
    valid: MaskedStates,
    folder: Path,
    dtype: torch.dtype,
    target: LayerStates | None = None,
) -> Path:
    """Trains and saves one layer's head; the best checkpoint by validation loss, including the start, is kept.

    A killed run resumes and ends with the same bytes; a finished head is not trained again. ``target``: states that a
    map or a tuned lens leads to; None: the layer's own. HeadError: the folder has a head of another recipe.
    """
    path, partial = head_path(folder, layer), checkpoint_path(folder, layer)
    if is_finished(path, recipe, encoder, dtype):
        return path
    began = time.monotonic()
    each = recipe.validate_every or steps_per_epoch(recipe, train.text)
    total = 0 if recipe.form.follows and target is None else steps_of(recipe, train.text)
    step = STEPS.get(recipe.kind, HeadStep)(encoder, recipe, total, most_positions(recipe, train.text))
    states, validating = train.layer(layer), valid.layer(layer)
    progress = _saved(partial, recipe, encoder, step) or _started(step, states, validating, target)
    began -= progress.seconds
    bar = tqdm(total=total, initial=progress.step, unit="step", desc=f"{recipe.kind} head, layer {layer}", leave=False)
    written = time.monotonic()
    for number, positions in steps_from(recipe, train.text, layer, progress.step) if total else ():
        if recipe.has_stopped([loss for _, loss in progress.curve]):
            break
        step.take(number, states.at(positions), step.targets(states, target, positions))
        progress.step = number + 1
        bar.update()
        if progress.step % each and progress.step < total:
            if time.monotonic() - written > CHECKPOINT_SECONDS:
                progress.seconds = time.monotonic() - began
                _save(partial, recipe, encoder, step, progress)
                written = time.monotonic()
            continue
        loss = step.validation_loss(validating)
        if loss < min(point[1] for point in progress.curve):
            progress.best = step.weights()
        progress.curve.append([progress.step, loss])
        progress.seconds = time.monotonic() - began
        _save(partial, recipe, encoder, step, progress)
        written = time.monotonic()
    bar.close()
    step.put(progress.best)
    rounded = json.dumps([[number, round(loss, 5)] for number, loss in progress.curve])
    starts = json.dumps({way: round(loss, 5) for way, loss in progress.starts.items()}) if progress.starts else ""
    made = (encoder.name, encoder.weights_id, layer, recipe.kind, recipe.canonical(), rounded)
    identity = HeadIdentity(*made, configuration=encoder.configuration, starts=starts)
    write_seconds(folder, layer, identity.recipe, time.monotonic() - began)
    save_head(step.trained(), identity, folder, dtype)
    partial.unlink(missing_ok=True)
    return path


def _started(step: HeadStep, states: LayerStates, validating: LayerStates, target: LayerStates | None) -> Progress:
    """The closed-form map if the recipe has one, unless the pre-trained head is better without it.

    Both are compared on the first ``start_positions`` validation positions; the better one is then validated on all.
    """
    if not step.recipe.mapped or target is None:
        return Progress(0, [[0, step.validation_loss(validating)]], step.weights())
    every = len(validating)
    some = every if step.recipe.form.closed_form else min(step.recipe.start_positions or every, every)
    lens, without = step.validation_loss(validating, some), step.weights()
    step.begin_at(least_squares(sums_of(states, target, step.device), step.recipe.ridge))
    mapped = step.validation_loss(validating, some)
    # Also if the map's loss is NaN.
    if not mapped < lens:
        step.put(without)
    loss, starts = min(lens, mapped), {"lens": lens, "map": mapped}
    if some < every:
        loss, starts = step.validation_loss(validating, known=(some, loss)), starts | {"positions": some}
    return Progress(0, [[0, loss]], step.weights(), starts)


def checkpoint_path(folder: Path, layer: int) -> Path:
    return folder / f"layer-{layer:02d}.partial.sealed"


def is_finished(path: Path, recipe: HeadRecipe, encoder: Encoder, dtype: torch.dtype) -> bool:
    """Whether the head of this recipe exists in this number format; HeadError if another is in its place."""
    if not path.is_file():
        return False
    identity = read_identity(path)
    if (identity.recipe, identity.weights) == (recipe.canonical(), encoder.weights_id) and identity.configuration in (
        "",
        encoder.configuration,
    ):
        if (stored := stored_dtype(path)) != dtype:
            got = f"{path} is stored in {stored}, expected {dtype}".replace("torch.", "")
            raise HeadError(f"{got}; choose another folder or delete it")
        return True
    raise HeadError(
        f"{path} was trained by another recipe or for other weights or another configuration; choose another folder or"
        " delete it"
    )


def _save(partial: Path, recipe: HeadRecipe, encoder: Encoder, step: HeadStep, progress: Progress) -> None:
    parts = {"now": step.weights(), "best": progress.best}
    parts |= {f"optimiser {number}": state for number, state in step.optimiser.state_dict()["state"].items()}
    arrays = {
        f"{part}/{name}": tensor.cpu().numpy() for part, tensors in parts.items() for name, tensor in tensors.items()
    }
    note = {
        "recipe": recipe.canonical(),
        "weights": encoder.weights_id,
        "configuration": encoder.configuration,
        "step": progress.step,
    }
    note |= {"curve": progress.curve, "starts": progress.starts, "seconds": progress.seconds}
    write_sealed(arrays | {"note": np.frombuffer(json.dumps(note).encode(), np.uint8)}, partial)


def unfinished_recipe(folder: Path, layer: int, encoder: Encoder) -> str | None:
    """The canonical recipe of a head whose training was killed; None if there is no checkpoint."""
    try:
        note = json.loads(read_sealed(checkpoint_path(folder, layer))["note"].tobytes())
    except (OSError, KeyError, ValueError):
        return None
    same = (note.get("weights"), note.get("configuration")) == (encoder.weights_id, encoder.configuration)
    return str(note.get("recipe")) if same else None


def _saved(partial: Path, recipe: HeadRecipe, encoder: Encoder, step: HeadStep) -> Progress | None:
    """Restores the checkpoint of a killed training of the same recipe; None if there is none."""
    if not partial.is_file():
        return None
    try:
        arrays = read_sealed(partial)
    except OSError as error:
        log.warning("%s; the head is trained from the start", error)
        return None
    note = json.loads(arrays.pop("note").tobytes())
    expected = {"recipe": recipe.canonical(), "weights": encoder.weights_id, "configuration": encoder.configuration}
    if any(note.get(key) != value for key, value in expected.items()):
        return None
    parts: dict[str, dict[str, torch.Tensor]] = defaultdict(dict)
    for key, array in arrays.items():
        part, name = key.split("/")
        parts[part][name] = torch.tensor(array, device=encoder.device)
    step.put(parts.pop("now"))
    best = parts.pop("best")
    state = {int(part.removeprefix("optimiser ")): tensors for part, tensors in parts.items()}
    step.optimiser.load_state_dict({"state": state, "param_groups": step.optimiser.state_dict()["param_groups"]})
    return Progress(note["step"], note["curve"], best, note.get("starts", {}), note.get("seconds", 0.0))


def train_heads(
    encoder: Encoder,
    train: Sequence[str],
    valid: Sequence[str],
    recipe: HeadRecipe,
    folder: Path,
    states: StatesCache,
    dtype: torch.dtype = torch.float32,
    layers: Sequence[int] | None = None,
) -> list[Path]:
    """Trains a head for every layer 0..L, or for the given layers.

    If the states of all layers do not fit the budget, the encoder runs once per group that does; a group's states are
    deleted when no process trains from them any more. HeadError: a head of another recipe, a text too short, one layer
    over the budget, or a base that splits the text otherwise; ModelError: the base does not exist.
    """
    recipe.check()
    every = list(range(encoder.layers)) if recipe.seed == 0 else [encoder.depth]
    layers = list(range(encoder.layers)) if layers is None else list(layers)
    unfinished = [layer for layer in layers if not is_finished(head_path(folder, layer), recipe, encoder, dtype)]
    for layer in set(layers) - set(unfinished):
        # The checkpoint of a training that was killed after the head was written; it is as large as four heads.
        checkpoint_path(folder, layer).unlink(missing_ok=True)
    parts = []
    for sentences, positions, seed in (
        ((train, recipe.positions, 0), (valid, recipe.validation_positions, 1)) if unfinished else ()
    ):
        text = masked_text_of(encoder, sentences, recipe, positions, seed, states.folder)
        parts.append((text, place_of(encoder, recipe, positions, seed, states.folder)))
    target = Target.of(encoder, train, parts[0][0], recipe, states.folder) if unfinished and recipe.follows else None
    target_bytes = target.extra_bytes(parts, states.budget) if target else 0
    bar = tqdm(
        total=len(layers),
        initial=len(layers) - len(unfinished),
        unit="layer",
        desc=f"{recipe.kind} heads of {encoder.name}",
    )
    for group in (
        groups_of_layers(encoder, unfinished, parts, recipe, states.budget, target_bytes) if unfinished else ()
    ):
        training, validating = (MaskedStates(encoder, text, group, recipe.window_dtype, place) for text, place in parts)
        target = target and target.read_from(training)
        used = {part.folder: part for part in (training, validating, *([target.states] if target else []))}
        # Another kind or seed may still train from the same states.
        with ExitStack() as stack:
            removes = {place: stack.enter_context(shared_lock(place)) for place in used}
            for part in used.values():
                part.compute()
            for layer in group:
                if layer in unfinished:
                    train_head(
                        encoder,
                        layer,
                        recipe,
                        training,
                        validating,
                        folder,
                        dtype,
                        target.for_layer(layer) if target else None,
                    )
                    bar.update()
            for part in used.values() if len(group) <= encoder.depth else ():
                # All groups need the target's states, and the target's own heads need those of all its layers.
                reading = group if part in (training, validating) else every
                if len(part.layers) <= len(group) and all(head_path(folder, layer).is_file() for layer in reading):
                    removes[part.folder]()
    bar.close()
    return [head_path(folder, layer) for layer in layers]


def groups_of_layers(
    encoder: Encoder,
    layers: Sequence[int],
    parts: Sequence[tuple[MaskedText, Path]],
    recipe: HeadRecipe,
    budget: int,
    target_bytes: int = 0,
) -> list[list[int]]:
    """The layers of each pass: all at once if they fit the budget minus ``target_bytes``, or are on disk already."""
    every = list(range(encoder.layers))
    if not any(MaskedStates(encoder, text, every, recipe.window_dtype, place).missing() for text, place in parts):
        return [every]
    return plan(encoder, layers, sum(len(text.labels) for text, _ in parts), recipe.window_dtype, budget, target_bytes)
