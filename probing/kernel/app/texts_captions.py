"""A sentence that several pages share."""

from probing.kernel.app.texts import Markdown, filled
from probing.kernel.stats.intervals_baselines import widest


def size_words(items: int, things: str, name: str = "") -> Markdown:
    """What can be said with so few ``things`` (in the plural) of a user's own set: the width of an interval.

    ``name`` is ``""`` if there is only one set.
    """
    low, high = widest(items)
    return filled(
        "**{n:,} {things}{of}.** With so many, a share of 50 % has a 95 % interval from {low:.0f} to {high:.0f} %."
        " Differences of less than {half:.0f} points are not shown by these curves; models compared on the same"
        " {things} can be distinguished somewhat better.",
        n=items,
        things=things,
        of=f" of {name}" if name else "",
        low=100 * low,
        high=100 * high,
        half=100 * (high - low) / 2,
    )
