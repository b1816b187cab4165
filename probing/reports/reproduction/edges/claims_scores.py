"""Rules for the claims on F1 by layer and on single sentences; their words are in ``claims``."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from probing.core.stats.intervals import wilson
from probing.reports.reproduction.curve_shapes import Curve, similarity
from probing.reports.reproduction.decisions import UNTESTED, Answer, Interval, at_least, between, every, less, more, most, some, verdict
from probing.reports.reproduction.edges.evidence import CALLED, EdgeEvidence, of_curve
from probing.reports.reproduction.findings import Finding
from probing.reports.reproduction.words import in_points

#: The first layers: 7 of 24.
EARLY = 7 / 24
#: F1 of P(0) on part of speech, and how far "89 per cent" reaches.
TAGS, ABOUT = 0.89, 0.02
RISING = 0.8
#: The smallest share of sentences that is "often".
OFTEN = 0.10
_NO_SCORES = "No task has an F1 at every layer."


def solved_early(evidence: EdgeEvidence) -> Finding:
    """Do the first layers give more than half of the gain in more than half of the tasks?"""
    early = max(round(EARLY * evidence.depth), 1)
    gained = {
        task: of_curve(curve, lambda f1: 2 * f1[:, early] - f1[:, 0] - f1[:, -1])
        for task, curve in evidence.curves.items()
        if evidence.resolved(task)
    }
    if not gained:
        return Finding(UNTESTED, "No task gains clearly from layers above 0.")
    answers = [more(one, 0) for one in gained.values()]
    words = (
        f"Gain up to layer {early} of {evidence.depth} minus gain above it, points of F1: {_tasks(gained)}. {answers.count(True)} of "
        f"{len(gained)} surely above 0, {answers.count(False)} surely not."
    )
    return Finding(verdict(most(answers)), words, _table(gained))


def long_tail(evidence: EdgeEvidence) -> Finding:
    """Does layer 1 add most to the F1 of entities, and do layers of the upper half still add?"""
    if "entities" not in evidence.curves or evidence.depth < 3:
        return Finding(UNTESTED, "F1 of entities at three or more layers is needed.")
    ahead = of_curve(evidence.curves["entities"], _first_step_ahead)
    tail = evidence.step("entities", evidence.depth // 2, evidence.depth)
    found = {"layer 1 ahead of the next best layer": ahead, f"gain from layer {evidence.depth // 2} on": tail}
    words = (
        f"Entities, points of F1: layer 1 adds {in_points(evidence.step('entities', 0, 1))} of {in_points(evidence.gain('entities'))}, "
        f"{in_points(ahead)} more than the next best layer; layers from {evidence.depth // 2} on add {in_points(tail)}."
    )
    rows = [(name, one.value, one.low, one.high) for name, one in found.items()]
    table = pd.DataFrame(rows, columns=["what", "value", "low", "high"])
    return Finding(verdict(every(more(one, 0) for one in found.values())), words, table)


def _first_step_ahead(f1: NDArray) -> NDArray:
    gains = np.diff(f1, axis=1)
    return gains[:, 0] - gains[:, 1:].max(axis=1)


def improves_to_the_top(evidence: EdgeEvidence) -> Finding:
    """Does F1 of relations and proto-roles still rise over the last third of the layers?"""
    start = 2 * evidence.depth // 3
    found = {task: evidence.step(task, start, evidence.depth) for task in evidence.measured(("proto-roles", "relations"))}
    if not found:
        return Finding(UNTESTED, "There is no F1 by layer of relations or proto-roles.")
    words = f"F1 of P({evidence.depth}) minus that of P({start}), points: {_tasks(found)}."
    return Finding(verdict(every(more(one, 0) for one in found.values())), words, _table(found))


def more_layers_help(evidence: EdgeEvidence) -> Finding:
    """Does F1 go up with the layers in more than half of the tasks?"""
    found: dict[str, Interval] = {}
    for task, curve in evidence.curves.items():
        layers = curve.layers.astype(float)
        if one := similarity(curve, Curve(curve.layers, layers, np.tile(layers, (len(curve.drawn), 1)))):
            found[task] = one
    if not found:
        return Finding(UNTESTED, _NO_SCORES)
    answers = [at_least(one, RISING) for one in found.values()]
    shown = "; ".join(f"{CALLED.get(task, task)} {one.value:.2f} ({one.low:.2f} to {one.high:.2f})" for task, one in found.items())
    words = (
        f"Rank correlation of F1 with the layer, layers 1 to {evidence.depth}: {shown}. {answers.count(True)} of {len(found)} surely at "
        f"0.8 or more, {answers.count(False)} surely below."
    )
    return Finding(verdict(most(answers)), words, _table(found))


def last_layers_lose(evidence: EdgeEvidence) -> Finding:
    """Does one of the last two layers lower F1 in more than half of the tasks?"""
    last = evidence.depth
    if not evidence.curves or last < 2:
        return Finding(UNTESTED, _NO_SCORES)
    steps = {task: [evidence.step(task, layer - 1, layer) for layer in (last - 1, last)] for task in evidence.curves}
    answers: list[Answer] = [some(less(one, 0) for one in both) for both in steps.values()]
    shown = "; ".join(f"{CALLED.get(task, task)} {in_points(one)} and {in_points(other)}" for task, (one, other) in steps.items())
    words = (
        f"Change of F1 by layers {last - 1} and {last}, points: {shown}. In {answers.count(True)} of {len(steps)} tasks one of the two "
        f"surely lowers F1, in {answers.count(False)} surely neither does."
    )
    rows = [
        (CALLED.get(task, task), layer, one.value, one.low, one.high)
        for task, both in steps.items()
        for layer, one in zip((last - 1, last), both, strict=True)
    ]
    return Finding(verdict(most(answers)), words, pd.DataFrame(rows, columns=["task", "layer", "gain", "low", "high"]))


def tags_without_context(evidence: EdgeEvidence) -> Finding:
    """Does P(0) have an F1 of about 89 per cent on part of speech?"""
    if "pos" not in evidence.curves:
        return Finding(UNTESTED, "There is no F1 of part of speech.")
    found = of_curve(evidence.curves["pos"], lambda f1: f1[:, 0])
    words = f"F1 of P(0) on part of speech: {100 * found.value:.1f} per cent ({100 * found.low:.1f} to {100 * found.high:.1f})."
    null = ""
    if "pos" in (memory := evidence.beside.get("memory", {})):
        null = f"Predicting the most frequent training tag of the same word has an F1 of {100 * memory['pos']:.1f} per cent."
    return Finding(verdict(between(found, TAGS - ABOUT, TAGS + ABOUT)), words, _table({"pos": found}), null)


def sentences_leave_the_order(evidence: EdgeEvidence) -> Finding:
    """Does a target of a later task settle before one of an earlier task in a tenth of the sentences, for more than half of the pairs?"""
    pairs = evidence.left_order[evidence.left_order["sentences"] > 0]
    if pairs.empty:
        return Finding(UNTESTED, "No sentence has stored predictions of two tasks of the pipeline.")
    shares = {
        (row.later, row.earlier): Interval(row.before / row.sentences, *wilson(row.before, row.sentences)) for row in pairs.itertuples()
    }
    answers = [at_least(one, OFTEN) for one in shares.values()]
    shown = "; ".join(
        f"{CALLED[later]} before {CALLED[earlier]} {100 * one.value:.1f} ({100 * one.low:.1f} to {100 * one.high:.1f})"
        for (later, earlier), one in shares.items()
    )
    words = (
        f"Per cent of the sentences: {shown}. {answers.count(True)} of {len(shares)} surely a tenth or more, {answers.count(False)} not."
    )
    null = "One target that settles out of order is enough, so long sentences with many targets meet this more easily."
    return Finding(verdict(most(answers)), words, pairs.assign(value=[one.value for one in shares.values()]), null)


def _tasks(numbers: dict[str, Interval]) -> str:
    return "; ".join(f"{CALLED.get(task, task)} {in_points(one)}" for task, one in numbers.items())


def _table(numbers: dict[str, Interval]) -> pd.DataFrame:
    rows = [(CALLED.get(task, task), one.value, one.low, one.high) for task, one in numbers.items()]
    return pd.DataFrame(rows, columns=["task", "value", "low", "high"])
