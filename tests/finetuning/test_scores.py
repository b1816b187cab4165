"""Objectives of fine-tuning, the scores of their tasks, and whether a task was learned."""

import itertools
import json
import math
from pathlib import Path

import numpy as np
import pytest

from probing.finetuning import scores
from probing.kernel.objectives import CALLED, TASKS, task_called
from probing.kernel.recipe import FinetuneRecipe
from probing.kernel.stats.intervals import fisher, wilson, wilson_mean
from probing.kernel.success import (
    BEFORE,
    BM25,
    MAJORITY,
    NO_ANSWER,
    NO_CORRELATION,
    NO_ENTITY,
    RANDOM_ORDER,
    RANDOM_SPAN,
    RULES,
    Beside,
    in_words,
    task_scores,
    verdict_of,
)


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


ROOT = Path(__file__).resolve().parents[2]
SHIPPED = sorted((ROOT / "data" / "models").glob("*/finetuning.json"))


@pytest.mark.parametrize("note", SHIPPED, ids=lambda path: path.parent.name)
def test_a_shipped_recipe_keeps_its_bytes(note):
    kept = json.loads(note.read_text(encoding="utf-8"))
    assert FinetuneRecipe.model_validate(kept["recipe"]).canonical() == json.dumps(
        kept["recipe"], sort_keys=True, separators=(",", ":")
    )
    assert task_called(kept["objective"]) is TASKS[kept["recipe"]["objective"]]


def test_what_came_later_is_left_out_of_a_recipe_that_does_not_use_it():
    plain = FinetuneRecipe(objective="cola", base_weights="", data_sha256="", learning_rate=1e-3)
    said = plain.model_copy(
        update={"pooling": "first", "schedule": "linear", "beta2": 0.999, "dropout": None, "fresh_pooler": False}
    )
    assert said.canonical() == plain.canonical() and "pooling" not in plain.fields()
    for name, value in {
        "pooling": "mean",
        "schedule": "constant",
        "beta2": 0.99,
        "dropout": 0.0,
        "fresh_pooler": True,
    }.items():
        assert plain.model_copy(update={name: value}).fields()[name] == value


@pytest.mark.parametrize(
    ("value", "n", "baseline", "verdict"),
    [
        (0.30, 4000, 0.22, "learned"),
        (0.22, 4000, 0.22, "not learned"),
        (0.15, 4000, 0.22, "not learned"),
        # Below random order, but 28 queries leave room for a real gain.
        (0.205, 28, 0.22, "cannot tell"),
        (0.95, 4000, None, "cannot tell"),
    ],
)
def test_learned_lies_above_not_learned_could_gain_little_and_few_items_cannot_tell(value, n, baseline, verdict):
    assert (
        verdict_of("RANK-MSMARCO", task_scores("RANK-MSMARCO", [Beside("nDCG@10", value, n, baseline, RANDOM_ORDER)]))
        == verdict
    )


@pytest.mark.parametrize(
    ("objective", "metric", "value", "n", "baseline", "name", "verdict"),
    [
        ("QA-SQuAD-1", "F1", 0.108, 1269, 0.040, RANDOM_SPAN, "partly"),
        # Halfway from 0.04 to the 88.5 of BERT-base is 0.4625.
        ("QA-SQuAD-1", "F1", 0.4624, 1269, 0.040, RANDOM_SPAN, "partly"),
        ("QA-SQuAD-1", "F1", 0.4625, 1269, 0.040, RANDOM_SPAN, "learned"),
        ("QA-SQuAD-2", "F1", 0.58, 2360, 0.505, NO_ANSWER, "partly"),
        ("QA-SQuAD-2", "F1", 0.70, 2360, 0.69, NO_ANSWER, "not learned"),
        # A published score below the baseline asks for nothing more.
        ("QA-SQuAD-2", "F1", 0.80, 2360, 0.69, NO_ANSWER, "learned"),
        ("CoLA (mean)", "Matthews correlation", 0.159, 1043, 0.0, NO_CORRELATION, "partly"),
        ("SST-2", "task accuracy", 0.734, 872, 0.509, MAJORITY, "learned"),
        ("SST-2", "task accuracy", 0.69, 872, 0.509, MAJORITY, "partly"),
        # Nothing is published in the metric of these, so there is no "partly".
        ("MLM-SQuAD", "masked accuracy", 0.271, 14_050, 0.203, BEFORE, "learned"),
        ("RANK-MSMARCO", "nDCG@10", 0.30, 4000, 0.22, RANDOM_ORDER, "learned"),
    ],
)
def test_learned_is_half_of_the_way_to_the_published_score(objective, metric, value, n, baseline, name, verdict):
    (found,) = task_scores(objective, [Beside(metric, value, n, baseline, name)])
    assert verdict_of(objective, [found]) == verdict
    published = CALLED[objective].published
    if published is None:
        assert found.closed is found.published is None and found.published_source == ""
    else:
        assert (found.published, found.published_source) == (published.value, published.source)
        assert (
            found.closed == pytest.approx((value - baseline) / (published.value - baseline))
            or published.value <= baseline
        )


def test_of_tagged_words_the_way_to_the_published_score_is_that_of_the_entities():
    def found(entities):
        words = Beside("words tagged right", 0.946, 46_435, 0.825, NO_ENTITY)
        return task_scores("NER-CoNLL", [words, Beside("entity F1", entities, 3453, 0.0, NO_ENTITY)])

    good, poor = found(0.72), found(0.3)
    assert verdict_of("NER-CoNLL", good) == "learned" and good[0].closed == pytest.approx(0.72 / 0.924)
    assert (poor[0].metric, poor[0].published_metric, verdict_of("NER-CoNLL", poor)) == (
        "words tagged right",
        "entity F1",
        "partly",
    )


def test_always_no_answer_is_not_learned_however_far_above_a_random_span():
    rows = [
        Beside(metric, 0.505, 2360, beside, name)
        for metric in ("F1", "exact match")
        for beside, name in ((0.02, RANDOM_SPAN), (0.505, NO_ANSWER))
    ]
    found = task_scores("QA-SQuAD-2", rows)
    assert [(one.metric, one.decides) for one in found] == [("F1", True), ("exact match", False)]
    assert (found[0].baseline, found[0].baseline_name, found[0].other, found[0].other_name) == (
        0.505,
        NO_ANSWER,
        0.02,
        RANDOM_SPAN,
    )
    assert verdict_of("QA-SQuAD-2", found) == "not learned"


def test_bm25_is_a_comparison_and_never_the_baseline():
    rows = [Beside("nDCG@10", 0.40, 1000, 0.47, BM25), Beside("nDCG@10", 0.40, 1000, 0.22, RANDOM_ORDER)]
    (found,) = task_scores("RANK-MSMARCO", rows)
    assert (found.baseline_name, found.other_name, verdict_of("RANK-MSMARCO", [found])) == (
        RANDOM_ORDER,
        BM25,
        "learned",
    )
    (alone,) = task_scores("RANK-MSMARCO", rows[:1])
    assert (alone.baseline, verdict_of("RANK-MSMARCO", [alone])) == (None, "cannot tell")


def test_a_model_trained_on_text_has_to_beat_its_base_on_that_text():
    rows = [
        Beside("masked accuracy", 0.20, 10_000, beside, name)
        for beside, name in ((0.05, "most frequent token"), (0.20, BEFORE))
    ]
    assert verdict_of("MLM-SQuAD", task_scores("MLM-SQuAD", rows)) == "not learned"
    assert verdict_of("control", task_scores("control", rows)) == "control"


def test_of_tagged_words_the_words_decide_and_the_sentences_are_counted():
    rows = [Beside("entity F1", 0.01, 100, 0.0, NO_ENTITY), Beside("words tagged right", 0.84, 1500, 0.83, NO_ENTITY)]
    words, entities = task_scores("NER-CoNLL", rows)
    assert (words.metric, words.decides, words.n) == ("words tagged right", True, 1500)
    assert (words.low, words.high) == wilson_mean(0.84, 100)
    # Any hit at all lies above 0, so entity F1 decides nothing.
    assert entities.low > entities.baseline and not entities.decides
    assert verdict_of("NER-CoNLL", [words, entities]) == "cannot tell"


def test_without_a_score_or_a_known_objective_there_is_no_learning():
    assert verdict_of("QA-SQuAD-1", []) == "no score stored"
    assert verdict_of("", []) == "no score stored"
    (found,) = task_scores("poetry", [Beside("rhymes", 0.9, 1000, 0.1, "prose")])
    assert not found.decides and (found.other, found.other_name) == (0.1, "prose")
    assert verdict_of("poetry", [found]) == "cannot tell"
    (nothing,) = task_scores("QA-SQuAD-1", [Beside("F1", 0.0, 0, 0.0, RANDOM_SPAN)])
    assert (nothing.low, nothing.high, verdict_of("QA-SQuAD-1", [nothing])) == (0.0, 1.0, "cannot tell")


def test_every_kind_of_task_has_a_rule_on_one_of_its_own_metrics():
    assert set(RULES) == {task.kind for task in TASKS.values()}
    for task in TASKS.values():
        assert {RULES[task.kind].metric, RULES[task.kind].units} <= {*task.metrics, ""}


@pytest.mark.parametrize(("hits", "n"), [(0, 5), (5, 5), (3, 7), (641, 1269)])
def test_the_interval_of_a_mean_is_wilsons_where_the_mean_is_a_share(hits, n):
    assert wilson_mean(hits / n, n) == pytest.approx(wilson(hits, n), abs=1e-12)


def test_the_interval_of_a_mean_holds_every_mean_whose_variance_could_be_that_of_a_share():
    low, high = wilson_mean(0.205, 28)
    for end in (low, high):
        assert abs(0.205 - end) == pytest.approx(1.959964 * math.sqrt(end * (1 - end) / 28), rel=1e-5)
    for n in (28, 1043, 3453):
        assert wilson_mean(0.0, n)[0] == 0 and wilson_mean(1.0, n)[1] == 1
    with pytest.raises(ValueError, match=r"got a mean of 1\.5 over 3 values"):
        wilson_mean(1.5, 3)


def test_a_label_of_a_sentence_is_learned_or_trained_and_not_learned():
    def verdict_on(value, n):
        return verdict_of("RTE", task_scores("RTE", [Beside("task accuracy", value, n, 0.527, MAJORITY)]))

    # 277 pairs leave room for a gain of 11 points, which is not shown all the same.
    assert verdict_on(0.58, 277) == "not learned" and in_words("not learned") == "trained, not learned"
    assert verdict_on(0.58, 2770) == "partly" and in_words("partly") == "partly"
    assert verdict_on(0.60, 2770) == "learned" and in_words("learned") == "learned"


def test_of_cola_the_correlation_decides_and_not_an_accuracy_that_always_yes_has_too():
    def scores(matthews, accuracy):
        rows = [
            Beside("Matthews correlation", matthews, 1043, 0.0, NO_CORRELATION),
            Beside("task accuracy", accuracy, 1043, 0.691, MAJORITY),
        ]
        return task_scores("CoLA", rows)

    always_yes = scores(0.0, 0.691)
    assert verdict_of("CoLA", always_yes) == "not learned" and (always_yes[0].low, always_yes[0].high) == fisher(
        0.0, 1043
    )
    assert verdict_of("CoLA", scores(0.10, 0.661)) == "partly"
    assert verdict_of("CoLA", scores(0.30, 0.75)) == verdict_of("CoLA", scores(0.2975, 0.75)) == "learned"
    worse = scores(-0.2, 0.5)
    assert worse[0].value == -0.2 and verdict_of("CoLA (mean)", worse) == verdict_of("CoLA", worse) == "not learned"
    (nothing,) = task_scores("CoLA", [Beside("Matthews correlation", 0.0, 0, 0.0, NO_CORRELATION)])
    assert (nothing.low, nothing.high) == (-1.0, 1.0)


def test_a_perfect_correlation_is_not_certain_and_three_pairs_say_nothing():
    low, high = fisher(1.0, 100)
    assert 0.98 < low < 0.995 and high == 1 and fisher(-1.0, 100) == (-1, -low)
    assert fisher(0.5, 3) == (-1.0, 1.0)
    with pytest.raises(ValueError, match=r"got a correlation of 1\.5 over 3 pairs"):
        fisher(1.5, 3)
