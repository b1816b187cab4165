"""One fact through all layers, and facts that are worth looking at."""

from collections.abc import Sequence

import pandas as pd

from probing.facts.store_facts_fact_queries import whole_numbers
from probing.kernel.store.database import Database

#: Three sentences of this length fit next to each other, and each fits one line on a phone.
_SHORT = 34
#: Order of ``example_facts`` after what no guess explains.
_BEST = f"clear DESC, length(prompt) <= {_SHORT} DESC, moves DESC, gold_logp DESC, fact_id"
#: The answers of each relation of a run, the most frequent one first: the majority answer.
_ANSWERS = """
    SELECT k.relation, f.object, row_number() OVER (PARTITION BY k.relation ORDER BY count(*) DESC, f.object) AS place
    FROM known k JOIN facts f ON f.fact_id = k.fact_id
    WHERE k.run_id = $run_id GROUP BY k.relation, f.object
"""
#: A run's facts and its predictions at every layer, each with its relation's majority answer from ``_ANSWERS``.
_BESIDE_MAJORITY = """FROM known k
            JOIN fact_runs r ON r.run_id = k.run_id
            JOIN facts f ON f.fact_id = k.fact_id
            JOIN answers a ON a.relation = k.relation AND a.place = 1
            JOIN predictions p ON p.run_id = k.run_id AND p.fact_id = k.fact_id"""


def fact(db: Database, fact_id: str) -> pd.DataFrame:
    """One row: the columns of ``facts``, and label and cardinality of its relation; no row if there is no such fact."""
    return db.query(
        """
        SELECT f.*, coalesce(l.label, f.relation) AS label, l.cardinality
        FROM facts f LEFT JOIN relations l ON l.relation = f.relation AND l.probe_set = f.probe_set
        WHERE f.fact_id = $fact_id
        """,
        {"fact_id": fact_id},
    )


def fact_predictions(db: Database, fact_id: str, run_ids: Sequence[str]) -> pd.DataFrame:
    """What the runs predicted, by run and layer: ranks, gold_logp, and top_ids, tokens, top_logp (lists, best first).

    A token is as a reader writes it; ``#id`` if the vocabulary lacks it.
    """
    rows = db.query(
        """
        WITH rows AS (
            SELECT p.*, r.tokenizer FROM predictions p JOIN fact_runs r ON r.run_id = p.run_id
            WHERE p.fact_id = $fact_id AND p.run_id IN (SELECT unnest($run_ids::VARCHAR[]))
        ), places AS (
            SELECT run_id, layer, tokenizer, unnest(top_ids) AS id, generate_subscripts(top_ids, 1) AS place FROM rows
        ), named AS (
            -- Half a character has no text, so its token is shown.
            SELECT s.run_id, s.layer,
                list(coalesce(CASE WHEN contains(v.text, chr(65533)) THEN v.token ELSE v.text END, '#' || s.id) ORDER
                    BY s.place) AS tokens
            FROM places s LEFT JOIN vocabulary v ON v.tokenizer = s.tokenizer AND v.id = s.id
            GROUP BY s.run_id, s.layer
        )
        SELECT rows.run_id, rows.layer, gold_rank, answer_rank, other_rank, gold_logp, top_ids, coalesce(tokens, []) AS
            tokens, top_logp
        FROM rows LEFT JOIN named ON named.run_id = rows.run_id AND named.layer = rows.layer
        ORDER BY rows.run_id, rows.layer
        """,
        {"fact_id": fact_id, "run_ids": list(run_ids)},
        of=run_ids,
    )
    for name in ("top_ids", "tokens", "top_logp"):
        rows[name] = [list(value.tolist() if hasattr(value, "tolist") else value) for value in rows[name]]
    return whole_numbers(rows)


def fact_ranks(db: Database, run_ids: Sequence[str]) -> pd.DataFrame:
    """Ranks of the right answers of every fact of some runs: run_id, fact_id, ranks (list of int, layers 0 to L)."""
    rows = db.query(
        """
        SELECT run_id, fact_id, list(gold_rank ORDER BY layer) AS ranks FROM predictions
        WHERE run_id IN (SELECT unnest($run_ids::VARCHAR[])) GROUP BY run_id, fact_id ORDER BY run_id, fact_id
        """,
        {"run_ids": list(run_ids)},
        of=run_ids,
    )
    return rows.assign(ranks=[[int(rank) for rank in ranks] for ranks in rows["ranks"]])


def fact_runs(db: Database, fact_id: str) -> pd.DataFrame:
    """Which runs asked a fact: run_id, exposure, first_layer, last_layer, layers_known, best_rank, last_rank."""
    return whole_numbers(
        db.query(
            """
            SELECT run_id, exposure, first_layer, last_layer, layers_known, best_rank, last_rank
            FROM known WHERE fact_id = $fact_id ORDER BY run_id
            """,
            {"fact_id": fact_id},
        )
    )


def null_examples(db: Database, run_id: str, k: int = 1) -> pd.DataFrame:
    """Facts that show the null of total knowledge: the last layer misses both subjects', some inner layer does not.

    Of each kind, found inside with the ``own`` subject only, the ``swapped`` one only, or ``both``, the first by the
    md5 of its id, so that the choice is arbitrary; facts whose answer occurs in their subject are skipped. own_ranks
    and swapped_ranks are lists, layers 1..L. A run that does not store swapped ranks has no row.
    """
    facts = db.query(
        """
        WITH missed AS (
            SELECT k.fact_id, k.inner_rank <= $k AS own, k.swapped_inner_rank <= $k AS swapped FROM known k
            WHERE k.run_id = $run_id AND NOT k.answer_in_subject AND k.last_rank > $k AND k.swapped_last_rank > $k
        ), kinds AS (
            SELECT fact_id, CASE WHEN own AND swapped THEN 'both' WHEN own THEN 'own' ELSE 'swapped' END AS kind
            FROM missed WHERE own OR swapped
        ), chosen AS (
            SELECT kind, arg_min(fact_id, (md5(fact_id), fact_id)) AS fact_id FROM kinds GROUP BY kind
        )
        SELECT c.kind, f.fact_id, coalesce(any_value(l.label), any_value(f.relation)) AS label, any_value(f.subject) AS
            subject,
            any_value(f.object) AS object, any_value(f.prompt) AS prompt,
            list(p.gold_rank ORDER BY p.layer) AS own_ranks, list(p.other_rank ORDER BY p.layer) AS swapped_ranks,
            any_value(o.prompt) AS swapped_prompt
        FROM chosen c
        JOIN facts f ON f.fact_id = c.fact_id
        JOIN predictions p ON p.run_id = $run_id AND p.fact_id = c.fact_id AND p.layer >= 1
        JOIN lenders b ON b.run_id = $run_id AND b.fact_id = c.fact_id
        JOIN facts o ON o.fact_id = b.lender_id
        LEFT JOIN relations l ON l.relation = f.relation AND l.probe_set = f.probe_set
        GROUP BY c.kind, f.fact_id ORDER BY list_position(['own', 'swapped', 'both'], c.kind)
        """,
        {"run_id": run_id, "k": int(k)},
        of=[run_id],
    )
    for name in ("own_ranks", "swapped_ranks"):
        facts[name] = [[int(rank) for rank in ranks] for ranks in facts[name]]
    return facts


def example_facts(db: Database, run_id: str, limit: int = 3, tuned: Sequence[str] = ()) -> pd.DataFrame:
    """Facts whose predictions change over the layers in a typical way, of different relations, ``limit`` of each kind.

    ``late`` facts are right at the last layer, ``lost`` ones at inner layers only. Of both kinds those come first that
    no guess explains: the answer is not the commonest of its relation, and is not given for the swapped subject. Then
    come those that are right from an inner layer of the upper half on without a break (``late``) or at two layers at
    least (``lost``), then short sentences, then those that a fine-tuned model (``tuned``) lost at its last layer and
    finds at an inner one, then those of which the model is surest.
    """
    return db.query(
        f"""
        WITH answers AS ({_ANSWERS}), moved AS (
            SELECT DISTINCT fact_id FROM known WHERE list_contains($tuned, run_id) AND last_rank > 1 AND layers_known >
                0
        ), sure AS (
            SELECT k.fact_id, k.relation, f.prompt, k.last_rank = 1 AS kept, k.fact_id IN (FROM moved) AS moves,
                f.object <> a.object AS uncommon, bool_and(coalesce(p.other_rank > 1, false)) AS of_subject,
                CASE WHEN k.last_rank = 1
                    THEN 2 * k.first_layer >= r.layers AND k.first_layer < r.layers - 1 AND k.layers_known = r.layers -
                        k.first_layer
                    ELSE k.layers_known >= 2 END AS clear,
                max(p.gold_logp) AS gold_logp
            {_BESIDE_MAJORITY}
            WHERE k.run_id = $run_id AND k.layers_known > 0 AND NOT k.answer_in_subject
                AND p.layer >= 1 AND p.gold_rank = 1 AND (k.last_rank > 1 OR p.layer = r.layers - 1)
            GROUP BY ALL
        ), best AS (
            SELECT *, uncommon AND of_subject AS beyond, row_number() OVER (
                PARTITION BY kept, relation
                ORDER BY uncommon AND of_subject DESC, {_BEST}
            ) AS of_relation FROM sure
        ), placed AS (
            SELECT kept, fact_id, row_number() OVER (
                PARTITION BY kept ORDER BY of_relation, beyond DESC, {_BEST}
            ) AS place FROM best
        )
        SELECT CASE WHEN kept THEN 'late' ELSE 'lost' END AS kind, CAST(place AS INTEGER) AS place, fact_id
        FROM placed WHERE place <= $limit ORDER BY kind, place
        """,
        {"run_id": run_id, "limit": int(limit), "tuned": list(tuned)},
        of=[run_id, *tuned],
    )


def commonest_answer(db: Database, run_id: str, fact_id: str) -> pd.DataFrame:
    """The most frequent answer of a fact's relation in the run: object, n of ``of`` facts, and number of answers."""
    return whole_numbers(
        db.query(
            """
            SELECT f.object, count(*) AS n, CAST(sum(count(*)) OVER () AS BIGINT) AS of, count(*) OVER () AS answers
            FROM known k JOIN facts f ON f.fact_id = k.fact_id
            WHERE k.run_id = $run_id AND k.relation = (SELECT relation FROM known WHERE run_id = $run_id AND fact_id =
                $fact_id)
            GROUP BY f.object ORDER BY count(*) DESC, f.object LIMIT 1
            """,
            {"run_id": run_id, "fact_id": fact_id},
            of=[run_id],
        )
    )
