"""A user's file as a curve, at once and without a trace."""

import numpy as np
import pytest

from probing.kernel.errors import SentenceDataError
from probing.kernel.models.load import load_encoder
from probing.kernel.stats.intervals import wilson
from probing.sentences import predictions as curve
from probing.sentences import solver, vectors
from probing.sentences.predictions import quick_curve
from probing.sentences.tasks import read_upload
from tests.sentences.planted_tasks import labelled


@pytest.fixture(scope="module")
def encoder(tiny_model):
    return load_encoder(tiny_model, device="cpu")


def data_of(rows):
    content = "sentence\tlabel\n" + "".join(f"{text}\t{label}\n" for text, label in rows)
    return read_upload(content.encode(), "mine.tsv")[1]


def test_a_curve_has_every_layer_and_pooling_beside_majority_and_surface(encoder, tmp_path):
    told = []
    found = quick_curve(
        data_of([(text, ("no", "yes")["the" in text.split()[:3]]) for text, _ in labelled(900)]), encoder, told.append
    )
    assert found.right.shape == found.low.shape == found.high.shape == found.c.shape == (2, 3)
    assert told == sorted(told) and told[-1] == 1
    assert found.majority == found.n_test / 2 and found.surface > 0.6 * found.n_test and found.too_long == 0
    assert (found.low[1, 0], found.high[1, 0]) == wilson(found.right[1, 0], found.n_test)
    assert found.right[1, 0] > 0.6 * found.n_test, "the mean of the embeddings holds every word"
    assert found.right[0, 0] == found.majority, "the first token's embedding is the same for all"


def test_a_curve_can_be_stopped_and_says_what_it_cannot_do(encoder, monkeypatch):
    data = data_of(labelled(300))

    def stop():
        raise InterruptedError

    with pytest.raises(InterruptedError):
        quick_curve(data, encoder, pause=stop)
    monkeypatch.setattr(curve, "MAX_AT_ONCE", 100)
    with pytest.raises(
        SentenceDataError, match=r"mine has 300 sentences, expected at most 100 here; give fewer, or train"
    ):
        quick_curve(data, encoder)
    monkeypatch.setattr(curve, "MAX_AT_ONCE", 2000)
    with pytest.raises(SentenceDataError, match=r"too few sentences fit tiny-bert, which takes 512 word pieces"):
        quick_curve(data_of([(" ".join([text] * 100), label) for text, label in labelled(120)]), encoder)
    long = [(" ".join([text] * 100), label) for text, label in labelled(20, seed=2)]
    assert 0 < quick_curve(data_of([*labelled(200), *long]), encoder).too_long <= 20
    assert np.isfinite(quick_curve(data, encoder).c).all()


def test_a_curve_is_computed_in_short_pieces(encoder, monkeypatch):
    """What one piece may do: read 512 tokens, or take one step of one regression."""
    pieces, states, value = [(0, 0)], vectors.all_hidden_states, solver._Problem.value

    def add(tokens, steps):
        pieces[-1] = (pieces[-1][0] + tokens, pieces[-1][1] + steps)

    def read(rows, *more):
        add(len(rows) * max(map(len, rows)), 0)
        return states(rows, *more)

    def measured(problem, point, c):
        add(0, 1)
        return value(problem, point, c)

    monkeypatch.setattr(vectors, "all_hidden_states", read)
    monkeypatch.setattr(solver._Problem, "value", measured)
    quick_curve(data_of(labelled(300)), encoder, pause=lambda: pieces.append((0, 0)))
    assert max(tokens for tokens, _ in pieces) <= 512 < sum(tokens for tokens, _ in pieces)
    # A step may be halved, and the next regression begins with a value.
    assert 0 < max(steps for _, steps in pieces) <= 1 + solver.HALVINGS
    assert not any(tokens and steps for tokens, steps in pieces)
