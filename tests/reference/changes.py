"""Slow, obvious versions of what fine-tuning changed: one row, one head, one sentence at a time."""

import math

import numpy as np
import torch
from scipy.stats import wasserstein_distance


def entropy(row) -> float:
    """-sum a ln a of one row."""
    return -sum(float(a) * math.log(float(a)) for a in row if a > 0)


def movers_distance(first, second) -> float:
    """By scipy, positions as places and attention as weights."""
    places = np.arange(len(first))
    return float(wasserstein_distance(places, places, first, second))


def plain_attentions(model, ids: list[int]) -> list[torch.Tensor]:
    """By layer (heads, tokens, tokens), from a model that transformers loaded for it."""
    with torch.no_grad():
        return [found[0].double() for found in model(input_ids=torch.tensor([ids]), output_attentions=True).attentions]


def plain_states(model, ids: list[int]) -> list[np.ndarray]:
    """By layer (tokens, hidden)."""
    with torch.no_grad():
        return [
            found[0].double().numpy()
            for found in model(input_ids=torch.tensor([ids]), output_hidden_states=True).hidden_states
        ]


def cka(first: np.ndarray, second: np.ndarray) -> float:
    """From centred kernel matrices (Kornblith et al. 2019, equation 4)."""
    n = len(first)
    centre = np.eye(n) - np.ones((n, n)) / n
    k, m = (centre @ states @ states.T @ centre for states in (first, second))
    return float(np.trace(k @ m) / math.sqrt(np.trace(k @ k) * np.trace(m @ m)))


def unbiased_cka(first: np.ndarray, second: np.ndarray) -> float:
    """From kernel matrices whose diagonal is 0 (Nguyen et al. 2021, equation 3)."""

    def hsic(k, m) -> float:
        n, one = len(k), np.ones(len(k))
        inside = (
            np.trace(k @ m)
            + (one @ k @ one) * (one @ m @ one) / ((n - 1) * (n - 2))
            - 2 * (one @ k @ m @ one) / (n - 2)
        )
        return float(inside / (n * (n - 3)))

    k, m = (states @ states.T for states in (first, second))
    np.fill_diagonal(k, 0)
    np.fill_diagonal(m, 0)
    return hsic(k, m) / math.sqrt(hsic(k, k) * hsic(m, m))


def cosine(first, second) -> float:
    """Of two vectors."""
    return float(np.dot(first, second) / math.sqrt(np.dot(first, first) * np.dot(second, second)))


def mean_cosine(vectors) -> float:
    """Over all pairs of different ones."""
    return float(np.mean([cosine(vectors[i], vectors[j]) for i in range(len(vectors)) for j in range(i)]))
