"""What fine-tuning kept, gained and lost, which relations are forgotten (three definitions, always named), and whether
an answer returns when layers are replaced by the base's.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import scipy

from probing.kernel.stats.paired_tests import (
    Difference,
    PairedCounts,
    benjamini_hochberg,
    mcnemar_exact_many,
    paired_difference,
)

DEFINITIONS = ("caption", "authors", "strict")
SIGNIFICANT = 0.05
#: Smallest drop that ``strict`` calls forgetting, as a share of the relation's facts.
MIN_DROP = 0.02
#: What the authors' code divides T-REx's count by: its 41 relations and one key too many.
AUTHORS_KEYS = 42


@dataclass(frozen=True)
class RelationLayers:
    """The inner layers of one relation (first) against its last layer (second), on the same facts at one rank k."""

    relation: str
    layers: Mapping[int, PairedCounts]

    def __post_init__(self) -> None:
        margins = {(counts.n, counts.both + counts.second_only) for counts in self.layers.values()}
        if len(margins) > 1:
            raise ValueError(
                f"the layers of relation {self.relation!r} count different facts: {sorted(margins)}, expected one (n,"
                " last)"
            )

    @property
    def n(self) -> int:
        """Number of facts."""
        return next((counts.n for counts in self.layers.values()), 0)

    @property
    def last_hits(self) -> int:
        """Facts known at the last layer."""
        return next((counts.both + counts.second_only for counts in self.layers.values()), 0)

    @property
    def best_layer(self) -> int | None:
        """The inner layer that knows most facts, of equal ones the first; None without inner layers."""
        return min(self.layers, key=lambda layer: (-_inner_hits(self.layers[layer]), layer), default=None)

    @property
    def best_hits(self) -> int:
        """Facts known at the best inner layer."""
        return 0 if self.best_layer is None else _inner_hits(self.layers[self.best_layer])


@dataclass(frozen=True)
class Forgetting:
    """The three definitions, applied to one relation; shares known are None without facts."""

    relation: str
    n: int
    last: float | None
    best_inner: float | None
    #: Of equal ones the first; None without facts or inner layers.
    best_layer: int | None
    caption: bool
    authors: bool
    strict: bool
    #: Of the unpaired t-test; None if it is undefined.
    p_authors: float | None
    #: Smallest adjusted p-value of the inner layers that know more than the last; None if none does.
    p_strict: float | None
    family_size: int

    @property
    def drop(self) -> float | None:
        """Share of facts by which the best inner layer is above the last; below 0 if the last is best."""
        return None if self.last is None or self.best_inner is None else self.best_inner - self.last


def forgetting(relations: Sequence[RelationLayers]) -> list[Forgetting]:
    """Applies the three definitions to all relations of one run at one rank k, in the order given.

    - *caption* (the caption of Table 2): the last layer knows fewer facts than some inner layer.
    - *authors* (their code): the best inner layer is above the last and Student's unpaired t-test on the two layers'
      hits has p <= 0.05. The layer is chosen on the same facts, which are paired, so the p-value is not valid; it is
      kept for comparison with the paper's.
    - *strict*: exact McNemar of every inner layer against the last, adjusted by Benjamini and Hochberg over all
      relations and inner layers given; some inner layer is above the last by 2 points or more, with adjusted p <= 0.05.

    A relation without facts is never forgotten and takes no part in the family.
    """
    tests = [(r.relation, layer) for r in relations if r.n for layer in r.layers]
    if len(set(tests)) != len(tests):
        raise ValueError("a relation is given twice, expected one entry per relation")
    by_name = {r.relation: r for r in relations}
    counts = [by_name[name].layers[layer] for name, layer in tests]
    p_values = mcnemar_exact_many([c.first_only for c in counts], [c.second_only for c in counts])
    adjusted = dict(zip(tests, benjamini_hochberg(p_values).tolist(), strict=True))
    return [_judge(r, adjusted, len(tests)) for r in relations]


def unpaired_p(hits_1: int, hits_2: int, n: int) -> float | None:
    """Two-sided p-value of Student's unpaired t-test with pooled variance on two layers' hits (0 or 1) on n facts each.

    None if the test is undefined: fewer than two facts, or no layer varies and both know the same.
    """
    if not 0 <= min(hits_1, hits_2) <= max(hits_1, hits_2) <= n:
        raise ValueError(f"{hits_1} and {hits_2} of {n} facts are known, expected 0 to {n}")
    if n < 2:
        return None
    spread = [math.sqrt(hits * (n - hits) / (n * (n - 1))) for hits in (hits_1, hits_2)]
    if not any(spread):
        return None if hits_1 == hits_2 else 0.0
    return float(
        scipy.stats.ttest_ind_from_stats(hits_1 / n, spread[0], n, hits_2 / n, spread[1], n, equal_var=True).pvalue
    )


def doubles(last_hits: int, best_inner_hits: int) -> bool:
    """Whether the last layer knows at least twice what the best inner layer does, and that at least one fact.

    The authors' code; their text says "about double". Both counts are of the same facts.
    """
    return best_inner_hits > 0 and last_hits >= 2 * best_inner_hits


def share_forgotten(definition: str, forgotten: int, relations: int, probe_set: str) -> float | None:
    """Share of relations that are forgotten; None without relations.

    Under ``authors`` the count is divided as in their code, by one more than there are: by 42 on T-REx, whichever of
    its relations are left. Only so is it comparable with the published cells, which are all k / 42.
    """
    if definition not in DEFINITIONS:
        raise ValueError(f"definition is {definition!r}, expected one of {DEFINITIONS}")
    if not relations:
        return None
    if definition != "authors":
        return forgotten / relations
    return forgotten / (AUTHORS_KEYS if probe_set == "trex" else relations + 1)


def _inner_hits(counts: PairedCounts) -> int:
    return counts.both + counts.first_only


def _judge(relation: RelationLayers, adjusted: Mapping[tuple[str, int], float], family_size: int) -> Forgetting:
    n, last, best, layer = relation.n, relation.last_hits, relation.best_hits, relation.best_layer
    if not n or layer is None:
        return Forgetting(
            relation.relation, n, last / n if n else None, None, None, False, False, False, None, None, family_size
        )
    p_authors = unpaired_p(best, last, n)
    above = {
        inner: _inner_hits(counts) - last for inner, counts in relation.layers.items() if _inner_hits(counts) > last
    }
    p_above = {inner: adjusted[relation.relation, inner] for inner in above}
    # 0.12 - 0.10 is below 0.02 in floating point, so facts are compared, with a small tolerance.
    strict = any(drop >= MIN_DROP * n - 1e-9 and p_above[inner] <= SIGNIFICANT for inner, drop in above.items())
    return Forgetting(
        relation.relation,
        n,
        last / n,
        best / n,
        layer,
        caption=bool(above),
        authors=bool(above) and p_authors is not None and p_authors <= SIGNIFICANT,
        strict=strict,
        p_authors=p_authors,
        p_strict=min(p_above.values(), default=None),
        family_size=family_size,
    )


#: Known by both, by the fine-tuned model only, by its base only, by neither.
PARTS = ("kept", "gained", "lost", "never")
#: Where a lost fact is now; the first that holds.
FATES = ("still_inside", "moved", "suppressed", "displaced", "not_read")
#: Part or fate -> its words, if they differ. A head that does not read a fact does not show that the model no longer
#: holds it.
_WORDS = {
    "still_inside": "still first at an inner layer, as in the base",
    "moved": "moved to an inner layer",
    "suppressed": "among the first 100 at the last layer",
    "displaced": "among the first 100 at an inner layer only",
    "not_read": "at no layer among the first 100",
}
#: Up to this rank a lost fact still counts as near.
NEAR = 100


@dataclass(frozen=True)
class Transitions:
    """Facts that two models were both asked, by outcome: four parts, and five fates, which are together ``lost``."""

    kept: int
    gained: int
    lost: int
    never: int
    still_inside: int
    moved: int
    suppressed: int
    displaced: int
    not_read: int

    def __post_init__(self) -> None:
        if sum(getattr(self, fate) for fate in FATES) != self.lost:
            raise ValueError(f"the fates of {self} do not add up to lost")

    @property
    def n(self) -> int:
        """Number of facts that both were asked."""
        return self.kept + self.gained + self.lost + self.never

    @property
    def difference(self) -> Difference:
        """Share that the fine-tuned model knows minus the base's, with its interval and exact McNemar's p-value."""
        return paired_difference(PairedCounts(self.kept, self.gained, self.lost, self.never))


def part_of(base_rank: int, rank: int, k: int) -> str:
    """The outcome of a fact, by its ranks at the last layer of base and fine-tuned model."""
    if base_rank <= k:
        return "kept" if rank <= k else "lost"
    return "gained" if rank <= k else "never"


def fate_of(base_ranks: Sequence[int], ranks: Sequence[int]) -> str:
    """Where a lost fact is in the fine-tuned model, from both models' ranks at layers 0 to L, of which 0 is not read.

    The first that holds: ``still_inside``: rank 1 at an inner layer 1..L-1 at which the base has rank 1, too;
    ``moved``: at another inner layer; ``suppressed``: rank <= 100 at the last; ``displaced``: rank <= 100 at some inner
    layer only; ``not_read``: no head among the layers reads it.
    """
    if first_known_by_both(base_ranks, ranks):
        return "still_inside"
    inner = ranks[1:-1]
    if any(rank == 1 for rank in inner):
        return "moved"
    if ranks[-1] <= NEAR:
        return "suppressed"
    return "displaced" if any(rank <= NEAR for rank in inner) else "not_read"


def outcome_words(outcome: str) -> str:
    """A part or a fate for readers."""
    return _WORDS.get(outcome, outcome)


def first_known_by_both(base_ranks: Sequence[int], ranks: Sequence[int]) -> int | None:
    """The first inner layer at which base and fine-tuned model both have rank 1, layers being paired by number."""
    pairs = enumerate(zip(base_ranks[1:-1], ranks[1:-1], strict=False), start=1)
    return next((layer for layer, (base_rank, rank) in pairs if base_rank == rank == 1), None)


def layers_to_recover(ranks: Sequence[int], k: int = 1) -> int | None:
    """The smallest number of replaced layers at which a lost answer is back; it may be lost again at a larger one.

    ``ranks`` are the answer's at the last layer with n = 0, 1, ... layers replaced. None if it was not lost (rank <= k
    at n = 0) or does not return.
    """
    if any(rank < 1 for rank in ranks):
        raise ValueError(f"got ranks {list(ranks)}, expected whole numbers from 1")
    if not ranks or ranks[0] <= k:
        return None
    return next((n for n, rank in enumerate(ranks) if rank <= k), None)
