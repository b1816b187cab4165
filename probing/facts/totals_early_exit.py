"""Would another layer than the last predict better? Chosen on one half of the facts, scored on the other.

Ours: BERTnesia (Wallat et al. 2020) reports a union over layers, which is out of reach if one layer must be picked.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from probing.kernel.stats.paired_tests import Difference, PairedCounts, paired_difference


@dataclass(frozen=True)
class ExitCounts:
    """One relation of one run at one rank k; layers are 1..L, the choosing and the scored half share no fact."""

    relation: str
    #: Layer -> facts of the choosing half that it knows.
    chosen_hits: Mapping[int, int]
    #: Layer -> how many facts of the scored half it (first) and the last layer (second) know.
    scored: Mapping[int, PairedCounts]
    #: Facts of the scored half that some layer knows.
    union: int


@dataclass(frozen=True)
class EarlyExit:
    """Micro shares over the scored half of all relations; ``union`` is the most that choosing by fact could reach."""

    n: int
    last_layer: float | None
    early_exit: float | None
    union: float | None
    difference: Difference
    layers: Mapping[str, int]


def best_layer(hits: Mapping[int, int]) -> int:
    """The layer that knows most facts; of equal ones the last, so that there is no exit without a reason."""
    if not hits:
        raise ValueError("no layers to choose from, expected 1 to L")
    return max(hits, key=lambda layer: (hits[layer], layer))


def early_exit(relations: Sequence[ExitCounts]) -> EarlyExit:
    """Chooses a layer for each relation on one half, scores it on the other and pools the facts.

    A relation without facts in the choosing half exits at the last layer; one without scored facts does not count.
    """
    layers = {r.relation: best_layer(r.chosen_hits or dict.fromkeys(r.scored, 0)) for r in relations if r.scored}
    pairs = [r.scored[layers[r.relation]] for r in relations if r.scored]
    pooled = PairedCounts(
        sum(p.both for p in pairs),
        sum(p.first_only for p in pairs),
        sum(p.second_only for p in pairs),
        sum(p.neither for p in pairs),
    )
    n, union = pooled.n, sum(r.union for r in relations)
    if not max(pooled.both + pooled.first_only, pooled.both + pooled.second_only) <= union <= n:
        raise ValueError(
            f"{union} of {n} scored facts are known at some layer, expected at least those of one layer and at most all"
        )
    return EarlyExit(
        n,
        (pooled.both + pooled.second_only) / n if n else None,
        (pooled.both + pooled.first_only) / n if n else None,
        union / n if n else None,
        paired_difference(pooled),
        layers,
    )
