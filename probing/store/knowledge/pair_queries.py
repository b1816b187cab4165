"""Two runs on the same facts, counted in one go."""

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
        layer, relation (if counted apart), n, both, first_only, second_only, neither; no row where the runs share no fact.
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
