"""Two runs on the same facts, counted in one go."""

from collections.abc import Sequence

import pandas as pd

from probing.store.database import Database
from probing.store.scope import KEPT, filters


def paired_layers(
    db: Database, first: str, second: str, k: int, exposures: Sequence[str] | None = None, answer_in_subject: bool | None = None
) -> pd.DataFrame:
    """How many of the facts that two runs share each, both or neither knows, at every layer that both have.

    Args:
        db: the database.
        first, second: ids of the runs.
        k: the rank up to which a fact counts as known.
        exposures, answer_in_subject: filters, read from the second run; None keeps all.

    Returns:
        layer, n, both, first_only, second_only, neither; no row where the runs share no fact.
    """
    return db.query(
        f"""
        SELECT a.layer, count(*) AS n,
            count(*) FILTER (a.gold_rank <= $k AND b.gold_rank <= $k) AS both,
            count(*) FILTER (a.gold_rank <= $k AND b.gold_rank > $k) AS first_only,
            count(*) FILTER (a.gold_rank > $k AND b.gold_rank <= $k) AS second_only,
            count(*) FILTER (a.gold_rank > $k AND b.gold_rank > $k) AS neither
        FROM predictions a
        JOIN predictions b ON b.fact_id = a.fact_id AND b.layer = a.layer
        JOIN known k ON k.run_id = b.run_id AND k.fact_id = b.fact_id
        WHERE a.run_id = $first AND b.run_id = $second AND {KEPT}
        GROUP BY a.layer ORDER BY a.layer
        """,
        {"first": first, "second": second, "k": int(k), **filters(exposures, answer_in_subject)},
    )


def paired_yardsticks(
    db: Database, first: str, second: str, k: int, exposures: Sequence[str] | None = None, answer_in_subject: bool | None = None
) -> pd.DataFrame:
    """What the facts that two runs share give without their subject, at every layer that both have.

    The majority answer is that of all facts of the second run and relation, whatever is filtered. The other counts are of the facts that
    have a swapped subject in both runs, each fact by what it gives with its own subject and with the swapped one.

    Args:
        db, first, second, k, exposures, answer_in_subject: as for ``paired_layers``.

    Returns:
        layer, n, majority_hits; swapped_n and, for ``first`` and ``second``, ``_both, _own, _swapped, _neither``; more, less (facts for
        which the second run gains more, or less, from the subject than the first), squares (sum of the squared differences of that gain).
    """
    cells = ",\n            ".join(
        f"count(*) FILTER (paired AND {own} {run}_own AND {lent} {run}_lent) AS {run}_{name}"
        for run in ("first", "second")
        for name, own, lent in (("both", "", ""), ("own", "", "NOT"), ("swapped", "NOT", ""), ("neither", "NOT", "NOT"))
    )
    return db.query(
        f"""
        WITH answers AS (
            SELECT k.relation, f.object, row_number() OVER (PARTITION BY k.relation ORDER BY count(*) DESC, f.object) AS place
            FROM known k JOIN facts f ON f.fact_id = k.fact_id WHERE k.run_id = $second GROUP BY k.relation, f.object
        ), shared AS (
            SELECT a.layer, f.object = m.object AS by_majority, a.other_rank IS NOT NULL AND b.other_rank IS NOT NULL AS paired,
                a.gold_rank <= $k AS first_own, a.other_rank <= $k AS first_lent,
                b.gold_rank <= $k AS second_own, b.other_rank <= $k AS second_lent,
                (second_own::INTEGER - second_lent::INTEGER) - (first_own::INTEGER - first_lent::INTEGER) AS gain
            FROM predictions a
            JOIN predictions b ON b.fact_id = a.fact_id AND b.layer = a.layer
            JOIN known k ON k.run_id = b.run_id AND k.fact_id = b.fact_id
            JOIN (SELECT fact_id, object FROM facts) f ON f.fact_id = b.fact_id
            JOIN (SELECT relation AS asked, object FROM answers WHERE place = 1) m ON m.asked = k.relation
            WHERE a.run_id = $first AND b.run_id = $second AND {KEPT}
        )
        SELECT layer, count(*) AS n, count(*) FILTER (by_majority) AS majority_hits, count(*) FILTER (paired) AS swapped_n,
            {cells},
            count(*) FILTER (paired AND gain > 0) AS more, count(*) FILTER (paired AND gain < 0) AS less,
            CAST(coalesce(sum(gain * gain) FILTER (paired), 0) AS BIGINT) AS squares
        FROM shared GROUP BY layer ORDER BY layer
        """,
        {"first": first, "second": second, "k": int(k), **filters(exposures, answer_in_subject)},
    )
