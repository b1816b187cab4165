"""Queries about forgetting. Every result is a count; ``probing.core`` turns them into shares, tests and fates.

Filters as in ``facts.store``: None does not filter, an empty tuple of exposures keeps nothing.
"""

from collections.abc import Sequence

import pandas as pd

from probing.facts.store_answer_clusters import more_values, summed
from probing.facts.store_pairs_transition_sql import PART_CONDITIONS
from probing.facts.store_scope import KEPT, OF_RUNS, filters, of_runs
from probing.kernel.store.database import Database


def against_last(
    db: Database,
    run_ids: Sequence[str],
    k: int,
    exposures: Sequence[str] | None = None,
    answer_in_subject: bool | None = None,
) -> pd.DataFrame:
    """Every inner layer against the last on the same facts, by run and relation: both, inner_only, ..."""
    return db.query(
        f"""
        SELECT run_id, relation, layer, CAST(sum("both") AS BIGINT) AS both, CAST(sum(inner_only) AS BIGINT) AS
            inner_only,
            CAST(sum(last_only) AS BIGINT) AS last_only, CAST(sum(neither) AS BIGINT) AS neither
        FROM against_counts {OF_RUNS} AND k = $k
        GROUP BY run_id, relation, layer ORDER BY run_id, relation, layer
        """,
        {"k": int(k), **of_runs(run_ids, exposures, answer_in_subject)},
    )


def answer_types(
    db: Database, run_ids: Sequence[str], exposures: Sequence[str] | None = None, answer_in_subject: bool | None = None
) -> pd.DataFrame:
    """Kinds (``facts.totals.KINDS``) of top tokens that occur: run_id, layer, kind, n."""
    return db.query(
        f"SELECT run_id, layer, kind, CAST(sum(n) AS BIGINT) AS n FROM answer_counts {OF_RUNS} GROUP BY run_id, layer,"
        " kind ORDER BY ALL",
        of_runs(run_ids, exposures, answer_in_subject),
    )


def relation_exposures(
    db: Database, run_ids: Sequence[str], exposures: Sequence[str] | None = None, answer_in_subject: bool | None = None
) -> pd.DataFrame:
    """Exposure of each relation's facts to the training text: run_id, relation, exposure, n."""
    return db.query(
        f"SELECT run_id, relation, exposure, CAST(sum(n) AS BIGINT) AS n FROM total_counts {OF_RUNS} GROUP BY ALL ORDER"
        " BY ALL",
        of_runs(run_ids, exposures, answer_in_subject),
    )


def transition_counts(
    db: Database,
    base_runs: Sequence[str],
    run_ids: Sequence[str],
    k: int,
    exposures: Sequence[str] | None = None,
    answer_in_subject: bool | None = None,
) -> pd.DataFrame:
    """The outcome of the facts that both runs of each pair (base and fine-tuned model) were asked, by relation.

    Also ``answer_clusters.columns_of`` the values more (the run's minus its base's) and above_more (of both minus the
    swapped subject).
    """
    values = more_values("b.last_rank", "m.last_rank", "b.swapped_last_rank", "m.swapped_last_rank")
    facts = f"""
        FROM (SELECT unnest($base_runs::VARCHAR[]) AS base_run_id, unnest($run_ids::VARCHAR[]) AS run_id) p
        JOIN fact_runs r ON r.run_id = p.base_run_id
        JOIN (SELECT * FROM known {OF_RUNS}) m ON m.run_id = p.run_id
        JOIN (SELECT * FROM known WHERE run_id IN (SELECT unnest($base_runs::VARCHAR[]))) b
        ON b.run_id = p.base_run_id AND b.fact_id = m.fact_id
        JOIN (SELECT fact_id, relation, object FROM facts) f ON f.fact_id = m.fact_id
    """
    return db.query(
        summed(values, facts, "p.base_run_id, p.run_id", "base_run_id, run_id, relation", PART_CONDITIONS),
        {"base_runs": list(base_runs), "k": int(k), "part_k": int(k), **of_runs(run_ids, exposures, answer_in_subject)},
        of=[*base_runs, *run_ids],
    )


def one_sided(
    db: Database,
    first: Sequence[str],
    second: Sequence[str],
    exposures: Sequence[str] | None = None,
    answer_in_subject: bool | None = None,
) -> pd.DataFrame:
    """Facts that only the first run of each pair was asked: first, second, relation, n; no row without one."""
    return db.query(
        f"""
        WITH pairs AS (SELECT unnest($first::VARCHAR[]) AS first_id, unnest($second::VARCHAR[]) AS second_id),
        asked AS (SELECT run_id, fact_id, relation FROM known WHERE run_id IN (SELECT unnest($first::VARCHAR[])) AND
            {KEPT}),
        others AS (SELECT run_id, fact_id FROM known WHERE run_id IN (SELECT unnest($second::VARCHAR[])))
        SELECT p.first_id AS first, p.second_id AS second, a.relation, count(*) AS n
        FROM pairs p JOIN asked a ON a.run_id = p.first_id
        ANTI JOIN others o ON o.run_id = p.second_id AND o.fact_id = a.fact_id
        GROUP BY ALL ORDER BY ALL
        """,
        {"first": list(first), "second": list(second), **filters(exposures, answer_in_subject)},
        of=[*first, *second],
    )


def exit_counts(
    db: Database,
    run_ids: Sequence[str],
    k: int,
    seed: int = 0,
    exposures: Sequence[str] | None = None,
    answer_in_subject: bool | None = None,
) -> pd.DataFrame:
    """Every layer 1..L against the last, by half of the facts (``scored`` or not); ``any``: known at some layer 1..L.

    The halves are those of ``tests.reference.knowledge.is_scored``.
    """
    return db.query(
        f"""
        WITH asked AS (
            SELECT run_id, fact_id, relation, last_rank, best_rank, substr(md5($seed || fact_id), 1, 1) >= '8' AS scored
            FROM known {OF_RUNS}
        )
        SELECT p.run_id, a.relation, p.layer, a.scored,
            count(*) FILTER (p.gold_rank <= $k AND a.last_rank <= $k) AS both,
            count(*) FILTER (p.gold_rank <= $k AND a.last_rank > $k) AS layer_only,
            count(*) FILTER (p.gold_rank > $k AND a.last_rank <= $k) AS last_only,
            count(*) FILTER (p.gold_rank > $k AND a.last_rank > $k) AS neither,
            count(*) FILTER (a.best_rank <= $k) AS any
        FROM predictions p JOIN asked a ON a.run_id = p.run_id AND a.fact_id = p.fact_id
        WHERE p.layer >= 1 AND p.run_id IN (SELECT unnest($run_ids::VARCHAR[]))
        GROUP BY ALL ORDER BY ALL
        """,
        {"k": int(k), "seed": str(int(seed)), **of_runs(run_ids, exposures, answer_in_subject)},
        of=run_ids,
    )


def seed_unions(
    db: Database, run_ids: Sequence[str], exposures: Sequence[str] | None = None, answer_in_subject: bool | None = None
) -> pd.DataFrame:
    """Union of a run with its re-trained heads: the last layer of the runs that differ from it in their seed only.

    Of several runs with one seed the newest counts; runs without predictions have no union, and are in none. ``seeds``
    counts runs, itself included; ``n`` the facts of the run itself.
    """
    return db.query(
        f"""
        WITH made AS (
            SELECT * REPLACE (regexp_replace(recipe, '"seed":[0-9]+', '') AS recipe) FROM runs_of_facts WHERE NOT
                counted
        ), chosen AS (
            SELECT * FROM made WHERE run_id IN (SELECT unnest($run_ids::VARCHAR[]))
        ), alike AS (
            SELECT c.run_id AS own_id, r.run_id, r.seed FROM chosen c JOIN made r
            ON r.model = c.model AND r.head = c.head AND r.probe_set = c.probe_set AND r.template_set = c.template_set
            AND r.dtype IS NOT DISTINCT FROM c.dtype
            AND r.weights IS NOT DISTINCT FROM c.weights AND r.recipe IS NOT DISTINCT FROM c.recipe
            AND (r.seed <> c.seed OR r.run_id = c.run_id)
            QUALIFY row_number() OVER (PARTITION BY c.run_id, r.seed ORDER BY r.created DESC NULLS LAST, r.run_id) = 1
        ), seeds AS (
            SELECT own_id, count(*) AS seeds FROM alike GROUP BY own_id
        ), asked AS (
            SELECT run_id, relation, fact_id, last_rank FROM known {OF_RUNS}
        ), others AS (
            SELECT run_id, fact_id, last_rank FROM known
            WHERE run_id IN (SELECT s.run_id FROM alike s JOIN seeds n ON n.own_id = s.own_id WHERE n.seeds > 1)
        ), best AS (
            SELECT a.run_id, a.relation, a.last_rank AS best_rank FROM asked a JOIN seeds n ON n.own_id = a.run_id
                WHERE n.seeds = 1
            UNION ALL
            SELECT a.run_id, a.relation, min(o.last_rank) AS best_rank
            FROM asked a JOIN seeds n ON n.own_id = a.run_id AND n.seeds > 1 JOIN alike s ON s.own_id = a.run_id
            JOIN others o ON o.run_id = s.run_id AND o.fact_id = a.fact_id
            GROUP BY a.run_id, a.relation, a.fact_id
        )
        SELECT b.run_id, b.relation, any_value(s.seeds) AS seeds, count(*) AS n,
            count(*) FILTER (best_rank <= 1) AS any_1,
            count(*) FILTER (best_rank <= 10) AS any_10,
            count(*) FILTER (best_rank <= 100) AS any_100
        FROM best b JOIN seeds s ON s.own_id = b.run_id
        GROUP BY b.run_id, b.relation ORDER BY b.run_id, b.relation
        """,
        of_runs(run_ids, exposures, answer_in_subject),
    )


def layers_stored(db: Database, run_ids: Sequence[str]) -> pd.DataFrame:
    """How many layers of each run are stored, 0..L or its last only: run_id, n_layers."""
    return db.query(
        """
        SELECT run_id, count(DISTINCT layer) AS n_layers FROM layer_counts
        WHERE run_id IN (SELECT unnest($run_ids::VARCHAR[])) GROUP BY run_id ORDER BY run_id
        """,
        {"run_ids": list(run_ids)},
    )


def weight_drift(db: Database, models: Sequence[str]) -> pd.DataFrame:
    """How far fine-tuning moved weights: model, base, layer (0: embeddings), drift (relative, >= 0), parameters."""
    return db.query(
        "SELECT * FROM weight_drift WHERE model IN (SELECT unnest($models::VARCHAR[])) ORDER BY model, layer",
        {"models": list(models)},
    )
