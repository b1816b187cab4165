"""The numbers of edge probing from counts, F1s and mixing weights (Tenney et al. 2019): layers, order, floor, ceiling,
and control labels (Hewitt and Liang 2019), which only memory can provide.
"""

import hashlib
import itertools
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray
from scipy import special

from probing.edges.targets import Part, Record, Span, Target, TaskData
from probing.kernel.stats.intervals import CONFIDENCE, NORMAL_QUANTILE
from probing.kernel.stats.paired_tests import holm

#: Minimum F1(L) - F1(0) for an expected layer: one point.
LEAST_GAIN = 0.01
#: Mixing weights with a smaller K(s), in bits, are near uniform. They move a centre of gravity by at most about 8 % of
#: the depth.
NEAR_UNIFORM = 0.05
#: Why an expected layer is not resolved.
ALREADY, NOT_ABOVE, INCONCLUSIVE, OUTSIDE = (
    "already at layer 0",
    "not above the majority label",
    "gain is inconclusive",
    "interval leaves the layers",
)


def f1(tp: ArrayLike, fp: ArrayLike, fn: ArrayLike) -> NDArray[np.float64]:
    """Micro F1, 2 TP / (2 TP + FP + FN), from counts summed over the labels that count; NaN for 0 / 0."""
    twice = 2 * np.asarray(tp, dtype=np.float64)
    return _ratio(twice, twice + np.asarray(fp) + np.asarray(fn))


def gains(scores: ArrayLike) -> NDArray[np.float64]:
    """Gain of P(l) over P(l - 1), for the layers 1..L: (..., L + 1) F1 -> (..., L)."""
    return np.diff(np.asarray(scores, dtype=np.float64), axis=-1)


def expected_layer(scores: ArrayLike) -> NDArray[np.float64]:
    """Mean of the layers 1..L, weighted by their gains, also negative ones (equation 4); NaN if P(L) equals P(0)."""
    steps = gains(scores)
    return _ratio((steps * np.arange(1, steps.shape[-1] + 1)).sum(axis=-1), steps.sum(axis=-1))


def half_layer(scores: ArrayLike) -> NDArray[np.float64]:
    """First of the layers 1..L whose P(l) has half of the gain F1(L) - F1(0): (..., L + 1) F1 -> (...); NaN if none."""
    above = np.asarray(scores, dtype=np.float64) - np.asarray(scores)[..., :1]
    first = 1 + np.argmax(above[..., 1:] >= above[..., -1:] / 2, axis=-1)
    return np.where(above[..., -1] > 0, first, np.nan)


def resolved(gain: float, low: float | None) -> bool:
    """Whether the gain F1(L) - F1(0) is at least one point, and the end ``low`` of its interval, if known, above 0.

    Otherwise an expected layer would be noise, and could lie beyond the last layer.
    """
    return gain >= LEAST_GAIN and (low is None or low > 0)


def inside(low: float, high: float, last: int) -> bool:
    """Whether the interval of an expected layer is in 0 to L; an unknown interval (NaN) is.

    Otherwise F1(L) - F1(0), by which the formula divides, is small compared with its noise, and so the value is noise.
    """
    return not (low < 0 or high > last)


def near_uniform(bits: ArrayLike) -> NDArray[np.bool_]:
    """Whether mixing weights with this K(s) are near uniform, so that their centre of gravity is no place."""
    return np.asarray(bits, dtype=np.float64) < NEAR_UNIFORM


def gain_above_memory(scores: ArrayLike, memory: float) -> NDArray[np.float64]:
    """F1(L) minus the greater of F1(0) and the memory baseline's F1 (or NaN): the gain beyond a table of words."""
    values = np.asarray(scores, dtype=np.float64)
    return values[..., -1] - np.maximum(values[..., 0], memory)


def centre_of_gravity(weights: ArrayLike) -> NDArray[np.float64]:
    """Mean of the layers 0..L, each weighted by its share in the mix (equation 2); NaN if the weights sum to 0."""
    mix = np.asarray(weights, dtype=np.float64)
    return _ratio((mix * np.arange(mix.shape[-1])).sum(axis=-1), mix.sum(axis=-1))


def times_norm(weights: ArrayLike, norms: ArrayLike) -> NDArray[np.float64]:
    """Each layer's weight times its states' mean norm, as shares: its part by length (Fayyaz et al. 2021)."""
    amounts = np.asarray(weights, dtype=np.float64) * np.asarray(norms, dtype=np.float64)
    return _ratio(amounts, amounts.sum(axis=-1, keepdims=True))


def k_weights(weights: ArrayLike) -> NDArray[np.float64]:
    """K(s): bits by which the mixing weights of the layers 0..L differ from uniform ones; 0 to log2(L + 1)."""
    return _bits_from_uniform(np.asarray(weights, dtype=np.float64))


def k_gains(scores: ArrayLike) -> NDArray[np.float64]:
    """K(Δ): bits by which the gains of the layers 1..L, negative ones as 0, differ from uniform ones; 0 to log2 L."""
    return _bits_from_uniform(np.maximum(gains(scores), 0.0))


def selectivity(scores: ArrayLike, control: ArrayLike) -> NDArray[np.float64]:
    """F1 minus the F1 of the same kind of probe on control labels (Hewitt and Liang 2019)."""
    return np.asarray(scores, dtype=np.float64) - np.asarray(control, dtype=np.float64)


def compression(uniform: ArrayLike, bits: ArrayLike) -> NDArray[np.float64]:
    """Ratio of the uniform to the online code length (Voita and Titov 2020), each summed over the portions."""
    return _ratio(np.asarray(uniform, dtype=np.float64), np.asarray(bits, dtype=np.float64))


def _bits_from_uniform(amounts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Kullback-Leibler divergence of the amounts, as shares, from uniform shares."""
    with np.errstate(invalid="ignore"):
        bits = scipy.stats.entropy(amounts, np.ones(amounts.shape[-1]), base=2, axis=-1)
    # Rounding can give a value slightly below zero if all are equal.
    return np.where(np.isnan(bits), bits, np.maximum(bits, 0.0))


def _ratio(above: ArrayLike, below: ArrayLike) -> NDArray[np.float64]:
    above, below = np.broadcast_arrays(np.asarray(above, dtype=np.float64), np.asarray(below, dtype=np.float64))
    return np.divide(above, below, out=np.full(above.shape, np.nan), where=below != 0)


EARLIER, LATER, UNRESOLVED = ("earlier", "later", "order not resolved")
#: Why an order is not resolved.
NO_PLACE, TOO_FEW, CONTAINS_0 = ("an expected layer is not resolved", "too few seeds", "the interval contains 0")
#: Minimum degrees of freedom of a variance over seeds: three seeds of one task, or two seeds of each of two tasks.
LEAST_FREE = 2
_WIDTH = 2 * NORMAL_QUANTILE


@dataclass(frozen=True)
class SeedSpread:
    """Variance of one seed's expected layer, in squared layers, pooled over the tasks that have several seeds."""

    variance: float
    #: Degrees of freedom: number of seeds minus number of tasks.
    free: int

    def times(self, unit: float) -> "SeedSpread":
        """The same in units of the given number of layers."""
        return SeedSpread(unit**2 * self.variance, self.free)


def seed_spread(by_task: Iterable[NDArray[np.float64]]) -> SeedSpread | None:
    """Pooled variance over the seeds' expected layers by task; None with under ``LEAST_FREE`` degrees of freedom."""
    known = [values[~np.isnan(values)] for values in by_task]
    several = [values for values in known if len(values) > 1]
    free = sum(len(values) - 1 for values in several)
    squares = sum(float(((values - values.mean()) ** 2).sum()) for values in several)
    return SeedSpread(squares / free, free) if free >= LEAST_FREE else None


@dataclass(frozen=True)
class Place:
    """An expected layer to compare; NaN if it is not resolved.

    ``drawn`` are its values for resampled seeds and sentences, paired draw by draw with the other places. ``spread`` is
    from all tasks of the model that have several seeds; None if these are too few.
    """

    name: str
    value: float
    drawn: NDArray[np.float64]
    seeds: int
    spread: SeedSpread | None


@dataclass(frozen=True)
class Comparison:
    """One pair: the expected layer of the first minus that of the second; NaN if one is not resolved.

    ``low`` to ``high`` is its interval at the level at which Holm's correction judges this pair, NaN if the variation
    over seeds is unknown; ``p`` is two-sided and adjusted for ``pairs``, the compared ones that have an interval.
    """

    first: str
    second: str
    verdict: str
    difference: float
    low: float
    high: float
    p: float
    pairs: int
    #: ``NO_PLACE``, ``TOO_FEW`` or ``CONTAINS_0`` if the order is not resolved, else empty.
    reason: str
    #: Whether one side has one seed, so that its variation over seeds is that of other tasks.
    pooled: bool


def compare(places: Sequence[Place]) -> list[Comparison]:
    """Every pair, in the order of the places; see ``compare_pairs``."""
    return compare_pairs(list(itertools.combinations(places, 2)))


def compare_pairs(pairs: Sequence[tuple[Place, Place]]) -> list[Comparison]:
    """Chosen pairs, which are one family.

    The standard error of a difference comes from the middle 95 % of its draws, because the tails of an expected layer
    are long. Draws of n seeds with replacement have only (n - 1) / n of the variance of their mean: none for one seed.
    The rest, 1 / n² of the variance of one seed, is added with the pooled variance. This is estimated from few seeds,
    so the interval is that of Student's t with Satterthwaite's degrees of freedom. A pair is "order not resolved" if
    its interval contains 0, an expected layer is not resolved, or the variation over seeds is unknown.
    """
    values = np.array([first.value - second.value for first, second in pairs], dtype=np.float64)
    errors, free = np.array([_error(pair) for pair in pairs], dtype=np.float64).reshape(-1, 2).T
    known = ~np.isnan(values) & ~np.isnan(errors)
    p, levels = np.full(len(pairs), np.nan), np.full(len(pairs), np.nan)
    t = np.divide(np.abs(values), errors, out=np.where(values == 0, 0.0, np.inf), where=errors > 0)
    own = 2 * special.stdtr(free, -t)
    p[known], levels[known] = holm(own[known])
    half = -special.stdtrit(free, levels / 2) * errors
    comparisons = []
    for (first, second), value, width, adjusted, level, alone in zip(pairs, values, half, p, levels, own, strict=True):
        sure = not np.isnan(adjusted) and alone <= level
        verdict = (EARLIER if value < 0 else LATER) if sure else UNRESOLVED
        reason = "" if sure else NO_PLACE if np.isnan(value) else TOO_FEW if np.isnan(adjusted) else CONTAINS_0
        ends = (value, value - width, value + width, adjusted)
        pooled = not np.isnan(adjusted) and min(first.seeds, second.seeds) == 1
        comparisons.append(Comparison(first.name, second.name, verdict, *ends, int(known.sum()), reason, pooled))
    return comparisons


def _error(pair: tuple[Place, Place]) -> tuple[float, float]:
    """Standard error of a difference and its degrees of freedom; NaN if a variation is unknown."""
    drawn = pair[0].drawn - pair[1].drawn
    drawn, spreads = drawn[~np.isnan(drawn)], [place.spread for place in pair if place.spread]
    if not len(drawn) or len(spreads) < len(pair):
        return np.nan, np.nan
    low, high = np.quantile(drawn, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    variances = [(place.seeds, spread.variance) for place, spread in zip(pair, spreads, strict=True)]
    whole = (float(high - low) / _WIDTH) ** 2 + sum(variance / seeds**2 for seeds, variance in variances)
    of_seeds = sum(variance / seeds for seeds, variance in variances)
    free = min(spread.free for spread in spreads)
    # The two variances may be one estimate, so the smaller number of degrees of freedom counts for both together.
    return float(np.sqrt(whole)), free * max((whole / of_seeds) ** 2, 1.0) if of_seeds else np.inf


#: Lower-cased text of the span, or of both spans.
SpanText = tuple[str, ...]


def span_text(record: Record, target: Target) -> SpanText:
    """The words of the span, or of each of the two spans, lower-cased."""
    spans: tuple[Span, ...] = (target.span1,) if target.span2 is None else (target.span1, target.span2)
    return tuple(" ".join(record.words[start:end]).lower() for start, end in spans)


def targets_of(part: Part) -> Iterator[tuple[Record, Target]]:
    """Every target with its sentence, in the order of records."""
    return ((record, target) for record in part.records for target in record.targets)


def majority_answer(train: Part) -> tuple[str, ...]:
    """The commonest training label; of equally common ones the first in the alphabet. Empty if there is no label."""
    counted = Counter(label for _, target in targets_of(train) for label in target.labels)
    return _commonest(counted)


def memory_answers(train: Part, part: Part) -> list[tuple[str, ...]]:
    """For each target the commonest training label of the same span text (of both spans), else the majority answer."""
    counted: defaultdict[SpanText, Counter[str]] = defaultdict(Counter)
    for record, target in targets_of(train):
        counted[span_text(record, target)].update(target.labels)
    remembered = {text: _commonest(labels) for text, labels in counted.items()}
    majority = majority_answer(train)
    return [remembered.get(span_text(record, target), majority) for record, target in targets_of(part)]


def has_many_labels(train: Part) -> bool:
    """Whether a training target may have no label or several, as in proto-roles."""
    return any(len(target.labels) != 1 for _, target in targets_of(train))


def memory_each_answers(train: Part, part: Part) -> list[tuple[str, ...]]:
    """Labels that at least half of the training targets of the same text have, else at least half of all.

    One label per target, as ``memory_answers`` gives it, is too low a floor for tasks whose targets have several.
    """
    counted: defaultdict[SpanText, Counter[str]] = defaultdict(Counter)
    targets: Counter[SpanText] = Counter()
    for record, target in targets_of(train):
        counted[span_text(record, target)].update(target.labels)
        targets[span_text(record, target)] += 1
    labels_of_all: Counter[str] = sum(counted.values(), Counter())
    usual = _of_half(labels_of_all, targets.total())
    remembered = {text: _of_half(labels, targets[text]) for text, labels in counted.items()}
    return [remembered.get(span_text(record, target), usual) for record, target in targets_of(part)]


def _of_half(labels: Counter[str], targets: int) -> tuple[str, ...]:
    return tuple(sorted(label for label, n in labels.items() if 2 * n >= targets))


def seen_in_training(train: Part, part: Part) -> list[bool]:
    """For each target whether the text of its span (of both spans together) is that of a training target."""
    seen = {span_text(record, target) for record, target in targets_of(train)}
    return [span_text(record, target) in seen for record, target in targets_of(part)]


def ceiling(part: Part, counts: Callable[[str], bool]) -> float:
    """The greatest micro F1 of predictions that are the same for equal inputs: the same spans of the same text.

    A probe sees spans, and one span may have several targets with a label each: a sentence that is one noun phrase is
    ``TOP`` and ``NP``. F1 is greatest if a label is predicted for all targets of an input of which at least F1 / 2 have
    it; a few rounds find this F1. It is 1 if no input has two targets, NaN if no label counts.
    """
    inputs: defaultdict[tuple[str, Span, Span | None], list[Target]] = defaultdict(list)
    for record, target in targets_of(part):
        inputs[record.text, target.span1, target.span2].append(target)
    # (Targets of an input, how many of them have a label) -> number of such inputs and labels.
    shares: Counter[tuple[int, int]] = Counter()
    for targets in inputs.values():
        labels = Counter(label for target in targets for label in target.labels if counts(label))
        shares.update((len(targets), number) for number in labels.values())
    gold = sum(number * times for (_, number), times in shares.items())
    if not gold:
        return float("nan")
    best, before = 0.0, -1.0
    while best > before:
        predicted = [(size, number, times) for (size, number), times in shares.items() if 2 * number >= best * size]
        right = sum(number * times for _, number, times in predicted)
        answers = sum(size * times for size, _, times in predicted)
        best, before = 2 * right / (answers + gold), best
    return best


def _commonest(labels: Counter[str]) -> tuple[str, ...]:
    return (min(labels, key=lambda label: (-labels[label], label)),) if labels else ()


def with_control_labels(data: TaskData, seed: int) -> TaskData:
    """The same data with control labels: of a target those of training target number ``h mod n``.

    ``h`` is sha256 of the JSON list of the seed, the task and the lower-cased text of each span, ``n`` the number of
    training targets. So equal texts have equal labels in all parts, and labels are about as common as in training.
    """
    drawn_from = [target.labels for _, target in targets_of(data.train)]

    def controlled(part: Part) -> Part:
        return replace(
            part,
            records=tuple(
                replace(record, targets=tuple(map(target_of(record), record.targets))) for record in part.records
            ),
        )

    def target_of(record):
        return lambda target: replace(
            target, labels=drawn_from[_draw(seed, data.task, span_text(record, target)) % len(drawn_from)]
        )

    return replace(
        data, train=controlled(data.train), dev=controlled(data.dev), test=controlled(data.test) if data.test else None
    )


def _draw(seed: int, task: str, texts: tuple[str, ...]) -> int:
    return int.from_bytes(hashlib.sha256(json.dumps([seed, task, *texts]).encode()).digest())
