"""What memory answers, what no encoder can answer, and labels that only memory can know."""

import hashlib
import itertools
import json
import math

import numpy as np
import pytest

from probing.core.edges.baselines import ceiling, majority_answer, memory_answers, seen_in_training, targets_of
from probing.core.edges.control import with_control_labels
from probing.core.edges.target import Part, Record, Target, TaskData
from probing.core.edges.tasks import every_label, same_entity


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


def test_equal_texts_have_equal_control_labels_in_every_part_and_other_seeds_and_tasks_have_others():
    plain = data()
    control = with_control_labels(plain, 0)
    by_text = {}
    for part_of_it in control.parts().values():
        for record, target in targets_of(part_of_it):
            assert by_text.setdefault(record.words[target.span1[0]], target.labels) == target.labels
    assert with_control_labels(plain, 0) == control
    assert with_control_labels(plain, 1) != control
    assert with_control_labels(TaskData("other", plain.train, plain.dev, plain.test), 0).train != control.train
    assert with_control_labels(TaskData("mine", plain.train, plain.dev), 0).test is None


def test_both_spans_draw_the_control_labels_and_their_order_matters():
    rows = (
        "a b",
        tuple(
            (first, second, f"l{number}")
            for number, (first, second) in enumerate([((0, 1), (1, 2)), ((1, 2), (0, 1))] * 30)
        ),
    )
    control = with_control_labels(TaskData("pairs", part(rows), part(rows)), 0)
    assert len({target.labels for _, target in targets_of(control.train)}) == 2


def test_memory_knows_control_labels_that_it_has_seen():
    control = with_control_labels(data(), 0)
    seen, answers = seen_in_training(control.train, control.dev), memory_answers(control.train, control.dev)
    gold = [target.labels for _, target in targets_of(control.dev)]
    assert any(seen) and all(answer == label for answer, label, known in zip(answers, gold, seen, strict=True) if known)
