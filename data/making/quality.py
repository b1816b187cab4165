"""What a model trained here must know to be a demonstration: four conditions by layer, printed whether they hold or
not.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from probing.kernel.stats.intervals import Estimate, RelationCounts, drawn_shares, macro, macro_draws

#: Points by which stated facts are known more often with their own subject than with a swapped one: at the last layer,
#: at three quarters of the depth and at half of it.
LAST, THREE_QUARTERS, HALF = 0.40, 0.25, 0.15
#: Points by which all facts together are above the majority answer, at the last layer.
ABOVE_MAJORITY = 0.08
#: Of well-known facts, asked in everyday words, at the last layer: P@1, and points above the swapped subject.
EVERYDAY, EVERYDAY_POINTS = 0.85, 0.50
#: Of stated facts at the last layer: P@1 over relations with one right answer, and points above the swapped subject in
#: each relation.
STATED, EACH = 0.80, 0.20


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


@dataclass(frozen=True)
class Difference:
    """A macro share minus another one, with its 95 % interval."""

    first: float
    second: float
    low: float
    high: float

    @property
    def value(self) -> float:
        return self.first - self.second

    def __str__(self) -> str:
        interval = f"95 % interval {100 * self.low:.1f} to {100 * self.high:.1f}"
        return f"{100 * self.first:.1f} - {100 * self.second:.1f} = {100 * self.value:.1f} points, {interval}"


def p_at(counts: Sequence[LayerCounts], field: str) -> Estimate:
    """Macro share of facts counted by ``field``; the swapped subject's share is over the facts that have one."""
    size = "other_n" if field == "other_1" else "n"
    return macro([RelationCounts(c.relation, getattr(c, size), getattr(c, field)) for c in counts])


def subject_points(counts: Sequence[LayerCounts]) -> Difference | None:
    """Macro P@1 with the own subject minus that with the swapped one; None if the swapped subject was not measured.

    The interval treats the two as independent. They are about the same facts, so it is rather too wide.
    """
    own = [RelationCounts(c.relation, c.n, c.hits_1) for c in counts]
    swapped = [RelationCounts(c.relation, c.other_n, c.other_1) for c in counts]
    first, second = macro(own).value, macro(swapped).value
    if first is None or second is None:
        return None
    low, high = np.quantile(macro_draws(own, 0) - macro_draws(swapped, 1), [0.025, 0.975])
    return Difference(first, second, min(float(low), first - second), max(float(high), first - second))


def majority_points(counts: Sequence[LayerCounts]) -> Difference | None:
    """Macro P@1 minus the macro share of each relation's most frequent answer, which counts as known; None without
    facts.
    """
    known, frequent = p_at(counts, "hits_1"), p_at(counts, "majority_hits").value
    if known.value is None or known.low is None or known.high is None or frequent is None:
        return None
    return Difference(known.value, frequent, known.low - frequent, known.high - frequent)


@dataclass(frozen=True)
class Contrast:
    """P@1 of facts of some exposure minus that of held-out facts, standardised by relation to the mix of the held-out
    ones; None if no relation has facts of both kinds.
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
        sizes = f"({self.n:,} {self.exposure}, {self.n_held:,} {self.held})"
        return f"{self.exposure} minus {self.held}: {100 * self.value:.1f} points, {interval}{verdict} {sizes}"


def standardised_difference(
    first: Sequence[RelationCounts], second: Sequence[RelationCounts], seed: int = 0, draws: int = 2000
) -> tuple[float, float, float] | None:
    """Share of the first facts minus that of the second, different ones, as if both had the second's mix of relations.

    Relations differ in how easy they are, so the pooled shares of different mixes differ for that reason alone. A
    relation without facts on both sides takes no part; None if all are such. Difference and ends are drawn as in
    ``macro``.
    """
    sides = [{c.relation: c for c in side if c.n} for side in (first, second)]
    shared = sorted(sides[0].keys() & sides[1].keys())
    if not shared:
        return None
    (n, hits), (n_second, hits_second) = (
        (np.array([side[name].n for name in shared]), np.array([side[name].hits for name in shared])) for side in sides
    )
    weights, random = n_second / n_second.sum(), np.random.default_rng(seed)
    value = float((hits / n - hits_second / n_second) @ weights)
    low, high = np.quantile(
        (drawn_shares(n, hits, random, draws) - drawn_shares(n_second, hits_second, random, draws)) @ weights,
        [0.025, 0.975],
    )
    return value, min(float(low), value), max(float(high), value)


def contrast(
    exposure: str, seen: Sequence[LayerCounts], held: Sequence[LayerCounts], name: str = "held out"
) -> Contrast:
    """How much more is known of facts of an exposure than of held-out ones, which are called ``name``."""
    first, second = ([RelationCounts(c.relation, c.n, c.hits_1) for c in side] for side in (seen, held))
    value, low, high = standardised_difference(first, second) or (None, None, None)
    n, n_held = (sum(c.n for c in side) for side in (seen, held))
    return Contrast(exposure, name, value, low, high, n, n_held)


def contrasts(by_exposure: Mapping[str, Sequence[LayerCounts]]) -> list[Contrast]:
    """Stated and evidence against the facts held out; if some were held out in part only, also against both kinds
    together.

    The stated facts are chosen by hash, so that difference is the effect of stating. The facts with evidence are not
    chosen and may differ from the others in more than that.
    """
    whole, in_part = by_exposure.get("held out", ()), by_exposure.get("held out in part", ())
    held = {"held out": whole, **({"held out whole or in part": added(whole, in_part)} if in_part else {})}
    return [
        contrast(name, by_exposure.get(name, ()), side, called)
        for called, side in held.items()
        for name in ("stated", "evidence")
    ]


def added(first: Sequence[LayerCounts], second: Sequence[LayerCounts]) -> list[LayerCounts]:
    """Counts of the facts of both, by relation."""
    numbers = ("n", "hits_1", "hits_10", "answer_hits", "majority_hits", "other_n", "other_1")
    sums: dict[str, LayerCounts] = {}
    for counts in (*first, *second):
        known = sums.get(counts.relation)
        more = {name: getattr(counts, name) + (getattr(known, name) if known else 0) for name in numbers}
        sums[counts.relation] = replace(counts, **more)
    return list(sums.values())


def conditions(
    layers: Mapping[int, Sequence[LayerCounts]], by_exposure: Mapping[str, Mapping[int, Sequence[LayerCounts]]]
) -> list[Condition]:
    """What a model must fulfil to be a demonstration of knowledge; the conditions are about facts stated and held out
    by hash.
    """
    depth = max(layers)
    stated, held = by_exposure.get("stated", {}), by_exposure.get("held out", {})
    found = []
    for layer, least in ((depth, LAST), (depth * 3 // 4, THREE_QUARTERS), (depth // 2, HALF)):
        points = subject_points(stated.get(layer, ()))
        found.append(
            Condition(
                f"stated facts, layer {layer}: P@1 with the own minus P@1 with the swapped subject is at least"
                f" {100 * least:.0f} points",
                "the swapped subject of stated facts is not measured" if points is None else str(points),
                points is not None and points.value >= least,
            )
        )
    above = majority_points(layers[depth])
    name = f"all facts, layer {depth}: P@1 is at least {100 * ABOVE_MAJORITY:.0f} points above the majority answer"
    measured = "there are no facts" if above is None else str(above)
    found.append(Condition(name, measured, above is not None and above.value >= ABOVE_MAJORITY))
    effect = contrast("stated", stated.get(depth, ()), held.get(depth, ()))
    name = f"layer {depth}: P@1 of stated minus held-out facts is above 0, standardised by relation"
    return [*found, Condition(name, str(effect), effect.shown)]


def conditions_of_base(
    everyday: Sequence[LayerCounts], stated: Sequence[LayerCounts], several: Mapping[str, tuple[float, float]]
) -> list[Condition]:
    """What a base must fulfil to answer what people type, at its last layer.

    ``several``: relations with several right answers, and the shares of their questions for which any of them comes
    first, with the own and with the swapped subject.
    """
    n, asked = sum(c.n for c in everyday), sum(c.other_n for c in everyday)
    own, other = sum(c.hits_1 for c in everyday) / n, sum(c.other_1 for c in everyday) / asked
    single = [c for c in stated if c.relation not in several]
    known = p_at(single, "hits_1").value or 0.0
    points = {c.relation: c.hits_1 / c.n - c.other_1 / c.other_n for c in single if c.other_n}
    points |= {relation: first - second for relation, (first, second) in several.items()}
    low = [f"{relation} {100 * value:.1f}" for relation, value in points.items() if value < EACH]
    found = f"{len(points) - len(low)} of {len(points)}" + (f"; not in {', '.join(low)}" if low else "")
    return [
        Condition(
            f"well-known facts in everyday words: P@1 is at least {100 * EVERYDAY:.0f} %",
            f"{100 * own:.1f} % of {n:,}",
            own >= EVERYDAY,
        ),
        Condition(
            f"well-known facts: own minus swapped subject is at least {100 * EVERYDAY_POINTS:.0f} points",
            f"{100 * own:.1f} - {100 * other:.1f} = {100 * (own - other):.1f} points",
            own - other >= EVERYDAY_POINTS,
        ),
        Condition(
            f"stated facts: P@1 over the relations with one right answer is at least {100 * STATED:.0f} %",
            f"{100 * known:.1f} over {len(single)}",
            known >= STATED,
        ),
        Condition(
            f"own minus swapped subject is at least {100 * EACH:.0f} points in each relation: of stated facts, or of"
            " all questions by any right answer where there are several",
            found,
            not low,
        ),
    ]
