"""Queries about single facts: found, paged, followed through the layers, and matched with a typed sentence."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from probing.facts.store_pairs import PART_CONDITIONS
from probing.facts.swapped_subjects import swapped_subjects
from probing.kernel.store.database import Database

#: A longer text is cut: each word is one more condition.
MAX_WORDS = 16

_EQUAL = {
    "relation": "f.relation",
    "probe_set": "f.probe_set",
    "first_known": "k.first_layer",
    "last_known": "k.last_layer",
    "answer_in_subject": "k.answer_in_subject",
}


@dataclass(frozen=True)
class FactFilter:
    """Conditions that all must hold; None, or an empty text, does not filter. *Known* is rank 1, at layers 1..L."""

    #: Words that must all occur in subject, object, prompt or relation, ignoring case and accents.
    text: str = ""
    relation: str | None = None
    probe_set: str | None = None
    known_at: int | None = None
    first_known: int | None = None
    last_known: int | None = None
    never_known: bool | None = None
    #: Exposures to the training text that are kept; empty keeps nothing.
    exposures: tuple[str, ...] | None = None
    answer_in_subject: bool | None = None
    #: (layer, k): rank <= k at that layer.
    layer_rank: tuple[int, int] | None = None
    #: The base's run that ``part``, of ``PARTS`` or ``FATES``, compares with.
    versus: str | None = None
    part: str | None = None
    part_k: int = 1
    #: (id of the run that asked for the lost facts, outcomes of ``forgetting.ways`` that are kept).
    back: tuple[str, tuple[str, ...]] | None = None

    def __post_init__(self) -> None:
        if self.part is not None and self.part not in PART_CONDITIONS:
            raise ValueError(f"unknown part {self.part!r}; expected one of {list(PART_CONDITIONS)}")
        if self.part is not None and self.versus is None:
            raise ValueError(f"the part {self.part!r} needs versus, the run that it is compared with")

    def condition(self) -> tuple[str, dict[str, Any]]:
        """SQL over ``known k``, ``facts f`` and ``relations l``, and its parameters; the SQL holds no given value."""
        parts: list[str] = []
        values: dict[str, Any] = {}
        haystack = "strip_accents(lower(concat_ws(' ', f.subject, f.object, f.prompt, f.relation, l.label)))"
        for number, word in enumerate(self.text.split()[:MAX_WORDS]):
            parts.append(f"contains({haystack}, strip_accents(lower($word_{number})))")
            values[f"word_{number}"] = word
        for name, column in _EQUAL.items():
            if (value := getattr(self, name)) is not None:
                parts.append(f"{column} = ${name}")
                # A frame's numbers are numpy's, which DuckDB does not bind.
                values[name] = value if isinstance(value, str | bool) else int(value)
        if self.never_known is not None:
            parts.append("(k.layers_known = 0) = $never_known")
            values["never_known"] = self.never_known
        if self.exposures is not None:
            parts.append("k.exposure IN (SELECT unnest($exposures::VARCHAR[]))")
            values["exposures"] = list(self.exposures)
        at = {"known_at": None if self.known_at is None else (self.known_at, 1), "layer_rank": self.layer_rank}
        for name, pair in at.items():
            if pair is not None:
                parts.append(
                    f"k.fact_id IN (SELECT p.fact_id FROM predictions p WHERE p.run_id = $run_id "
                    f"AND p.layer = ${name}_layer AND p.gold_rank <= ${name}_k)"
                )
                values |= {f"{name}_layer": int(pair[0]), f"{name}_k": int(pair[1])}
        if self.part is not None:
            parts.append(
                "k.fact_id IN (SELECT m.fact_id FROM known m JOIN known b ON b.fact_id = m.fact_id "
                "JOIN fact_runs r ON r.run_id = b.run_id "
                f"WHERE m.run_id = $run_id AND b.run_id = $versus AND {PART_CONDITIONS[self.part]})"
            )
            values |= {"versus": self.versus, "part_k": int(self.part_k)}
        if self.back is not None:
            parts.append(
                "k.fact_id IN (SELECT w.fact_id FROM forgetting_facts w WHERE w.run_id = $back_run "
                "AND w.way IN (SELECT unnest($back_ways::VARCHAR[])))"
            )
            values |= {"back_run": self.back[0], "back_ways": list(self.back[1])}
        return " AND ".join(parts) or "true", values


#: A table on a page loses its search, selection and download when it is very long.
MAX_ROWS = 5000

#: Name of an order -> SQL. Facts that are known nowhere come last; ties are broken by ``fact``, so that paging is
#: stable.
ORDERS = {
    "fact": "",
    "first layer": "k.first_layer ASC NULLS LAST, ",
    "last layer": "k.last_layer DESC NULLS LAST, ",
    # Known, and by no guess: the name does not give the answer away, and somebody else's name does not have it.
    "telling": "k.answer_in_subject, k.layers_known = 0, k.last_rank, coalesce(k.swapped_last_rank, 0) DESC, ",
    "layers known": "k.layers_known DESC, ",
    "best rank": "k.best_rank ASC, ",
    "last rank": "k.last_rank ASC, ",
    "worst last rank": "k.last_rank DESC, ",
}
_TIES = "f.probe_set, f.relation, f.subject, f.object, f.fact_id"

_FROM = """
    FROM known k
    JOIN facts f ON f.fact_id = k.fact_id
    LEFT JOIN relations l ON l.relation = f.relation AND l.probe_set = f.probe_set
"""
_COLUMNS = """
    f.fact_id, f.probe_set, f.relation, coalesce(l.label, f.relation) AS label, f.subject, f.object, f.prompt,
    f.answer_in_subject, f.pred, k.exposure, k.first_layer, k.last_layer, k.layers_known, k.best_rank, k.last_rank
"""
_WHOLE_NUMBERS = (
    "first_layer",
    "last_layer",
    "layers_known",
    "best_rank",
    "last_rank",
    "answer_rank",
    "other_rank",
    "their_last_rank",
)


def search_facts(
    db: Database,
    run_id: str,
    *,
    order: str = "fact",
    offset: int = 0,
    limit: int = 100,
    other: str | None = None,
    **filters: Any,
) -> pd.DataFrame:
    """Facts of a run that pass the filters (fields of ``FactFilter``), at most ``MAX_ROWS``.

    first_layer and last_layer have rank 1, of 1..L (missing when none), best_rank is over 1..L, last_rank at L; with
    ``other``, a run of another model, their_last_rank.
    """
    if not 0 <= limit <= MAX_ROWS or offset < 0:
        raise ValueError(f"got offset {offset} and limit {limit}; expected offset >= 0 and limit from 0 to {MAX_ROWS}")
    where, values = FactFilter(**filters).condition()
    theirs, join = "", ""
    if other:
        theirs, join = (
            ", o.last_rank AS their_last_rank",
            "LEFT JOIN known o ON o.run_id = $other AND o.fact_id = k.fact_id",
        )
        values = {**values, "other": other}
    facts = db.query(
        f"""SELECT {_COLUMNS}{theirs} {_FROM} {join} WHERE k.run_id = $run_id AND {where}
            ORDER BY {_order(order)} LIMIT $limit OFFSET $offset""",
        {"run_id": run_id, "limit": int(limit), "offset": int(offset), **values},
        of=_of(run_id, other, filters),
    )
    return whole_numbers(facts)


def count_facts(db: Database, run_id: str, **filters: Any) -> int:
    """How many facts ``search_facts`` finds in all pages."""
    where, values = FactFilter(**filters).condition()
    counted = db.query(
        f"SELECT count(*) AS n {_FROM} WHERE k.run_id = $run_id AND {where}",
        {"run_id": run_id, **values},
        of=_of(run_id, None, filters),
    )
    return int(counted["n"].iloc[0])


def neighbours(
    db: Database, run_id: str, fact_id: str, *, order: str = "fact", **filters: Any
) -> tuple[str | None, str | None]:
    """Ids of the facts before and after one in ``search_facts``' order; None at an end, or if it is not listed."""
    where, values = FactFilter(**filters).condition()
    around = db.query(
        f"""
        SELECT previous_id, next_id FROM (
            SELECT f.fact_id, lag(f.fact_id) OVER neighbours AS previous_id, lead(f.fact_id) OVER neighbours AS next_id
            {_FROM} WHERE k.run_id = $run_id AND {where}
            WINDOW neighbours AS (ORDER BY {_order(order)})
        ) WHERE fact_id = $fact_id
        """,
        {"run_id": run_id, "fact_id": fact_id, **values},
        of=_of(run_id, None, filters),
    )
    if around.empty:
        return None, None
    previous_id, next_id = (None if pd.isna(value) else str(value) for value in around.iloc[0])
    return previous_id, next_id


def random_fact(db: Database, run_id: str, *, seed: int | str = 0, **filters: Any) -> str | None:
    """Id of one fact that passes the filters, the same for the same seed; None if there is none."""
    where, values = FactFilter(**filters).condition()
    facts = db.query(
        f"SELECT f.fact_id {_FROM} WHERE k.run_id = $run_id AND {where} ORDER BY md5(f.fact_id || $seed), f.fact_id"
        " LIMIT 1",
        {"run_id": run_id, "seed": str(seed), **values},
        of=_of(run_id, None, filters),
    )
    return None if facts.empty else str(facts["fact_id"].iloc[0])


def whole_numbers(frame: pd.DataFrame) -> pd.DataFrame:
    """Layers and ranks as integers that can be missing, not as floats."""
    return frame.astype({name: "Int64" for name in _WHOLE_NUMBERS if name in frame.columns})


def _of(run_id: str, other: str | None, filters: dict[str, Any]) -> list[str]:
    """The runs whose files a search opens."""
    return [run_id, *(run for run in (other, filters.get("versus")) if run)]


def _order(name: str) -> str:
    if name not in ORDERS:
        raise ValueError(f"unknown order {name!r}; expected one of {list(ORDERS)}")
    return ORDERS[name] + _TIES


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
                list(coalesce(CASE WHEN contains(v.text, chr(65533)) THEN v.token ELSE v.text END, '#' || s.id)
                    ORDER BY s.place) AS tokens
            FROM places s LEFT JOIN vocabulary v ON v.tokenizer = s.tokenizer AND v.id = s.id
            GROUP BY s.run_id, s.layer
        )
        SELECT rows.run_id, rows.layer, gold_rank, answer_rank, other_rank, gold_logp, top_ids,
            coalesce(tokens, []) AS tokens, top_logp
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


def runs_of_fact(db: Database, fact_id: str) -> pd.DataFrame:
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


def total_null_examples(db: Database, run_id: str, k: int = 1) -> pd.DataFrame:
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
        SELECT c.kind, f.fact_id, f.relation, coalesce(any_value(l.label), f.relation) AS label,
            any_value(f.subject) AS subject, any_value(f.object) AS object, any_value(f.prompt) AS prompt,
            list(p.gold_rank ORDER BY p.layer) AS own_ranks, list(p.other_rank ORDER BY p.layer) AS swapped_ranks
        FROM chosen c
        JOIN facts f ON f.fact_id = c.fact_id
        JOIN predictions p ON p.run_id = $run_id AND p.fact_id = c.fact_id AND p.layer >= 1
        LEFT JOIN relations l ON l.relation = f.relation AND l.probe_set = f.probe_set
        GROUP BY c.kind, f.fact_id, f.relation ORDER BY list_position(['own', 'swapped', 'both'], c.kind)
        """,
        {"run_id": run_id, "k": int(k)},
        of=[run_id],
    )
    for name in ("own_ranks", "swapped_ranks"):
        facts[name] = [[int(rank) for rank in ranks] for ranks in facts[name]]
    asked = db.query(
        """
        SELECT f.fact_id, f.probe_set, f.relation, f.subject, f.object, f.prompt, coalesce(f.template, '') AS template
        FROM known k JOIN facts f USING (fact_id)
        WHERE k.run_id = $run_id AND f.relation IN (SELECT unnest($relations::VARCHAR[])) ORDER BY f.fact_id
        """,
        {"run_id": run_id, "relations": list(facts.pop("relation"))},
        of=[run_id],
    )
    pairs = zip(asked["fact_id"], swapped_subjects(list(asked.itertuples())), strict=True)
    prompts = {fact_id: asked["prompt"][other] for fact_id, other in pairs if other is not None}
    return facts.assign(swapped_prompt=facts["fact_id"].map(prompts))


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
            WHERE k.run_id = $run_id
                AND k.relation = (SELECT relation FROM known WHERE run_id = $run_id AND fact_id = $fact_id)
            GROUP BY f.object ORDER BY count(*) DESC, f.object LIMIT 1
            """,
            {"run_id": run_id, "fact_id": fact_id},
            of=[run_id],
        )
    )


_FROM_PROMPTS = "FROM facts f LEFT JOIN relations l ON l.relation = f.relation AND l.probe_set = f.probe_set"
_RELATION = (
    "f.probe_set, f.relation, coalesce(f.template_set, 'default') AS template_set,"
    " coalesce(l.label, f.relation) AS label"
)
#: LAMA's large sets first, as a sentence may be in several.
_ORDER = "ORDER BY f.probe_set = 'trex' DESC, f.probe_set, f.relation, template_set"


def answers_of(db: Database, prompt: str) -> pd.DataFrame:
    """The facts that a sentence asks, without case: probe_set, relation, template_set, label, object."""
    return db.query(
        f"SELECT {_RELATION}, f.object {_FROM_PROMPTS} WHERE lower(f.prompt) = lower($prompt) {_ORDER}, f.object",
        {"prompt": prompt},
    )


def templates(db: Database) -> pd.DataFrame:
    """Every template with a place for the subject: probe_set, relation, template_set, label, template."""
    return db.query(
        f"SELECT DISTINCT {_RELATION}, f.template, f.probe_set = 'trex' AS large {_FROM_PROMPTS} "
        "WHERE contains(f.template, '[X]') ORDER BY large DESC, f.probe_set, f.relation, template_set, f.template"
    )


def commonest_answer_of_template(db: Database, probe_set: str, relation: str, template_set: str) -> pd.DataFrame:
    """A relation's commonest answer among its stored facts: object, hits, n; of equal ones the first by label."""
    return db.query(
        """
        SELECT object, count(*) AS hits, sum(count(*)) OVER () AS n FROM facts
        WHERE probe_set = $probe_set AND relation = $relation AND coalesce(template_set, 'default') = $template_set
        GROUP BY object ORDER BY hits DESC, object LIMIT 1
        """,
        {"probe_set": probe_set, "relation": relation, "template_set": template_set},
    )


def first_words(db: Database, run_id: str) -> pd.DataFrame:
    """The first word for every fact of a run: relation, prompt, answer, layer, hit (it is the answer), top (the word).

    Words are in lower case and without accents, as uncased vocabularies have them.
    """
    return db.query(
        """
        SELECT
            f.relation,
            f.prompt,
            lower(strip_accents(f.object)) AS answer,
            p.layer,
            p.gold_rank = 1 AS hit,
            lower(strip_accents(trim(v.text))) AS top
        FROM predictions p
        JOIN facts f ON f.fact_id = p.fact_id
        JOIN fact_runs r ON r.run_id = p.run_id
        LEFT JOIN vocabulary v ON v.tokenizer = r.tokenizer AND v.id = p.top_ids[1]
        WHERE p.run_id = $run
        """,
        {"run": run_id},
        of=[run_id],
    )
