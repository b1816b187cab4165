"""Is a model trained here an instrument? Four conditions on its last layer, printed whether they hold or not."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from probing.core.stats.intervals import Estimate, RelationCounts, macro, standardised_difference

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


@dataclass(frozen=True)
class Contrast:
    """P@1 of facts of some exposure minus that of held-out facts, standardised by relation to the mix of the held-out ones.

    Attributes:
        exposure: of the first facts.
        held: which held-out facts these are, in words.
        value, low, high: the difference and its 95 % interval; None if no relation has facts of both kinds.
        n: facts of the exposure.
        n_held: held-out facts.
    """

    exposure: str
    held: str
    value: float | None
    low: float | None
    high: float | None
    n: int
    n_held: int

    @property
    def shown(self) -> bool:
        """Whether the interval lies above 0."""
        return self.low is not None and self.low > 0

    def __str__(self) -> str:
        if self.value is None or self.low is None or self.high is None:
            return f"{self.exposure} minus {self.held}: no relation has facts of both kinds"
        interval = f"95 % interval {100 * self.low:.1f} to {100 * self.high:.1f}"
        verdict = "" if self.shown else ": not shown"
        return (
            f"{self.exposure} minus {self.held}: {100 * self.value:.1f} points, {interval}{verdict} "
            f"({self.n:,} {self.exposure}, {self.n_held:,} {self.held})"
        )


def contrast(exposure: str, seen: Sequence[LayerCounts], held: Sequence[LayerCounts], name: str = "held out") -> Contrast:
    """How much more is known of facts of an exposure than of held-out ones, which are called ``name``."""
    first, second = ([RelationCounts(c.relation, c.n, c.hits_1) for c in side] for side in (seen, held))
    value, low, high = standardised_difference(first, second) or (None, None, None)
    n, n_held = (sum(c.n for c in side) for side in (seen, held))
    return Contrast(exposure, name, value, low, high, n, n_held)


def contrasts(by_exposure: Mapping[str, Sequence[LayerCounts]]) -> list[Contrast]:
    """Stated and evidence against the facts held out; if some were held out in part only, also against both kinds together.

    The stated facts are chosen by hash, so that difference is the effect of stating. The facts with evidence are not chosen and may
    differ from the others in more than that.
    """
    whole, in_part = by_exposure.get("held out", ()), by_exposure.get("held out in part", ())
    held = {"held out": whole, **({"held out whole or in part": added(whole, in_part)} if in_part else {})}
    return [contrast(name, by_exposure.get(name, ()), side, called) for called, side in held.items() for name in ("stated", "evidence")]


def added(first: Sequence[LayerCounts], second: Sequence[LayerCounts]) -> list[LayerCounts]:
    """Counts of the facts of both, by relation."""
    numbers = ("n", "hits_1", "hits_10", "answer_hits", "majority_hits", "other_n", "other_1")
    sums: dict[str, LayerCounts] = {}
    for counts in (*first, *second):
        known = sums.get(counts.relation)
        more = {name: getattr(counts, name) + (getattr(known, name) if known else 0) for name in numbers}
        sums[counts.relation] = replace(counts, **more)
    return list(sums.values())


def conditions(last: Sequence[LayerCounts], by_exposure: Mapping[str, Sequence[LayerCounts]]) -> list[Condition]:
    """What a model must fulfil at its last layer to be an instrument.

    Args:
        last: last layer, all facts, relations with evidence.
        by_exposure: the same by exposure; the last condition needs ``stated`` and ``held out``, both chosen by hash.
    """
    own, other, ten = p_at(last, "hits_1"), p_at(last, "other_1"), p_at(last, "hits_10")
    own_value, ten_value = own.value or 0.0, ten.value or 0.0
    points = None if other.value is None else own_value - other.value
    above = sum(c.answer_hits > c.majority_hits for c in last)

    stated = contrast("stated", by_exposure.get("stated", ()), by_exposure.get("held out", ()))
    return [
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
        Condition("P@1 of stated minus held-out facts is above 0, standardised by relation", str(stated), stated.shown),
    ]
