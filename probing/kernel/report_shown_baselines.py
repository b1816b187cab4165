"""The baselines of a table that may be shown next to its values."""

import pandas as pd

from probing.kernel.stats.intervals_baselines import may_be_shown

#: Columns of reports that hold what the answers of the facts alone give, or a difference to it.
COLUMNS = tuple(
    f"{prefix}{name}{end}"
    for prefix in ("", "base_")
    for name in ("majority", "chance", "above_majority")
    for end in ("", "_low", "_high", "_low_answers", "_high_answers")
)


def shown_baselines(table: pd.DataFrame) -> pd.DataFrame:
    """The table for figures and sentences: baselines from too few facts are empty. The numbers of ``report --json``
    keep them.

    A table without the column ``n``, or any of ``COLUMNS``, is returned unchanged.
    """
    there = [name for name in COLUMNS if name in table]
    if "n" not in table or not there:
        return table
    enough = table["n"].map(may_be_shown)
    return table if enough.all() else table.assign(**{name: table[name].where(enough) for name in there})
