"""What the layers say of one span: the answer, where it settles and what was said before."""

import numpy as np

from probing.core.edges.tasks import SEVERAL_LABELS, SINGLE_WORDS, fits
from probing.core.edges.traces import SpanTrace

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
