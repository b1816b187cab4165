"""Queries about runs that rank candidates: sums by layer, relation and number of tokens, and single facts."""

from collections.abc import Sequence

import pandas as pd

from probing.facts.store import summed
from probing.kernel.store.database import Database


def candidate_runs(db: Database) -> pd.DataFrame:
    """All complete runs with the columns of their files and of their provenance, by model, the newest first."""
    return db.query("SELECT * FROM runs_of_candidates ORDER BY model, created DESC NULLS LAST, run_id")


def _first(prefix: str) -> str:
    """Share of P@1 by a rank: candidates that tie at it share the place."""
    rank, tied = f"k.{prefix}rank", f"k.{prefix}tied"
    return f"CASE WHEN {rank} = ({tied} + 1) / 2 THEN 1e0 / {tied} ELSE 0e0 END"


#: Mean of 1 / place over the places that the candidates of a rank share.
_RECIPROCAL = """CASE WHEN k.tied = 1 THEN 1e0 / k.rank ELSE list_avg(list_transform(
    range((k.rank - (k.tied - 1) / 2)::BIGINT, (k.rank + (k.tied - 1) / 2)::BIGINT + 1), lambda x: 1e0 / x)) END"""
#: Name of a sum over facts -> what is summed. By chance every order of the candidates is as likely.
SUMS = {
    "n": "1",
    "candidates": "f.candidates",
    "hits": _first(""),
    "reciprocal_rank": "reciprocal",
    "squared_reciprocal_rank": "reciprocal * reciprocal",
    "rank": "k.rank",
    "chance_hits": "1e0 / f.candidates",
    "chance_reciprocal_rank": "c.reciprocal_rank",
    "chance_rank": "(f.candidates + 1) / 2",
    "alone_hits": _first("alone_"),
    "pmi_hits": _first("pmi_"),
    "shortest_hits": "CASE WHEN f.fewer_pieces = 0 THEN 1e0 / f.equal_pieces ELSE 0e0 END",
    "majority_hits": "f.is_commonest::INTEGER",
    "swapped_n": "(f.others > 0)::INTEGER",
    "swapped_hits": "CASE WHEN f.others > 0 THEN coalesce(s.n, 0) / f.others ELSE 0e0 END",
    "below": "(f.candidates - k.rank - (k.tied - 1) / 2) / greatest(f.candidates - 1, 1)",
    "all_below": "(k.rank = 1)::INTEGER",
}


#: The facts of some runs; if they are to be common, those that all of them ranked among as many candidates.
_CHOSEN = """SELECT * FROM candidate_facts WHERE run_id IN (SELECT unnest($run_ids::VARCHAR[]))
    QUALIFY NOT $common OR count(*) OVER (PARTITION BY fact_id, candidates) = len($run_ids)"""


def _folded(column: str) -> str:
    """A text without case and accents: of candidates with the same tokens, ``best`` has the first."""
    return f"lower(strip_accents({column}))"


#: ``asked``: the chosen facts, whether theirs is the relation's commonest answer, and ``others``: how many facts of
#: their wording are of subjects without it. Prompts whose wording no other subject has share an empty one. ``swapped``:
#: how many of these facts have an answer first. Counted by answer, as pairs of facts would be too many.
_ASKED = f"""
    worded AS (
        SELECT *, coalesce(nullif(subject, ''), prompt) AS who, {_folded("object")} AS answer,
            replace(prompt, subject, '[X]') AS own_wording,
            if(min(who) OVER alike < max(who) OVER alike, own_wording, '') AS wording
        FROM chosen WINDOW alike AS (PARTITION BY run_id, relation, own_wording)
    ),
    answers AS (SELECT DISTINCT run_id, relation, who, answer FROM worded),
    having_it AS (
        SELECT run_id, relation, wording, a.answer, sum(facts) AS n
        FROM (SELECT run_id, relation, wording, who, count(*) AS facts FROM worded GROUP BY ALL)
        JOIN answers a USING (run_id, relation, who) GROUP BY ALL
    ),
    commonest AS (
        SELECT run_id, relation, answer FROM worded GROUP BY run_id, relation, answer
        QUALIFY row_number() OVER (PARTITION BY run_id, relation ORDER BY count(*) DESC, answer) = 1
    ),
    asked AS (
        SELECT w.*, c.answer IS NOT NULL AS is_commonest,
            count(*) OVER (PARTITION BY w.run_id, w.relation, w.wording) - h.n AS others
        FROM worded w JOIN having_it h USING (run_id, relation, wording, answer)
        LEFT JOIN commonest c USING (run_id, relation, answer)
    ),
    swapped AS (
        SELECT k.run_id, k.layer, w.relation, w.wording, {_folded("k.best")} AS answer, count(*) AS n
        FROM candidate_ranks k JOIN worded w USING (run_id, fact_id)
        ANTI JOIN answers a ON a.run_id = w.run_id AND a.relation = w.relation AND a.who = w.who
            AND a.answer = {_folded("k.best")}
        GROUP BY ALL
    )"""


def sums(db: Database, run_ids: Sequence[str], *, common: bool = False) -> pd.DataFrame:
    """The sums of ``SUMS`` by run_id, layer, relation and pieces, the number of tokens of the right answer.

    ``common``: of the facts that all of the runs ranked among as many candidates.
    """
    columns = ", ".join(f"CAST(sum({what}) AS DOUBLE) AS {name}" for name, what in SUMS.items())
    return db.query(
        f"""
        WITH chosen AS ({_CHOSEN}), {_ASKED},
        by_chance AS (
            SELECT candidates,
                list_avg(list_transform(range(1, candidates::BIGINT + 1), lambda x: 1e0 / x)) AS reciprocal_rank
            FROM (SELECT DISTINCT candidates FROM chosen)
        ),
        ranked AS (SELECT *, {_RECIPROCAL} AS reciprocal FROM candidate_ranks k)
        SELECT k.run_id, k.layer::BIGINT AS layer, f.relation, f.pieces::BIGINT AS pieces, {columns}
        FROM ranked k JOIN asked f ON f.run_id = k.run_id AND f.fact_id = k.fact_id
        LEFT JOIN swapped s ON s.run_id = k.run_id AND s.layer = k.layer AND s.relation = f.relation
            AND s.wording = f.wording AND s.answer = f.answer
        JOIN by_chance c ON c.candidates = f.candidates
        GROUP BY k.run_id, k.layer, f.relation, f.pieces ORDER BY k.run_id, k.layer, f.relation, f.pieces
        """,
        {"run_ids": list(run_ids), "common": common},
    )


def answer_sums(db: Database, run_ids: Sequence[str], by: str = "", *, common: bool = False) -> pd.DataFrame:
    """Sums of P@1 over the right answers, as ``facts.store.summed`` has them of ``hits``: by run_id, layer, relation
    and, if wanted, ``by`` pieces.
    """
    keys, facts = f", f.{by}" * bool(by), f"FROM candidate_ranks k JOIN ({_CHOSEN}) f USING (run_id, fact_id)"
    columns = f"run_id, layer, relation{keys.replace('f.', '')}"
    found = summed({"hits": _first("")}, facts, f"k.run_id, k.layer{keys}", columns)
    return db.query(found, {"run_ids": list(run_ids), "common": common})


def ranked_facts(
    db: Database, run_ids: Sequence[str], layers: Sequence[int] | None = None, *, common: bool = False
) -> pd.DataFrame:
    """The right answer of every fact at every layer, or at some, with the columns of the two tables; see ``sums``."""
    return db.query(
        f"""
        SELECT k.*, f.* EXCLUDE (run_id, fact_id)
        FROM candidate_ranks k JOIN ({_CHOSEN}) f ON f.run_id = k.run_id AND f.fact_id = k.fact_id
        WHERE $layers IS NULL OR k.layer IN (SELECT unnest($layers::BIGINT[]))
        ORDER BY k.run_id, f.relation, f.subject, f.object, k.fact_id, k.layer
        """,
        {"run_ids": list(run_ids), "layers": None if layers is None else list(layers), "common": common},
    )
