"""Does a lost answer return when layers of a fine-tuned model are replaced by the base's, one more each time?"""

from collections.abc import Sequence


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
