"""Sentences that the captions of several figures share."""

import pandas as pd

from probing.core.stats.baselines import widest
from probing.ui.widgets.markdown import Markdown, filled

#: How to read a figure of ``points_lost``, with one kind of head.
LOST_WORDS = (
    "Points lost at the last layer: base minus model. Open: the whole loss. Filled: minus the swapped subject, so that answers that "
    "do not depend on the subject do not count; cues in the subject's name still count. Lines are 95 % intervals over facts, of one seed "
    "per model; those of filled points treat the shares as independent, which makes them rather wide."
)


def size_words(items: int, things: str, name: str = "") -> Markdown:
    """What can be said with so few items of a user's own set: the width of an interval.

    Args:
        items: number of items.
        things: what the items are, in the plural.
        name: of the set; ``""`` if there is only one.
    """
    low, high = widest(items)
    return filled(
        "**{n:,} {things}{of}.** With so many, a share of 50 % has a 95 % interval from {low:.0f} to {high:.0f} %. Differences of less "
        "than {half:.0f} points are not shown by these curves; models compared on the same {things} can be distinguished somewhat better.",
        n=items,
        things=things,
        of=f" of {name}" if name else "",
        low=100 * low,
        high=100 * high,
        half=100 * (high - low) / 2,
    )


def majority_words(points: pd.DataFrame) -> str:
    """Explains the dashed line, with a space at the end; empty if no majority answer is drawn.

    Args:
        points: column ``majority``.
    """
    return "Grey, dashed: always giving the relation's most frequent answer. " if points["majority"].notna().any() else ""


def swapped_words(points: pd.DataFrame, line: str = "run_id") -> str:
    """Explains the dotted lines: their definition, how many facts have a swapped subject, and which curves have none.

    Args:
        points: columns ``n, swapped_n`` of ``reports.knowledge.precision``, and the column that distinguishes the lines.
        line: name of that column.
    """
    if points["swapped_n"].isna().all():
        return "Swapped subject: not measured here."
    words = (
        "Dotted: the swapped subject, that is, the same facts asked about another subject of the relation that does not have the answer. "
        f"Only a value above it comes from the subject. {_of_facts(points, line)} facts have such a subject; the dotted lines count only "
        "these."
    )
    return words + _not_measured(points, line)


def _of_facts(points: pd.DataFrame, line: str) -> str:
    """ "27,750 of 32,095"; equal lines are listed once."""
    measured = points[points["swapped_n"].notna()]
    sizes = measured.groupby(line, sort=False)[["n", "swapped_n"]].max().drop_duplicates()
    return ", ".join(f"{int(with_one):,} of {int(n):,}" for n, with_one in sizes.itertuples(index=False))


def _not_measured(points: pd.DataFrame, line: str) -> str:
    missing = points[line].nunique() - points.loc[points["swapped_n"].notna(), line].nunique()
    return f" Not measured for {missing} of the curves." if missing else ""
