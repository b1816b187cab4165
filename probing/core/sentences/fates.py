"""Where did it go: the fate, in the fine-tuned model, of a property that a layer of the base had (Mosbach et al. 2020, section 5.3).

The fate is the first that applies; each depends on how many test sentences only one of two probes labels correctly. The order makes every
fate reachable. If the own probe holds with all training sentences, the property is kept: the fate is ``re-encoded`` if a probe on a quarter
of them holds as well, else ``dearer``. Other places are searched for a lost property only.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from scipy import stats

from probing.core.sentences.example import FIRST
from probing.core.stats.paired import PairedCounts, mcnemar_exact

UNMOVED, RESCALED, TURNED, RE_ENCODED, DEARER = "unmoved", "rescaled", "turned", "re-encoded", "dearer"
OTHER_TOKENS, OTHER_LAYER, NOT_LINEAR, NOT_FOUND = "other tokens", "other layer", "not linear", "not found"
#: In the order in which they are tried.
FATES = (UNMOVED, RESCALED, TURNED, RE_ENCODED, DEARER, OTHER_TOKENS, OTHER_LAYER, NOT_LINEAR, NOT_FOUND)
#: A test is significant if p is at most this.
LEVEL = 0.05
#: A probe that holds is at most one point lower: a hundredth of the test sentences.
_HUNDREDTH = 100


@dataclass(frozen=True)
class Evidence:
    """Counts of a cell of a fine-tuned model (first) against the base (second), on the same test sentences; None: not measured.

    Attributes:
        frozen, rescaled, aligned: the base's probe on the fine-tuned model, against itself on the base.
        own: the fine-tuned model's own probe against the base's.
        quarter: the same of probes that were trained with a quarter of the sentences.
        mean: the same of mean pooling at this layer; used for the first token only.
        best: the fine-tuned model's own probe at its best layer against the base's at its best, both chosen on dev.
        mlp: MLP probe against MLP probe.
    """

    frozen: PairedCounts | None
    rescaled: PairedCounts | None
    aligned: PairedCounts | None
    own: PairedCounts | None
    quarter: PairedCounts | None
    mean: PairedCounts | None
    best: PairedCounts | None
    mlp: PairedCounts | None


def holds(counts: PairedCounts) -> bool:
    """Whether the first side is at most one point below the second, and not significantly below it (exact McNemar, 5 %)."""
    less = counts.second_only - counts.first_only
    if less <= 0:
        return True
    return less * _HUNDREDTH <= counts.n and mcnemar_exact(counts.first_only, counts.second_only) > LEVEL


def above_majority(right: int, n: int, majority: float) -> bool:
    """Whether a probe is significantly better than always answering the commonest training label: ``majority_p`` at most 5 %."""
    return majority_p(right, n, majority) <= LEVEL


def majority_p(right: int, n: int, majority: float) -> float:
    """One-sided exact binomial p-value of ``right`` or more of ``n`` test sentences, if each is right with probability ``majority``."""
    return float(stats.binom.sf(right - 1, n, majority)) if n else 1.0


def where_gone(evidence: Evidence, pooling: str) -> str | None:
    """The fate of a cell in which the base is significantly above its majority; None if a count that decides was not measured."""
    for fate, counts in ((UNMOVED, evidence.frozen), (RESCALED, evidence.rescaled), (TURNED, evidence.aligned)):
        if counts is None:
            return None
        if holds(counts):
            return fate
    if evidence.own is None:
        return None
    if holds(evidence.own):
        return None if evidence.quarter is None else RE_ENCODED if holds(evidence.quarter) else DEARER
    places = [(OTHER_TOKENS, evidence.mean)] if pooling == FIRST else []
    for fate, counts in (*places, (OTHER_LAYER, evidence.best), (NOT_LINEAR, evidence.mlp)):
        if counts is None:
            return None
        if holds(counts):
            return fate
    return NOT_FOUND


def fate_shares(fates: Iterable[str]) -> dict[str, float]:
    """Every fate's share of the cells, in the order of ``FATES``; empty if there is no cell. Shares sum to 1."""
    counts = Counter(fates)
    total = sum(counts[fate] for fate in FATES)
    return {fate: counts[fate] / total for fate in FATES} if total else {}
