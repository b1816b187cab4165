"""Is a model trained here an instrument? Four conditions on its last layer, printed whatever they say."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from probing.core.stats.intervals import Estimate, RelationCounts, macro, micro
from probing.core.stats.paired import newcombe

MIN_SUBJECT_POINTS = 0.05
MIN_P_AT_10 = 0.30
MIN_RELATIONS = 15


@dataclass(frozen=True)
class LayerCounts:
    """Counts of one relation at one layer, for the facts of one exposure or of all.

    ``answer_hits`` counts facts whose answer has rank 1 among the relation's answers; ``majority_hits`` those whose
    answer is the relation's most frequent one.
    """

    relation: str
    n: int
    hits_1: int
    hits_10: int
    answer_hits: int
    majority_hits: int
    other_n: int
    other_1: int


@dataclass(frozen=True)
class Condition:
    """One condition: what it says, what was measured, whether it holds."""

    name: str
    measured: str
    holds: bool


def p_at(counts: Sequence[LayerCounts], field: str) -> Estimate:
    """Macro share of facts counted by ``field``; the swapped subject's share is over the facts that have one."""
    size = "other_n" if field == "other_1" else "n"
    return macro([RelationCounts(c.relation, getattr(c, size), getattr(c, field)) for c in counts])


def difference(seen: Estimate, unseen: Estimate) -> tuple[float, float, float]:
    """Difference of two independent shares with Newcombe's interval (1998, method 10: from the two Wilson intervals)."""
    if seen.value is None or unseen.value is None:
        raise ValueError("a difference needs facts on both sides")
    assert seen.low is not None and seen.high is not None and unseen.low is not None and unseen.high is not None
    return newcombe((seen.value, seen.low, seen.high), (unseen.value, unseen.low, unseen.high))


def conditions(last: Sequence[LayerCounts], by_exposure: Mapping[str, Sequence[LayerCounts]]) -> list[Condition]:
    """The gate.

    Args:
        last: last layer, all facts, relations with evidence.
        by_exposure: the same by exposure; ``held out`` must be among them for the last condition.
    """
    own, other, ten = p_at(last, "hits_1"), p_at(last, "other_1"), p_at(last, "hits_10")
    own_value, ten_value = own.value or 0.0, ten.value or 0.0
    points = None if other.value is None else own_value - other.value
    above = sum(c.answer_hits > c.majority_hits for c in last)

    def pooled(names: Sequence[str]) -> Estimate:
        rows = [c for name in names for c in by_exposure.get(name, ())]
        return micro([RelationCounts("all", sum(c.n for c in rows), sum(c.hits_1 for c in rows))])

    seen, held = pooled(("stated", "evidence")), pooled(("held out",))
    found = [
        Condition(
            "P@1 with the right subject minus P@1 with the swapped subject is at least 5 points",
            "the swapped subject is not measured"
            if points is None
            else f"{100 * own_value:.1f} - {100 * (own_value - points):.1f} = {100 * points:.1f} points",
            points is not None and points >= MIN_SUBJECT_POINTS,
        ),
        Condition("P@10 is at least 30 %", f"{100 * ten_value:.1f} %", ten_value >= MIN_P_AT_10),
        Condition(
            "rank 1 among the relation's answers is above the majority answer in at least 15 relations",
            f"{above} of {len(last)} relations",
            above >= MIN_RELATIONS,
        ),
    ]
    if seen.value is None or held.value is None:
        return [*found, Condition("seen minus held-out facts is above 0", "no held-out facts", False)]
    value, low, high = difference(seen, held)
    found.append(
        Condition(
            "P@1 of seen minus held-out facts is above 0",
            f"{100 * value:.1f} points, 95 % interval {100 * low:.1f} to {100 * high:.1f} ({seen.n:,} seen, {held.n:,} held out)",
            low > 0,
        )
    )
    return found
