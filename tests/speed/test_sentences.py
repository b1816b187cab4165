"""The benchmarks of sentence probes: half of the sentences are shifted, and two sides that differ are an error."""

import numpy as np
import pytest

from probing.core.errors import ProbingError
from probing.core.sentences.example import Example
from probing.models.encoders.load import load_encoder
from probing.models.sentences.vectors import sentence_rows
from tests.models import tiny_models
from tests.models.sentences.planted import drawn
from tests.speed import sentences


def test_every_second_sentence_has_two_neighbours_swapped():
    found = sentences.shifted(200)
    assert len(found) == 200 and len({one.text for one in found}) == 200
    assert [one.label for one in found[:4]] == ["plain", "shifted"] * 2
    original = [" ".join(words) for words in sentences.sentences(240)[:200]]
    for one, text in zip(found, original, strict=True):
        assert (one.text == text) or (one.label == "shifted" and sorted(one.text.split()) == sorted(text.split()))


@pytest.mark.bench
@pytest.mark.parametrize("fault", [False, True])
def test_a_solver_that_is_not_scikit_learns_ends_the_benchmark(fault, monkeypatch):
    vectors, labels = drawn(260, layers=1)
    if fault:
        monkeypatch.setattr(sentences, "solve", lambda known, gold, classes, cs, real=sentences.solve: real(known, 1 - gold, classes, cs))
        with pytest.raises(ProbingError, match="two sides differ"):
            sentences.solver(vectors, labels, 200, 1)
    else:
        assert [row.bound for row in sentences.solver(vectors, labels, 200, 1)] == [6.0, 1.5]


@pytest.mark.bench
def test_one_pass_is_compared_with_a_pass_for_each_layer_and_pooling(tmp_path, monkeypatch):
    encoder = load_encoder(tiny_models.save("bert", tmp_path / "bert"), device="cpu")
    texts = (" ".join(tiny_models.WORDS[place : place + 3 + place % 4]) for place in range(10))
    rows = [row for row in sentence_rows([Example(text, "") for text in texts], encoder) if row is not None]
    assert "within" in sentences.one_pass(rows, encoder, 1).equal
    monkeypatch.setattr(sentences, "pooled_states", lambda *given: np.zeros((2, encoder.layers, len(rows), encoder.hidden), np.float32))
    with pytest.raises(ProbingError, match="two sides differ"):
        sentences.one_pass(rows, encoder, 1)
