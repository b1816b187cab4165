"""Ranks count from 1, ties take the worst place, NaN is an error."""

import numpy as np
import pytest

from tests.reference.ranks import gold_ranks, known_at_any_layer, precision_at, rank_bounds, rank_within, ranks_agree, reciprocal_ranks


def slow_rank(row, gold):
    """Order all tokens, the right one last among equals, and count to it."""
    order = sorted(range(len(row)), key=lambda token: (-row[token], token == gold))
    return order.index(gold) + 1


@pytest.fixture
def scores():
    # Few distinct values, so that there are ties in every row.
    return np.random.default_rng(0).integers(0, 6, size=(200, 17)).astype(np.float32)


@pytest.fixture
def gold():
    return np.random.default_rng(1).integers(0, 17, size=200)


def test_the_best_score_has_rank_1():
    assert gold_ranks([[0.1, 0.9, 0.5]], [1]).tolist() == [1]


def test_the_worst_score_has_the_rank_of_the_vocabulary():
    assert gold_ranks([[0.1, 0.9, 0.5]], [0]).tolist() == [3]


def test_two_equal_scores_take_the_worse_place():
    assert gold_ranks([[0.7, 0.7, 0.1], [0.7, 0.7, 0.1]], [0, 1]).tolist() == [2, 2]


def test_constant_scores_rank_last():
    assert gold_ranks(np.zeros((3, 50)), [0, 25, 49]).tolist() == [50, 50, 50]


def test_ranks_equal_the_slow_version(scores, gold):
    assert gold_ranks(scores, gold).tolist() == [slow_rank(row, g) for row, g in zip(scores, gold, strict=True)]


def test_a_permuted_vocabulary_changes_no_rank(scores, gold):
    order = np.random.default_rng(2).permutation(17)
    assert (gold_ranks(scores[:, order], np.argsort(order)[gold]) == gold_ranks(scores, gold)).all()


def test_infinite_scores_are_scores():
    assert gold_ranks([[-np.inf, 0.0, np.inf]], [0]).tolist() == [3]


def test_no_facts_have_no_ranks():
    assert gold_ranks(np.zeros((0, 5)), np.zeros(0, dtype=int)).tolist() == []


def test_nan_is_an_error_that_names_the_fact():
    with pytest.raises(ValueError, match="fact 1 is NaN"):
        gold_ranks([[0.0, 1.0], [np.nan, 1.0]], [0, 1])


@pytest.mark.parametrize(
    ("scores", "gold", "message"),
    [
        ([[1.0, 2.0]], [0, 1], "do not pair up"),
        ([1.0, 2.0], [0], "do not pair up"),
        ([[1.0, 2.0]], [2], "from 2 to 2, expected 0 to 1"),
        ([[1.0, 2.0]], [-1], "from -1"),
        ([[1.0, 2.0]], [0.5], "float64, expected vocabulary indices"),
    ],
)
def test_shapes_and_indices_that_do_not_fit_are_errors(scores, gold, message):
    with pytest.raises(ValueError, match=message):
        gold_ranks(scores, gold)


def test_rank_within_counts_only_the_answers():
    # Token 3 is best of all but no answer; of the answers 0, 1 and 2 the right one, 1, is second.
    assert rank_within([[0.5, 0.3, 0.1, 0.9]], [1], [0, 1, 2]).tolist() == [2]


def test_rank_within_equals_the_slow_version(scores, gold):
    answers = sorted({*gold.tolist()} - {3, 5})
    keep = np.isin(gold, answers)
    slow = [slow_rank([row[a] for a in answers], answers.index(g)) for row, g in zip(scores[keep], gold[keep], strict=True)]
    assert rank_within(scores[keep], gold[keep], answers).tolist() == slow


def test_rank_within_all_tokens_is_the_rank(scores, gold):
    assert (rank_within(scores, gold, range(17)) == gold_ranks(scores, gold)).all()


def test_repeated_answers_count_once():
    assert rank_within([[0.5, 0.3]], [1], [0, 0, 0, 1]).tolist() == [2]


def test_a_right_answer_outside_the_answers_is_an_error():
    with pytest.raises(ValueError, match=r"\[1\] are not among"):
        rank_within([[0.5, 0.3]], [1], [0])


def test_answers_outside_the_vocabulary_are_an_error():
    with pytest.raises(ValueError, match="from 0 to 2, expected 0 to 1"):
        rank_within([[0.5, 0.3]], [0], [0, 2])


def test_near_ties_widen_the_bounds_and_far_scores_do_not():
    scores = [[1.0, 1.0 + 1.5e-4, 1.0 - 1.5e-4, 1.0 + 3e-4, 0.0]]
    # Each logit may move by 1e-4, two towards each other by 2e-4: tokens 1 and 2 may pass token 0, token 3 stays ahead.
    best, worst = rank_bounds(scores, [0], 1e-4)
    assert (best.tolist(), worst.tolist()) == ([1 + 1], [1 + 1 + 2])


def test_without_tolerance_the_worst_rank_is_the_rank(scores, gold):
    best, worst = rank_bounds(scores, gold, 0.0)
    assert (worst == gold_ranks(scores, gold)).all()
    assert (best <= worst).all()


def test_ranks_of_logits_moved_within_the_tolerance_agree():
    rng = np.random.default_rng(3)
    exact, gold = rng.normal(0, 0.01, size=(300, 400)), rng.integers(0, 400, size=300)
    moved = gold_ranks(exact + rng.uniform(-1e-4, 1e-4, exact.shape), gold)
    assert (moved != gold_ranks(exact, gold)).any()
    assert ranks_agree(moved, exact, gold).all()


def test_a_rank_off_by_one_without_near_ties_does_not_agree():
    assert ranks_agree([1, 2, 3], [[3.0, 2.0, 1.0]] * 3, [1, 1, 1]).tolist() == [False, True, False]


def test_a_negative_tolerance_is_an_error():
    with pytest.raises(ValueError, match="expected a number >= 0"):
        rank_bounds([[1.0]], [0], -1.0)


def test_precision_at_k_counts_ranks_up_to_k():
    ranks = [1, 10, 11, 100]
    assert precision_at(ranks, 1) == 1 / 4
    assert precision_at(ranks, 10) == 2 / 4
    assert precision_at(ranks, 100) == 4 / 4


def test_precision_of_nothing_is_no_value():
    assert precision_at([], 1) is None


def test_a_first_answer_has_reciprocal_rank_1():
    assert reciprocal_ranks([1, 2, 4]).tolist() == [1.0, 0.5, 0.25]


@pytest.mark.parametrize("ranks", [[0, 1], [1.5], [np.nan], [-3]])
def test_ranks_that_do_not_count_from_1_are_an_error(ranks):
    with pytest.raises(ValueError, match="expected whole numbers from 1"):
        precision_at(ranks, 1)


def test_k_0_is_an_error():
    with pytest.raises(ValueError, match="k is 0"):
        precision_at([1], 0)


def test_a_fact_is_known_at_any_layer_but_not_at_the_embeddings():
    ranks = [[1, 9, 9], [9, 1, 9], [9, 9, 1], [9, 9, 9]]
    assert known_at_any_layer(ranks, 1).tolist() == [False, True, True, False]
    assert known_at_any_layer(ranks, 9).all()


def test_layers_are_needed_to_know_at_any_layer():
    with pytest.raises(ValueError, match=r"\(3,\), expected \(facts, layers\)"):
        known_at_any_layer([1, 2, 3], 1)
