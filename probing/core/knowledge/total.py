"""Total knowledge, and the share of it that only inner layers hold."""

from collections.abc import Sequence
from dataclasses import dataclass

from probing.core.stats.intervals import AVERAGES, Estimate, RelationCounts, macro, micro


@dataclass(frozen=True)
class KnowledgeCounts:
    """Facts of one relation with rank <= k.

    Attributes:
        relation: relation name.
        n: number of facts.
        last: facts with rank <= k at the last layer.
        any: facts with rank <= k at any layer 1..L; at least ``last``, as the last layer is one of them.
    """

    relation: str
    n: int
    last: int
    any: int

    def __post_init__(self) -> None:
        if not 0 <= self.last <= self.any <= self.n:
            raise ValueError(
                f"relation {self.relation!r} counts last {self.last}, any {self.any}, n {self.n}; expected 0 <= last <="
                " any <= n"
            )


@dataclass(frozen=True)
class Knowledge:
    """Knowledge of a set of relations at one k.

    Attributes:
        last: share of facts known at the last layer.
        total: share of facts known at any layer 1..L.
        intermediate_share: (total - last) / total; None if nothing is known, or there are no facts.
        average: ``macro`` or ``micro``.
    """

    last: Estimate
    total: Estimate
    intermediate_share: float | None
    average: str


def intermediate_share(total: float | None, last: float | None) -> float | None:
    """(total - last) / total, in [0, 1]: the part of the knowledge found that the last layer lacks.

    A union over L noisy read-outs grows by chance alone, so this share is an upper bound unless it is compared with a
    union over re-trained heads of the last layer. None if total is None or 0.

    Raises:
        ValueError: if the shares are not 0 <= last <= total <= 1.
    """
    if total is None or last is None:
        return None
    # Means of the same shares in another order may differ in the last bit.
    if not 0 <= last <= total + 1e-12 <= 1 + 2e-12:
        raise ValueError(f"total is {total}, last is {last}; expected 0 <= last <= total <= 1")
    return max(total - last, 0.0) / total if total else None


def knowledge(counts: Sequence[KnowledgeCounts], average: str = "macro", seed: int = 0) -> Knowledge:
    """Last-layer and total knowledge with their intervals, and the intermediate share of the two.

    Args:
        counts: one entry per relation.
        average: ``macro`` (mean over relations) or ``micro`` (over facts).
        seed: of the bootstrap draws of ``macro``.

    Raises:
        ValueError: if the average is neither.
    """
    if average not in AVERAGES:
        raise ValueError(f"average is {average!r}, expected one of {AVERAGES}")

    def estimate(pairs: list[RelationCounts]) -> Estimate:
        return macro(pairs, seed=seed) if average == "macro" else micro(pairs)

    last = estimate([RelationCounts(c.relation, c.n, c.last) for c in counts])
    total = estimate([RelationCounts(c.relation, c.n, c.any) for c in counts])
    return Knowledge(last, total, intermediate_share(total.value, last.value), average)
