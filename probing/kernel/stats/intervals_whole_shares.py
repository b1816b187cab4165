"""Shares as whole numbers that add up."""

from collections.abc import Sequence


def whole_shares(sizes: Sequence[int], total: int = 100) -> list[int]:
    """Sizes as whole numbers of ``total``: rounded down, and the rest to the largest remainders, first come first.

    >>> whole_shares([1, 1, 1]), whole_shares([0, 0])
    ([34, 33, 33], [0, 0])
    """
    whole = sum(sizes)
    if not whole:
        return [0] * len(sizes)
    shares = [size * total // whole for size in sizes]
    remainders = sorted(range(len(sizes)), key=lambda place: -(sizes[place] * total % whole))
    for place in remainders[: total - sum(shares)]:
        shares[place] += 1
    return shares
