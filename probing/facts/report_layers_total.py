"""Total knowledge, the share that only inner layers hold, and the union over re-trained heads of the last layer."""

from collections.abc import Sequence

import pandas as pd

from probing.facts.report_layers import precision
from probing.facts.runs_runs import IDENTITY, identities
from probing.facts.store import inner_layers, totals
from probing.facts.store_pairs import layers_stored, seed_unions
from probing.facts.totals_total import KnowledgeCounts, knowledge
from probing.kernel.stats.intervals import AVERAGES, RelationCounts, macro, micro, parallel_map
from probing.kernel.stats.paired_tests import mcnemar_exact_many
from probing.kernel.store.database import Database
from probing.terms import RANKS

_SHARES = ("last_layer", "last_low", "last_high", "total", "total_low", "total_high", "intermediate_share")
_ANSWERS = ("last_low_answers", "last_high_answers")
_BASELINES = ("majority", "matched_last", "swapped_last", *_ANSWERS)
_INNER = ("inner_own", "inner_swapped", "inner_n", "inner_p")
COLUMNS = (*IDENTITY, "k", "average", "n", "relations", *_SHARES, "seeds", "seed_union", *_BASELINES, *_INNER)


def total(
    db: Database,
    run_ids: Sequence[str],
    ks: Sequence[int] = RANKS,
    averages: Sequence[str] = AVERAGES,
    exposures: Sequence[str] | None = None,
    answer_in_subject: bool | None = None,
) -> pd.DataFrame:
    """Last-layer and total knowledge of runs, one row per run, k and average; shares in [0, 1].

    A union over layers grows by chance; ``seed_union``, the union over all re-trained heads of the last layer, shows
    how much chance alone may raise it; empty for one run. A run that stores only its last layer has no total. A
    stronger null, which the paper lacks: the last layer misses ``inner_n`` facts both with their own and with a swapped
    subject. Of these, inner layers find ``inner_own`` with the own subject and ``inner_swapped`` with the swapped one,
    which does not have the answer; inner_p is McNemar's exact p. They pool the facts of all relations, whatever the
    average. seeds counts runs that differ in their seed only, this one included; majority is for k = 1.
    """
    table = totals(db, run_ids, exposures, answer_in_subject)
    unions = seed_unions(db, run_ids, exposures, answer_in_subject)
    inner = _inner(db, run_ids, exposures, answer_in_subject)
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
    frame = pd.DataFrame(rows, columns=[*IDENTITY, "k", "average", "n", "relations", *_SHARES, "seeds", "seed_union"])
    frame = frame.merge(
        _baselines(db, run_ids, ks, averages, exposures, answer_in_subject), on=["run_id", "k", "average"], how="left"
    )
    frame = frame.merge(inner, on=["run_id", "k"], how="left")[list(COLUMNS)]
    return frame.astype(
        dict.fromkeys([*_SHARES, "seed_union", *_BASELINES, "inner_p"], "float64") | dict.fromkeys(_INNER[:3], "Int64")
    )


def in_bar_order(table: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """The rows of ``total`` for ``facts.figures_total_bars``: by probe set, bases first, else as in ``runs``."""
    places = {run_id: place for place, run_id in enumerate(runs["run_id"])}
    sets = {name: place for place, name in enumerate(dict.fromkeys(runs["probe_set"]))}
    tuned = runs.set_index("run_id")["base"].fillna("") != ""
    ids = table["run_id"]
    placed = table.assign(_set=table["probe_set"].map(sets), _tuned=ids.map(tuned), _place=ids.map(places))
    ordered = placed.sort_values(["_set", "_tuned", "_place"]).drop(columns=["_set", "_tuned", "_place"])
    return ordered.rename(columns={"last_layer": "last", "intermediate_share": "intermediate"})


def _inner(
    db: Database, run_ids: Sequence[str], exposures: Sequence[str] | None, answer_in_subject: bool | None
) -> pd.DataFrame:
    """run_id, k and the columns of ``_INNER``."""
    inner = inner_layers(db, run_ids, exposures, answer_in_subject)
    inner["inner_p"] = mcnemar_exact_many(
        inner["own"] - inner["own_and_swapped"], inner["swapped"] - inner["own_and_swapped"]
    )
    return inner.rename(columns={"own": "inner_own", "swapped": "inner_swapped", "n": "inner_n"})[
        ["run_id", "k", *_INNER]
    ]


def _baselines(
    db: Database,
    run_ids: Sequence[str],
    ks: Sequence[int],
    averages: Sequence[str],
    exposures: Sequence[str] | None,
    answer_in_subject: bool | None,
) -> pd.DataFrame:
    """Guessing at the last layer (``_BASELINES``) by run, k and average, with its interval over answers."""
    tables = [precision(db, run_ids, ks, average, exposures, answer_in_subject, last_only=True) for average in averages]
    table = pd.concat(tables, ignore_index=True) if tables else precision(db, [])
    named = {name.removeprefix("last_"): name for name in _ANSWERS}
    return table.rename(columns={"matched": "matched_last", "swapped": "swapped_last", **named})[
        ["run_id", "k", "average", *_BASELINES]
    ]
