"""The counts behind shares of facts."""


def hits_of(share: float, n: int) -> int:
    """Number of facts behind a share of n facts."""
    return round(share * n)
