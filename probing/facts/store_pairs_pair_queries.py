"""Two runs on the same facts, counted and listed in one query each."""

from collections.abc import Sequence

import pandas as pd

from probing.facts.forgotten_transitions import FATES, PARTS
from probing.facts.store_answer_clusters import more_values, summed
from probing.facts.store_pairs_transition_sql import PART_CONDITIONS
from probing.facts.store_scope import KEPT, filters
from probing.kernel.store.database import Database

#: Words are compared without case and accents.
_PLAIN = "strip_accents(lower({}))"


def paired_layers(
    db: Database,
    first: str,
    second: str,
    k: int,
    exposures: Sequence[str] | None = None,
    answer_in_subject: bool | None = None,
) -> pd.DataFrame:
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
        {"first": first, "second": second, "k": int(k), **filters(exposures, answer_in_subject)},
        of=(first, second),
    )


def paired_majority(
    db: Database,
    first: str,
    second: str,
    exposures: Sequence[str] | None = None,
    answer_in_subject: bool | None = None,
    *,
    known: int | None = None,
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
        {"first": first, "second": second, "known": known, **filters(exposures, answer_in_subject)},
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
                coalesce(CASE WHEN contains(v.text, chr(65533)) THEN v.token ELSE v.text END, '#' || p.top_ids[1]) AS
                    answer
            FROM predictions p
            JOIN fact_runs r ON r.run_id = p.run_id AND p.layer = r.layers - 1
            LEFT JOIN vocabulary v ON v.tokenizer = r.tokenizer AND v.id = p.top_ids[1]
            WHERE p.run_id IN ($first, $second)
        )
        SELECT s.part, s.fate, f.fact_id, f.relation, f.subject, f.object, f.prompt, s.base_rank, s.rank,
            b.probability AS base_probability, m.probability, b.answer AS base_answer, b.answer_probability AS
                base_answer_probability,
            m.answer, m.answer_probability
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


def answers_no_longer_first(
    db: Database, first: str, second: str, exposures: Sequence[str] | None = None, answer_in_subject: bool | None = None
) -> pd.DataFrame:
    """First answers of a base at its last layer that its fine-tuned model has not there, and where it has them inside.

    Right answers, and wrong ones that are right for another fact of the relation, whatever is filtered. No row if the
    two models have different vocabularies. confidence is the base's probability; still_inside: whether the fine-tuned
    model gives it first at an inner layer 1..L-1 at which the base does, too; inside: whether at any.
    """
    return db.query(
        f"""
        WITH pair AS (
            SELECT b.tokenizer, b.layers - 1 AS base_last, m.layers - 1 AS last
            FROM fact_runs b JOIN fact_runs m ON m.tokenizer = b.tokenizer WHERE b.run_id = $first AND m.run_id =
                $second
        ), kinds AS (
            SELECT DISTINCT k.relation, v.id FROM pair p
            JOIN known k ON k.run_id = $second
            JOIN facts f ON f.fact_id = k.fact_id
            JOIN vocabulary v ON v.tokenizer = p.tokenizer AND v.starts_word AND {_PLAIN.format("v.text")} =
                {_PLAIN.format("f.object")}
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
            ON m.run_id = $second AND m.fact_id = s.fact_id AND m.layer BETWEEN 1 AND p.last - 1 AND m.top_ids[1] =
                s.answer
        LEFT JOIN predictions b ON b.run_id = $first AND b.fact_id = s.fact_id AND b.layer = m.layer AND b.layer <
            p.base_last
        GROUP BY s.fact_id, s.relation, s.answer, s."right", s.logp ORDER BY s.relation, s.fact_id
        """,
        {"first": first, "second": second, **filters(exposures, answer_in_subject)},
        of=(first, second),
    )
