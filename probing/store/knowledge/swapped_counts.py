"""Counts of predictions as rows that can be stored apart from them."""

import pandas as pd

from probing.store.database import Database
from probing.store.schema import SCHEMAS

#: Stored table -> the derived one with the same columns: what a compact run lacks, and
DERIVED = {"swapped_counts": "swapped", "inner_counts": "inner_layers"}
#: what is kept of a run without its predictions.
KEPT_ALONE = DERIVED | {
    "layer_counts": "aggregate",
    "total_counts": "total JOIN majority USING (run_id, relation, exposure, answer_in_subject, n)",
    "against_counts": "against_last",
}


def counts_of(db: Database, table: str, run_id: str) -> pd.DataFrame:
    """The rows of a table of ``KEPT_ALONE`` that a run's predictions give."""
    columns = ", ".join(f'"{name}"' for name in SCHEMAS[table].names)
    return db.query(f"SELECT {columns} FROM {KEPT_ALONE[table]} WHERE run_id = $run_id ORDER BY ALL", {"run_id": run_id})


def runs_with_swapped_ranks(db: Database) -> set[str]:
    """Ids of the runs whose predictions have ranks with the swapped subject."""
    return set(db.query("SELECT DISTINCT run_id FROM predictions WHERE other_rank IS NOT NULL")["run_id"])


def differing_answers(db: Database, first: str, second: str) -> tuple[int, int]:
    """How many answers have rank <= 1, 10 or 100 in one of two runs only, and how many both runs have."""
    found = db.query(
        """
        SELECT count(*) AS n, count(*) FILTER (
            (a.gold_rank <= 1) <> (b.gold_rank <= 1) OR (a.gold_rank <= 10) <> (b.gold_rank <= 10)
            OR (a.gold_rank <= 100) <> (b.gold_rank <= 100)) AS differing
        FROM predictions a JOIN predictions b ON b.fact_id = a.fact_id AND b.layer = a.layer
        WHERE a.run_id = $first AND b.run_id = $second
        """,
        {"first": first, "second": second},
    )
    return int(found["differing"].iloc[0]), int(found["n"].iloc[0])
