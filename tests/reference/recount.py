"""The counts of ``by_layer``'s tables, made from the predictions themselves: slow, and what the fast way is measured against."""

from collections.abc import Sequence

import pandas as pd

from probing.store.database import Database


def aggregate_of_rows(db: Database, run_ids: Sequence[str], seconds: float = 600.0) -> pd.DataFrame:
    """As ``queries.aggregate`` of all facts, from every prediction of the runs.

    Args:
        db: the database.
        run_ids: ids of the runs.
        seconds: after which the query is interrupted.
    """
    return db.query(
        """
        SELECT p.run_id, p.layer, f.relation, count(*) AS n,
            count(*) FILTER (p.gold_rank <= 1) AS hits_1,
            count(*) FILTER (p.gold_rank <= 10) AS hits_10,
            count(*) FILTER (p.gold_rank <= 100) AS hits_100,
            sum(1.0::DOUBLE / p.gold_rank) AS sum_reciprocal_rank,
            sum(1.0::DOUBLE / (p.gold_rank::DOUBLE * p.gold_rank)) AS sum_squared_reciprocal_rank,
            count(*) FILTER (p.answer_rank = 1) AS answer_hits_1,
            sum(1.0::DOUBLE / p.answer_rank) AS sum_answer_reciprocal_rank,
            count(p.other_rank) AS other_n,
            count(*) FILTER (p.other_rank IS NOT NULL AND p.gold_rank <= 1) AS own_1,
            count(*) FILTER (p.other_rank IS NOT NULL AND p.gold_rank <= 10) AS own_10,
            count(*) FILTER (p.other_rank IS NOT NULL AND p.gold_rank <= 100) AS own_100,
            count(*) FILTER (p.other_rank <= 1) AS other_1,
            count(*) FILTER (p.other_rank <= 10) AS other_10,
            count(*) FILTER (p.other_rank <= 100) AS other_100,
            count(*) FILTER (p.other_rank <= 1 AND p.gold_rank <= 1) AS own_other_1,
            count(*) FILTER (p.other_rank <= 10 AND p.gold_rank <= 10) AS own_other_10,
            count(*) FILTER (p.other_rank <= 100 AND p.gold_rank <= 100) AS own_other_100
        FROM predictions p JOIN facts f ON f.fact_id = p.fact_id
        WHERE p.run_id IN (SELECT unnest($run_ids::VARCHAR[]))
        GROUP BY p.run_id, p.layer, f.relation ORDER BY p.run_id, p.layer, f.relation
        """,
        {"run_ids": list(run_ids)},
        seconds,
    )


def total_of_rows(db: Database, run_ids: Sequence[str], seconds: float = 600.0) -> pd.DataFrame:
    """As ``queries.totals`` of all facts, from every prediction of the runs."""
    return db.query(
        """
        WITH best AS (
            SELECT p.run_id, p.fact_id, min(p.gold_rank) FILTER (p.layer = r.layers - 1) AS last_rank,
                min(p.gold_rank) FILTER (p.layer >= 1) AS best_rank
            FROM predictions p JOIN fact_runs r ON r.run_id = p.run_id
            WHERE p.run_id IN (SELECT unnest($run_ids::VARCHAR[])) GROUP BY p.run_id, p.fact_id
        )
        SELECT b.run_id, f.relation, count(*) AS n,
            count(*) FILTER (last_rank <= 1) AS last_1,
            count(*) FILTER (last_rank <= 10) AS last_10,
            count(*) FILTER (last_rank <= 100) AS last_100,
            count(*) FILTER (best_rank <= 1) AS any_1,
            count(*) FILTER (best_rank <= 10) AS any_10,
            count(*) FILTER (best_rank <= 100) AS any_100
        FROM best b JOIN facts f ON f.fact_id = b.fact_id
        GROUP BY b.run_id, f.relation ORDER BY b.run_id, f.relation
        """,
        {"run_ids": list(run_ids)},
        seconds,
    )
