"""The numbers of sentence-level probing: accuracy, surface features, and where a property is read."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from probing.kernel.columns import Columns
from probing.kernel.stats.intervals import NORMAL_QUANTILE, wilson
from probing.kernel.stats.paired_tests import PairedCounts, benjamini_hochberg, paired_difference, paired_interval
from probing.sentences.examples import FIRST, FROZEN, MEAN, MLP, OWN, Example

#: The two groups of layers in the paper's tables of mean changes.
LOWER, UPPER = "lower", "upper"

#: Columns of ``Verdicts.rows``.
VERDICT_COLUMNS = Columns("model task title pooling layer label number p margin accuracy majority classes chance")


def accuracy(right: int, n: int) -> tuple[float, float, float]:
    """Share of the test sentences that are labelled correctly, with Wilson's 95 % interval; NaN without sentences."""
    return (right / n, *wilson(right, n)) if n else (np.nan, np.nan, np.nan)


def change(counts: PairedCounts) -> tuple[float, float, float, float]:
    """First probe's accuracy minus the second's, Newcombe's 95 % interval of a paired difference, exact McNemar's p."""
    difference = paired_difference(counts)
    if difference.value is None or difference.low is None or difference.high is None:
        return np.nan, np.nan, np.nan, difference.p
    return difference.value, difference.low, difference.high, difference.p


def family_q(p_values: ArrayLike) -> NDArray[np.float64]:
    """p-values of a model's tests (layers x poolings x tasks) by Benjamini and Hochberg; NaN is ignored."""
    p = np.asarray(p_values, dtype=np.float64)
    known = ~np.isnan(p)
    q = np.full(p.shape, np.nan)
    q[known] = benjamini_hochberg(p[known])
    return q


def layer_group(layer: int, last: int) -> str:
    """The group of a layer: 0 to L / 2, rounded down, are the lower ones (0 to 6 of 12, as in the paper's tables)."""
    return LOWER if layer <= last // 2 else UPPER


def group_mean(changes: Sequence[float]) -> float:
    """Mean change of the layers of a group; NaN without layers."""
    return float(np.mean(changes)) if len(changes) else np.nan


def spread_about_zero(changes: ArrayLike) -> float:
    """Bound of 95 % of changes that vary normally about 0: 1.96 times their root mean square; NaN without changes."""
    known = np.asarray(changes, dtype=np.float64)
    return NORMAL_QUANTILE * float(np.sqrt(np.mean(known**2))) if known.size else np.nan


#: How many of the commonest training words are features.
WORDS = 2_000
_MARKS = (".", "?", "!", ",", ";", ":", '"', "'", ")")
_WORD = re.compile(r"\w+|[^\w\s]")


def surface_features(train: Sequence[Example], part: Sequence[Example]) -> np.ndarray:
    """(examples, features) float32 of a part's examples; their words are those of the training examples.

    They are, for each sentence of an example, its length in words and in characters, whether it begins with an
    upper-case letter and which mark ends it; then whether the example has each of the commonest training words, in
    lower case.
    """
    counts: Counter[str] = Counter()
    for example in train:
        counts.update(_words(example))
    common = sorted(counts, key=lambda word: (-counts[word], word))[:WORDS]
    place = {word: number for number, word in enumerate(common)}
    paired = any(example.pair for example in train)
    shapes = [_shape(example.text) + (_shape(example.pair) if paired else []) for example in part]
    features = np.zeros((len(part), 3 + len(_MARKS) if not paired else 2 * (3 + len(_MARKS))), dtype=np.float32)
    features[:] = shapes
    words = np.zeros((len(part), len(common)), dtype=np.float32)
    for row, example in zip(words, part, strict=True):
        row[[place[word] for word in _words(example) if word in place]] = 1
    return np.concatenate([features, words], axis=1)


def _words(example: Example) -> set[str]:
    return set(_WORD.findall(f"{example.text} {example.pair}".lower()))


def _shape(text: str) -> list[float]:
    text = text.strip()
    return [len(text.split()), len(text), text[:1].isupper(), *(text.endswith(mark) for mark in _MARKS)]


AS_BEFORE, NEW_READER, ELSEWHERE, NOT_FOUND = "as before", "same layer, new reader", "other layer or token", "not found"
#: A fate, and the outcome of one comparison.
UNDECIDED = "undecided"
FATES = (AS_BEFORE, NEW_READER, ELSEWHERE, NOT_FOUND, UNDECIDED)
#: Further outcomes of a comparison of two probes.
HOLDS, LOST = "holds", "lost"
#: A probe holds if the 95 % interval of its accuracy minus the base's lies above this: it is less than two points
#: worse.
BOUND = -0.02
#: (1.96 / BOUND) squared. So many times the share on which two probes disagree are the sentences at which half the
#: interval is 2 points.
_SENTENCES = 9_604
#: A test is significant if p is at most this.
LEVEL = 0.05
#: Steps in their order, with the fate if they hold.
_STEPS = {"frozen": AS_BEFORE, "own": NEW_READER, "mlp": NEW_READER, "mean": ELSEWHERE, "best": ELSEWHERE}


@dataclass(frozen=True)
class Fate:
    """A fate, empty if it is not known; for ``UNDECIDED`` with the undecided step that needs most test sentences."""

    name: str
    step: str = ""
    #: How many test sentences that step takes, see ``sentences_needed``.
    needed: int | None = None


def outcome(counts: PairedCounts, majority: float) -> str:
    """``HOLDS``, ``LOST`` or ``UNDECIDED``, by Newcombe's 95 % interval of the accuracy minus the second probe's.

    A probe holds if the interval lies above ``BOUND``, also if it lies between that and 0, and the probe is above its
    majority (always the commonest training label): next to a base that is little better than guessing, guessing is
    nearly as good. Otherwise it has lost if the interval lies below 0. Without sentences it cannot be decided.
    """
    if not counts.n:
        return UNDECIDED
    _, low, high = paired_interval(counts)
    if low > BOUND and above_majority(counts.both + counts.first_only, counts.n, majority):
        return HOLDS
    return LOST if high < 0 else UNDECIDED


def sentences_needed(counts: PairedCounts) -> int:
    """Test sentences at which two equally good probes that disagree as often have an interval of 2 points each way."""
    return -(-_SENTENCES * (counts.first_only + counts.second_only) // counts.n) if counts.n else 0


def above_majority(right: int, n: int, majority: float) -> bool:
    """Whether a probe is better than always answering the commonest training label: ``majority_p`` <= 5 %."""
    return majority_p(right, n, majority) <= LEVEL


def majority_p(right: int, n: int, majority: float) -> float:
    """One-sided exact binomial p of at least ``right`` of ``n`` test sentences, each with probability ``majority``."""
    return float(special.betainc(right, n - right + 1, majority)) if right > 0 else 1.0


def property_fate(counts: Mapping[str, PairedCounts], majority: float) -> Fate:
    """The fate of a cell in which the base is significantly above its majority, from the counts of every step.

    First is the step's probe (``sentences.numbers.fate_probes``), second the base's own probe of the cell.
    """
    outcomes = {step: outcome(counts[step], majority) for step in _STEPS}
    if held := [step for step, verdict in outcomes.items() if verdict == HOLDS]:
        return Fate(_STEPS[held[0]])
    needed = {step: sentences_needed(counts[step]) for step, verdict in outcomes.items() if verdict == UNDECIDED}
    if not needed:
        return Fate(NOT_FOUND)
    step = max(needed, key=lambda name: needed[name])
    return Fate(UNDECIDED, step, needed[step])


def fate_shares(fates: Iterable[str]) -> dict[str, float]:
    """Every fate's share of the cells, in the order of ``FATES``; empty if there is no cell. Shares sum to 1."""
    counts = Counter(fates)
    total = sum(counts[fate] for fate in FATES)
    return {fate: counts[fate] / total for fate in FATES} if total else {}


@dataclass(frozen=True, order=True)
class Cell:
    """One probe of a run; portion 4 is trained on a quarter of the training sentences."""

    pooling: str
    layer: int
    reading: str = OWN
    portion: int = 1


@dataclass(frozen=True, order=True)
class Pair:
    """A probe of a run and the one that it is compared with, of the model ``with_model``."""

    this: Cell
    with_model: str
    other: Cell


def best_layer(dev_right: Sequence[int]) -> int:
    """The layer that has most dev sentences right; of several the lowest."""
    return max(range(len(dev_right)), key=lambda layer: (dev_right[layer], -layer))


def best_layers(dev_right: Mapping[Cell, int]) -> dict[str, int]:
    """Pooling -> the layer whose own probe, trained on all sentences, has most dev sentences right."""
    by_pooling: dict[str, dict[int, int]] = {}
    for cell, right in dev_right.items():
        if (cell.reading, cell.portion) == (OWN, 1):
            by_pooling.setdefault(cell.pooling, {})[cell.layer] = right
    return {pooling: best_layer([right[layer] for layer in range(len(right))]) for pooling, right in by_pooling.items()}


def neural(cell: Cell, dev_right: Mapping[Cell, int]) -> Cell:
    """The neural probe of a cell, which contains the linear one: MLP, or its own if that is as good on dev."""
    mlp = Cell(cell.pooling, cell.layer, MLP)
    return cell if mlp in dev_right and cell in dev_right and dev_right[cell] >= dev_right[mlp] else mlp


def fate_probes(cell: Cell, best: int, dev_right: Mapping[Cell, int]) -> dict[str, Cell]:
    """Step of a fate -> the fine-tuned model's probe that is compared with the base's own probe of the cell.

    ``frozen`` is the base's probe on the fine-tuned model, ``own`` its own; ``mlp`` see ``neural``; ``mean`` its own
    probe of mean-pooling at this layer, which of a cell of mean-pooling is the same; ``best`` its own probe of its
    ``best_layers``. ``dev_right`` counts the fine-tuned model's right dev sentences.
    """
    pooling, layer = cell.pooling, cell.layer
    here = {"frozen": Cell(pooling, layer, FROZEN), "own": cell, "mlp": neural(cell, dev_right)}
    return here | {"mean": Cell(MEAN, layer), "best": Cell(pooling, best)}


def stored_pairs(
    model: str, dev_right: Mapping[Cell, int], base: str = "", base_dev_right: Mapping[Cell, int] | None = None
) -> list[Pair]:
    """The pairs that a run stores, in order; ``dev_right`` are the probes' numbers of right dev sentences.

    Of a base, its own probes: that of the first token against that of the mean at each layer, and every one against its
    MLP probe. Of a fine-tuned model, the pairs of fates, and its own probe of the first token against the base's of the
    mean, at each layer. A pair of which one probe was not trained is left out.
    """
    tuned = base not in ("", model)
    theirs = (base_dev_right or {}) if tuned else dev_right
    held = [(cell, Cell(MEAN, cell.layer)) for cell in dev_right if cell == Cell(FIRST, cell.layer)]
    own = [cell for cell in theirs if (cell.reading, cell.portion) == (OWN, 1)]
    if tuned:
        best = best_layers(dev_right)
        held += [
            (this, cell)
            for cell in own
            if cell.pooling in best
            for this in fate_probes(cell, best[cell.pooling], dev_right).values()
        ]
    else:
        held += [(cell, Cell(cell.pooling, cell.layer, MLP)) for cell in own]
    pairs = {
        Pair(this, base if tuned else model, other) for this, other in held if this in dev_right and other in theirs
    }
    return sorted(pairs)


def right_and_right(this: ArrayLike, other: ArrayLike) -> tuple[int, int, int, int]:
    """How many sentences both probes have right, only the first, only the second, neither."""
    a, b = np.asarray(this, bool), np.asarray(other, bool)
    both, only_this, only_other = int((a & b).sum()), int((a & ~b).sum()), int((~a & b).sum())
    return both, only_this, only_other, len(a) - both - only_this - only_other
