"""Queries about two runs on the same facts: parts and fates, counted and listed by the same SQL."""

from collections.abc import Sequence

import pandas as pd

from probing.facts.forgotten import FATES, NEAR, PARTS
from probing.facts.store import KEPT, OF_RUNS, filters, more_values, of_runs, summed
from probing.kernel.fact import EVERY_FACT, Subset
from probing.kernel.store.database import Database

#: Bits of the layers that are neither the embeddings nor the last; of a lost fact the last layer's is not set.
_INNER = "(m.known_layers & ~1::UBIGINT)"
#: Those at which the base has the fact first, too; its own last layer does not count.
_THERE = f"({_INNER} & b.known_layers & ~(1::UBIGINT << (r.layers - 1)::UBIGINT))"
_LOST = "b.last_rank <= $part_k AND m.last_rank > $part_k"
_ELSEWHERE = f"{_LOST} AND {_INNER} = 0"

#: Part or fate -> condition on ``known`` of the base's run (b) and of the fine-tuned model's (m) for the same fact, and
#: on ``fact_runs`` of the base's run (r).
PART_CONDITIONS = {
    "kept": "b.last_rank <= $part_k AND m.last_rank <= $part_k",
    "gained": "b.last_rank > $part_k AND m.last_rank <= $part_k",
    "lost": _LOST,
    "never": "b.last_rank > $part_k AND m.last_rank > $part_k",
    "still_inside": f"{_LOST} AND {_THERE} <> 0",
    "moved": f"{_LOST} AND {_INNER} <> 0 AND {_THERE} = 0",
    "suppressed": f"{_ELSEWHERE} AND m.last_rank <= {NEAR}",
    "displaced": f"{_ELSEWHERE} AND m.last_rank > {NEAR} AND m.best_rank <= {NEAR}",
    "not_read": f"{_ELSEWHERE} AND m.last_rank > {NEAR} AND m.best_rank > {NEAR}",
}


def against_last(db: Database, run_ids: Sequence[str], k: int, subset: Subset = EVERY_FACT) -> pd.DataFrame:
    """Every inner layer against the last on the same facts, by run and relation: both, inner_only, ..."""
    return db.query(
        f"""
        SELECT run_id, relation, layer, CAST(sum("both") AS BIGINT) AS both,
            CAST(sum(inner_only) AS BIGINT) AS inner_only,
            CAST(sum(last_only) AS BIGINT) AS last_only, CAST(sum(neither) AS BIGINT) AS neither
        FROM against_counts {OF_RUNS} AND k = $k
        GROUP BY run_id, relation, layer ORDER BY run_id, relation, layer
        """,
        {"k": int(k), **of_runs(run_ids, subset)},
    )


def answer_types(db: Database, run_ids: Sequence[str], subset: Subset = EVERY_FACT) -> pd.DataFrame:
    """Kinds (``facts.totals.KINDS``) of top tokens that occur: run_id, layer, kind, n."""
    return db.query(
        f"SELECT run_id, layer, kind, CAST(sum(n) AS BIGINT) AS n FROM answer_counts {OF_RUNS} GROUP BY run_id, layer,"
        " kind ORDER BY ALL",
        of_runs(run_ids, subset),
    )


def relation_exposures(db: Database, run_ids: Sequence[str], subset: Subset = EVERY_FACT) -> pd.DataFrame:
    """Exposure of each relation's facts to the training text: run_id, relation, exposure, n."""
    return db.query(
        f"SELECT run_id, relation, exposure, CAST(sum(n) AS BIGINT) AS n FROM total_counts {OF_RUNS}"
        " GROUP BY ALL ORDER BY ALL",
        of_runs(run_ids, subset),
    )


def transition_counts(
    db: Database, base_runs: Sequence[str], run_ids: Sequence[str], k: int, subset: Subset = EVERY_FACT
) -> pd.DataFrame:
    """The outcome of the facts that both runs of each pair (base and fine-tuned model) were asked, by relation.

    Also ``columns_of`` the values more (the run's minus its base's) and above_more (of both minus the
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
        {"base_runs": list(base_runs), "k": int(k), "part_k": int(k), **of_runs(run_ids, subset)},
        of=[*base_runs, *run_ids],
    )


def one_sided(db: Database, first: Sequence[str], second: Sequence[str], subset: Subset = EVERY_FACT) -> pd.DataFrame:
    """Facts that only the first run of each pair was asked: first, second, relation, n; no row without one."""
    return db.query(
        f"""
        WITH pairs AS (SELECT unnest($first::VARCHAR[]) AS first_id, unnest($second::VARCHAR[]) AS second_id),
        asked AS (
            SELECT run_id, fact_id, relation FROM known
            WHERE run_id IN (SELECT unnest($first::VARCHAR[])) AND {KEPT}
        ),
        others AS (SELECT run_id, fact_id FROM known WHERE run_id IN (SELECT unnest($second::VARCHAR[])))
        SELECT p.first_id AS first, p.second_id AS second, a.relation, count(*) AS n
        FROM pairs p JOIN asked a ON a.run_id = p.first_id
        ANTI JOIN others o ON o.run_id = p.second_id AND o.fact_id = a.fact_id
        GROUP BY ALL ORDER BY ALL
        """,
        {"first": list(first), "second": list(second), **filters(subset)},
        of=[*first, *second],
    )


def exit_counts(
    db: Database, run_ids: Sequence[str], k: int, seed: int = 0, subset: Subset = EVERY_FACT
) -> pd.DataFrame:
    """Every layer 1..L against the last, by half of the facts (``scored`` or not); ``any``: known at some layer 1..L.

    The halves are those of ``tests.reference.facts.is_scored``.
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
        {"k": int(k), "seed": str(int(seed)), **of_runs(run_ids, subset)},
        of=run_ids,
    )


def seed_unions(db: Database, run_ids: Sequence[str], subset: Subset = EVERY_FACT) -> pd.DataFrame:
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
        of_runs(run_ids, subset),
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


#: Words are compared without case and accents.
_PLAIN = "strip_accents(lower({}))"


def paired_layers(db: Database, first: str, second: str, k: int, subset: Subset = EVERY_FACT) -> pd.DataFrame:
    """How many of the facts that two runs share each, both or neither knows, at every layer that both have.

    Filters are read from the second run. Columns: layer, n, both, first_only, second_only, neither, and ``columns_of``
    the values more (the second's minus the first's) and above_more (of both minus the swapped subject).
    """
    values = more_values("a.gold_rank", "b.gold_rank", "a.other_rank", "b.other_rank")
    facts = f"""
        FROM predictions a
        JOIN predictions b ON b.fact_id = a.fact_id AND b.layer = a.layer
        JOIN known k ON k.run_id = b.run_id AND k.fact_id = b.fact_id
        JOIN (SELECT fact_id, relation, object FROM facts) f ON f.fact_id = b.fact_id
        WHERE a.run_id = $first AND b.run_id = $second AND {KEPT}
    """
    counts = {
        "n": "true",
        "both": "a.gold_rank <= $k AND b.gold_rank <= $k",
        "first_only": "a.gold_rank <= $k AND b.gold_rank > $k",
        "second_only": "a.gold_rank > $k AND b.gold_rank <= $k",
        "neither": "a.gold_rank > $k AND b.gold_rank > $k",
    }
    return db.query(
        summed(values, facts, "a.layer", "layer", counts),
        {"first": first, "second": second, "k": int(k), **filters(subset)},
        of=(first, second),
    )


def paired_majority(
    db: Database, first: str, second: str, subset: Subset = EVERY_FACT, *, known: int | None = None
) -> tuple[int, int]:
    """How many facts two runs share, and how many of them have the most frequent answer of their relation.

    The most frequent answer is that of all facts of the second run and relation, whatever is filtered, as in the table
    ``total_counts``. With ``known`` only the facts count that have at most this rank at the first run's last layer.
    """
    counted = db.query(
        f"""
        WITH answers AS (
            SELECT k.relation AS asked, f.object, row_number() OVER (PARTITION BY k.relation ORDER BY count(*) DESC,
                f.object) AS place
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
        {"first": first, "second": second, "known": known, **filters(subset)},
        of=(first, second),
    )
    return int(counted["n"].iloc[0]), int(counted["hits"].iloc[0])


def _first_that_holds(names: Sequence[str]) -> str:
    return "CASE " + " ".join(f"WHEN {PART_CONDITIONS[name]} THEN '{name}'" for name in names) + " END"


def paired_facts(db: Database, first: str, second: str, k: int, parts: Sequence[str] = PARTS) -> pd.DataFrame:
    """The facts that two runs (base and fine-tuned model) share, by part, relation, subject and object.

    Ranks, probabilities and best tokens (``#id`` if the vocabulary lacks it) are the last layers'; ``fate`` (of
    ``FATES``) is empty if the fact is not lost.
    """
    return db.query(
        f"""
        WITH shared AS (
            SELECT m.fact_id, b.last_rank AS base_rank, m.last_rank AS rank,
                {_first_that_holds(PARTS)} AS part, {_first_that_holds(FATES)} AS fate
            FROM known m JOIN known b ON b.fact_id = m.fact_id JOIN fact_runs r ON r.run_id = b.run_id
            WHERE b.run_id = $first AND m.run_id = $second
        ), best AS (
            SELECT p.run_id, p.fact_id, exp(p.gold_logp) AS probability, exp(p.top_logp[1]) AS answer_probability,
                -- Half a character has no text, so its token is shown.
                coalesce(CASE WHEN contains(v.text, chr(65533)) THEN v.token ELSE v.text END, '#' || p.top_ids[1])
                    AS answer
            FROM predictions p
            JOIN fact_runs r ON r.run_id = p.run_id AND p.layer = r.layers - 1
            LEFT JOIN vocabulary v ON v.tokenizer = r.tokenizer AND v.id = p.top_ids[1]
            WHERE p.run_id IN ($first, $second)
        )
        SELECT s.part, s.fate, f.fact_id, f.relation, f.subject, f.object, f.prompt, s.base_rank, s.rank,
            b.probability AS base_probability, m.probability, b.answer AS base_answer,
            b.answer_probability AS base_answer_probability, m.answer, m.answer_probability
        FROM shared s
        JOIN facts f ON f.fact_id = s.fact_id
        JOIN best b ON b.fact_id = s.fact_id AND b.run_id = $first
        JOIN best m ON m.fact_id = s.fact_id AND m.run_id = $second
        WHERE s.part IN (SELECT unnest($parts::VARCHAR[]))
        ORDER BY list_position($parts::VARCHAR[], s.part), f.relation, f.subject, f.object, f.fact_id
        """,
        {"first": first, "second": second, "part_k": int(k), "parts": list(parts)},
        of=(first, second),
    )


def answers_no_longer_first(db: Database, first: str, second: str, subset: Subset = EVERY_FACT) -> pd.DataFrame:
    """First answers of a base at its last layer that its fine-tuned model has not there, and where it has them inside.

    Right answers, and wrong ones that are right for another fact of the relation, whatever is filtered. No row if the
    two models have different vocabularies. confidence is the base's probability; still_inside: whether the fine-tuned
    model gives it first at an inner layer 1..L-1 at which the base does, too; inside: whether at any.
    """
    return db.query(
        f"""
        WITH pair AS (
            SELECT b.tokenizer, b.layers - 1 AS base_last, m.layers - 1 AS last
            FROM fact_runs b JOIN fact_runs m ON m.tokenizer = b.tokenizer
            WHERE b.run_id = $first AND m.run_id = $second
        ), kinds AS (
            SELECT DISTINCT k.relation, v.id FROM pair p
            JOIN known k ON k.run_id = $second
            JOIN facts f ON f.fact_id = k.fact_id
            JOIN vocabulary v ON v.tokenizer = p.tokenizer AND v.starts_word
                AND {_PLAIN.format("v.text")} = {_PLAIN.format("f.object")}
        ), said AS (
            SELECT b.fact_id, k.relation, b.top_ids[1] AS answer, b.gold_rank = 1 AS "right", b.top_logp[1] AS logp
            FROM pair p
            JOIN predictions b ON b.run_id = $first AND b.layer = p.base_last
            JOIN predictions m ON m.run_id = $second AND m.layer = p.last AND m.fact_id = b.fact_id
            JOIN known k ON k.run_id = $second AND k.fact_id = b.fact_id
            LEFT JOIN kinds w ON w.relation = k.relation AND w.id = b.top_ids[1]
            WHERE m.top_ids[1] <> b.top_ids[1] AND (b.gold_rank = 1 OR w.id IS NOT NULL) AND {KEPT}
        )
        SELECT s.relation, s.answer, s."right", exp(s.logp) AS confidence,
            coalesce(bool_or(b.top_ids[1] = s.answer), false) AS still_inside, count(m.layer) > 0 AS inside
        FROM said s
        CROSS JOIN pair p
        LEFT JOIN predictions m
            ON m.run_id = $second AND m.fact_id = s.fact_id AND m.layer BETWEEN 1 AND p.last - 1
                AND m.top_ids[1] = s.answer
        LEFT JOIN predictions b ON b.run_id = $first AND b.fact_id = s.fact_id AND b.layer = m.layer AND b.layer <
            p.base_last
        GROUP BY s.fact_id, s.relation, s.answer, s."right", s.logp ORDER BY s.relation, s.fact_id
        """,
        {"first": first, "second": second, **filters(subset)},
        of=(first, second),
    )
