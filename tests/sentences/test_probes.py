"""Linear probes: what is planted is found where it is, and the test part is never seen."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from probing.sentences.examples import OURS, SENTEVAL
from probing.sentences.probes import CS, SENTEVAL_CS, answers, fit_probes, surface_answers, surface_right
from tests.sentences.planted import balanced, drawn, fitted, noise


def parts(sizes=(300, 200, 200), **more):
    return [(noise(size, seed=seed, **more), balanced(size)) for seed, size in enumerate(sizes)]


@pytest.mark.parametrize("protocol", [OURS, SENTEVAL])
def test_a_label_in_the_first_token_of_one_layer_is_read_there_and_changes_no_other_probe(protocol):
    before, data = parts(), parts()
    for vectors, labels in data:
        vectors[0, 1, :, 2] += 12.0 * labels
    train, dev, test = data
    found = fit_probes(*train, *dev, 2, protocol)
    said = answers(found, test[0]) == test[1]
    assert said[0, 1].all()
    others = np.delete(said.reshape(6, -1), 1, 0).mean(1)
    assert np.abs(others - 0.5).max() < 0.15
    plain = fit_probes(*before[0], *before[1], 2, protocol)
    unchanged = np.delete((answers(plain, before[2][0]) == test[1]).reshape(6, -1), 1, 0).mean(1)
    assert (unchanged == others).all()


def test_random_labels_are_guessed_half_of_the_time():
    draw = np.random.default_rng(3)
    data = [
        (drawn(size, layers=6, seed=seed)[0], draw.permutation(balanced(size)))
        for seed, size in enumerate((800, 400, 3000))
    ]
    found = fit_probes(*data[0], *data[1], 2, OURS)
    right = (answers(found, data[2][0]) == data[2][1]).mean(2)
    assert np.abs(right - 0.5).max() < 3 * np.sqrt(0.25 / 3000)


@pytest.mark.parametrize(("classes", "ahead"), [(2, 0), (4, 7)])
def test_a_constant_first_token_gives_the_share_of_the_commonest_training_label(classes, ahead):
    (train, labels), (dev, dev_labels) = drawn(classes=classes), drawn(classes=classes, seed=1)
    commonest = classes - 1 if ahead else 0
    labels = np.concatenate([labels[ahead:], np.full(ahead, commonest, np.uint8)])
    draw = np.random.default_rng(0)
    # The same state in every sentence, except for the noise of sums in other batches.
    token = draw.normal(size=12) * 5
    for part in (train, dev):
        part[0, 0] = token + 1e-6 * draw.normal(size=part[0, 0].shape)
    for protocol in (OURS, SENTEVAL):
        found = fit_probes(train, labels, dev, dev_labels, classes, protocol)
        assert (answers(found, dev)[0, 0] == commonest).all()
        assert (answers(found, train + 1e-6)[0, 0] == commonest).all()
        assert found.c[0, 0] == (SENTEVAL_CS if protocol == SENTEVAL else CS)[0]


def test_the_development_part_chooses_the_strength_and_of_equal_ones_the_smaller():
    (train, labels), (dev, dev_labels) = drawn(), drawn(seed=1)
    found = fit_probes(train, labels, dev, dev_labels, 2, OURS)
    for place in np.ndindex(2, 3):
        mean, scale = train[place].mean(0, dtype=np.float64), train[place].std(0, dtype=np.float64)
        right = []
        for c in CS:
            model = LogisticRegression(C=c, solver="newton-cholesky", tol=1e-8).fit(
                (train[place] - mean) / scale, labels
            )
            right.append(int((model.predict((dev[place] - mean) / scale) == dev_labels).sum()))
        assert abs(found.dev_right[place] - max(right)) <= 1
        assert found.dev_right[place] == right[CS.index(found.c[place])]
        assert (answers(found, dev)[place] == dev_labels).sum() == found.dev_right[place]


def test_test_labels_and_what_is_beside_a_probe_change_no_weight():
    (train, labels), (dev, dev_labels) = drawn(), drawn(seed=1)
    found = fit_probes(train, labels, dev, dev_labels, 2, OURS)
    alone = fit_probes(train[1:, 2:], labels, dev[1:, 2:], dev_labels, 2, OURS)
    assert (alone.weights[0, 0] == found.weights[1, 2]).all() and alone.c[0, 0] == found.c[1, 2]


def test_a_second_run_gives_the_same_bytes():
    first, second = fitted(classes=3), fitted(classes=3)
    assert all(
        getattr(first, name).tobytes() == getattr(second, name).tobytes()
        for name in ("weights", "bias", "mean", "scale", "c")
    )


def test_sentevals_protocol_takes_vectors_as_they_come():
    (train, labels), (dev, dev_labels) = drawn(), drawn(seed=1)
    found = fit_probes(train, labels, dev, dev_labels, 2, SENTEVAL)
    assert not found.mean.any() and (found.scale == 1).all() and set(found.c.ravel()) <= set(SENTEVAL_CS)
    for place in np.ndindex(2, 3):
        wanted = LogisticRegression(C=found.c[place], solver="newton-cholesky", tol=1e-8).fit(
            train[place].astype(np.float64), labels
        )
        assert np.abs(found.weights[place] - wanted.coef_).max() < 1e-3
        assert np.abs(found.bias[place] - wanted.intercept_).max() < 5e-3
        assert (answers(found, dev)[place] == wanted.predict(dev[place])).mean() >= 0.999


def test_vectors_given_are_left_as_they_are():
    (train, labels), (dev, dev_labels) = drawn(), drawn(seed=1)
    before = train.copy(), dev.copy()
    answers(fit_probes(train, labels, dev, dev_labels, 2, OURS), dev)
    assert (train == before[0]).all() and (dev == before[1]).all()


def test_the_surface_baseline_is_the_same_probe_on_features():
    draw = np.random.default_rng(0)
    labels = [balanced(size) for size in (300, 100, 100)]
    parts = [(draw.random((len(gold), 20)) < 0.1).astype(np.float32) for gold in labels]
    for part, gold in zip(parts, labels, strict=True):
        part[:, 3] = gold
        part[:, 7] = 1
    assert surface_right(tuple(parts), tuple(labels), 2) == 100
    said = surface_answers(parts[0], labels[0], parts[1], labels[1], parts[2], 2)
    assert said.dtype == np.uint8 and (said == labels[2]).all()
