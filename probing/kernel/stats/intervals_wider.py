"""The wider of two intervals, for sentences that compare layers, models or yardsticks."""

import pandas as pd


def wider(table: pd.DataFrame) -> pd.DataFrame:
    """The table with the outer ends of both intervals as low and high; where ``_answers`` are empty, ends stay."""
    ends = {}
    for name in (name for name in table if str(name).endswith(("low_answers", "high_answers"))):
        end = str(name).removesuffix("_answers")
        both = table[[end, name]].astype("float64")
        ends[end] = both.min(axis=1) if end.endswith("low") else both.max(axis=1)
    return table.assign(**ends)
