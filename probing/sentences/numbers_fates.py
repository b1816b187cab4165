"""Where a fine-tuned model's probes read a property that a layer of the base had (after Mosbach et al. 2020).

Every step compares one probe of the fine-tuned model with the base's own probe of that very cell (task, layer,
pooling), on the same test sentences. The fate is the first step whose probe holds. A probe that does not hold may be
too uncertain to judge, so a property is only said not to be found if every probe has lost it.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from scipy import special

from probing.kernel.stats.paired_tests import PairedCounts, paired_interval

AS_BEFORE, NEW_READER, ELSEWHERE, NOT_FOUND = "as before", "same layer, new reader", "other layer or token", "not found"
#: A fate, and the outcome of one comparison.
UNDECIDED = "undecided"
FATES = (AS_BEFORE, NEW_READER, ELSEWHERE, NOT_FOUND, UNDECIDED)
#: Fates of which a probe of the same layer and pooling holds.
SAME_LAYER = (AS_BEFORE, NEW_READER)
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
