"""Online codes of labels: short where a label is easily read, the uniform code's where it is not."""

import math

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from probing.sentences.mlp import block_ends, code_lengths, uniform_bits
from probing.sentences.probes import CS
from tests.sentences.planted import balanced, drawn, noise


def test_ten_blocks_double():
    assert block_ends(1024) == [2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]
    assert block_ends(12_000)[-2:] == [6000, 12_000] and len(block_ends(12_000)) == 10
    assert block_ends(3) == [1, 2, 3]


def test_a_code_is_what_scikit_learns_probes_of_each_beginning_make_of_the_next_block():
    vectors, labels = drawn(256, layers=1)
    found = code_lengths(vectors, labels, 2)
    for pooling in range(2):
        codes = []
        for c in CS:
            bits = 0.0
            for start, end in zip(block_ends(256)[:-1], block_ends(256)[1:], strict=True):
                known = vectors[pooling, 0, :start].astype(np.float64)
                if len(set(labels[:start])) < 2:
                    bits += end - start
                    continue
                mean, scale = known.mean(0), known.std(0)
                probe = LogisticRegression(C=c, solver="newton-cholesky", tol=1e-8).fit(
                    (known - mean) / scale, labels[:start]
                )
                p = probe.predict_proba((vectors[pooling, 0, start:end] - mean) / scale)
                bits -= np.log2(p[np.arange(end - start), labels[start:end]]).sum()
            codes.append(bits + block_ends(256)[0])
        assert found[pooling, 0] == pytest.approx(min(codes) + math.log2(len(CS)), rel=1e-3)


def test_a_planted_label_has_a_short_code_and_noise_that_of_a_coin():
    vectors, labels = noise(1024), balanced(1024)
    vectors[0, 1, :, 0] += 10.0 * labels
    found = code_lengths(vectors, labels, 2)
    assert found[0, 1] < 0.1 * uniform_bits(1024, 2)
    assert np.delete(found.ravel(), 1) == pytest.approx(uniform_bits(1024, 2), rel=0.03)


def test_blocks_before_every_class_was_seen_are_sent_with_the_uniform_code():
    labels = np.repeat(np.arange(3), 40).astype(np.uint8)
    found = code_lengths(noise(120), labels, 3)
    # Two of three classes are in the first half, so that no probe is ever trained.
    assert found == pytest.approx(uniform_bits(120, 3) + math.log2(len(CS)))
