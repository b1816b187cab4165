"""Where a fine-tuned model's probes read a property that a layer of the base had (the question of Mosbach et al. 2020, section 5.3).

Every step compares one probe of the fine-tuned model with the base's own probe of that very cell (task, layer, pooling), on the same test
sentences. The fate is the first step whose probe holds. A probe that does not hold may be too uncertain to judge, so a property is only
said not to be found if every probe has lost it.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from scipy import special

from probing.core.sentences.example import FIRST
from probing.core.stats.paired_tests import PairedCounts, paired_interval

AS_BEFORE, NEW_READER, ELSEWHERE, NOT_FOUND = "as before", "same layer, new reader", "other layer or token", "not found"
#: A fate, and the outcome of one comparison.
UNDECIDED = "undecided"
FATES = (AS_BEFORE, NEW_READER, ELSEWHERE, NOT_FOUND, UNDECIDED)
#: Fates of which a probe of the same layer and pooling holds.
SAME_LAYER = (AS_BEFORE, NEW_READER)
#: Further outcomes of a comparison of two probes.
HOLDS, LOST = "holds", "lost"
#: A probe holds if the 95 % interval of its accuracy minus the base's lies above this: it is less than two points worse.
BOUND = -0.02
#: (1.96 / BOUND) squared. So many times the share on which two probes disagree are the sentences at which half the interval is 2 points.
_SENTENCES = 9_604
#: A test is significant if p is at most this.
LEVEL = 0.05
#: Steps in their order, with the fate if they hold.
_STEPS = {"frozen": AS_BEFORE, "own": NEW_READER, "mlp": NEW_READER, "mean": ELSEWHERE, "best": ELSEWHERE}


@dataclass(frozen=True)
class Evidence:
    """Counts of probes of a fine-tuned model (first) against the base's own probe of the cell (second); None: not counted.

    Attributes:
        frozen: the base's probe on the fine-tuned model.
        own: the fine-tuned model's own probe.
        mlp: the MLP probe, or the own probe if dev prefers it: a neural probe that contains the linear one.
        mean: the own probe of mean-pooling at this layer; used for the first token only.
        best: the own probe of the fine-tuned model's best layer, chosen on dev.
    """

    frozen: PairedCounts | None
    own: PairedCounts | None
    mlp: PairedCounts | None
    mean: PairedCounts | None
    best: PairedCounts | None

    def steps(self, pooling: str) -> dict[str, PairedCounts | None]:
        """Step -> its counts, in the order of the steps; the mean of the tokens is no step of mean-pooling."""
        return {name: getattr(self, name) for name in _STEPS if name != "mean" or pooling == FIRST}

    def complete(self, pooling: str) -> bool:
        """Whether all counts are there that can decide a fate."""
        return None not in self.steps(pooling).values()


@dataclass(frozen=True)
class Fate:
    """A fate; for ``UNDECIDED`` with the undecided step that needs most test sentences.

    Attributes:
        name: of ``FATES``.
        step: the step; empty for any other fate.
        needed: how many test sentences that step takes, see ``sentences_needed``; None for any other fate.
    """

    name: str
    step: str = ""
    needed: int | None = None


def outcome(counts: PairedCounts, majority: float) -> str:
    """``HOLDS``, ``LOST`` or ``UNDECIDED``, by Newcombe's 95 % interval of the first probe's accuracy minus the second's.

    A probe holds if the interval lies above ``BOUND``, also if it lies between that and 0, and the probe is above its majority: next to a
    base that is little better than guessing, guessing is nearly as good. Otherwise it has lost if the interval lies below 0. Without
    sentences it cannot be decided.

    Args:
        counts: of both probes.
        majority: accuracy of always answering the commonest training label.
    """
    if not counts.n:
        return UNDECIDED
    _, low, high = paired_interval(counts)
    if low > BOUND and above_majority(counts.both + counts.first_only, counts.n, majority):
        return HOLDS
    return LOST if high < 0 else UNDECIDED


def sentences_needed(counts: PairedCounts) -> int:
    """Test sentences at which the interval of two equally good probes, that disagree as often as these, reaches 2 points to each side."""
    return -(-_SENTENCES * (counts.first_only + counts.second_only) // counts.n) if counts.n else 0


def above_majority(right: int, n: int, majority: float) -> bool:
    """Whether a probe is significantly better than always answering the commonest training label: ``majority_p`` at most 5 %."""
    return majority_p(right, n, majority) <= LEVEL


def majority_p(right: int, n: int, majority: float) -> float:
    """One-sided exact binomial p-value of ``right`` or more of ``n`` test sentences, if each is right with probability ``majority``."""
    return float(special.betainc(right, n - right + 1, majority)) if right > 0 else 1.0


def property_fate(evidence: Evidence, pooling: str, majority: float) -> Fate | None:
    """The fate of a cell in which the base is significantly above its majority; None if not all counts are there.

    Without all counts no cell has a fate, even if an early step holds: the fates of the other cells would be missing from every share.
    """
    if not evidence.complete(pooling):
        return None
    undecided: dict[str, int] = {}
    for step, counts in evidence.steps(pooling).items():
        assert counts is not None
        found = outcome(counts, majority)
        if found == HOLDS:
            return Fate(_STEPS[step])
        if found == UNDECIDED:
            undecided[step] = sentences_needed(counts)
    if undecided:
        step = max(undecided, key=lambda name: undecided[name])
        return Fate(UNDECIDED, step, undecided[step])
    return Fate(NOT_FOUND)


def fate_shares(fates: Iterable[str]) -> dict[str, float]:
    """Every fate's share of the cells, in the order of ``FATES``; empty if there is no cell. Shares sum to 1."""
    counts = Counter(fates)
    total = sum(counts[fate] for fate in FATES)
    return {fate: counts[fate] / total for fate in FATES} if total else {}
