"""Sentences that the captions of several figures share."""

import pandas as pd

#: How to read a figure of ``points_lost``, with one kind of head.
LOST_WORDS = (
    "Points lost at the last layer, base minus model. Filled: minus the swapped subject, so that only what comes from the subject counts; "
    "open: all of it. Lines are 95 % intervals, for filled points joined as of independent shares (rather too wide)."
)


def swapped_words(points: pd.DataFrame, line: str = "run_id") -> str:
    """What the dotted lines are, how many facts have one, and where there is none.

    Args:
        points: columns ``n, swapped_n`` of ``reports.knowledge.precision`` beside the one that tells the lines apart.
        line: name of that column.
    """
    if points["swapped_n"].isna().all():
        return "Swapped subject: not measured here."
    words = (
        "Dotted: the swapped subject, the same facts asked about another subject of the relation that does not have the answer; what "
        f"lies above it comes from the subject. {_of_facts(points, line)} facts have such a subject; the dotted lines count only these."
    )
    return words + _not_measured(points, line)


def above_words(points: pd.DataFrame, mode: str, line: str = "run_id") -> str:
    """What a figure of differences shows, and which facts count in it.

    Args:
        points, line: as for ``swapped_words``.
        mode: ``majority`` or ``swapped``.
    """
    if mode == "majority":
        return "Points above or below the zero line: more or fewer facts than always giving the relation's most frequent answer."
    return (
        "Points above the zero line: facts that the model answers for their own subject, less those that it answers alike for another "
        f"subject of the relation that does not have the answer. Only facts that have such a subject count: {_of_facts(points, line)}."
        + _not_measured(points, line)
    )


def _of_facts(points: pd.DataFrame, line: str) -> str:
    """ "27,750 of 32,095", once for lines that are alike."""
    measured = points[points["swapped_n"].notna()]
    sizes = measured.groupby(line, sort=False)[["n", "swapped_n"]].max().drop_duplicates()
    return ", ".join(f"{int(with_one):,} of {int(n):,}" for n, with_one in sizes.itertuples(index=False))


def _not_measured(points: pd.DataFrame, line: str) -> str:
    missing = points[line].nunique() - points.loc[points["swapped_n"].notna(), line].nunique()
    return f" Not measured for {missing} of the curves." if missing else ""
