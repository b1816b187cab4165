"""The running example of the paper: where Rocky Balboa was born."""

import pandas as pd

from probing.store.knowledge.fact_queries import search_facts
from probing.ui.frame.page import View

ROCKY = "Rocky Balboa was born in [MASK]."


def rocky(view: View, runs: pd.DataFrame | None = None) -> pd.Series | None:
    """The row of the running example in a stored run, with the answer Philadelphia; None if it was not probed.

    Args:
        view: the page.
        runs: the runs to search; by default those of the chosen model and head.

    Returns:
        The columns of ``fact_queries.search_facts`` and ``run_id``.
    """
    if view.database is None:
        return None
    if runs is None:
        runs = view.runs[(view.runs["model"] == view.chosen.model) & (view.runs["head"] == view.chosen.head)]
    for run in runs.itertuples():
        facts = view.read(search_facts, run.run_id, text="Rocky Balboa Philadelphia", limit=5)
        if len(facts):
            return pd.concat([facts.iloc[0], pd.Series({"run_id": run.run_id})])
    return None
