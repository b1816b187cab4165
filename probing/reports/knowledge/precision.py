"""P@k and its kin by layer: macro or micro, with intervals and baselines; and relation by relation."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from probing.core.metrics import RANKS
from probing.core.stats.intervals import Estimate, RelationCounts, macro, macro_mean, micro, micro_mean, wilson
from probing.reports.bootstrap import together
from probing.reports.runs import IDENTITY, identities
from probing.store import run_queries
from probing.store.database import Database

#: Metric -> (column with its count or sum, column of the squared sum, column of the swapped subject's count).
METRIC_COLUMNS: dict[str, tuple[str, str | None, str | None]] = {
    "p_at_1": ("hits_1", None, "other_1"),
    "p_at_10": ("hits_10", None, "other_10"),
    "p_at_100": ("hits_100", None, "other_100"),
    "mrr": ("sum_reciprocal_rank", "sum_squared_reciprocal_rank", None),
    "answer_p_at_1": ("answer_hits_1", None, None),
}
#: The majority answer is one answer: it is a baseline for being right first, not for ten tries.
WITH_MAJORITY = ("p_at_1", "answer_p_at_1")
_NUMBERS = ("value", "low", "high", "majority", "swapped")
#: Beside them, how many facts have a swapped subject; empty where it is not measured, as in compact runs.
_COLUMNS = (*_NUMBERS, "swapped_n")


def by_layer(
    db: Database,
    run_ids: Sequence[str],
    metric: str,
    average: str = "macro",
    exposures: Sequence[str] | None = None,
    answer_in_subject: bool | None = None,
) -> pd.DataFrame:
    """A metric by run and layer (0..L) with its interval and baselines.

    Args:
        db: the database.
        run_ids: ids of the runs.
        metric: a key of ``METRIC_COLUMNS``.
        average: ``macro`` or ``micro``.
        exposures, answer_in_subject: filters; None keeps all.

    Returns:
        run_id, model, head, seed, probe_set, layer, n, relations, value, low, high, majority, swapped: shares in [0, 1], a value or
        baseline that is not defined is empty; swapped_n: the facts that have a swapped subject, empty where it is not measured.
    """
    column, squared, swapped = METRIC_COLUMNS[metric]
    table = run_queries.aggregate(db, run_ids, exposures, answer_in_subject)
    majority = run_queries.majority(db, run_ids, exposures, answer_in_subject)
    points = []
    for run in identities(db, run_ids).itertuples(index=False):
        mine = majority[majority["run_id"] == run.run_id]
        most = _share(_baseline(mine, "n", "majority_hits"), average) if metric in WITH_MAJORITY else None
        for layer, group in table[table["run_id"] == run.run_id].groupby("layer"):
            lent = _baseline(group, "other_n", swapped) if swapped else []
            points.append((run, int(layer), _counts(group, column, squared), most, lent))
    estimates = together(lambda point: _estimate(point[2], average), points)
    rows = [
        (*run, layer, got.n, got.relations, got.value, got.low, got.high, most, _share(lent, average), sum(one.n for one in lent) or None)
        for (run, layer, _, most, lent), got in zip(points, estimates, strict=True)
    ]
    frame = pd.DataFrame(rows, columns=[*IDENTITY, "layer", "n", "relations", *_COLUMNS])
    return frame.astype(dict.fromkeys(_NUMBERS, "float64") | {"swapped_n": "Int64"})


def precision(
    db: Database,
    run_ids: Sequence[str],
    ks: Sequence[int] = RANKS,
    average: str = "macro",
    exposures: Sequence[str] | None = None,
    answer_in_subject: bool | None = None,
) -> pd.DataFrame:
    """P@k by run, layer and k.

    Returns:
        run_id, model, head, seed, probe_set, layer, k, average, n, relations, value, low, high, majority, swapped, swapped_n.
    """
    parts = [by_layer(db, run_ids, f"p_at_{k}", average, exposures, answer_in_subject).assign(k=int(k), average=average) for k in ks]
    columns = [*IDENTITY, "layer", "k", "average", "n", "relations", *_COLUMNS]
    found = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=columns)
    return found[columns].sort_values(["model", "head", "seed", "probe_set", "k", "layer"], kind="stable").reset_index(drop=True)


def precision_by_relation(
    db: Database, run_ids: Sequence[str], k: int = 1, exposures: Sequence[str] | None = None, answer_in_subject: bool | None = None
) -> pd.DataFrame:
    """P@k by run, relation and layer, with Wilson's interval.

    Returns:
        run_id, model, head, probe_set, relation, label, cardinality, layer, n, value, low, high,
        majority (of P@1 only), swapped, swapped_n.
    """
    found = run_queries.aggregate(db, run_ids, exposures, answer_in_subject)
    found = found.merge(identities(db, run_ids), on="run_id").merge(
        run_queries.relations(db)[["probe_set", "relation", "label", "cardinality"]], on=["probe_set", "relation"], how="left"
    )
    most = run_queries.majority(db, run_ids, exposures, answer_in_subject)
    found = found.merge(most[["run_id", "relation", "majority_hits"]], on=["run_id", "relation"], how="left")
    hits = found[f"hits_{k}"]
    found["value"] = hits / found["n"]
    ends = {pair: wilson(*pair) for pair in set(zip(hits, found["n"], strict=True))}
    found["low"], found["high"] = ([ends[pair][end] for pair in zip(hits, found["n"], strict=True)] for end in (0, 1))
    found["majority"] = found["majority_hits"] / found["n"] if k == 1 else float("nan")
    found["swapped_n"] = found["other_n"].where(found["other_n"] > 0).astype("Int64")
    found["swapped"] = (found[f"other_{k}"] / found["swapped_n"]).astype("float64")
    columns = ["run_id", "model", "head", "probe_set", "relation", "label", "cardinality", "layer", "n", *_COLUMNS]
    return found[columns].sort_values(["model", "head", "probe_set", "run_id", "relation", "layer"]).reset_index(drop=True)


def _estimate(counts: list[RelationCounts], average: str) -> Estimate:
    if average not in ("macro", "micro"):
        raise ValueError(f"average is {average!r}, expected macro or micro")
    if counts and counts[0].sum_value is not None:
        return macro_mean(counts) if average == "macro" else micro_mean(counts)
    return macro(counts) if average == "macro" else micro(counts)


def _share(counts: list[RelationCounts], average: str) -> float | None:
    """The value alone, for baselines: without an interval nothing is drawn."""
    kept = [one for one in counts if one.n]
    if average == "micro":
        return sum(one.hits for one in kept) / sum(one.n for one in kept) if kept else None
    return float(np.mean([one.hits / one.n for one in sorted(kept, key=lambda one: one.relation)])) if kept else None


def _counts(rows: pd.DataFrame, column: str, squared: str | None) -> list[RelationCounts]:
    # By columns: rows of a frame, made one by one, would take longer than all intervals.
    relations, n, found = (rows[name].tolist() for name in ("relation", "n", column))
    if squared:
        squares = rows[squared].tolist()
        return [RelationCounts(*one) for one in zip(relations, n, [0] * len(n), found, squares, strict=True)]
    return [RelationCounts(*one) for one in zip(relations, n, found, strict=True)]


def _baseline(rows: pd.DataFrame, n: str, hits: str) -> list[RelationCounts]:
    """Without relations in which the baseline is not defined."""
    defined = rows[rows[n] > 0]
    return [RelationCounts(*one) for one in zip(*(defined[name].tolist() for name in ("relation", n, hits)), strict=True)]
