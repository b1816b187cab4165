"""Shares of facts, and the counts behind them."""


def hits_of(share: float, n: int) -> int:
    """Number of facts behind a share of n facts."""
    return round(share * n)


def lost_share(kept: int, lost: int) -> float | None:
    """Share that a fine-tuned model lost of what its base knows; None if the base knows nothing."""
    return lost / (kept + lost) if kept + lost else None
