"""Counts of predictions as rows that can be stored without them."""

import pandas as pd

from probing.store.database import Database
from probing.store.schema import SCHEMAS

#: Stored table of a run without predictions -> what it is counted from.
KEPT = {
    "swapped_counts": "swapped",
    "inner_counts": "inner_layers",
    "layer_counts": "aggregate",
    "total_counts": "total JOIN majority USING (run_id, relation, exposure, answer_in_subject, n)",
    "against_counts": "against_last",
}


def counts_of(db: Database, table: str, run_id: str) -> pd.DataFrame:
    """The rows of a table of ``KEPT`` that a run's predictions give."""
    columns = ", ".join(f'"{name}"' for name in SCHEMAS[table].names)
    return db.query(f"SELECT {columns} FROM {KEPT[table]} WHERE run_id = $run_id ORDER BY ALL", {"run_id": run_id})
