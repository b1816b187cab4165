"""One step of a head's training: forward, backward, clipping and AdamW on a batch of states."""

import numpy as np
import torch
from torch import nn

from probing.heads.lenses import AffineMap
from probing.heads.recipe import HeadRecipe
from probing.heads.states import LayerStates
from probing.heads.train_loss import SoftmaxLoss
from probing.kernel.models.head import DecodingHead, fresh_copy
from probing.kernel.models.load import Encoder
from probing.kernel.models.names import FULL

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
        if recipe.kind == FULL:
            head.vocabulary.reset_parameters()
    return head
