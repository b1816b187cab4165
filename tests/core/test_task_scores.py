"""Task metrics with visible sums, and chance levels that are expectations."""

import itertools
import math

import numpy as np
import pytest

from probing.core.tasks import scores


def test_entities_are_read_from_tags_and_an_orphan_begins_one():
    assert scores.entities(["B-PER", "I-PER", "O", "B-LOC", "B-LOC", "I-ORG"]) == {
        ("PER", 0, 2),
        ("LOC", 3, 4),
        ("LOC", 4, 5),
        ("ORG", 5, 6),
    }


def test_entity_f1_wants_type_and_both_ends():
    gold = [["B-PER", "I-PER", "O", "B-LOC"], ["O", "B-ORG"]]
    guess = [["B-PER", "O", "O", "B-LOC"], ["B-ORG", "B-ORG"]]
    # Right: LOC, ORG. There: PER, LOC, ORG. Said: PER, LOC, ORG, ORG.
    assert scores.entity_f1(gold, guess) == pytest.approx(2 * 2 / (3 + 4))
    assert scores.entity_f1(gold, [["O"] * 4, ["O"] * 2]) == 0
    assert scores.entity_f1([["O"]], [["O"]]) == 0


def test_answers_are_compared_without_case_articles_and_punctuation():
    assert scores.answer_exact("The  Eiffel Tower!", ["eiffel tower"]) == 1
    assert scores.answer_f1("tower of Paris", ["the Eiffel tower", "Rome"]) == pytest.approx(2 * 1 / (3 + 2))
    assert scores.answer_f1("Rome", ["the Eiffel tower", "Rome"]) == 1
    assert scores.answer_f1("the", ["a"]) == 1


def test_no_answer_wants_the_empty_guess():
    assert scores.answer_f1("", []) == scores.answer_exact("", []) == 1
    assert scores.answer_f1("Paris", []) == scores.answer_exact("Paris", []) == 0
    assert scores.answer_f1("", ["Paris"]) == 0


def test_a_random_span_is_a_run_of_words_of_the_passage():
    rng = np.random.default_rng(0)
    context = "one  two three\nfour five"
    for _ in range(50):
        span = scores.random_span(context, [1, 2, 9], rng)
        assert span in context and len(span.split()) in (1, 2, 5)
    assert scores.random_span("", [1], rng) == ""


def test_ndcg_is_one_for_the_ideal_list_and_discounts_by_place():
    assert scores.ndcg([3, 2, 1, 0], [1, 2, 3]) == pytest.approx(1)
    gain = 2 / math.log2(3)
    assert scores.ndcg([0, 2], [2, 3]) == pytest.approx(gain / (3 + 2 / math.log2(3)))
    assert scores.ndcg([0] * 10 + [3], [3]) == 0
    assert scores.ndcg([0, 0], []) is None


def test_reciprocal_rank_counts_the_first_relevant_within_ten():
    assert scores.reciprocal_rank([0, 1, 2], relevant_from=2) == pytest.approx(1 / 3)
    assert scores.reciprocal_rank([0] * 10 + [2], relevant_from=2) == 0


def test_random_order_is_the_mean_over_all_orders():
    grades, judged = [3, 0, 2, 0, 1], [3, 2, 1, 1]
    orders = list(itertools.permutations(grades))
    gain, place = scores.random_order(grades, judged, relevant_from=2, cut=3)
    assert gain == pytest.approx(np.mean([scores.ndcg(order, judged, 3) for order in orders]))
    assert place == pytest.approx(np.mean([scores.reciprocal_rank(order, 2, 3) for order in orders]))


def test_words_are_right_by_their_tag_alone():
    gold = [["B-PER", "I-PER", "O"], ["O"]]
    assert scores.words_tagged_right(gold, [["B-PER", "O", "O"], ["O"]]) == 3 / 4


def test_the_correlation_of_two_classes_is_pearsons_and_of_one_class_nothing():
    rng = np.random.default_rng(0)
    gold = rng.integers(0, 2, 200)
    guess = np.where(rng.random(200) < 0.3, 1 - gold, gold)
    assert scores.matthews(gold.tolist(), guess.tolist()) == pytest.approx(np.corrcoef(gold, guess)[0, 1])
    assert scores.matthews([0, 1, 1, 0], [1, 0, 0, 1]) == pytest.approx(-1)
    assert scores.matthews([0, 1, 2, 2], [0, 1, 2, 2]) == pytest.approx(1)
    assert scores.matthews([0, 1, 1], [1, 1, 1]) == 0.0 == scores.matthews([1, 1], [0, 1])


def test_the_commonest_label_is_the_first_by_name_where_two_are_equally_common():
    assert scores.majority_class(["b", "a", "b", "a", "c"]) == "a" and scores.majority_class(["b", "a", "b"]) == "b"
