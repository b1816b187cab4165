"""Readings of a fine-tuned model by its base's probes, and probes with a hidden layer."""

import numpy as np
import pytest
import torch

from probing.core.sentences.example import OURS
from probing.models.sentences.mlp import fit_mlp, mlp_answers
from probing.models.sentences.probes import answers, fit_probes
from probing.models.sentences.readings import RIDGE, aligned, own_scale
from tests.models.sentences.planted import balanced, drawn, noise


@pytest.fixture(scope="module")
def data():
    return {name: drawn(size, seed=seed) for seed, (name, size) in enumerate((("train", 600), ("dev", 300), ("test", 2000)))}


@pytest.fixture(scope="module")
def base(data):
    return fit_probes(*data["train"], *data["dev"], 2, OURS)


def turned(vectors):
    """All states behind one rotation."""
    rotation = np.linalg.qr(np.random.default_rng(5).normal(size=(vectors.shape[3],) * 2))[0].astype(np.float32)
    return vectors @ rotation


def right(probes, vectors, labels, *scale):
    return (answers(probes, vectors, *scale) == labels).mean(2)


def test_a_rotation_of_all_states_leaves_the_frozen_probe_at_chance_and_alignment_finds_the_label(data, base):
    moved = {name: turned(vectors) for name, (vectors, _) in data.items()}
    gold = data["test"][1]
    own = right(fit_probes(moved["train"], data["train"][1], moved["dev"], data["dev"][1], 2, OURS), moved["test"], gold)
    through = right(base, aligned(moved["train"], data["train"][0])(moved["test"]), gold)
    assert (own > 0.55).all()
    assert (through >= own - 0.01).all()
    assert np.abs(right(base, moved["test"], gold) - 0.5).mean() < (own - 0.5).mean() / 3


def test_other_units_are_nothing_to_the_rescaled_probe(data, base):
    factor = np.random.default_rng(6).uniform(0.1, 10, 12).astype(np.float32)
    moved = {name: vectors * factor + 4 for name, (vectors, _) in data.items()}
    assert (answers(base, moved["test"], *own_scale(moved["train"])) == answers(base, data["test"][0])).mean() > 0.999


def test_a_model_read_as_its_own_base_is_unmoved(data, base):
    vectors, labels = data["test"]
    assert (answers(base, vectors, *own_scale(data["train"][0])) == answers(base, vectors)).all()
    through = aligned(data["train"][0], data["train"][0])(vectors)
    assert right(base, through, labels) == pytest.approx(right(base, vectors, labels), abs=0.01)


def test_the_map_is_ridge_regression_between_standardised_vectors(data):
    tuned, there = data["train"][0][..., ::-1] * 2, data["train"][0]
    found = aligned(tuned, there)
    x, y = ((one[1, 2] - one[1, 2].mean(0)) / one[1, 2].std(0) for one in (tuned.astype(float), there.astype(float)))
    stacked = np.concatenate([x, np.sqrt(RIDGE) * np.eye(12)]), np.concatenate([y, np.zeros((12, 12))])
    wanted = np.linalg.lstsq(*stacked, rcond=None)[0]
    assert found.maps[1, 2] == pytest.approx(wanted, abs=1e-4)


def test_a_constant_layer_is_mapped_to_the_bases_constant(data):
    there = data["train"][0].copy()
    there[0, 0] = np.arange(12)
    found = aligned(data["train"][0], there)(data["test"][0])
    assert (found[0, 0] == np.arange(12)).all() and np.isfinite(found).all()


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
    linear = right(fit_probes(*train, *dev, 2, OURS), *test)
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
