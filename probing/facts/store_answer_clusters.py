"""How far each right answer moves a share of known facts: sums for ``kernel.stats.paired_tests``.

Only runs with predictions have rows: counts alone do not tell which facts have the same answer.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from probing.facts.store_scope import OF_RUNS, of_runs
from probing.kernel.store.database import Database
from probing.terms import RANKS

#: The squared change of a mean without an answer, which is NULL if it is the only one.
_CHANGE = (
    "power(({v}_t - {v}_c * sum({v}_t) OVER {scope} / sum({v}_c) OVER {scope}) / nullif(sum({v}_c) OVER {scope} -"
    " {v}_c, 0), 2)"
)
#: Sums of such steps are exact, so the order of threads makes no difference; a change of 1e-6 is still seen.
_STEP = f"{2.0**44}::DOUBLE"
_ROUNDED = f"coalesce(sum(floor({{v}}_{{scope}} * {_STEP} + 0.5)) / {_STEP}, 0)"
_SUMS = {
    "n": "sum({v}_c)",
    "total": "sum({v}_t)",
    "squares": "sum({v}_s)",
    "clusters": "count(*) FILTER ({v}_c > 0)",
    "within": _ROUNDED.replace("{scope}", "within"),
    "overall": _ROUNDED.replace("{scope}", "overall"),
}


def columns_of(value: str) -> list[str]:
    """The columns of a value with the fields of ``kernel.stats.paired_tests.ClusterSums``."""
    return [f"{value}_{name}" for name in _SUMS]


def sums_of(rows: pd.DataFrame, value: str) -> NDArray[np.float64]:
    """(sums, rows) of a value, as ``kernel.stats.paired_tests`` takes them."""
    return rows[columns_of(value)].to_numpy(np.float64).T


def summed(values: Mapping[str, str], facts: str, keys: str, groups: str, more: Mapping[str, str] | None = None) -> str:
    """SQL of sums over right answers.

    ``values`` are name -> SQL of a number of each fact, NULL if the fact does not count. ``facts`` is SQL from FROM on,
    of rows with the columns of ``keys``; f is the fact, with its relation and object. ``keys`` tell one mean over all
    relations from another, each with its table, if there are several; ``groups`` are the columns of the result,
    ``more`` further ones: name -> condition of the facts that they count.
    """
    by_answer = [
        f"count({x}) AS {v}_c, coalesce(sum({x}), 0) AS {v}_t, coalesce(sum(({x}) * ({x})), 0) AS {v}_s"
        for v, x in values.items()
    ]
    by_answer += [f"count(*) FILTER ({condition}) AS {name}" for name, condition in (more or {}).items()]
    changes = [f"{_CHANGE.format(v=v, scope=scope)} AS {v}_{scope}" for v in values for scope in ("within", "overall")]
    sums = [f"CAST({sql.format(v=v)} AS DOUBLE) AS {v}_{name}" for v in values for name, sql in _SUMS.items()]
    sums += [f'CAST(sum("{name}") AS BIGINT) AS "{name}"' for name in more or {}]
    plain = ", ".join(key.split(".")[-1] for key in keys.split(", "))
    return f"""
    SELECT {groups}, {", ".join(sums)}
    FROM (
        SELECT *, {", ".join(changes)}
        FROM (SELECT {keys}, f.relation, f.object, {", ".join(by_answer)} {facts} GROUP BY {keys}, f.relation, f.object)
        WINDOW within AS (PARTITION BY {plain}, relation), overall AS (PARTITION BY {plain})
    )
    GROUP BY {groups} ORDER BY {groups}
    """


def _by_layer(ks: Sequence[int], scope: str = "", last: str = "") -> str:
    values = {f"hits_{k}": f"CAST(p.gold_rank <= {k} AS INTEGER)" for k in ks}
    values |= {f"above_{k}": f"CAST(p.gold_rank <= {k} AS INTEGER) - CAST(p.other_rank <= {k} AS INTEGER)" for k in ks}
    facts = f"""
        FROM predictions p
        JOIN (SELECT * FROM known {scope}) k ON k.run_id = p.run_id AND k.fact_id = p.fact_id
        JOIN (SELECT fact_id, relation, object FROM facts) f ON f.fact_id = p.fact_id {last}
    """
    return summed(values, facts, "p.run_id, p.layer", "run_id, layer, relation")


#: The sums of all facts of a run, stored for those who filter nothing.
BY_LAYER = _by_layer(RANKS)


def answer_clusters(
    db: Database,
    run_ids: Sequence[str],
    k: int,
    exposures: Sequence[str] | None = None,
    answer_in_subject: bool | None = None,
    last_only: bool = False,
) -> pd.DataFrame:
    """Sums over the right answers: run_id, layer, relation and ``columns_of`` the values hits_k and above_k.

    above_k is own minus swapped subject; with ``last_only`` rows of other layers may be there, too.
    """
    columns = f"SELECT run_id, layer, relation, {', '.join((*columns_of(f'hits_{k}'), *columns_of(f'above_{k}')))}"
    if exposures is None and answer_in_subject is None:
        condition = "WHERE run_id IN (SELECT unnest($run_ids::VARCHAR[]))"
        return db.query(f"{columns} FROM answer_clusters {condition}", {"run_ids": list(run_ids)})
    # Facts of one answer may differ in what is filtered, so filtered sums cannot be added up from stored ones.
    counted = _by_layer(
        (k,), OF_RUNS, "JOIN fact_runs r ON r.run_id = p.run_id AND p.layer = r.layers - 1" if last_only else ""
    )
    return db.query(f"{columns} FROM ({counted})", of_runs(run_ids, exposures, answer_in_subject), of=run_ids)


def more_values(first: str, second: str, first_swapped: str, second_swapped: str) -> dict[str, str]:
    """SQL of what the second of two runs knows more of a fact, and of the same minus the swapped subject."""
    known = [f"CAST({rank} <= $k AS INTEGER)" for rank in (second, first, second_swapped, first_swapped)]
    return {"more": f"{known[0]} - {known[1]}", "above_more": f"{known[0]} - {known[1]} - {known[2]} + {known[3]}"}
