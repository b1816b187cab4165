"""Total knowledge, and the share of it that only inner layers hold."""

from collections.abc import Sequence
from dataclasses import dataclass

from probing.kernel.stats.intervals import AVERAGES, Estimate, RelationCounts, macro, micro


@dataclass(frozen=True)
class KnowledgeCounts:
    """Facts of one relation with rank <= k, at the last layer and at any layer 1..L (the last is one of them)."""

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
    """Knowledge of a set of relations at one k; the intermediate share is None if nothing is known."""

    last: Estimate
    total: Estimate
    intermediate_share: float | None
    average: str


def intermediate_share(total: float | None, last: float | None) -> float | None:
    """(total - last) / total, in [0, 1]: the part of the knowledge found that the last layer lacks; None of 0 or None.

    A union over L noisy read-outs grows by chance alone, so this share is an upper bound unless it is compared with a
    union over re-trained heads of the last layer.
    """
    if total is None or last is None:
        return None
    # Means of the same shares in another order may differ in the last bit.
    if not 0 <= last <= total + 1e-12 <= 1 + 2e-12:
        raise ValueError(f"total is {total}, last is {last}; expected 0 <= last <= total <= 1")
    return max(total - last, 0.0) / total if total else None


def knowledge(counts: Sequence[KnowledgeCounts], average: str = "macro", seed: int = 0) -> Knowledge:
    """Last-layer and total knowledge with their intervals; ``seed`` is of the draws of ``macro``."""
    if average not in AVERAGES:
        raise ValueError(f"average is {average!r}, expected one of {AVERAGES}")

    def estimate(pairs: list[RelationCounts]) -> Estimate:
        return macro(pairs, seed=seed) if average == "macro" else micro(pairs)

    last = estimate([RelationCounts(c.relation, c.n, c.last) for c in counts])
    total = estimate([RelationCounts(c.relation, c.n, c.any) for c in counts])
    return Knowledge(last, total, intermediate_share(total.value, last.value), average)
