"""The masked positions of each step of a head's training, in order."""

from collections.abc import Iterator

import numpy as np

from probing.heads.recipe import HeadRecipe
from probing.heads.recipe_masked_text import MaskedText
from probing.kernel.models.names import LEAST_SQUARES


def batches(recipe: HeadRecipe, text: MaskedText, layer: int, epoch: int) -> Iterator[np.ndarray]:
    """Masked positions of every step of an epoch, ascending inside a step; seed, layer and epoch fix the order."""
    rng = np.random.default_rng([recipe.seed, layer, epoch])
    if recipe.pieces_per_block:
        order, size = rng.permutation(len(text.cumulative)), recipe.blocks_per_step
        for first in range(0, len(order), size):
            yield np.concatenate([text.positions_of(int(block)) for block in np.sort(order[first : first + size])])
    else:
        order, size = rng.permutation(len(text.labels)), recipe.batch
        for first in range(0, len(order), size):
            yield np.sort(order[first : first + size])


def steps_per_epoch(recipe: HeadRecipe, text: MaskedText) -> int:
    if recipe.pieces_per_block:
        return -(-len(text.cumulative) // recipe.blocks_per_step)
    return -(-len(text.labels) // recipe.batch)


def steps_of(recipe: HeadRecipe, text: MaskedText) -> int:
    """Number of steps of the whole training, unless patience ends it."""
    if recipe.kind == LEAST_SQUARES:
        return 0
    return recipe.steps or recipe.epochs * steps_per_epoch(recipe, text)


def steps_from(recipe: HeadRecipe, text: MaskedText, layer: int, first: int) -> Iterator[tuple[int, np.ndarray]]:
    """Number and masked positions of every step from ``first`` on, through all epochs."""
    each, last = steps_per_epoch(recipe, text), steps_of(recipe, text)
    for epoch in range(first // each, -(-last // each)):
        for number, positions in enumerate(batches(recipe, text, layer, epoch), epoch * each):
            if first <= number < last:
                yield number, positions


def most_positions(recipe: HeadRecipe, text: MaskedText) -> int:
    """Maximum number of masked positions of a step."""
    if recipe.pieces_per_block:
        return int(np.sort(np.diff(text.cumulative, prepend=0))[-recipe.blocks_per_step :].sum())
    return min(recipe.batch, len(text.labels))
