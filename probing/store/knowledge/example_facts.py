"""Stored facts that show a newcomer what the layers do: found by rule, beyond what a guess would give."""

import pandas as pd

from probing.store.database import Database
from probing.store.knowledge.fact_queries import whole_numbers

#: Three sentences of this length fit beside each other, and each on a line of a telephone.
_SHORT = 34


def example_facts(db: Database, run_id: str, limit: int = 3) -> pd.DataFrame:
    """Facts whose layers tell a story, of different relations, the best example of each kind first.

    ``late`` facts are right at the last layer, ``lost`` ones at inner layers only. Of both kinds those come first that no guess
    explains: the answer is not the commonest of its relation, and is not given for the swapped subject. Then come those that are
    right from an inner layer of the upper half on without a break (``late``) or at two layers at least (``lost``), then short
    sentences, then those of which the model is surest.

    Args:
        db: the database.
        run_id: the run.
        limit: how many of each kind.

    Returns:
        kind, place (from 1), fact_id.
    """
    return db.query(
        f"""
        WITH answers AS (
            SELECT k.relation, f.object, row_number() OVER (PARTITION BY k.relation ORDER BY count(*) DESC, f.object) AS place
            FROM known k JOIN facts f ON f.fact_id = k.fact_id
            WHERE k.run_id = $run_id GROUP BY k.relation, f.object
        ), sure AS (
            SELECT k.fact_id, k.relation, f.prompt, k.last_rank = 1 AS kept,
                f.object <> a.object AS uncommon, bool_and(coalesce(p.other_rank > 1, false)) AS of_subject,
                CASE WHEN k.last_rank = 1
                    THEN 2 * k.first_layer >= r.layers AND k.first_layer < r.layers - 1 AND k.layers_known = r.layers - k.first_layer
                    ELSE k.layers_known >= 2 END AS clear,
                max(p.gold_logp) AS gold_logp
            FROM known k
            JOIN fact_runs r ON r.run_id = k.run_id
            JOIN facts f ON f.fact_id = k.fact_id
            JOIN answers a ON a.relation = k.relation AND a.place = 1
            JOIN predictions p ON p.run_id = k.run_id AND p.fact_id = k.fact_id
            WHERE k.run_id = $run_id AND k.layers_known > 0 AND NOT k.answer_in_subject
                AND p.layer >= 1 AND p.gold_rank = 1 AND (k.last_rank > 1 OR p.layer = r.layers - 1)
            GROUP BY ALL
        ), best AS (
            SELECT *, uncommon AND of_subject AS beyond, row_number() OVER (
                PARTITION BY kept, relation
                ORDER BY uncommon AND of_subject DESC, clear DESC, length(prompt) <= {_SHORT} DESC, gold_logp DESC, fact_id
            ) AS of_relation FROM sure
        ), placed AS (
            SELECT kept, fact_id, row_number() OVER (
                PARTITION BY kept ORDER BY of_relation, beyond DESC, clear DESC, length(prompt) <= {_SHORT} DESC, gold_logp DESC, fact_id
            ) AS place FROM best
        )
        SELECT CASE WHEN kept THEN 'late' ELSE 'lost' END AS kind, CAST(place AS INTEGER) AS place, fact_id
        FROM placed WHERE place <= $limit ORDER BY kind, place
        """,
        {"run_id": run_id, "limit": int(limit)},
    )


def commonest_answer(db: Database, run_id: str, fact_id: str) -> pd.DataFrame:
    """What a guess would say of a fact: the most frequent answer of its relation among the facts of the run.

    Returns:
        object, n (facts of the relation that have it), of (facts of the relation), answers (different ones); no row if the run was
        not asked the fact.
    """
    return whole_numbers(
        db.query(
            """
            SELECT f.object, count(*) AS n, CAST(sum(count(*)) OVER () AS BIGINT) AS of, count(*) OVER () AS answers
            FROM known k JOIN facts f ON f.fact_id = k.fact_id
            WHERE k.run_id = $run_id AND k.relation = (SELECT relation FROM known WHERE run_id = $run_id AND fact_id = $fact_id)
            GROUP BY f.object ORDER BY count(*) DESC, f.object LIMIT 1
            """,
            {"run_id": run_id, "fact_id": fact_id},
        )
    )
