"""Queries about runs on whether the model goes by what its layers show."""

from collections.abc import Sequence

import pandas as pd

from probing.kernel.store.database import Database


def carried_runs(db: Database) -> pd.DataFrame:
    """All complete runs with the columns of their files and of their provenance, by model, the newest first."""
    return db.query("SELECT * FROM runs_of_carried ORDER BY model, created DESC NULLS LAST, run_id")


def carried_facts(db: Database, run_ids: Sequence[str]) -> pd.DataFrame:
    """Every fact of some runs at every layer, with the columns of the two tables."""
    return db.query(
        """
        SELECT f.*, k.* EXCLUDE (run_id, fact_id) FROM carried_facts f JOIN carried_layers k USING (run_id, fact_id)
        WHERE f.run_id IN (SELECT unnest($run_ids::VARCHAR[])) ORDER BY f.run_id, f.fact_id, k.layer
        """,
        {"run_ids": list(run_ids)},
    )


def lost_facts(db: Database, runs: pd.DataFrame) -> pd.DataFrame:
    """By run and layer: ``lost`` facts that only the base answers at its last layer, ``read`` of these at this layer,
    ``measured`` of those in the run's sample, and ``carried``, of which the state alone brings the right answer.

    ``runs``: ``run_id``, ``layers``, and the runs on facts of the fine-tuned model (``tuned``) and its base
    (``base_run_id``).
    """
    return db.query(
        """
        WITH paired AS (
            SELECT unnest($run_ids::VARCHAR[]) AS run_id, unnest($tuned::VARCHAR[]) AS tuned,
                unnest($bases::VARCHAR[]) AS base, unnest($layers::BIGINT[]) - 1 AS last
        ),
        lost AS (
            SELECT p.run_id, p.tuned, own.fact_id
            FROM paired p
            JOIN predictions own ON own.run_id = p.tuned AND own.layer = p.last AND own.gold_rank > 1
            JOIN predictions theirs ON theirs.run_id = p.base AND theirs.fact_id = own.fact_id
                AND theirs.layer = p.last AND theirs.gold_rank = 1
        )
        SELECT l.run_id, k.layer::BIGINT AS layer, count(*) AS lost, count(*) FILTER (k.gold_rank = 1) AS read,
            count(m.alone) FILTER (k.gold_rank = 1) AS measured,
            count(*) FILTER (k.gold_rank = 1 AND m.alone) AS carried
        FROM lost l
        JOIN predictions k ON k.run_id = l.tuned AND k.fact_id = l.fact_id
        LEFT JOIN carried_layers m ON m.run_id = l.run_id AND m.fact_id = l.fact_id AND m.layer = k.layer
        GROUP BY l.run_id, k.layer ORDER BY l.run_id, k.layer
        """,
        {
            "run_ids": list(runs["run_id"]),
            "tuned": list(runs["tuned"]),
            "bases": list(runs["base_run_id"]),
            "layers": list(runs["layers"]),
        },
    )
