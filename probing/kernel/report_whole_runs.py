"""Selects the run of a model that reports use."""

from collections.abc import Hashable, Sequence

import pandas as pd


def whole_runs(runs: pd.DataFrame, by: Sequence[str], has: Sequence[frozenset[Hashable]]) -> pd.DataFrame:
    """One run per group of equal ``by``: the newest, or an older one that has everything the newest has, and more.

    So a later, smaller run, such as one with fewer probes or without perplexity, does not hide earlier results. ``has``
    lists, per run, its contents and the data that they were computed from; ``runs`` are the newest first.
    """
    chosen: dict[Hashable, int] = {}
    for place, key in enumerate(runs[list(by)].itertuples(index=False, name=None)):
        if key not in chosen or has[place] > has[chosen[key]]:
            chosen[key] = place
    return runs.iloc[sorted(chosen.values())].reset_index(drop=True)
