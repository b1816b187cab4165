"""Sentences that the captions of several figures share."""

import pandas as pd


def swapped_words(points: pd.DataFrame, line: str = "run_id") -> str:
    """What the dotted lines are, how many facts have one, and where there is none.

    Args:
        points: columns ``n, swapped_n`` of ``reports.knowledge.precision`` beside the one that tells the lines apart.
        line: name of that column.
    """
    measured = points[points["swapped_n"].notna()]
    if measured.empty:
        return "Swapped subject: not measured here."
    sizes = measured.groupby(line, sort=False)[["n", "swapped_n"]].max().drop_duplicates()
    has = ", ".join(f"{int(with_one):,} of {int(n):,}" for n, with_one in sizes.itertuples(index=False))
    words = (
        "Dotted: the swapped subject, the same facts asked about another subject of the relation that does not have the answer; what "
        f"lies above it comes from the subject. {has} facts have such a subject; the dotted lines count only these."
    )
    missing = points[line].nunique() - measured[line].nunique()
    return f"{words} Not measured for {missing} of the curves." if missing else words
