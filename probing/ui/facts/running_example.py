"""The running example of the paper: where Rocky Balboa was born."""

import pandas as pd

from probing.store.knowledge.fact_queries import search_facts
from probing.ui.frame.page import View

ROCKY = "Rocky Balboa was born in [MASK]."


def rocky(view: View) -> pd.Series | None:
    """The running example's row in a stored run of the chosen model: born in Philadelphia; None if it was not probed."""
    if view.database is None:
        return None
    runs = view.runs[(view.runs["model"] == view.chosen.model) & (view.runs["head"] == view.chosen.head)]
    for run in runs.itertuples():
        found = view.read(search_facts, run.run_id, text="Rocky Balboa Philadelphia", limit=5)
        if len(found):
            return found.iloc[0]
    return None
