"""The least-squares affine map from a layer's states to the last layer's, in closed form."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from probing.heads.recipe import PRETRAINED, HeadRecipe, MaskedText
from probing.heads.states import WINDOW, LayerStates, MaskedStates, masked_text_of, place_of, states_bytes
from probing.kernel.errors import HeadError
from probing.kernel.models.load import Encoder


@dataclass(frozen=True)
class AffineMap:
    """h -> W h + b, in float64: (hidden of the target, hidden) and (hidden of the target,)."""

    weight: torch.Tensor
    bias: torch.Tensor


@dataclass(frozen=True)
class Sums:
    """Sums over all positions from which the map is computed, in float64."""

    squares: torch.Tensor  #: (hidden + 1, hidden + 1), of [h 1]^T [h 1]
    products: torch.Tensor  #: (hidden + 1, hidden of the target), of [h 1]^T z


def sums_of(states: LayerStates, target: LayerStates, device: torch.device) -> Sums:
    """Sums over both, read window by window to save memory, on the CPU if the device has no float64."""
    place = torch.device("cpu") if device.type == "mps" else device
    squares = products = torch.zeros((), dtype=torch.float64, device=place)
    for first in range(0, len(states), WINDOW):
        positions = np.arange(first, min(first + WINDOW, len(states)))
        read = [torch.from_numpy(part.at(positions)).to(place, torch.float64) for part in (states, target)]
        own = torch.cat([read[0], read[0].new_ones((len(positions), 1))], 1)
        squares, products = squares + own.T @ own, products + own.T @ read[1]
    return Sums(squares, products)


def least_squares(sums: Sums, ridge: float) -> AffineMap:
    """The map with the least |W h + b - z|^2 + ``ridge`` x the mean diagonal of the squares x (|W|^2 + |b|^2).

    HeadError: the states are not finite, or too few for a map without ridge.
    """
    squares = sums.squares + ridge * sums.squares.diagonal().mean() * torch.eye(len(sums.squares)).to(sums.squares)
    try:
        solved = torch.cholesky_solve(sums.products, torch.linalg.cholesky(squares))
    except torch.linalg.LinAlgError as error:
        raise HeadError("the states have no least-squares map: they are too few or not finite") from error
    return AffineMap(solved[:-1].T.contiguous(), solved[-1].contiguous())


@dataclass(frozen=True)
class Target:
    """The last layer that an encoder's head was trained on, to which its maps lead; the base's if the head is."""

    encoder: Encoder
    states: MaskedStates

    @classmethod
    def of(
        cls, encoder: Encoder, sentences: Sequence[str], text: MaskedText, recipe: HeadRecipe, cache: Path
    ) -> "Target":
        """The target on a text, its states not yet computed; HeadError if the base splits the text otherwise."""
        source = encoder.head_owner()
        own = masked_text_of(source, sentences, recipe, recipe.positions, 0, cache)
        if any(not np.array_equal(part, getattr(own, name)) for name, part in vars(text).items()):
            raise HeadError(
                f"{encoder.name} and its base {source.name} split the text into different tokens, expected equal"
                " tokenizers: its layers cannot be mapped to the base's last; train tied or full heads from the start"
                f" {PRETRAINED}"
            )
        place = place_of(source, recipe, recipe.positions, 0, cache)
        every = MaskedStates(source, own, range(source.layers), recipe.window_dtype, place)
        return cls(
            encoder,
            every if not every.missing() else MaskedStates(source, own, [source.depth], recipe.window_dtype, place),
        )

    def extra_bytes(self, parts: Sequence[tuple[MaskedText, Path]], budget: int) -> int:
        """Bytes of the target's states in addition to those of the encoder's layers; 0 if one pass gives both."""
        positions = sum(len(text.labels) for text, _ in parts)
        every = states_bytes(self.encoder.layers, positions, self.encoder.hidden, self.states.dtype)
        one_pass = self.states.encoder is self.encoder and every <= budget
        return 0 if one_pass else self.states.bytes // len(self.states.layers)

    def read_from(self, training: MaskedStates) -> "Target":
        """The target, from the states of ``training`` if they have all layers of an encoder that is its own target."""
        both = self.states.encoder is self.encoder and len(training.layers) > self.encoder.depth
        return Target(self.encoder, training) if both else self

    def for_layer(self, layer: int) -> LayerStates | None:
        """The target's states for a layer's head; None for the target layer itself, which needs no map."""
        source = self.states.encoder
        return None if source is self.encoder and layer == source.depth else self.states.layer(source.depth)
