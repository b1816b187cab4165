"""Of several runs of one model the one that reports are made from."""

from collections.abc import Hashable, Sequence

import pandas as pd


def whole_runs(runs: pd.DataFrame, by: Sequence[str], has: Sequence[frozenset[Hashable]]) -> pd.DataFrame:
    """One run each: the newest, or an older one that has all that the newest has, and more.

    So a later try with fewer probes or without perplexity does not hide what was computed before.

    Args:
        runs: the newest first.
        by: columns; runs that are equal in them are of one kind.
        has: of each run what it has, and what that was computed from.
    """
    chosen: dict[Hashable, int] = {}
    for place, key in enumerate(runs[list(by)].itertuples(index=False, name=None)):
        if key not in chosen or has[place] > has[chosen[key]]:
            chosen[key] = place
    return runs.iloc[sorted(chosen.values())].reset_index(drop=True)
