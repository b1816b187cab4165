"""Fates of models of which it is known what became of the base's states, with the real probes on 3,000 test
sentences.
"""

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from probing.kernel.stats.paired_tests import PairedCounts
from probing.sentences.examples import FIRST, FROZEN, MEAN, MLP, OURS, OWN, POOLINGS
from probing.sentences.numbers import (
    AS_BEFORE,
    ELSEWHERE,
    NEW_READER,
    NOT_FOUND,
    Cell,
    best_layers,
    fate_probes,
    property_fate,
    right_and_right,
)
from probing.sentences.predictions import ModelAnswers, Split
from probing.sentences.vectors import SENTENCES_A_FILE, SentenceStates
from tests.sentences.planted import balanced

SIZES, LAYERS, HIDDEN = {"train": 1200, "dev": 400, "test": 3000}, 3, 6
_ALL = sum(SIZES.values())
_LABELS = balanced(_ALL)


def states(vectors: np.ndarray) -> SentenceStates:
    """(poolings, layers, sentences, hidden) as a model's states."""
    starts = range(0, _ALL, SENTENCES_A_FILE)
    blocks = [vectors[:, :, start : start + SENTENCES_A_FILE].astype(np.float16) for start in starts]
    return SentenceStates(np.ones(_ALL, bool), blocks, np.zeros((2, LAYERS, 1, HIDDEN), np.float32))


@cache
def base() -> np.ndarray:
    """States whose unit 0 knows three quarters of the labels, mixed a little; layers and poolings mostly share their
    noise.
    """
    draw = np.random.default_rng(1)
    found = draw.normal(size=(_ALL, HIDDEN)) + 0.1 * draw.normal(size=(2, LAYERS, _ALL, HIDDEN))
    found[..., 0] += 1.5 * _LABELS
    mixed = np.eye(HIDDEN) + 0.1 * draw.normal(size=(2, LAYERS, HIDDEN, HIDDEN))
    return (found @ mixed).astype(np.float32)


def rotated() -> np.ndarray:
    """All units in another basis."""
    return base() @ np.linalg.qr(np.random.default_rng(5).normal(size=(HIDDEN, HIDDEN)))[0].astype(np.float32)


def redrawn() -> np.ndarray:
    """States that know nothing of the labels."""
    return np.random.default_rng(2).normal(size=base().shape).astype(np.float32)


def one_layer_erased() -> np.ndarray:
    """Layer 1 knows nothing any more, layer 2 only in the mean of the tokens."""
    found = base().copy()
    found[:, 1] = redrawn()[:, 1]
    found[0, 2] = redrawn()[0, 2]
    return found


@pytest.fixture(scope="module")
def fates_of(tmp_path_factory):
    """States of a fine-tuned model -> pooling -> its fates by layer."""
    edges = np.cumsum([0, *SIZES.values()])
    places = {part: np.arange(*edges[number : number + 2]) for number, part in enumerate(SIZES)}
    split = Split(places, {part: _LABELS[of] for part, of in places.items()}, 2, OURS)
    before = ModelAnswers(states(base()), split, tmp_path_factory.mktemp("base"))
    of_base = before.own()[1]

    def fates(vectors: np.ndarray, folder: Path) -> dict[str, list[str]]:
        after = ModelAnswers(states(vectors), split, folder)
        said = {OWN: after.own()[1], FROZEN: after.of_base(before), MLP: after.mlp()}
        dev = {
            Cell(pooling, layer, reading): int(answer.dev_right[place, layer])
            for reading, answer in said.items()
            for place, pooling in enumerate(POOLINGS)
            for layer in range(LAYERS)
        }

        def fate(cell: Cell) -> str:
            steps = fate_probes(cell, best_layers(dev)[cell.pooling], dev)
            return property_fate({step: counts(this, cell) for step, this in steps.items()}, 0.5).name

        def counts(this: Cell, other: Cell) -> PairedCounts:
            pair = (
                one.test[POOLINGS.index(cell.pooling), cell.layer]
                for one, cell in ((said[this.reading], this), (of_base, other))
            )
            return PairedCounts(*right_and_right(*(one == split.gold["test"] for one in pair)))

        return {pooling: [fate(Cell(pooling, layer)) for layer in range(LAYERS)] for pooling in POOLINGS}

    return fates


@pytest.mark.parametrize(
    ("model", "first", "mean"),
    [
        (rotated, [NEW_READER] * LAYERS, [NEW_READER] * LAYERS),
        (redrawn, [NOT_FOUND] * LAYERS, [NOT_FOUND] * LAYERS),
        (one_layer_erased, [AS_BEFORE, ELSEWHERE, ELSEWHERE], [AS_BEFORE, ELSEWHERE, AS_BEFORE]),
    ],
)
def test_a_model_has_the_fates_of_what_was_done_to_it(fates_of, tmp_path, model, first, mean):
    assert fates_of(model(), tmp_path) == {FIRST: first, MEAN: mean}
