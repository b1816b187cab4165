"""Every query of the pages on whole runs and on single facts, with the pages' arguments."""

from collections.abc import Callable
from statistics import median
from typing import Any

import pandas as pd

from probing.store import run_queries
from probing.store.database import Database
from probing.store.knowledge import fact_queries, forgetting_queries, one_fact, pair_queries
from tests.speed.generated import BASE
from tests.speed.measurement import seconds_of

Query = Callable[[], Any]


def overviews(db: Database) -> dict[str, Query]:
    """Queries of counts: what the overview pages read, for one family of seven models with one kind of head on all
    probe sets.
    """
    family = _family(run_queries.runs(db))
    ids = list(family["run_id"])
    trex = family[family["probe_set"] == "trex"]
    base = str(trex.loc[trex["model"] == BASE, "run_id"].iloc[0])
    tuned = list(trex.loc[trex["model"] != BASE, "run_id"])
    bases = [base] * len(tuned)
    return {
        "runs": lambda: run_queries.runs(db),
        "probe_sets": lambda: run_queries.probe_sets(db),
        "relations": lambda: run_queries.relations(db),
        "exposures": lambda: run_queries.exposures(db, ids),
        "aggregate": lambda: run_queries.aggregate(db, ids),
        "aggregate, filtered": lambda: run_queries.aggregate(db, ids, ("stated", "unseen"), False),
        "totals": lambda: run_queries.totals(db, ids),
        "majority": lambda: run_queries.majority(db, ids),
        "against_last": lambda: forgetting_queries.against_last(db, ids, 1),
        "answer_types": lambda: forgetting_queries.answer_types(db, ids),
        "relation_exposures": lambda: forgetting_queries.relation_exposures(db, ids),
        "layers_stored": lambda: forgetting_queries.layers_stored(db, ids),
        "seed_unions": lambda: forgetting_queries.seed_unions(db, ids),
        "transition_counts": lambda: forgetting_queries.transition_counts(db, bases, tuned, 1),
        "one_sided": lambda: forgetting_queries.one_sided(db, bases, tuned),
        "exit_counts": lambda: forgetting_queries.exit_counts(db, [base, tuned[0]], 1),
        "paired_layers": lambda: pair_queries.paired_layers(db, base, tuned[0], 1),
    }


def drill_downs(db: Database) -> dict[str, Query]:
    """Queries of rows: what the page of facts reads, for one run and one fact in the middle of its list."""
    family = _family(run_queries.runs(db))
    trex = family[family["probe_set"] == "trex"]
    run, other = str(trex["run_id"].iloc[0]), str(trex["run_id"].iloc[1])
    fact = fact_queries.random_fact(db, run) or ""
    asked = list(run_queries.runs(db).query("probe_set == 'trex'")["run_id"])
    return {
        "search_facts": lambda: fact_queries.search_facts(db, run, order="layers known", limit=50),
        "search_facts, text": lambda: fact_queries.search_facts(db, run, text="Rocky Balboa Philadelphia", limit=5),
        "search_facts, lost": lambda: fact_queries.search_facts(db, other, versus=run, part="lost", limit=50),
        "count_facts": lambda: fact_queries.count_facts(db, run),
        "count_facts, at a layer": lambda: fact_queries.count_facts(db, run, layer_rank=(6, 1)),
        "neighbours": lambda: fact_queries.neighbours(db, run, fact, order="layers known"),
        "random_fact": lambda: fact_queries.random_fact(db, run, seed=1),
        "fact": lambda: one_fact.fact(db, fact),
        "fact_predictions": lambda: one_fact.fact_predictions(db, fact, asked),
        "fact_runs": lambda: one_fact.fact_runs(db, fact),
    }


def _family(runs: pd.DataFrame) -> pd.DataFrame:
    kept = runs[(runs["head"] == "tied") & ((runs["model"] == BASE) | (runs["base"] == BASE))]
    return kept.sort_values(["probe_set", "model"])


def medians(asked: dict[str, Query], rounds: int) -> dict[str, float]:
    """Name -> median seconds of a query, after one call that is not counted."""
    found = {}
    for name, query in asked.items():
        query()
        found[name] = median(seconds_of(query) for _ in range(rounds))
    return found
