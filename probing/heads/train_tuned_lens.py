"""A tuned lens: an affine map before the frozen head, trained to the last layer's output (Belrose et al. 2023)."""

import numpy as np
import torch
from torch import nn

from probing.heads.lenses import AffineMap
from probing.heads.recipe import HeadRecipe
from probing.heads.train_step import HeadStep
from probing.kernel.models.head import DecodingHead, fresh_copy
from probing.kernel.models.load import Encoder


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

    @torch.no_grad()
    def begin_at(self, affine: AffineMap) -> None:
        self.map.weight.copy_(affine.weight.float())
        self.map.bias.copy_(affine.bias.float())

    def trained(self) -> DecodingHead:
        head = fresh_copy(self.head, self.recipe.kind)
        head.fold(self.map.weight, self.map.bias)
        return head
