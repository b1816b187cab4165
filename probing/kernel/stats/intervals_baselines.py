"""What a number of items allows to be said: whether a baseline may be shown, and how wide an interval is."""

from probing.kernel.stats.intervals import wilson_mean

#: A baseline comes from at least this number of facts of a probe set or relation. The most frequent answer of two facts
#: is right for one of them at least, and that of ten for one in ten, whatever the facts are; from 50 facts on, this
#: part is 2 per cent at most.
MIN_FACTS = 50


def may_be_shown(facts: float) -> bool:
    """Whether a baseline counted on this number of facts may be shown; not if the number is missing (NaN)."""
    return facts >= MIN_FACTS


#: A user's own set of fewer items has intervals that are too wide for most differences between layers or models: its
#: page states the width.
SMALL_SET = 1000


def widest(items: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share of one half of so many items: no other share has a wider one."""
    return wilson_mean(0.5, items)
