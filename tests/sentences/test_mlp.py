"""Probes with a hidden layer."""

import numpy as np
import pytest
import torch

from probing.sentences.examples import OURS
from probing.sentences.mlp import fit_mlp, mlp_answers
from probing.sentences.probes import answers, fit_probes
from tests.sentences.planted import balanced, noise


@pytest.fixture(scope="module")
def crossed():
    """Labels that are the exclusive or of two features in layer 1's first token, and nowhere else."""
    found = []
    for seed, size in enumerate((1000, 300, 600)):
        vectors = noise(size, seed=seed, layers=2)
        vectors[0, 1, :, :2] *= 2
        labels = (vectors[0, 1, :, 0] * vectors[0, 1, :, 1] > 0).astype(np.uint8)
        found.append((vectors, labels))
    return found


def test_what_is_not_linear_is_read_with_a_hidden_layer_alone(crossed):
    train, dev, test = crossed
    linear = (answers(fit_probes(*train, *dev, 2, OURS), test[0]) == test[1]).mean(2)
    found = (mlp_answers(fit_mlp(*train, *dev, 2, 0), test[0]) == test[1]).mean(2)
    assert linear[0, 1] < 0.6 < 0.85 < found[0, 1]
    assert np.abs(np.delete(found.ravel(), 1) - 0.5).max() < 0.1


def test_a_seed_fixes_a_hidden_layer_whatever_is_trained_beside_it(crossed):
    train, dev, test = ((vectors[:, :, :200], labels[:200]) for vectors, labels in crossed)
    first, second = (fit_mlp(*train, *dev, 2, 3) for _ in range(2))
    assert all((a == b).all() for a, b in zip(first.weights, second.weights, strict=True))
    alone = fit_mlp(train[0][:1, 1:], train[1], dev[0][:1, 1:], dev[1], 2, 3)
    assert torch.allclose(alone.weights[0][0], first.weights[0][1], atol=1e-3)
    other = fit_mlp(*train, *dev, 2, 4)
    assert not torch.equal(other.weights[0], first.weights[0])
    assert (mlp_answers(first, test[0]) == mlp_answers(second, test[0])).all()


def test_a_hidden_layer_reads_several_classes_and_counts_the_development_part():
    parts = [(noise(size, seed=seed), balanced(size, 3)) for seed, size in enumerate((600, 200))]
    for vectors, labels in parts:
        vectors[1, 0, :, :3] += 6 * np.eye(3, dtype=np.float32)[labels]
    (train, dev) = parts
    found = fit_mlp(*train, *dev, 3, 0)
    said = mlp_answers(found, dev[0])
    assert (said[1, 0] == dev[1]).mean() > 0.98
    assert (found.dev_right == (said == dev[1]).sum(2)).all() and (found.looks >= 1).all()
