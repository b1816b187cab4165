"""Trains a fine-tuned model for a few steps on some of the facts that it lost, and asks it for others.

Deeb and Roger (2024, "Do unlearning methods remove information from language model weights?", arXiv 2410.08827): if
others come back, they were not removed. Guesses come back so, too: see ``forgetting.memory_memory``.
"""

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
import torch.nn.functional as F

from probing.forgetting.ranks import Prompts
from probing.forgetting.ways import STEPS
from probing.kernel.errors import ModelError
from probing.kernel.models.load import Encoder
from probing.kernel.models.states import padded_inputs


@dataclass(frozen=True)
class RelearnRecipe:
    """How a model relearns, with AdamW at one learning rate."""

    rate: float = 2e-4
    batch: int = 32  #: facts per step
    steps: tuple[int, ...] = STEPS  #: after which the model is asked, ascending
    weight_decay: float = 0.01


def relearned(
    encoder: Encoder, prompts: Prompts, targets: Sequence[int], recipe: RelearnRecipe, seed: int
) -> Iterator[tuple[int, Encoder]]:
    """The model after each of the recipe's numbers of steps; it is trained further when the next is asked for.

    All weights of the body are trained, without dropout; the head is frozen. The given model does not change.
    """
    if not prompts.rows:
        raise ModelError(f"{encoder.name}: got no facts to relearn, expected at least one")
    learner = replace(encoder, body=copy.deepcopy(encoder.body).requires_grad_(True).eval())
    body = learner.body
    optimiser = torch.optim.AdamW(body.parameters(), lr=recipe.rate, weight_decay=recipe.weight_decay)
    order = _order(len(prompts.rows), recipe, seed)
    for step in range(1, recipe.steps[-1] + 1):
        numbers = next(order)
        loss = _loss(learner, prompts.some(numbers), [targets[n] for n in numbers])
        if not torch.isfinite(loss):
            raise ModelError(
                f"{encoder.name}: the loss is {loss.item()} at relearning step {step}; lower the learning rate"
            )
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        if step in recipe.steps:
            yield step, learner


def _loss(learner: Encoder, prompts: Prompts, targets: Sequence[int]) -> torch.Tensor:
    """Mean cross-entropy of the right tokens at the masks."""
    states = learner.body(**padded_inputs(prompts.rows, learner)).last_hidden_state
    logits = learner.head(states[torch.arange(len(prompts.rows)), torch.tensor(prompts.positions)])
    return F.cross_entropy(logits.float(), torch.tensor(targets, device=logits.device))


def _order(size: int, recipe: RelearnRecipe, seed: int) -> Iterator[list[int]]:
    """The numbers of the facts of each step: passes in a new order each, joined without a gap."""
    random = np.random.default_rng(seed)
    queue: list[int] = []
    while True:
        while len(queue) < min(recipe.batch, size):
            queue += random.permutation(size).tolist()
        batch, queue = queue[: recipe.batch], queue[recipe.batch :]
        yield batch
