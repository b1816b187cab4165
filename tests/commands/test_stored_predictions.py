"""What a compact run rounds, and what it may not."""

import numpy as np
import pytest

from probing.core.facts.fact import Fact
from probing.store.knowledge.predictions import prediction_columns, stored_logp, stored_rank


def test_full_runs_keep_ranks_and_round_log_probabilities_to_a_256th():
    ranks = np.array([1, 101, 12_345], dtype=np.uint32)
    assert stored_rank(ranks, compact=False).tolist() == [1, 101, 12_345]
    values = np.linspace(-12, -0.01, 500, dtype=np.float32)
    assert np.abs(stored_logp(values, compact=False) - values).max() <= 1 / 512 + 1e-6


def test_compact_ranks_are_exact_to_100_and_never_rounded_down_to_it():
    ranks = np.arange(1, 30_001, dtype=np.uint32)
    stored = stored_rank(ranks, compact=True)
    assert stored[:100].tolist() == list(range(1, 101))
    assert stored[100] == 101 and (stored[100:] > 100).all()
    assert (np.abs(stored.astype(int) - ranks) <= 0.051 * ranks).all()
    for k in (1, 10, 100):
        assert ((stored <= k) == (ranks <= k)).all()


def test_compact_log_probabilities_are_within_6_per_cent_of_their_value():
    values = np.linspace(-14, -1e-4, 5000, dtype=np.float32)
    stored = stored_logp(values, compact=True)
    assert (np.abs(stored - values) <= 0.0626 * np.abs(values)).all()
    assert len(np.unique(stored)) < 200


@pytest.mark.parametrize("compact", [False, True])
def test_rows_keep_fact_and_layer_together(compact):
    facts = [
        Fact("trex", "P36", name, "x", "The capital of [X] is [Y] .", f"The capital of {name} is [MASK] .")
        for name in "abc"
    ]
    ranks = np.array([[1, 2, 3], [4, 5, 6]], dtype=np.uint32)  # (layers, facts)
    columns = {
        "gold_rank": ranks,
        "answer_rank": ranks,
        "other_rank": np.array([[7, 0, 8], [9, 9, 9]], dtype=np.uint32),
        "gold_logp": -ranks.astype(np.float32),
        "top_ids": np.arange(12, dtype=np.uint32).reshape(2, 3, 2),
        "top_logp": -np.ones((2, 3, 2), dtype=np.float32),
    }
    rows = prediction_columns("run", facts, columns, [5, 6], compact)
    got = {
        (fact, layer): (rank, other, tuple(top))
        for fact, layer, rank, other, top in zip(
            rows["fact_id"].to_pylist(),
            rows["layer"].to_pylist(),
            rows["gold_rank"].to_pylist(),
            rows["other_rank"].to_pylist(),
            rows["top_ids"].to_pylist(),
            strict=True,
        )
    }
    other = (lambda value: None) if compact else (lambda value: value or None)
    assert got == {
        (facts[n].fact_id, layer): (
            int(ranks[i, n]),
            other(int(columns["other_rank"][i, n])),
            tuple(columns["top_ids"][i, n].tolist()),
        )
        for i, layer in enumerate([5, 6])
        for n in range(3)
    }
