"""Rules for the claims on the order of tasks; their words are in ``claims``."""

import itertools
from collections.abc import Sequence

import numpy as np
import pandas as pd

from probing.reports.reproduction import curve_shapes
from probing.reports.reproduction.curve_shapes import DRAWS
from probing.reports.reproduction.decisions import UNTESTED, Answer, Interval, apart, at_least, between, every, more, verdict
from probing.reports.reproduction.edges.evidence import CALLED, EdgeEvidence
from probing.reports.reproduction.findings import Finding
from probing.reports.reproduction.words import listed, ranged, without_interval

#: Section 4's order.
PIPELINE = ("pos", "constituents", "dependencies", "srl", "coreference")
#: The smallest number of tasks whose order is judged.
FEWEST = 3
#: The smallest rank correlation of two orders that are "generally" the same, and how far apart two places may be, as share of the depth.
SAME_ORDER, SAME_PLACE = 0.8, 0.1


def in_order(evidence: EdgeEvidence) -> Finding:
    """Do expected layers rise along the pipeline?"""
    return _chain(evidence, PIPELINE, FEWEST)


def entities_between(evidence: EdgeEvidence) -> Finding:
    """Does the expected layer of entities lie between those of dependencies and semantic roles?"""
    return _chain(evidence, ("dependencies", "entities", "srl"), FEWEST)


def _chain(evidence: EdgeEvidence, order: Sequence[str], fewest: int) -> Finding:
    there = evidence.measured(order)
    if len(there) < fewest:
        return Finding(UNTESTED, _too_few(there, order))
    rows, answers = [], []
    for first, second in itertools.pairwise(there):
        found = evidence.later(first, second)
        answers.append(None if found is None else more(found, 0))
        ends = (found.value, found.low, found.high) if found else [None] * 3
        rows.append((first, second, *ends))
    layers = "; ".join(f"{CALLED[task]} {_layer(evidence.expected(task))}" for task in there)
    steps = "; ".join(
        f"{CALLED[first]} to {CALLED[second]} {'not resolved' if value is None else ranged(Interval(value, low, high))}"
        for first, second, value, low, high in rows
    )
    missing = listed([CALLED[task] for task in order if task not in there])
    left = f" Not trained: {missing}." if missing else ""
    words = f"Expected layers of {evidence.depth}: {layers}. From one task to the next: {steps}.{left}"
    return Finding(verdict(every(answers)), words, pd.DataFrame(rows, columns=["first", "second", "later by", "low", "high"]))


def centres_in_order(evidence: EdgeEvidence) -> Finding:
    """Do centres of gravity rise along the pipeline?"""
    there = [task for task in PIPELINE if evidence.place(task, "centre_of_gravity")]
    if len(there) < FEWEST:
        return Finding(UNTESTED, _too_few(there, PIPELINE))
    places = {task: evidence.place(task, "centre_of_gravity") for task in there}
    steps = [apart(places[second], places[first]) for first, second in itertools.pairwise(there)]  # type: ignore[arg-type]
    words = "; ".join(f"{CALLED[task]} {ranged(one)}" for task, one in places.items() if one)
    rows = [(*pair, one.value, one.low, one.high) for pair, one in zip(itertools.pairwise(there), steps, strict=True)]
    table = pd.DataFrame(rows, columns=["first", "second", "higher by", "low", "high"])
    said = f"Centres of gravity: {words}.{without_interval(places.values())}"
    return Finding(verdict(every(more(one, 0) for one in steps)), said, table)


def same_order(evidence: EdgeEvidence) -> Finding:
    """Do expected layers of two encoders of different depth rank the tasks alike?"""
    other = evidence.other
    if other is None:
        return Finding(UNTESTED, _NO_OTHER)
    pairs = {task: (evidence.expected(task), other.expected(task)) for task in CALLED}
    both = {task: pair for task, pair in pairs.items() if None not in pair}
    if len(both) < FEWEST + 1:
        return Finding(UNTESTED, f"Fewer than four tasks have a resolved expected layer in both {evidence.name} and {other.name}.")
    found = _correlated([[one for one, _ in both.values()], [one for _, one in both.values()]])  # type: ignore[misc]
    if found is None:
        return Finding(UNTESTED, "All expected layers are equal.")
    rows = [(CALLED[task], one.value, second.value) for task, (one, second) in both.items() if one and second]
    words = f"Rank correlation of the expected layers of {len(both)} tasks with those of {other.name}: {ranged(found)}."
    return Finding(verdict(at_least(found, SAME_ORDER)), words, pd.DataFrame(rows, columns=["task", evidence.name, other.name]))


def _correlated(columns: list[list[Interval]]) -> Interval | None:
    """Spearman's correlation over tasks, each expected layer drawn from its interval. Noise lowers it, so it reaches as far up as down."""
    random = np.random.default_rng(0)
    known = [np.array([one.value for one in column])[None] for column in columns]
    drawn = [random.uniform([one.low for one in column], [one.high for one in column], (DRAWS, len(column))) for column in columns]
    found = curve_shapes.interval(curve_shapes.correlations(*known), curve_shapes.correlations(*drawn))
    if found is None:
        return None
    reach = max(found.value - found.low, found.high - found.value)
    return Interval(found.value, max(found.value - reach, -1.0), min(found.value + reach, 1.0))


def same_places(evidence: EdgeEvidence) -> Finding:
    """Do tasks lie at the same share of the depth in two encoders?"""
    other = evidence.other
    if other is None:
        return Finding(UNTESTED, _NO_OTHER)
    rows: list[tuple] = []
    answers: list[Answer] = []
    for task in CALLED:
        for measure, ours, theirs in (
            ("expected layer", evidence.expected(task), other.expected(task)),
            ("centre of gravity", evidence.place(task, "centre_of_gravity"), other.place(task, "centre_of_gravity")),
        ):
            if ours and theirs:
                one = apart(_share(ours, evidence.depth), _share(theirs, other.depth))
                rows.append((CALLED[task], measure, one.value, one.low, one.high))
                answers.append(between(one, -SAME_PLACE, SAME_PLACE))
    table = pd.DataFrame(rows, columns=["task", "measure", "share of depth apart", "low", "high"])
    if table.empty:
        return Finding(UNTESTED, f"No task has a number in both {evidence.name} and {other.name}.")
    widest = table.loc[table["share of depth apart"].abs().idxmax()]
    words = (
        f"{len(table)} places compared with those of {other.name}. Largest difference, as share of the depth: {widest['task']}, "
        f"{widest['measure']} "
        f"{ranged(Interval(*widest[['share of depth apart', 'low', 'high']]))}. {answers.count(True)} surely within a tenth, "
        f"{answers.count(False)} surely not."
    )
    return Finding(verdict(every(answers)), words, table)


_NO_OTHER = "The claim compares two pre-trained encoders of different depth, and probes of only one are stored."


def _share(number: Interval, depth: int) -> Interval:
    return Interval(number.value / depth, number.low / depth, number.high / depth)


def _layer(number: Interval | None) -> str:
    return "not resolved" if number is None else ranged(number)


def _too_few(there: Sequence[str], order: Sequence[str]) -> str:
    names = listed([CALLED[task] for task in order])
    return f"At least {FEWEST} of {names} are needed; numbers are stored of {listed([CALLED[task] for task in there]) or 'none'}."
