"""What fine-tuning kept, gained and lost of the facts that two models were asked, and the fates of the lost ones.

Ours, after the fate of single facts in BERTnesia (Wallat et al. 2020), which compares means only.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from probing.kernel.stats.paired_tests import Difference, PairedCounts, paired_difference

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
