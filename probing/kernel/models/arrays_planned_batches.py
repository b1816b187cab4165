"""Batches of rows of similar length in an order that a seed fixes, and the label of tokens that the loss ignores."""

import random
from collections.abc import Sequence

IGNORED = -100


def plan_batches(lengths: Sequence[int], tokens: int, seed: int) -> list[list[int]]:
    """Batches of similar length with about ``tokens`` padded tokens each, in a shuffled order fixed by the seed."""
    rng = random.Random(seed)
    order = sorted(range(len(lengths)), key=lambda i: (lengths[i], rng.random()))
    batches: list[list[int]] = []
    for i in order:
        if batches and (len(batches[-1]) + 1) * lengths[i] <= tokens:
            batches[-1].append(i)
        else:
            batches.append([i])
    rng.shuffle(batches)
    return batches
