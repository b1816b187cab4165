"""The number that the first page begins with."""

from probing.facts.report_layers import precision
from probing.kernel.store.database import Database


def beyond_guessing(db: Database, run_id: str, average: str = "macro") -> float:
    """The last layer's share of right answers minus that of the relation's commonest answer; NaN for too few facts."""
    rows = precision(db, (run_id,), (1,), average, last_only=True)
    return float(rows["above_majority"].iloc[0]) if len(rows) else float("nan")
