"""Stored series: runs, steps, counts, and the ranks of single facts."""

from collections.abc import Sequence

import pandas as pd

from probing.kernel.store.database import Database

_OF_RUNS = "WHERE s.run_id IN (SELECT unnest($run_ids::VARCHAR[]))"
_SUMS = ", ".join(
    f"sum(s.{name})::BIGINT AS {name}"
    for name in (
        "asked",
        "known",
        "kept",
        "lost",
        "returned",
        "gained",
        "paired",
        "own",
        "swapped",
        "before_paired",
        "before_own",
        "before_swapped",
    )
)


def series_runs(db: Database) -> pd.DataFrame:
    """All complete series with the columns of their files and of their provenance, by model, the newest first."""
    return db.query("SELECT * FROM runs_of_series ORDER BY model, created DESC NULLS LAST, run_id")


def series_steps(db: Database, run_ids: Sequence[str]) -> pd.DataFrame:
    """Losses, scores and asked states, with the columns of ``series_steps``."""
    return db.query(f"SELECT s.* FROM series_steps s {_OF_RUNS} ORDER BY s.run_id, s.step", {"run_ids": list(run_ids)})


def series_counts(db: Database, run_ids: Sequence[str], k: int, by_relation: bool = False) -> pd.DataFrame:
    """Counts at k: run_id, step, layer, with ``by_relation`` the relation, and the columns of ``series_counts``."""
    by = "s.run_id, s.step, s.layer" + (", s.relation" if by_relation else "")
    return db.query(
        f"SELECT {by}, {_SUMS} FROM series_counts s {_OF_RUNS} AND s.k = $k GROUP BY {by} ORDER BY {by}",
        {"run_ids": list(run_ids), "k": k},
    )


def series_facts(db: Database, run_ids: Sequence[str]) -> pd.DataFrame:
    """run_id, fact_id and buckets of the stored facts; their texts are empty if no run on facts has them."""
    return db.query(
        f"""SELECT s.run_id, s.fact_id, s.buckets, f.relation, f.subject, f.object, f.prompt
            FROM series_facts s LEFT JOIN (SELECT DISTINCT ON (fact_id) * FROM facts ORDER BY fact_id, prompt) f USING
                (fact_id)
            {_OF_RUNS} ORDER BY s.run_id, s.fact_id""",
        {"run_ids": list(run_ids)},
    )
