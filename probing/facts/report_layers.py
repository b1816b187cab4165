"""Metrics by layer and relation, total knowledge, early exit, and the kinds of words that layers predict."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from probing.facts import store
from probing.facts.runs import IDENTITY, identities
from probing.facts.store import answer_clusters, sums_of, total_null_counts, totals
from probing.facts.store_pairs import answer_types, exit_counts, layers_stored, seed_unions
from probing.facts.totals import KINDS, ExitCounts, KnowledgeCounts, compare_early_exit, knowledge, shares
from probing.kernel.columns import Columns, floats, integers
from probing.kernel.fact import EVERY_FACT, Subset
from probing.kernel.metric import RANKS
from probing.kernel.stats.intervals import (
    AVERAGES,
    Estimate,
    RelationCounts,
    macro,
    macro_mean,
    micro,
    micro_mean,
    parallel_map,
    wilson,
)
from probing.kernel.stats.paired_tests import (
    UNKNOWN,
    PairedCounts,
    answer_interval,
    each_interval,
    macro_difference,
    mcnemar_exact_many,
    paired_difference,
    together_counted,
)
from probing.kernel.store.database import Database

#: Metric -> (column with its count or sum, column of the squared sum, k of the counts with the swapped subject).
METRIC_COLUMNS: dict[str, tuple[str, str | None, int | None]] = {
    "p_at_1": ("hits_1", None, 1),
    "p_at_10": ("hits_10", None, 10),
    "p_at_100": ("hits_100", None, 100),
    "mrr": ("sum_reciprocal_rank", "sum_squared_reciprocal_rank", None),
    "answer_p_at_1": ("answer_hits_1", None, None),
}
#: The majority answer is a single answer, so it is a baseline for P@1 but not for P@10.
WITH_MAJORITY = ("p_at_1", "answer_p_at_1")
#: A random answer of the relation: a baseline only for ranks among these answers.
WITH_CHANCE = ("answer_p_at_1",)
_VALUE = ("value", "low", "high")
_ABOVE_MAJORITY = floats("above_majority above_majority_low above_majority_high")
_ABOVE_SWAPPED = floats("above_swapped above_swapped_low above_swapped_high")
_KEYS = ["run_id", "layer", "relation"]
#: Ends of the intervals for the case that answers are drawn again, too.
_ANSWERS = ("low_answers", "high_answers")
_ALL_ANSWERS = floats(*(f"{prefix}{end}" for prefix in ("", "above_majority_", "above_swapped_") for end in _ANSWERS))
#: Number of facts that have a swapped subject; empty if it was not measured.
_SWAPPED_N = integers("swapped_n")
_BASIC = floats("value low high majority chance swapped matched")
NUMBERS = Columns(_BASIC, _ABOVE_MAJORITY, _ABOVE_SWAPPED, _ALL_ANSWERS, _SWAPPED_N)
_OF_LAYER = Columns(IDENTITY, "layer n relations")


def by_layer(
    db: Database,
    run_ids: Sequence[str],
    metric: str,
    average: str = "macro",
    subset: Subset = EVERY_FACT,
    last_only: bool = False,
) -> pd.DataFrame:
    """A metric of ``METRIC_COLUMNS`` by run and layer (0..L) with its interval and baselines; shares in [0, 1].

    majority: always the relation's most frequent answer; chance: one of its answers at random; swapped and matched:
    with a swapped subject, and the value on the same ``swapped_n`` facts; undefined baselines are empty. above_majority
    has the value's interval, because the majority's share is a property of the facts; above_swapped is matched minus
    swapped, paired. Next to every low and high are low_answers and high_answers, the ends if the answers are drawn
    again, too; only for P@k of runs with predictions.
    """
    column, squared, k = METRIC_COLUMNS[metric]
    table = store.aggregate(db, run_ids, subset)
    majority = store.majority(db, run_ids, subset)
    if last_only:
        table = table[table["layer"] == table.groupby("run_id")["layer"].transform("max")]
    if k:
        table = table.merge(answer_clusters(db, run_ids, k, subset, last_only), on=_KEYS, how="left")
    clusters = _clusters(table, k) if k else []
    points = []
    for run in identities(db, run_ids).itertuples(index=False):
        run_majority = majority[majority["run_id"] == run.run_id]
        most = _share(_baseline(run_majority, "n", "majority_hits"), average) if metric in WITH_MAJORITY else None
        random = _chance(run_majority, average) if metric in WITH_CHANCE else None
        for layer, group in table[table["run_id"] == run.run_id].groupby("layer"):
            ends = [answer_interval(sums[:, group.index], average, least) for sums, least in clusters]
            points.append(
                (run, int(layer), _counts(group, column, squared), (most, random), _pairs(group, k) if k else {}, ends)
            )
    estimates = parallel_map(lambda point: _estimate(point[2], average), points)
    rows = []
    for (run, layer, _, (most, random), swapped, ends), got in zip(points, estimates, strict=True):
        own, above = ends or (UNKNOWN, UNKNOWN)
        over = [
            None if number is None or most is None else number - most for number in (got.value, got.low, got.high, *own)
        ]
        numbers = (
            got.value,
            got.low,
            got.high,
            most,
            random,
            *_swapped(swapped, average),
            *over[:3],
            *own,
            *over[3:],
            *above,
        )
        rows.append((*run, layer, got.n, got.relations, *numbers))
    frame = Columns(_OF_LAYER, _BASIC, _ABOVE_SWAPPED, _SWAPPED_N, _ABOVE_MAJORITY, _ALL_ANSWERS).frame(rows)
    return frame[[*_OF_LAYER, *NUMBERS]]


def precision(
    db: Database,
    run_ids: Sequence[str],
    ks: Sequence[int] = RANKS,
    average: str = "macro",
    subset: Subset = EVERY_FACT,
    last_only: bool = False,
) -> pd.DataFrame:
    """P@k by run, layer (the last one only, if wanted) and k, with the numbers that ``by_layer`` gives."""
    parts = [
        by_layer(db, run_ids, f"p_at_{k}", average, subset, last_only).assign(k=int(k), average=average) for k in ks
    ]
    columns = [*IDENTITY, "layer", "k", "average", "n", "relations", *NUMBERS]
    points = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=columns)
    return (
        points[columns]
        .sort_values(["model", "head", "seed", "probe_set", "k", "layer"], kind="stable")
        .reset_index(drop=True)
    )


def precision_by_relation(
    db: Database, run_ids: Sequence[str], k: int = 1, subset: Subset = EVERY_FACT
) -> pd.DataFrame:
    """P@k by run, relation and layer, with Wilson's interval and that over answers, and the baselines of ``by_layer``.

    The majority is for P@1, and chance is empty.
    """
    points = store.aggregate(db, run_ids, subset)
    points = points.merge(answer_clusters(db, run_ids, k, subset), on=_KEYS, how="left")
    points = points.merge(identities(db, run_ids), on="run_id").merge(
        store.relations(db)[["probe_set", "relation", "label", "cardinality"]],
        on=["probe_set", "relation"],
        how="left",
    )
    most = store.majority(db, run_ids, subset)
    points = points.merge(most[["run_id", "relation", "majority_hits"]], on=["run_id", "relation"], how="left")
    hits = points[f"hits_{k}"]
    points["value"] = hits / points["n"]
    ends = {pair: wilson(*pair) for pair in set(zip(hits, points["n"], strict=True))}
    points["low"], points["high"] = (
        [ends[pair][end] for pair in zip(hits, points["n"], strict=True)] for end in (0, 1)
    )
    points["majority"] = points["majority_hits"] / points["n"] if k == 1 else float("nan")
    points["chance"] = float("nan")
    for prefix, (sums, least) in zip(("", "above_swapped_"), _clusters(points, k), strict=True):
        points[f"{prefix}low_answers"], points[f"{prefix}high_answers"] = each_interval(sums, least)
    for name, column in zip(
        (*_ABOVE_MAJORITY, *(f"above_majority_{end}" for end in _ANSWERS)), (*_VALUE, *_ANSWERS), strict=True
    ):
        points[name] = points[column] - points["majority"]
    sides = ["other_n", f"own_{k}", f"other_{k}", f"own_other_{k}"]
    compared = [paired_difference(_paired(*row)) for row in points[sides].itertuples(index=False)]
    for name, end in zip(_ABOVE_SWAPPED, ("value", "low", "high"), strict=True):
        points[name] = np.array([getattr(difference, end) for difference in compared], dtype="float64")
    points["swapped_n"] = points["other_n"].where(points["other_n"] > 0).astype("Int64")
    for name, side in (("swapped", "other"), ("matched", "own")):
        points[name] = (points[f"{side}_{k}"] / points["swapped_n"]).astype("float64")
    columns = ["run_id", "model", "head", "probe_set", "relation", "label", "cardinality", "layer", "n", *NUMBERS]
    return (
        points[columns]
        .sort_values(["model", "head", "probe_set", "run_id", "relation", "layer"])
        .reset_index(drop=True)
    )


def _estimate(counts: list[RelationCounts], average: str) -> Estimate:
    if average not in ("macro", "micro"):
        raise ValueError(f"average is {average!r}, expected macro or micro")
    if counts and counts[0].sum_value is not None:
        return macro_mean(counts) if average == "macro" else micro_mean(counts)
    return macro(counts) if average == "macro" else micro(counts)


def _share(counts: list[RelationCounts], average: str) -> float | None:
    """The value alone, for baselines: without an interval, no draws are needed."""
    defined = [counted for counted in counts if counted.n]
    if average == "micro":
        return sum(counted.hits for counted in defined) / sum(counted.n for counted in defined) if defined else None
    return (
        float(np.mean([counted.hits / counted.n for counted in sorted(defined, key=lambda counted: counted.relation)]))
        if defined
        else None
    )


def _chance(rows: pd.DataFrame, average: str) -> float | None:
    """Average share of facts that a random answer of the relation gets right; None without facts."""
    defined = rows[rows["n"] > 0].sort_values("relation")
    if defined.empty:
        return None
    weights = defined["n"] if average == "micro" else np.ones(len(defined))
    return float(np.average(1 / defined["answers"], weights=weights))


def _swapped(pairs: Mapping[str, PairedCounts], average: str) -> tuple[float | None, ...]:
    """swapped, matched, above_swapped with its interval, swapped_n."""
    if not pairs:
        return (None,) * 6
    sides = [
        _share(
            [RelationCounts(relation, counted.n, counted.both + hits(counted)) for relation, counted in pairs.items()],
            average,
        )
        for hits in (lambda counted: counted.second_only, lambda counted: counted.first_only)
    ]
    difference = macro_difference(pairs) if average == "macro" else paired_difference(together_counted(pairs.values()))
    return (*sides, difference.value, difference.low, difference.high, difference.counts.n)


def _pairs(rows: pd.DataFrame, k: int) -> dict[str, PairedCounts]:
    """Relation -> own against swapped subject; only relations with swapped subjects."""
    columns = (rows[name].tolist() for name in ("relation", "other_n", f"own_{k}", f"other_{k}", f"own_other_{k}"))
    return {relation: _paired(n, own, other, both) for relation, n, own, other, both in zip(*columns, strict=True) if n}


def _paired(n: int, own: int, other: int, both: int) -> PairedCounts:
    return PairedCounts(int(both), int(own - both), int(other - both), int(n - own - other + both))


def _clusters(rows: pd.DataFrame, k: int) -> list[tuple[np.ndarray, float]]:
    """Sums over right answers, of P@k and of own minus swapped subject; each with the least possible mean."""
    return [(sums_of(rows, f"hits_{k}"), 0.0), (sums_of(rows, f"above_{k}"), -1.0)]


def _counts(rows: pd.DataFrame, column: str, squared: str | None) -> list[RelationCounts]:
    # By columns: building rows one by one would take longer than all intervals.
    relations, n, hits = (rows[name].tolist() for name in ("relation", "n", column))
    if squared:
        squares = rows[squared].tolist()
        return [RelationCounts(*row) for row in zip(relations, n, [0] * len(n), hits, squares, strict=True)]
    return [RelationCounts(*row) for row in zip(relations, n, hits, strict=True)]


def _baseline(rows: pd.DataFrame, n: str, hits: str) -> list[RelationCounts]:
    """Only relations for which the baseline is defined."""
    defined = rows[rows[n] > 0]
    return [
        RelationCounts(*row) for row in zip(*(defined[name].tolist() for name in ("relation", n, hits)), strict=True)
    ]


_SHARES = floats("last_layer last_low last_high total total_low total_high intermediate_share")
_UNIONS = Columns(IDENTITY, "k average n relations", _SHARES, "seeds", floats("seed_union"))
_BASELINES = floats("majority matched_last swapped_last last_low_answers last_high_answers")
INNER = Columns(integers("inner_own inner_swapped inner_n"), floats("inner_p"))
TOTAL_COLUMNS = Columns(_UNIONS, _BASELINES, INNER)


def total(
    db: Database,
    run_ids: Sequence[str],
    ks: Sequence[int] = RANKS,
    averages: Sequence[str] = AVERAGES,
    subset: Subset = EVERY_FACT,
) -> pd.DataFrame:
    """Last-layer and total knowledge of runs, one row per run, k and average; shares in [0, 1].

    A union over layers grows by chance; ``seed_union``, the union over all re-trained heads of the last layer, shows
    how much chance alone may raise it; empty for one run. A run that stores only its last layer has no total. The
    null of total knowledge, which the paper lacks: the last layer misses ``inner_n`` facts both with their own and with
    a swapped subject. Of these, inner layers find ``inner_own`` with the own subject and ``inner_swapped`` with the
    swapped one, which does not have the answer; inner_p is McNemar's exact p. They pool the facts of all relations,
    whatever the average. seeds counts runs that differ in their seed only, this one included; majority is for k = 1.
    """
    table = totals(db, run_ids, subset)
    unions = seed_unions(db, run_ids, subset)
    inner = _total_null(db, run_ids, subset)
    stored = layers_stored(db, run_ids).set_index("run_id")["n_layers"]
    points = []
    for run in identities(db, run_ids).itertuples(index=False):
        alone, union = table[table["run_id"] == run.run_id], unions[unions["run_id"] == run.run_id]
        seeds = int(union["seeds"].iloc[0]) if len(union) else 1
        whole = stored.get(run.run_id, 0) > 1
        for k in ks:
            counts = [
                KnowledgeCounts(r.relation, int(r.n), int(getattr(r, f"last_{k}")), int(getattr(r, f"any_{k}")))
                for r in alone.itertuples()
            ]
            among = [RelationCounts(r.relation, int(r.n), int(getattr(r, f"any_{k}"))) for r in union.itertuples()]
            points += [(run, int(k), average, counts, among, seeds, whole) for average in averages]
    known = parallel_map(lambda point: knowledge(point[3], point[2]), points)
    rows = []
    for (run, k, average, _, among, seeds, whole), got in zip(points, known, strict=True):
        last, every = got.last, got.total
        shares = (every.value, every.low, every.high, got.intermediate_share) if whole else (None,) * 4
        either = (macro if average == "macro" else micro)(among).value if seeds > 1 else None
        rows.append((*run, k, average, last.n, last.relations, last.value, last.low, last.high, *shares, seeds, either))
    frame = _UNIONS.frame(rows).merge(
        _baselines(db, run_ids, ks, averages, subset), on=["run_id", "k", "average"], how="left"
    )
    return TOTAL_COLUMNS.of(frame.merge(inner, on=["run_id", "k"], how="left"))


def in_bar_order(table: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """The rows of ``total`` for ``facts.figures``: by probe set, bases first, else as in ``runs``."""
    places = {run_id: place for place, run_id in enumerate(runs["run_id"])}
    sets = {name: place for place, name in enumerate(dict.fromkeys(runs["probe_set"]))}
    tuned = runs.set_index("run_id")["base"].fillna("") != ""
    ids = table["run_id"]
    placed = table.assign(_set=table["probe_set"].map(sets), _tuned=ids.map(tuned), _place=ids.map(places))
    ordered = placed.sort_values(["_set", "_tuned", "_place"]).drop(columns=["_set", "_tuned", "_place"])
    return ordered.rename(columns={"last_layer": "last", "intermediate_share": "intermediate"})


def _total_null(db: Database, run_ids: Sequence[str], subset: Subset) -> pd.DataFrame:
    """run_id, k and the columns of ``INNER``."""
    inner = total_null_counts(db, run_ids, subset)
    inner["inner_p"] = mcnemar_exact_many(
        inner["own"] - inner["own_and_swapped"], inner["swapped"] - inner["own_and_swapped"]
    )
    return inner.rename(columns={"own": "inner_own", "swapped": "inner_swapped", "n": "inner_n"})[
        ["run_id", "k", *INNER]
    ]


def _baselines(
    db: Database, run_ids: Sequence[str], ks: Sequence[int], averages: Sequence[str], subset: Subset
) -> pd.DataFrame:
    """Guessing at the last layer (``_BASELINES``) by run, k and average, with its interval over answers."""
    tables = [precision(db, run_ids, ks, average, subset, last_only=True) for average in averages]
    table = pd.concat(tables, ignore_index=True) if tables else precision(db, [])
    named = {end: f"last_{end}" for end in _ANSWERS}
    return table.rename(columns={"matched": "matched_last", "swapped": "swapped_last", **named})[
        ["run_id", "k", "average", *_BASELINES]
    ]


_EXIT_SHARES = floats("last_layer early_exit union difference low high p_value")
EARLY_EXIT_COLUMNS = Columns("run_id model head probe_set k n", _EXIT_SHARES)


def early_exit(
    db: Database, run_ids: Sequence[str], k: int = 1, seed: int = 0, subset: Subset = EVERY_FACT
) -> pd.DataFrame:
    """The best layer of each relation, chosen on one half of its facts and scored on the other (micro), one row per
    run.

    Runs that store only their last layer, or only counts, have no row. ``seed`` is of the halves; union: known at some
    layer 1..L; difference: early exit minus last layer, with Newcombe's interval; p_value: exact McNemar.
    """
    stored = layers_stored(db, run_ids).set_index("run_id")["n_layers"].to_dict()
    exits = exit_counts(db, run_ids, k, seed, subset)
    halves: dict[str, dict[str, list]] = {}
    for row in exits.itertuples(index=False):
        halves.setdefault(row.run_id, {}).setdefault(row.relation, []).append(row)
    rows = []
    for run in identities(db, run_ids, by_fact=True).itertuples(index=False):
        if stored.get(run.run_id, 0) < 2:
            continue
        got = compare_early_exit([_exit_counts(name, rows_of) for name, rows_of in halves.get(run.run_id, {}).items()])
        change = got.difference
        shares = (got.last_layer, got.early_exit, got.union, change.value, change.low, change.high, change.p)
        rows.append((run.run_id, run.model, run.head, run.probe_set, int(k), got.n, *shares))
    return EARLY_EXIT_COLUMNS.frame(rows)


def _exit_counts(relation: str, rows: list) -> ExitCounts:
    chosen, scored, union = {}, {}, 0
    for row in rows:
        if row.scored:
            scored[int(row.layer)] = PairedCounts(
                int(row.both), int(row.layer_only), int(row.last_only), int(row.neither)
            )
            union = int(row.any)
        else:
            chosen[int(row.layer)] = int(row.both) + int(row.layer_only)
    return ExitCounts(relation, chosen, scored, union)


ANSWER_COLUMNS = Columns("run_id model head probe_set layer kind n", floats("share"))


def answer_drift(db: Database, run_ids: Sequence[str], subset: Subset = EVERY_FACT) -> pd.DataFrame:
    """Kinds of the top tokens (micro, over facts) by run and layer 0..L; every kind of ``KIND_LABELS`` has a row."""
    counts: dict[str, dict[int, dict[str, int]]] = {}
    for row in answer_types(db, run_ids, subset).itertuples(index=False):
        counts.setdefault(row.run_id, {}).setdefault(int(row.layer), {})[row.kind] = int(row.n)
    rows = []
    for run in identities(db, run_ids).itertuples(index=False):
        for layer, types in sorted(counts.get(run.run_id, {}).items()):
            of_kind = shares(types)
            rows += [
                (run.run_id, run.model, run.head, run.probe_set, layer, kind, types.get(kind, 0), of_kind[kind])
                for kind in KINDS
            ]
    return ANSWER_COLUMNS.frame(rows)
