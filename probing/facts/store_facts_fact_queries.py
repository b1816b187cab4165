"""Finding facts of a run, and paging through them."""

from typing import Any

import pandas as pd

from probing.facts.store_facts_fact_filter import FactFilter
from probing.kernel.store.database import Database

#: A table on a page loses its search, selection and download when it is very long.
MAX_ROWS = 5000

#: Name of an order -> SQL. Facts that are known nowhere come last; ties are broken by ``fact``, so that paging is
#: stable.
ORDERS = {
    "fact": "",
    "first layer": "k.first_layer ASC NULLS LAST, ",
    "last layer": "k.last_layer DESC NULLS LAST, ",
    # Known, and by no guess: the name does not give the answer away, and somebody else's name does not have it.
    "telling": "k.answer_in_subject, k.layers_known = 0, k.last_rank, coalesce(k.swapped_last_rank, 0) DESC, ",
    "layers known": "k.layers_known DESC, ",
    "best rank": "k.best_rank ASC, ",
    "last rank": "k.last_rank ASC, ",
    "worst last rank": "k.last_rank DESC, ",
}
_TIES = "f.probe_set, f.relation, f.subject, f.object, f.fact_id"

_FROM = """
    FROM known k
    JOIN facts f ON f.fact_id = k.fact_id
    LEFT JOIN relations l ON l.relation = f.relation AND l.probe_set = f.probe_set
"""
_COLUMNS = """
    f.fact_id, f.probe_set, f.relation, coalesce(l.label, f.relation) AS label, f.subject, f.object, f.prompt,
    f.answer_in_subject, f.pred, k.exposure, k.first_layer, k.last_layer, k.layers_known, k.best_rank, k.last_rank
"""
_WHOLE_NUMBERS = (
    "first_layer",
    "last_layer",
    "layers_known",
    "best_rank",
    "last_rank",
    "answer_rank",
    "other_rank",
    "their_last_rank",
)


def search_facts(
    db: Database,
    run_id: str,
    *,
    order: str = "fact",
    offset: int = 0,
    limit: int = 100,
    other: str | None = None,
    **filters: Any,
) -> pd.DataFrame:
    """Facts of a run that pass the filters (fields of ``FactFilter``), at most ``MAX_ROWS``.

    first_layer and last_layer have rank 1, of 1..L (missing when none), best_rank is over 1..L, last_rank at L; with
    ``other``, a run of another model, their_last_rank.
    """
    if not 0 <= limit <= MAX_ROWS or offset < 0:
        raise ValueError(f"got offset {offset} and limit {limit}; expected offset >= 0 and limit from 0 to {MAX_ROWS}")
    where, values = FactFilter(**filters).condition()
    theirs, join = "", ""
    if other:
        theirs, join = (
            ", o.last_rank AS their_last_rank",
            "LEFT JOIN known o ON o.run_id = $other AND o.fact_id = k.fact_id",
        )
        values = {**values, "other": other}
    facts = db.query(
        f"""SELECT {_COLUMNS}{theirs} {_FROM} {join} WHERE k.run_id = $run_id AND {where}
            ORDER BY {_order(order)} LIMIT $limit OFFSET $offset""",
        {"run_id": run_id, "limit": int(limit), "offset": int(offset), **values},
        of=_of(run_id, other, filters),
    )
    return whole_numbers(facts)


def count_facts(db: Database, run_id: str, **filters: Any) -> int:
    """How many facts ``search_facts`` finds in all pages."""
    where, values = FactFilter(**filters).condition()
    counted = db.query(
        f"SELECT count(*) AS n {_FROM} WHERE k.run_id = $run_id AND {where}",
        {"run_id": run_id, **values},
        of=_of(run_id, None, filters),
    )
    return int(counted["n"].iloc[0])


def neighbours(
    db: Database, run_id: str, fact_id: str, *, order: str = "fact", **filters: Any
) -> tuple[str | None, str | None]:
    """Ids of the facts before and after one in ``search_facts``' order; None at an end, or if it is not listed."""
    where, values = FactFilter(**filters).condition()
    around = db.query(
        f"""
        SELECT previous_id, next_id FROM (
            SELECT f.fact_id, lag(f.fact_id) OVER neighbours AS previous_id, lead(f.fact_id) OVER neighbours AS next_id
            {_FROM} WHERE k.run_id = $run_id AND {where}
            WINDOW neighbours AS (ORDER BY {_order(order)})
        ) WHERE fact_id = $fact_id
        """,
        {"run_id": run_id, "fact_id": fact_id, **values},
        of=_of(run_id, None, filters),
    )
    if around.empty:
        return None, None
    previous_id, next_id = (None if pd.isna(value) else str(value) for value in around.iloc[0])
    return previous_id, next_id


def random_fact(db: Database, run_id: str, *, seed: int | str = 0, **filters: Any) -> str | None:
    """Id of one fact that passes the filters, the same for the same seed; None if there is none."""
    where, values = FactFilter(**filters).condition()
    facts = db.query(
        f"SELECT f.fact_id {_FROM} WHERE k.run_id = $run_id AND {where} ORDER BY md5(f.fact_id || $seed), f.fact_id"
        " LIMIT 1",
        {"run_id": run_id, "seed": str(seed), **values},
        of=_of(run_id, None, filters),
    )
    return None if facts.empty else str(facts["fact_id"].iloc[0])


def whole_numbers(frame: pd.DataFrame) -> pd.DataFrame:
    """Layers and ranks as integers that can be missing, not as floats."""
    return frame.astype({name: "Int64" for name in _WHOLE_NUMBERS if name in frame.columns})


def _of(run_id: str, other: str | None, filters: dict[str, Any]) -> list[str]:
    """The runs whose files a search opens."""
    return [run_id, *(run for run in (other, filters.get("versus")) if run)]


def _order(name: str) -> str:
    if name not in ORDERS:
        raise ValueError(f"unknown order {name!r}; expected one of {list(ORDERS)}")
    return ORDERS[name] + _TIES
