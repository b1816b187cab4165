"""The solver against scikit-learn, on vectors that are easy, hard, collinear and constant."""

import warnings

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from probing.sentences import solver
from probing.sentences.probes import CS, own_scale, standardised
from probing.sentences.solver import solve
from tests.sentences.planted import balanced


def correlated(sentences=600, hidden=24, seed=0):
    """Standardised vectors with a spectrum like hidden states': few strong directions, many weak ones."""
    draw = np.random.default_rng(seed)
    vectors = draw.normal(size=(sentences, hidden)) @ (
        draw.normal(size=(hidden, hidden)) * 0.7 ** np.arange(hidden)[:, None]
    )
    return scaled(vectors.astype(np.float32))


def scaled(vectors):
    mean, scale = own_scale(vectors[None, None])
    return standardised(vectors, mean[0, 0], scale[0, 0])


def read(vectors, noise, classes=2, seed=1):
    """Labels that a linear probe can read, except for noise."""
    draw = np.random.default_rng(seed)
    scores = vectors @ draw.normal(size=(vectors.shape[1], classes))
    return (scores / scores.std() + noise * draw.normal(size=scores.shape)).argmax(1).astype(np.uint8)


def theirs(vectors, labels, c):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return LogisticRegression(C=c, solver="newton-cholesky", tol=1e-8, max_iter=2000).fit(
            vectors.astype(np.float64), labels
        )


@pytest.mark.parametrize("few", [0, 1 << 18])
@pytest.mark.parametrize(("noise", "classes"), [(3, 2), (0.3, 2), (0, 2), (3, 3), (0.3, 5)])
def test_weights_and_predictions_are_scikit_learns_for_every_strength(noise, classes, few, monkeypatch):
    monkeypatch.setattr(solver, "FEW", few)
    vectors = correlated()
    labels = read(vectors, noise, classes)
    found = solve(vectors, labels, classes, CS)
    assert found.solved.all() and (found.gradient <= 1e-5).all()
    for number, c in enumerate(CS):
        wanted = theirs(vectors, labels, c)
        assert np.abs(found.weights[number] - wanted.coef_).max() < 1e-3, c
        # Of K classes scikit-learn's intercepts may all be shifted by one number.
        shift = found.bias[number] - wanted.intercept_
        assert np.abs(shift - (shift.mean() if classes > 2 else 0)).max() < 1e-3, c
        ours = vectors @ found.weights[number].T + found.bias[number]
        said = ours[:, 0] > 0 if classes == 2 else ours.argmax(1)
        assert (said == wanted.predict(vectors)).mean() >= 0.999, c


@pytest.mark.parametrize("few", [0, 1 << 18])
def test_weights_are_scikit_learns_where_sentences_are_hardly_more_than_features(few, monkeypatch):
    monkeypatch.setattr(solver, "FEW", few)
    vectors = correlated(400, 150)
    labels = read(vectors, 1)
    found = solve(vectors, labels, 2, CS)
    assert found.solved.all()
    for number, c in enumerate(CS):
        assert np.abs(found.weights[number] - theirs(vectors, labels, c).coef_).max() < 1e-3, c


def test_a_path_gives_what_each_strength_gives_alone():
    vectors = correlated()
    labels = read(vectors, 1)
    path = solve(vectors, labels, 2, CS)
    for number, c in enumerate(CS):
        assert np.abs(solve(vectors, labels, 2, [c]).weights[0] - path.weights[number]).max() < 5e-4


def test_vectors_that_are_collinear_or_fewer_than_features_are_solved():
    vectors = correlated(60, 24)
    doubled = np.concatenate([vectors, vectors, vectors[:, :3] * 1000], 1)
    labels = read(vectors, 0.5)
    found = solve(doubled, labels, 2, CS)
    assert found.solved.all()
    assert np.abs(found.weights[3] - theirs(doubled, labels, CS[3]).coef_).max() < 1e-3


def test_a_constant_input_gives_the_commonest_label_exactly_and_a_tie_the_first():
    nothing = np.zeros((90, 4), np.float32)
    for counts, classes in (((50, 40), 2), ((40, 50), 2), ((45, 45), 2), ((20, 35, 35), 3), ((30, 30, 30), 3)):
        labels = np.repeat(np.arange(classes), counts).astype(np.uint8)
        found = solve(nothing, labels, classes, CS)
        assert not found.weights.any()
        for bias in found.bias:
            said = int(bias[0] > 0) if classes == 2 else int(bias.argmax())
            assert said == int(np.argmax(counts))
        shares = np.array(counts) / 90
        wanted = np.log(shares[1] / shares[0]) if classes == 2 else np.log(shares) - np.log(shares).mean()
        assert found.bias[0] == pytest.approx(wanted)


def test_what_float32_cannot_solve_float64_does(monkeypatch):
    monkeypatch.setattr(solver, "FEW", 0)
    vectors = correlated()
    labels = read(vectors, 1)
    real, seen = solver._minimum, []

    def stalls(problem, *given):
        seen.append(problem.double)
        found = real(problem, *given)
        return found if problem.double else solver._Minimum(found.point, found.gradient, found.evaluations, False)

    monkeypatch.setattr(solver, "_minimum", stalls)
    found = solve(vectors, labels, 2, CS)
    assert found.solved.all() and seen[:2] == [False, True] and all(seen[1:])
    assert np.abs(found.weights[-1] - theirs(vectors, labels, CS[-1]).coef_).max() < 1e-3


def test_an_end_without_a_solution_is_said(monkeypatch, caplog):
    monkeypatch.setattr(solver, "MAX_STEPS", 1)
    vectors = correlated()
    found = solve(vectors, read(vectors, 0), 2, CS)
    assert not found.solved.all() and "ended after" in caplog.text


def test_a_class_without_a_sentence_is_refused():
    with pytest.raises(ValueError, match="at least one of each of 3 classes"):
        solve(correlated(), balanced(600), 3, CS)
    with pytest.raises(ValueError, match="at least one"):
        solve(correlated(), np.zeros(600, np.uint8), 2, CS)
