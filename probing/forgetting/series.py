"""Facts over the states of one training: which are kept, lost, returned and gained, and when."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from probing.facts.swapped_subjects import swapped_subjects
from probing.kernel.columns import Columns
from probing.kernel.fact import Fact
from probing.kernel.metric import RANKS
from probing.kernel.published import Published
from probing.kernel.stats.paired_tests import PairedCounts, paired_difference

#: Largest rank of each bucket; one more bucket holds all ranks beyond.
ENDS = RANKS
#: A fact is known if the rank of its answer is at most k -> the last bucket of such ranks.
KNOWN_UP_TO = {k: ENDS.index(k) for k in (1, 10)}
#: What each bucket holds, in words.
NAMES = ("1", "2-10", "11-100", "above 100")


def buckets(ranks: ArrayLike) -> NDArray[np.uint8]:
    """The number of the bucket of each rank, from 0.

    >>> buckets([1, 2, 4, 10, 11, 5_000]).tolist()
    [0, 1, 1, 1, 2, 3]
    """
    return np.searchsorted(ENDS, np.asarray(ranks), side="left").astype(np.uint8)


#: Logged with a score, but no score.
_NO_SCORES = ("eval_runtime", "eval_samples_per_second", "eval_steps_per_second", "eval_model_preparation_time")
_LOSS = "eval_loss"


@dataclass(frozen=True)
class Progress:
    """What is known of a training at one step: mean loss since the entry before, and score; None if none was logged."""

    step: int
    loss: float | None = None
    score: float | None = None
    metric: str = ""


def progress(history: Sequence[Mapping[str, Any]], metric: str | None = None) -> list[Progress]:
    """Loss and score by step, from ``log_history`` of the Trainer's state or the looks of ``finetuning.json``.

    Metric None takes the first that is logged, and the loss only if there is no other; ``eval_`` may be left out.

    >>> progress([{"step": 5, "loss": 0.7}, {"step": 5, "eval_loss": 0.8, "eval_f1": 0.5, "eval_runtime": 2.0}])
    [Progress(step=5, loss=0.7, score=0.5, metric='f1')]
    """
    by_step: dict[int, Progress] = {}
    names = [name for entry in history for name in entry if name.startswith("eval_") and name not in _NO_SCORES]
    score_key = (
        f"eval_{metric.removeprefix('eval_')}" if metric else next((name for name in names if name != _LOSS), _LOSS)
    )
    for entry in history:
        if not isinstance(step := entry.get("step"), int):
            continue
        point = by_step.setdefault(step, Progress(step))
        if isinstance(loss := entry.get("loss"), int | float):
            point = replace(point, loss=float(loss))
        for name, metric_name in ((score_key, score_key.removeprefix("eval_")), ("score", metric or "score")):
            if isinstance(score := entry.get(name), int | float):
                point = replace(point, score=float(score), metric=metric_name)
        by_step[step] = point
    return [by_step[step] for step in sorted(by_step) if by_step[step] != Progress(step)]


#: Counts of a state, layer and relation, in the order of the stored columns.
COUNTS = Columns("asked known kept lost returned gained paired own swapped before_paired before_own before_swapped")


@dataclass(frozen=True)
class Flow:
    """The outcome of every fact by each state, (states, ...).

    Of those known at first, *kept* is known at every state since, *lost* not now, *returned* now but not always.
    """

    kept: NDArray[np.bool_]
    lost: NDArray[np.bool_]
    returned: NDArray[np.bool_]
    gained: NDArray[np.bool_]


@dataclass(frozen=True)
class AskedStates:
    """The ranks of right answers at the states of a training, of which the first is the model before it."""

    steps: Sequence[int]
    layers: Sequence[int]
    #: (states, layers, facts), as ``swapped``, the ranks with a swapped subject, of which 0 is none.
    ranks: NDArray[np.uint32]
    swapped: NDArray[np.uint32]
    relations: Sequence[str]

    def __post_init__(self) -> None:
        shape = (len(self.steps), len(self.layers), len(self.relations))
        if self.ranks.shape != shape or self.swapped.shape != shape:
            raise ValueError(
                f"got ranks of shapes {self.ranks.shape} and {self.swapped.shape}, expected {shape}: states, layers,"
                " facts"
            )


def guests_of(facts: Sequence[Fact]) -> list[list[int]]:
    """For each fact the numbers of the facts that have its prompt as that of their swapped subject, in order."""
    guests: list[list[int]] = [[] for _ in facts]
    for number, place in enumerate(swapped_subjects(facts)):
        if place is not None:
            guests[place].append(number)
    return guests


def flow(known: NDArray[np.bool_]) -> Flow:
    """The outcome of facts, (states, ...) known or not.

    >>> one = flow(np.array([[True], [False], [True]]))
    >>> one.lost[:, 0].tolist(), one.returned[:, 0].tolist(), one.kept[:, 0].tolist()
    ([False, True, False], [False, False, True], [True, False, False])
    """
    before = known[:1]
    missed = np.logical_or.accumulate(before & ~known, axis=0)
    return Flow(before & known & ~missed, before & ~known, before & known & missed, ~before & known)


def counts(states: AskedStates, k: int) -> NDArray[np.int64]:
    """(states, layers, relations, counts) numbers of facts in the order of ``COUNTS``; relations are sorted.

    ``paired`` facts have a swapped subject; ``own`` of them are known, and ``swapped`` of them are answered rightly
    with it. The columns that begin with ``before`` are the same of the facts that are known at the first state.
    """
    known = states.ranks <= k
    moved = flow(known)
    paired = states.swapped > 0
    swapped = paired & (states.swapped <= k)
    before = np.broadcast_to(known[:1], known.shape)
    columns = (
        np.ones_like(known),
        known,
        moved.kept,
        moved.lost,
        moved.returned,
        moved.gained,
        paired,
        paired & known,
        swapped,
        before & paired,
        before & paired & known,
        before & swapped,
    )
    names, place = np.unique(np.asarray(states.relations), return_inverse=True)
    order = np.argsort(place, kind="stable")
    starts = np.searchsorted(place[order], np.arange(len(names)))
    return np.stack(
        [np.add.reduceat(column[:, :, order].astype(np.int64), starts, axis=2) for column in columns], axis=-1
    )


def count_rows(states: AskedStates) -> list[dict[str, Any]]:
    """``counts`` as rows: step, layer, relation, k and the counts."""
    names = sorted(set(states.relations))
    rows = []
    for k in KNOWN_UP_TO:
        by_state = counts(states, k).tolist()
        rows += [
            {"step": step, "layer": layer, "relation": relation, "k": k} | dict(zip(COUNTS, numbers, strict=True))
            for step, of_step in zip(states.steps, by_state, strict=True)
            for layer, of_layer in zip(states.layers, of_step, strict=True)
            for relation, numbers in zip(names, of_layer, strict=True)
        ]
    return rows


@dataclass(frozen=True)
class Story:
    """Steps at which one fact was first lost and later known again; None if never."""

    lost: int | None
    returned: int | None
    #: How often it is known at a state and not at the next one (forgetting events, Toneva et al. 2019).
    events: int
    known_last: bool


def story(known: Sequence[bool], steps: Sequence[int]) -> Story:
    """When a fact that is known or not at each step was lost.

    >>> story([True, True, False, True, False], [0, 10, 20, 30, 40])
    Story(lost=20, returned=30, events=2, known_last=False)
    """
    events = sum(now and not then for now, then in itertools.pairwise(known))
    lost = next((n for n, now in enumerate(known) if not now), None) if known[0] else None
    back = next((n for n in range(lost, len(known)) if known[n]), None) if lost is not None else None
    return Story(None if lost is None else steps[lost], None if back is None else steps[back], events, bool(known[-1]))


def stored_rows(
    run_id: str, states: AskedStates, fact_ids: Sequence[str], history: Sequence[Progress]
) -> dict[str, list[dict[str, Any]]]:
    """Table -> the rows of a series; with ids also the facts among the first ten at some state's last layer."""
    logged = {point.step: point for point in history}
    steps = [
        {
            "run_id": run_id,
            "step": step,
            "asked": step in states.steps,
            "loss": point.loss,
            "score": point.score,
            "metric": point.metric or None,
        }
        for step in sorted({*states.steps, *logged})
        for point in [logged.get(step, Progress(step))]
    ]
    rows = {"series_steps": steps, "series_counts": [{"run_id": run_id} | row for row in count_rows(states)]}
    if fact_ids:
        ranks = buckets(states.ranks)
        near = np.flatnonzero((ranks[:, -1] <= max(KNOWN_UP_TO.values())).any(axis=0))
        by_fact = ranks.reshape(-1, len(fact_ids)).T
        rows["series_facts"] = [
            {"run_id": run_id, "fact_id": fact_ids[n], "buckets": by_fact[n].tolist()} for n in near.tolist()
        ]
    return rows


#: Per cent of the fine-tuned model's weights at the points of a line; the rest is the base's.
MEANS = tuple(range(0, 101, 10))
#: Differences of paired shares at a point of a line, with the ends of their 95 % intervals.
LINE_DIFFERENCES = (("difference", "low", "high"), ("own_minus_swapped", "own_low", "own_high"))
#: The facts and examples that are counted together at a point of a line: all, and the halves that choose and report it.
ALL, CHOSEN, REPORTED = HALVES = ("all", "choosing half", "reporting half")


def line_rows(
    states: AskedStates, members: Mapping[str, NDArray[np.bool_]], scores: NDArray[np.float64], metric: str
) -> list[dict[str, Any]]:
    """The points of a line at the last layer. ``members``: half -> (facts,) whether it has them.

    ``scores`` are (points, halves, 2) score and number of examples, ``metric`` is empty if there are none.
    """
    rows = []
    for k, (place, half) in itertools.product(KNOWN_UP_TO, enumerate(HALVES)):
        known, guessed = (of[:, -1, members[half]] for of in (states.ranks <= k, states.swapped <= k))
        before, paired = known[0], known[0] & (states.swapped[0, -1, members[half]] > 0)
        for step, now, guess, (score, size) in zip(states.steps, known, guessed, scores[:, place], strict=True):
            row: dict[str, Any] = {"half": half, "k": k, "a": step / 100, "facts": len(now), "examples": int(size)}
            parts = {"known": before, "kept": before & now, "gained": now & ~before, "paired": paired}
            row |= {name: int(part.sum()) for name, part in {**parts, "swapped": paired & guess}.items()}
            sides = (now[before], known[-1][before]), (now[paired], guess[paired])
            for names, (one, other) in zip(LINE_DIFFERENCES, sides, strict=True):
                both = [int(part.sum()) for part in (one & other, one & ~other, other & ~one, ~one & ~other)]
                found = paired_difference(PairedCounts(*both))
                row |= zip(names, (found.value, found.low, found.high), strict=True)
            rows.append(row | {"score": score if metric else None, "metric": metric or None})
    return rows


class PublishedForgetting(Published):
    """The two claims; the papers' numbers are of other models and procedures, so there are no tables."""

    file: ClassVar[str] = "forgetting.toml"
