"""The numbers of edge probing: against slow versions in plain Python, memory, ceilings, control labels and known
bounds.
"""

import hashlib
import itertools
import json
import math

import numpy as np
import pytest

from probing.edges import numbers
from probing.edges.numbers import (
    CONTAINS_0,
    EARLIER,
    LATER,
    NO_PLACE,
    TOO_FEW,
    UNRESOLVED,
    Place,
    SeedSpread,
    ceiling,
    compare,
    compare_pairs,
    majority_answer,
    memory_answers,
    seed_spread,
    seen_in_training,
    targets_of,
    with_control_labels,
)
from probing.edges.targets import Part, Record, Target, TaskData
from probing.edges.tasks import SEVERAL_LABELS, SINGLE_WORDS, every_label, fits, same_entity
from probing.edges.words import SpanTrace, Traces, normalised, revisions, settled_layer, strongest_mean
from probing.kernel.stats.paired_tests import holm


def slow_expected(f1):
    steps = [second - first for first, second in itertools.pairwise(f1)]
    return sum(layer * step for layer, step in enumerate(steps, 1)) / sum(steps) if sum(steps) else None


def slow_bits(amounts):
    total = sum(amounts)
    return sum(one / total * math.log2(one / total * len(amounts)) for one in amounts if one)


def test_numbers_of_curves_are_those_of_plain_sums():
    random = np.random.default_rng(3)
    for _ in range(50):
        f1, weights, norms = random.random((3, 9))
        assert float(numbers.expected_layer(f1)) == pytest.approx(slow_expected(list(f1)))
        assert float(numbers.k_gains(f1)) == pytest.approx(slow_bits([max(step, 0) for step in np.diff(f1)]))
        assert float(numbers.k_weights(weights)) == pytest.approx(slow_bits(list(weights)))
        centre = sum(layer * weight for layer, weight in enumerate(weights)) / sum(weights)
        assert float(numbers.centre_of_gravity(weights)) == pytest.approx(centre)
        whole = sum(weight * norm for weight, norm in zip(weights, norms, strict=True))
        assert numbers.times_norm(weights, norms) == pytest.approx(
            [w * n / whole for w, n in zip(weights, norms, strict=True)]
        )


def test_many_curves_at_once_are_each_on_its_own():
    curves = np.random.default_rng(4).random((5, 7, 9))
    for number in (
        numbers.expected_layer,
        numbers.half_layer,
        numbers.k_gains,
        numbers.k_weights,
        numbers.centre_of_gravity,
    ):
        assert np.allclose(number(curves), [[number(one) for one in some] for some in curves], equal_nan=True)


def test_a_task_that_one_layer_solves_lies_there_and_has_the_greatest_k():
    for layer in range(1, 9):
        f1 = [0.3] * layer + [0.9] * (9 - layer)
        assert float(numbers.expected_layer(f1)) == pytest.approx(layer) and numbers.half_layer(f1) == layer
        assert float(numbers.k_gains(f1)) == pytest.approx(3)
        weights = np.eye(9)[layer]
        assert float(numbers.centre_of_gravity(weights)) == layer
        assert float(numbers.k_weights(weights)) == pytest.approx(math.log2(9))
    assert [float(numbers.k_weights(np.full(9, 0.2))), float(numbers.k_gains(np.arange(9)))] == pytest.approx(
        [0, 0], abs=1e-12
    )


def test_what_is_not_defined_is_no_number():
    assert np.isnan(numbers.f1(0, 0, 0))
    assert float(numbers.f1(0, 3, 0)) == 0 == float(numbers.f1(0, 0, 2))
    for number in (numbers.expected_layer, numbers.half_layer, numbers.k_gains):
        assert np.isnan(number([0.5, 0.5, 0.5]))
    assert np.isnan(numbers.k_gains([0.5, 0.4, 0.3])) and not np.isnan(numbers.expected_layer([0.5, 0.4, 0.3]))
    for number in (numbers.k_weights, numbers.centre_of_gravity):
        assert np.isnan(number([0.0, 0.0]))
    assert np.isnan(numbers.compression(3.0, 0.0))


def test_an_expected_layer_beyond_the_last_layer_is_not_resolved():
    # A task whose last probe is below its first.
    falling = [0.60, 0.63, 0.64, 0.62, 0.61, 0.597]
    assert not 0 <= float(numbers.expected_layer(falling)) <= 5
    assert not numbers.resolved(falling[-1] - falling[0], None)
    assert not numbers.resolved(0.009, 0.004) and not numbers.resolved(0.05, -0.001) and not numbers.resolved(0.05, 0.0)
    assert numbers.resolved(0.01, 0.001) and numbers.resolved(0.05, None)


def test_a_target_settles_where_the_right_label_stays():
    right = np.array([[1, 1, 1], [0, 1, 1], [1, 0, 1], [1, 1, 0], [0, 0, 0]], bool)
    assert settled_layer(right).tolist() == [0, 1, 2, -1, -1]
    assert revisions(np.array([[4, 4, 4], [1, 2, 1], [1, 1, 3]])).tolist() == [0, 2, 1]


def test_the_strongest_mean_is_the_greatest_of_all_labels():
    p = np.random.default_rng(1).integers(0, 256, (6, 5, 4))
    shares = p / p.sum(axis=2, keepdims=True)
    gold = np.array([True, False, True, False])
    wrong = shares.mean(axis=1)[:, ~gold].argmax(axis=1)
    best = shares.mean(axis=1)[:, gold].max(axis=1)
    at = np.flatnonzero(~gold)[wrong]
    found = strongest_mean(Traces(shares[np.arange(6), :, at], best))
    assert np.allclose(found, shares.mean(axis=1).max(axis=1))
    assert normalised(np.array([0, 1]), np.array([0, 4])).tolist() == [0.0, 0.25]


def slow_holm(p_values):
    order = sorted(range(len(p_values)), key=lambda number: p_values[number])
    rejected = set()
    for step, number in enumerate(order):
        if p_values[number] > 0.05 / (len(p_values) - step):
            break
        rejected.add(number)
    return rejected


def test_holm_rejects_what_the_step_down_procedure_rejects():
    random = np.random.default_rng(2)
    for _ in range(300):
        p_values = random.random(random.integers(1, 12)) ** 4
        adjusted, levels = holm(p_values)
        expected = slow_holm(list(p_values))
        assert (
            set(np.flatnonzero(adjusted <= 0.05).tolist())
            == expected
            == set(np.flatnonzero(p_values <= levels).tolist())
        )
        assert (adjusted >= p_values).all() and (adjusted <= 1).all()
    assert holm([0.01, 0.02, 0.03])[0].tolist() == pytest.approx([0.03, 0.04, 0.04])


#: Seeds that do not vary.
NO_SPREAD = SeedSpread(0.0, 9)


def drawn(value, spread, seed):
    return Place(str(seed), value, value + spread * np.random.default_rng(seed).normal(size=1000), 3, NO_SPREAD)


def test_places_that_lie_apart_have_an_order_and_others_have_none():
    near, far = compare([drawn(2.0, 0.2, 1), drawn(2.1, 0.2, 2)]), compare([drawn(2.0, 0.2, 1), drawn(4.0, 0.2, 2)])
    assert [one.verdict for one in near] == [UNRESOLVED] and near[0].low < 0 < near[0].high
    assert [one.verdict for one in far] == [EARLIER] and far[0].high < 0 and far[0].difference == -2
    assert compare([drawn(4.0, 0.2, 1), drawn(2.0, 0.2, 2)])[0].verdict == LATER


def test_a_place_that_is_not_resolved_has_no_order_and_is_not_counted_among_the_pairs():
    found = compare([drawn(1.0, 0.1, 1), drawn(np.nan, 0.1, 2), drawn(3.0, 0.1, 3)])
    assert [(one.first, one.second, one.verdict, one.pairs) for one in found] == [
        ("1", "2", UNRESOLVED, 1),
        ("1", "3", EARLIER, 1),
        ("2", "3", UNRESOLVED, 1),
    ]
    assert (
        np.isnan([found[0].difference, found[0].low, found[0].p]).all()
        and found[0].reason == NO_PLACE
        and found[1].reason == ""
    )
    assert compare([]) == [] == compare([drawn(1.0, 0.1, 1)])


def test_more_pairs_need_a_larger_difference():
    close = (drawn(2.0, 0.3, 1), drawn(3.1, 0.3, 2))
    assert compare_pairs([close])[0].verdict == EARLIER
    level = [(drawn(1.0, 0.3, number), drawn(1.05, 0.3, number + 100)) for number in range(3, 60)]
    among = compare_pairs([close, *level])
    assert among[0].verdict == UNRESOLVED and among[0].pairs == 58
    for one in among:
        assert (one.verdict == UNRESOLVED) == (one.low <= 0 <= one.high)


def test_draws_that_go_together_tell_more_than_draws_that_do_not():
    shared = np.random.default_rng(5).normal(size=1000)
    first, second = (
        Place("a", 2.0, 2 + 0.5 * shared, 3, NO_SPREAD),
        Place("b", 2.4, 2.4 + 0.5 * shared + 0.05 * np.random.default_rng(6).normal(size=1000), 3, NO_SPREAD),
    )
    alone = Place("b", 2.4, 2.4 + 0.5 * np.random.default_rng(7).normal(size=1000), 3, NO_SPREAD)
    assert compare([first, second])[0].verdict == EARLIER
    assert compare([first, alone])[0].verdict == UNRESOLVED


def one_seed(value, spread, seed):
    """A task with one seed, whose draws have sentences only, a tenth of a layer."""
    return Place(str(seed), value, value + 0.1 * np.random.default_rng(seed).normal(size=1000), 1, spread)


def test_the_spread_over_seeds_is_the_pooled_variance_of_the_tasks_that_have_several():
    by_task = [np.array([2.0, 2.4, 2.6]), np.array([1.0, 1.5]), np.array([3.0]), np.array([4.0, np.nan])]
    mean = (2.0 + 2.4 + 2.6) / 3
    squares = sum((one - mean) ** 2 for one in (2.0, 2.4, 2.6)) + 2 * 0.25**2
    found = seed_spread(by_task)
    assert (found.variance, found.free) == (pytest.approx(squares / 3), 3)
    assert found.times(0.5).variance == pytest.approx(squares / 3 / 4)
    assert seed_spread([np.array([1.0, 1.5]), np.array([3.0])]) is None is seed_spread([])


def test_one_seed_resolves_an_order_only_if_the_seeds_of_other_tasks_hardly_vary():
    random = np.random.default_rng(8)
    verdicts = {}
    for name, deviation in (("much", 0.6), ("hardly", 0.02)):
        spread = seed_spread([2 + deviation * random.normal(size=3) for _ in range(3)])
        (verdicts[name],) = compare([one_seed(1.0, spread, 1), one_seed(2.0, spread, 2)])
    assert (verdicts["much"].verdict, verdicts["much"].reason) == (UNRESOLVED, CONTAINS_0) and verdicts[
        "much"
    ].low < 0 < verdicts["much"].high
    assert (verdicts["hardly"].verdict, verdicts["hardly"].reason) == (EARLIER, "") and verdicts["hardly"].high < 0
    assert verdicts["much"].pooled and verdicts["hardly"].pooled
    # With sentences alone, as for tasks with one seed before, the difference would be ten standard errors.
    (unknown,) = compare([one_seed(1.0, None, 1), one_seed(2.0, spread, 2)])
    assert (unknown.verdict, unknown.reason, unknown.pairs) == (UNRESOLVED, TOO_FEW, 0)
    assert unknown.difference == -1 and np.isnan([unknown.low, unknown.high, unknown.p]).all() and not unknown.pooled


def test_equal_places_are_rarely_put_in_order_however_much_seeds_vary():
    random = np.random.default_rng(9)
    numbers_of_seeds, trials = (3, 3, 3, 1, 1), 150
    wrong = {"pooled": 0, "sentences alone": 0}
    for _ in range(trials):
        seeds = [2 + 0.5 * random.normal(size=number) for number in numbers_of_seeds]
        for name, spread in (("pooled", seed_spread(seeds)), ("sentences alone", NO_SPREAD)):
            places = []
            for own in seeds:
                chosen = random.multinomial(len(own), np.full(len(own), 1 / len(own)), size=400) / len(own)
                places.append(
                    Place(str(len(places)), own.mean(), chosen @ own + 0.1 * random.normal(size=400), len(own), spread)
                )
            wrong[name] += any(one.verdict != UNRESOLVED for one in compare(places))
    # 5 % for the family; three standard errors of 150 trials are 5 % more.
    assert wrong["pooled"] / trials <= 0.1 < 0.5 < wrong["sentences alone"] / trials


def test_an_interval_that_leaves_the_layers_places_nothing():
    assert numbers.inside(0.0, 8.0, 8) and numbers.inside(np.nan, np.nan, 8)
    assert not numbers.inside(-5.22, 7.23, 8) and not numbers.inside(2.0, 8.01, 8)


@pytest.mark.parametrize("last", [4, 8, 12, 24])
def test_weights_near_uniform_move_the_centre_by_less_than_a_tenth_of_the_depth(last):
    at = np.arange(last + 1)
    # Of all weights with one centre, exponential ones have the smallest K(s).
    weights = np.exp(np.linspace(0, 0.6, 601)[:, None] * at)
    weights /= weights.sum(axis=1, keepdims=True)
    near = numbers.near_uniform(numbers.k_weights(weights))
    moved = np.abs(numbers.centre_of_gravity(weights) - last / 2) / last
    assert near[0] and not near[-1] and 0.07 < moved[near].max() < 0.1


def test_the_gain_above_memory_counts_from_the_better_of_word_embeddings_and_memory():
    f1 = np.array([[0.827, 0.85, 0.871], [0.626, 0.7, 0.722]])
    assert numbers.gain_above_memory(f1[0], 0.839) == pytest.approx(0.032)
    assert numbers.gain_above_memory(f1, 0.4).tolist() == pytest.approx([0.044, 0.096])
    assert np.isnan(numbers.gain_above_memory(f1[0], np.nan))


def part(*rows: tuple[str, tuple[tuple, ...]]) -> Part:
    """Sentences, each with targets as (span1, span2 or None, labels...)."""
    return Part(
        tuple(
            Record(tuple(text.split()), tuple(Target(a, b, tuple(labels)) for a, b, *labels in targets))
            for text, targets in rows
        )
    )


TRAIN = part(
    ("The cat sleeps", (((0, 2), None, "NP"), ((1, 2), None, "NN"))),
    ("the Cat", (((0, 2), None, "X"), ((0, 1), None, "NN"))),
    ("THE CAT", (((0, 2), None, "X"),)),
)


def test_memory_answers_the_commonest_label_of_the_same_lower_cased_text_and_else_the_majority():
    dev = part(("the cat sat", (((0, 2), None, "NP"), ((2, 3), None, "VBD"), ((1, 2), None, "NN"))))
    assert memory_answers(TRAIN, dev) == [("X",), ("NN",), ("NN",)]
    assert seen_in_training(TRAIN, dev) == [True, False, True]
    assert majority_answer(TRAIN) == ("NN",)  # as common as X, and before it in the alphabet


def test_two_spans_are_remembered_as_a_pair():
    train = part(("a b c", (((0, 1), (1, 2), "x"), ((2, 3), (1, 2), "y"), ((1, 2), (0, 1), "y"))))
    dev = part(("A B c", (((0, 1), (1, 2), "x"), ((0, 1), (2, 3), "x"))))
    assert memory_answers(train, dev) == [("x",), ("y",)]
    assert seen_in_training(train, dev) == [True, False]


def test_training_without_a_label_answers_nothing():
    bare = part(("a b", (((0, 1), None),)))
    assert majority_answer(bare) == () and memory_answers(bare, bare) == [()]


def test_the_ceiling_is_that_of_the_best_answers_of_all():
    """Every possible answer for each input, by hand."""
    random = np.random.default_rng(0)
    for _ in range(60):
        spans = [(0, 1), (0, 2), (1, 2)]
        rows = []
        for _ in range(random.integers(1, 3)):
            chosen = [spans[random.integers(3)] for _ in range(random.integers(1, 6))]
            rows.append(
                (
                    "a b",
                    tuple(
                        (span, None, *random.choice(list("xyz"), random.integers(0, 3), replace=False))
                        for span in chosen
                    ),
                )
            )
        data = part(*rows)
        inputs = sorted({target.span1 for _, target in targets_of(data)})
        sets = [set(some) for size in range(3) for some in itertools.combinations("xy", size)]
        best = 0.0
        for answers in itertools.product(sets, repeat=len(inputs)):
            given = dict(zip(inputs, answers, strict=True))
            pairs = [(given[target.span1], set(target.labels) - {"z"}) for _, target in targets_of(data)]
            right, wrong = sum(len(a & g) for a, g in pairs), sum(len(a ^ g) for a, g in pairs)
            best = max(best, 2 * right / (2 * right + wrong) if right else 0.0)
        found = ceiling(data, lambda label: label != "z")
        if any(set(target.labels) - {"z"} for _, target in targets_of(data)):
            assert found == pytest.approx(best, abs=1e-12)
        else:
            assert math.isnan(found)


def test_the_ceiling_is_1_where_no_input_comes_twice():
    assert ceiling(part(("a b", (((0, 1), None, "x"), ((1, 2), None, "x"), ((0, 1), (1, 2), "y")))), every_label) == 1.0
    assert math.isnan(ceiling(part(("a b", (((0, 1), (1, 2), "0"),))), same_entity))


def data(seed: int = 0) -> TaskData:
    random = np.random.default_rng(seed)
    words = [f"w{number}" for number in range(40)]

    def sentences(number: int) -> Part:
        rows = []
        for _ in range(number):
            text = " ".join(random.choice(words, 5))
            rows.append((text, tuple(((at, at + 1), None, str(random.choice(["a", "a", "b"]))) for at in range(5))))
        return part(*rows)

    return TaskData("mine", sentences(30), sentences(10), sentences(10))


def test_control_labels_are_those_of_a_training_target_drawn_by_the_text():
    plain = data()
    control = with_control_labels(plain, 3)
    labels = [target.labels for _, target in targets_of(plain.train)]
    for name, part_of_it in control.parts().items():
        for (record, target), (_, before) in zip(targets_of(part_of_it), targets_of(plain.parts()[name]), strict=True):
            text = record.words[target.span1[0]].lower()
            drawn = int(hashlib.sha256(json.dumps([3, "mine", text]).encode()).hexdigest(), 16) % len(labels)
            assert target.labels == labels[drawn] and (target.span1, target.span2) == (before.span1, before.span2)


def test_both_spans_draw_the_control_labels_and_their_order_matters():
    rows = (
        "a b",
        tuple(
            (first, second, f"l{number}")
            for number, (first, second) in enumerate([((0, 1), (1, 2)), ((1, 2), (0, 1))] * 30)
        ),
    )
    control = with_control_labels(TaskData("pairs", part(rows), part(rows)), 0)
    assert len({target.labels for _, target in targets_of(control.train)}) == 2 and control.test is None


LABELS = ("LOC", "ORG", "PER", "MISC")


def traced(rows, task: str = "entities", labels=LABELS) -> SpanTrace:
    return SpanTrace(task, task, ((0, 1),), tuple(labels), np.array(rows, dtype=float), (0.5,) * len(rows))


def test_the_last_layers_label_is_the_answer_and_settles_where_it_stays_the_best():
    trace = traced([[0.1, 0.6, 0.2, 0], [0.9, 0.3, 0, 0], [0.4, 0.7, 0, 0], [0.1, 0.8, 0, 0]])
    assert (trace.answer, trace.settled, trace.before) == (("ORG",), 2, ("LOC",))
    assert trace.distinguished() == (1, 0, 2) and trace.best(1, 2) == (0, 1)
    assert traced([[0, 1, 0, 0]] * 3).settled == 0 and traced([[0, 1, 0, 0]] * 3).before == ()


def test_shares_are_p_over_its_sum_and_zero_where_there_is_none():
    trace = traced([[0.2, 0.6, 0, 0], [0, 0, 0, 0]])
    assert np.allclose(trace.shares, [[0.25, 0.75, 0, 0], [0, 0, 0, 0]])


def test_a_label_that_a_layer_held_best_is_shown_before_one_that_is_stronger_on_the_whole():
    trace = traced([[0.5, 0.4, 0, 0.45], [0.1, 0.9, 0.49, 0], [0.1, 0.9, 0.49, 0]])
    assert [LABELS[number] for number in trace.distinguished(2)] == ["ORG", "LOC"]


def test_where_there_may_be_several_labels_all_that_are_given_are_the_answer_and_it_may_be_none():
    several = traced([[0.6, 0.1, 0, 0], [0.6, 0.7, 0, 0], [0.9, 0.8, 0, 0]])
    assert several.several and several.answer == ("LOC", "ORG") and (several.settled, several.before) == (1, ("LOC",))
    none = traced([[0.6, 0.1, 0, 0], [0.4, 0.1, 0, 0]], SEVERAL_LABELS[0])
    assert (none.answer, none.settled, none.before) == ((), 1, ("LOC",))
    weak = traced([[0.4, 0.1, 0, 0]])
    assert weak.answer == ("LOC",) and weak.given(0) == ()


def test_tasks_of_single_words_are_not_asked_of_longer_spans():
    for task in SINGLE_WORDS:
        assert fits(task, [(0, 1), (4, 5)]) and not fits(task, [(0, 1), (4, 6)])
    assert fits("entities", [(0, 5)]) and fits("a-task-of-mine", [(0, 5)])
