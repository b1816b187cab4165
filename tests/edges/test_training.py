"""Probes trained side by side find what was planted, are those that are trained alone, and survive a kill."""

import numpy as np
import pytest
import torch

from probing.edges.probes import F1Score, ProbeKey, keys_of, mask_of, mixing_weights
from probing.edges.requests import EdgeRecipe
from probing.edges.states import TrainingData
from probing.edges.training import probabilities, train_probes
from tests.edges.planted import drawn, planted

CPU = torch.device("cpu")
QUICK = EdgeRecipe(width=16, learning_rate=0.01, most_checks=8)
SHORT = EdgeRecipe(width=7, learning_rate=0.01, batch=6, check_every=10, most_checks=5, halve_after=1, patience=2)
KEYS = keys_of(["cumulative", "at", "full"], ["task", "control"], [0, 1], 2)


@pytest.mark.parametrize("layer", [1, 3])
def test_a_label_planted_in_one_layer_is_found_at_that_layer(layer):
    keys = keys_of(["cumulative", "at"], ["task"], [0], 3)
    trained = train_probes(planted(layer), keys, QUICK, CPU)
    of_prefix, of_layer = trained.best[:4], trained.best[4:]
    gains = np.diff(of_prefix)
    assert abs((gains * np.arange(1, 4)).sum() / gains.sum() - layer) < 0.05
    assert of_prefix[:layer].max() < 0.4 and of_prefix[layer:].min() > 0.98
    assert of_layer[layer] > 0.98 and np.delete(of_layer, layer).max() < 0.4
    weights, _ = mixing_weights(trained.flat[:4], trained.shape, mask_of(keys[:4], 4))
    assert int(weights[3].argmax()) == layer


def test_a_label_that_no_layer_has_is_not_found():
    data = planted(None)
    trained = train_probes(data, keys_of(["cumulative"], ["task"], [0], 3), QUICK, CPU)
    # All of 4 equally common labels, given always, have an F1 of 0.4.
    assert trained.best.max() < 0.4 + 3 * 0.02


def test_probes_trained_together_are_those_trained_one_by_one():
    data = drawn(2)
    together = train_probes(data, KEYS, SHORT, CPU)
    assert len(set(together.steps.tolist())) > 1, "some stop earlier than others"
    # Every kind, both labels and both seeds.
    for number, key in list(enumerate(KEYS))[::3]:
        alone = train_probes(data, [key], SHORT, CPU)
        assert alone.best_step[0] == together.best_step[number] and alone.steps[0] == together.steps[number]
        assert alone.rate[0] == together.rate[number] and alone.stopped[0] == together.stopped[number]
        assert abs(alone.best[0] - together.best[number]) < 1e-4
        p = [
            probabilities(one, [place], data.dev, data.dev_states, CPU)
            for one, place in ((alone, 0), (together, number))
        ]
        assert np.abs(p[0] - p[1]).max() < 1e-4


def test_the_full_mix_is_the_cumulative_probe_of_the_last_layer():
    data = drawn(1)
    trained = train_probes(data, [ProbeKey("full", 2, "task", 0), ProbeKey("cumulative", 2, "task", 0)], SHORT, CPU)
    assert trained.best[0] == trained.best[1]
    p = probabilities(trained, [0, 1], data.dev, data.dev_states, CPU)
    assert np.abs(p[0] - p[1]).max() < 1e-4


def test_the_best_checkpoint_is_kept_and_a_rate_is_halved_without_a_better_one():
    seen = []

    class Noted(F1Score):
        #: What each look says of the two probes.
        said = iter([(0.5, 0.1), (0.5, 0.2), (0.4, 0.3), (0.6, 0.2), (0.1, 0.1), (0.1, 0.1), (0.1, 0.9)])

        def __call__(self, flat, keys, *given):
            seen.append((flat.detach().clone(), [key.seed for key in keys]))
            now = next(self.said)
            return np.array([now[key.seed] for key in keys])

    data = drawn(1)
    recipe = EdgeRecipe(width=4, batch=8, learning_rate=0.016, check_every=2, most_checks=7, halve_after=2, patience=3)
    keys = [ProbeKey("cumulative", 1, "task", seed) for seed in (0, 1)]
    found = train_probes(data, keys, recipe, CPU, score=Noted(data.counted))
    # Equal is not better: the first 0.5 stays until 0.6; three worse looks in a row end a probe.
    assert found.best.tolist() == [0.6, 0.3] and found.best_step.tolist() == [8, 6]
    assert found.steps.tolist() == [14, 12] and found.stopped.tolist() == [False, True]
    assert found.rate.tolist() == [0.004, 0.008]
    assert [seeds for _, seeds in seen] == [[0, 1]] * 6 + [[0]]
    assert torch.equal(found.flat[0], seen[3][0][0]) and torch.equal(found.flat[1], seen[2][0][1])


def test_looks_see_the_first_sentences_of_the_development_part_only():
    data = drawn(1)
    few = SHORT.model_copy(update={"check_records": 10})
    spoilt = data.dev.gold.copy()
    spoilt[:, 30:] = ~spoilt[:, 30:]
    other = TrainingData(
        data.train,
        data.train_states,
        data.dev.__class__(**(vars(data.dev) | {"gold": spoilt})),
        data.dev_states,
        data.counted,
    )
    keys = KEYS[:3]
    assert torch.equal(train_probes(data, keys, few, CPU).flat, train_probes(other, keys, few, CPU).flat)
    assert not torch.equal(train_probes(data, keys, SHORT, CPU).flat, train_probes(other, keys, SHORT, CPU).flat)


def test_labels_in_a_random_order_teach_nothing_about_spans_that_training_does_not_have():
    data = planted(2, targets=800)
    order = np.random.default_rng(0).permutation(len(data.train))
    permuted = data.train.__class__(**(vars(data.train) | {"gold": data.train.gold[:, order]}))
    trained = train_probes(
        TrainingData(permuted, data.train_states, data.dev, data.dev_states, data.counted),
        keys_of(["cumulative"], ["task"], [0, 1], 3),
        QUICK,
        CPU,
    )
    given = probabilities(trained, range(len(trained.keys)), data.dev, data.dev_states, CPU) >= 0.5
    right = (given & data.dev.gold).sum((1, 2))
    f1 = 2 * right / (given.sum((1, 2)) + len(data.dev))
    share = data.dev.gold[0].mean(0)[data.train.gold[0].sum(0).argmax()]
    assert f1.max() <= share + 3 * np.sqrt(share * (1 - share) / len(data.dev))
