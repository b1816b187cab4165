"""Two runs on the same facts, counted in one query."""

from collections.abc import Sequence

import pandas as pd

from probing.store.database import Database
from probing.store.scope import KEPT, filters


def paired_layers(
    db: Database,
    first: str,
    second: str,
    k: int,
    exposures: Sequence[str] | None = None,
    answer_in_subject: bool | None = None,
    *,
    by_relation: bool = False,
) -> pd.DataFrame:
    """How many of the facts that two runs share each, both or neither knows, at every layer that both have.

    Args:
        db: the database.
        first, second: ids of the runs.
        k: the rank up to which a fact counts as known.
        exposures, answer_in_subject: filters, read from the second run; None keeps all.
        by_relation: whether relations are counted apart.

    Returns:
        layer, relation (if counted apart), n, both, first_only, second_only, neither; no row if the runs share no fact.
    """
    groups = "a.layer, k.relation" if by_relation else "a.layer"
    return db.query(
        f"""
        SELECT {groups}, count(*) AS n,
            count(*) FILTER (a.gold_rank <= $k AND b.gold_rank <= $k) AS both,
            count(*) FILTER (a.gold_rank <= $k AND b.gold_rank > $k) AS first_only,
            count(*) FILTER (a.gold_rank > $k AND b.gold_rank <= $k) AS second_only,
            count(*) FILTER (a.gold_rank > $k AND b.gold_rank > $k) AS neither
        FROM predictions a
        JOIN predictions b ON b.fact_id = a.fact_id AND b.layer = a.layer
        JOIN known k ON k.run_id = b.run_id AND k.fact_id = b.fact_id
        WHERE a.run_id = $first AND b.run_id = $second AND {KEPT}
        GROUP BY {groups} ORDER BY {groups}
        """,
        {"first": first, "second": second, "k": int(k), **filters(exposures, answer_in_subject)},
    )


def paired_majority(
    db: Database,
    first: str,
    second: str,
    exposures: Sequence[str] | None = None,
    answer_in_subject: bool | None = None,
    *,
    known: int | None = None,
) -> tuple[int, int]:
    """How many facts two runs share, and how many of them have the most frequent answer of their relation.

    The most frequent answer is that of all facts of the second run and relation, whatever is filtered, as in the table ``majority``.
    With ``known`` only the facts count that have at most this rank at the first run's last layer.
    """
    found = db.query(
        f"""
        WITH answers AS (
            SELECT k.relation AS asked, f.object, row_number() OVER (PARTITION BY k.relation ORDER BY count(*) DESC, f.object) AS place
            FROM known k JOIN facts f ON f.fact_id = k.fact_id WHERE k.run_id = $second GROUP BY k.relation, f.object
        )
        SELECT count(*) AS n, count(*) FILTER (f.object = m.object) AS hits
        FROM known k
        JOIN (SELECT fact_id, object FROM facts) f ON f.fact_id = k.fact_id
        JOIN answers m ON m.asked = k.relation AND m.place = 1
        WHERE k.run_id = $second AND k.fact_id IN (
            SELECT fact_id FROM known WHERE run_id = $first AND ($known::INTEGER IS NULL OR last_rank <= $known)
        ) AND {KEPT}
        """,
        {"first": first, "second": second, "known": known, **filters(exposures, answer_in_subject)},
    )
    return int(found["n"].iloc[0]), int(found["hits"].iloc[0])
