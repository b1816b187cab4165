"""Stored measurements of what fine-tuning changed: runs, values by layer, and sums of cross-entropy."""

from collections.abc import Sequence

import pandas as pd

from probing.changes.tables import ALL_HEADS
from probing.kernel.store.database import Database


def change_runs(db: Database) -> pd.DataFrame:
    """All complete runs with the columns of their files and of their provenance, by model, the newest first."""
    return db.query("SELECT * FROM runs_of_changes ORDER BY model, created DESC NULLS LAST, run_id")


def values(db: Database, run_ids: Sequence[str], heads: bool = False) -> pd.DataFrame:
    """Measured values with the columns of ``change_values``; without ``heads`` only those of whole layers."""
    return db.query(
        f"SELECT * FROM change_values s {_OF_RUNS} AND ($heads OR s.head = {ALL_HEADS}) ORDER BY ALL",
        {"run_ids": list(run_ids), "heads": heads},
    )


def perplexity(db: Database, run_ids: Sequence[str]) -> pd.DataFrame:
    """Sums of cross-entropy with the columns of ``perplexity``."""
    return db.query(
        f"SELECT * FROM perplexity s {_OF_RUNS} ORDER BY s.run_id, s.replaced, s.n, s.embeddings",
        {"run_ids": list(run_ids)},
    )


def epochs(db: Database) -> pd.DataFrame:
    """Perplexity while models were fine-tuned, with the columns of ``epoch_perplexity``."""
    return db.query("SELECT * FROM epoch_perplexity ORDER BY model, step")


_OF_RUNS = "WHERE s.run_id IN (SELECT unnest($run_ids::VARCHAR[]))"
