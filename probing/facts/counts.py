"""What is counted of a run's predictions when it is stored: tables by fact, layer and relation that are summed."""

from collections import defaultdict
from collections.abc import Mapping
from functools import lru_cache

import duckdb
import numpy as np
import pyarrow as pa

from probing.facts.store import BY_LAYER
from probing.facts.totals import piece, plain, words
from probing.kernel.metric import RANKS
from probing.kernel.store.columns import SCHEMAS
from probing.kernel.store.kinds import in_memory
from probing.kernel.store.parquet import as_stored

#: Numbers of words lie below; a set of words starts at a multiple of it.
_SPACE = 1 << 32


def load_words(connection: duckdb.DuckDBPyConnection) -> None:
    """Makes the temporary tables that the counts join, from ``vocabulary`` and the run's facts.

    ``pieces`` (tokenizer, id, word: a number, NULL if a token is no whole word, shape), ``word_places`` (fact_id, and
    where the word sets of its subject, relation and prompt start), ``word_table`` (place: start of a set + number of a
    word in it).
    """
    numbers = _pieces(connection)
    places: dict[tuple, int] = defaultdict(lambda: _SPACE * len(places))
    entries: set[int] = set()
    starts: dict[str, list] = {"fact_id": [], "subject_start": [], "relation_start": [], "prompt_start": []}
    rows = connection.execute(
        "SELECT fact_id, probe_set, relation, subject, object, prompt FROM facts SEMI JOIN known USING (fact_id)"
    ).fetchall()
    for fact_id, probe_set, relation, subject, answer, prompt in rows:
        # Facts without a subject are distinguished by their prompt.
        of_subject = places[probe_set, relation, "subject", subject or prompt]
        of_relation, of_prompt = places[probe_set, relation], places["prompt", prompt]
        word = numbers.get(plain(answer))
        if word is not None:
            entries.update((of_subject + word, of_relation + word))
        entries.update(of_prompt + numbers[word] for word in words(prompt) if word in numbers)
        for name, value in zip(starts, (fact_id, of_subject, of_relation, of_prompt), strict=True):
            starts[name].append(value)
    kinds = [pa.string(), pa.int64(), pa.int64(), pa.int64()]
    _create(
        connection,
        "word_places",
        pa.table([pa.array(v, kind) for v, kind in zip(starts.values(), kinds, strict=True)], list(starts)),
    )
    _create(connection, "word_table", pa.table({"place": np.fromiter(entries, np.int64, len(entries))}))


def _pieces(connection: duckdb.DuckDBPyConnection) -> dict[str, int]:
    """Makes ``pieces``; returns word -> number."""
    numbers: dict[str, int] = {}
    rows = []
    for tokenizer, number, text, starts_word in connection.execute(
        "SELECT tokenizer, id, text, starts_word FROM vocabulary"
    ).fetchall():
        word, shape = _word_and_shape(text, starts_word)
        rows.append((tokenizer, number, None if word is None else numbers.setdefault(word, len(numbers)), shape))
    names, kinds = ("tokenizer", "id", "word", "shape"), (pa.string(), pa.uint32(), pa.int64(), pa.string())
    columns = zip(*rows, strict=True) if rows else [()] * len(names)
    _create(
        connection,
        "pieces",
        pa.table([pa.array(column, kind) for column, kind in zip(columns, kinds, strict=True)], list(names)),
    )
    return numbers


@lru_cache(maxsize=200_000)
def _word_and_shape(text: str, starts_word: bool) -> tuple[str | None, str]:
    """Of a token: whoever counts many runs of one vocabulary asks for each many times."""
    token = piece(text, starts_word)
    return token.word, token.shape


def _create(connection: duckdb.DuckDBPyConnection, name: str, table: pa.Table) -> None:
    connection.register("incoming", table)
    connection.execute(f"CREATE TEMP TABLE {name} AS SELECT * FROM incoming")
    connection.unregister("incoming")


#: One row per run and fact: where it is known (rank 1) in the transformer layers 1..L; NULL layers if nowhere.
#: Bit l of ``known_layers`` is set where layer l, the embeddings included, has rank 1; so it holds layers 0 to 63.
#: Exposure belongs to a base model's training text, so heads and fine-tuned models share their base's.
_KNOWN = """
CREATE TEMP TABLE known AS
WITH ranks AS (
    SELECT p.run_id, p.fact_id,
        min(p.layer) FILTER (p.gold_rank = 1 AND p.layer >= 1) AS first_layer,
        max(p.layer) FILTER (p.gold_rank = 1 AND p.layer >= 1) AS last_layer,
        CAST(count(*) FILTER (p.gold_rank = 1 AND p.layer >= 1) AS UTINYINT) AS layers_known,
        coalesce(bit_or(1::UBIGINT << p.layer::UBIGINT) FILTER (p.gold_rank = 1), 0::UBIGINT) AS known_layers,
        min(p.gold_rank) FILTER (p.layer >= 1) AS best_rank,
        min(p.gold_rank) FILTER (p.layer = r.layers - 1) AS last_rank,
        min(p.gold_rank) FILTER (p.layer >= 1 AND p.layer < r.layers - 1) AS inner_rank,
        min(p.other_rank) FILTER (p.layer = r.layers - 1) AS swapped_last_rank,
        min(p.other_rank) FILTER (p.layer >= 1 AND p.layer < r.layers - 1) AS swapped_inner_rank
    FROM predictions p JOIN runs r ON r.run_id = p.run_id
    GROUP BY p.run_id, p.fact_id
)
SELECT k.run_id, k.fact_id, f.relation, coalesce(b.exposure, e.exposure, 'unknown') AS exposure, f.answer_in_subject,
    k.first_layer, k.last_layer, k.layers_known, k.known_layers, k.best_rank, k.last_rank,
    k.inner_rank, k.swapped_last_rank, k.swapped_inner_rank
FROM ranks k
JOIN runs r ON r.run_id = k.run_id
JOIN facts f ON f.fact_id = k.fact_id
LEFT JOIN counted_before b ON b.fact_id = k.fact_id
LEFT JOIN exposure e ON e.model = coalesce(nullif(r.base, ''), r.model)
    AND e.fact_key = f.relation || chr(9) || f.subject || chr(9) || f.object
"""

_PLACES = 2.0**36


def _exact_sum(share: str) -> str:
    """SQL of a sum of shares rounded to 36 binary places (off by less than 1e-11 each).

    Up to 2^17 of them are added without any rounding, so the order in which threads add them makes no difference: equal
    predictions give equal numbers on every machine.
    """
    return f"sum(floor({share} * {_PLACES}::DOUBLE + 0.5) / {_PLACES}::DOUBLE)"


#: Both additive tables by layer come from one pass over the predictions; ``both`` counts what layer and last layer
#: know.
_BY_LAYER = f"""
CREATE TEMP TABLE by_layer AS
SELECT p.run_id, p.layer, k.relation, k.exposure, k.answer_in_subject,
    count(*) AS n,
    count(*) FILTER (p.gold_rank <= 1) AS hits_1,
    count(*) FILTER (p.gold_rank <= 10) AS hits_10,
    count(*) FILTER (p.gold_rank <= 100) AS hits_100,
    {_exact_sum("1.0::DOUBLE / p.gold_rank")} AS sum_reciprocal_rank,
    {_exact_sum("1.0::DOUBLE / (p.gold_rank::DOUBLE * p.gold_rank)")} AS sum_squared_reciprocal_rank,
    count(*) FILTER (p.answer_rank = 1) AS answer_hits_1,
    {_exact_sum("1.0::DOUBLE / p.answer_rank")} AS sum_answer_reciprocal_rank,
    count(p.other_rank) AS other_n,
    count(*) FILTER (p.other_rank <= 1) AS other_1,
    count(*) FILTER (p.other_rank <= 10) AS other_10,
    count(*) FILTER (p.other_rank <= 100) AS other_100,
    count(*) FILTER (p.other_rank IS NOT NULL AND p.gold_rank <= 1) AS own_1,
    count(*) FILTER (p.other_rank IS NOT NULL AND p.gold_rank <= 10) AS own_10,
    count(*) FILTER (p.other_rank IS NOT NULL AND p.gold_rank <= 100) AS own_100,
    count(*) FILTER (p.other_rank <= 1 AND p.gold_rank <= 1) AS own_other_1,
    count(*) FILTER (p.other_rank <= 10 AND p.gold_rank <= 10) AS own_other_10,
    count(*) FILTER (p.other_rank <= 100 AND p.gold_rank <= 100) AS own_other_100,
    count(*) FILTER (p.gold_rank <= 1 AND k.last_rank <= 1) AS both_1,
    count(*) FILTER (p.gold_rank <= 10 AND k.last_rank <= 10) AS both_10,
    count(*) FILTER (p.gold_rank <= 100 AND k.last_rank <= 100) AS both_100,
    count(*) FILTER (k.last_rank <= 1) AS last_1,
    count(*) FILTER (k.last_rank <= 10) AS last_10,
    count(*) FILTER (k.last_rank <= 100) AS last_100
FROM predictions p JOIN known k ON k.run_id = p.run_id AND k.fact_id = p.fact_id
GROUP BY ALL
"""

_SWAPPED = """
SELECT run_id, relation, exposure, answer_in_subject, layer, other_n AS n, own_1, own_10, own_100,
    other_1 AS swapped_1, other_10 AS swapped_10, other_100 AS swapped_100,
    own_other_1 AS both_1, own_other_10 AS both_10, own_other_100 AS both_100
FROM by_layer WHERE other_n > 0
"""

_LAYERS = """
SELECT run_id, relation, exposure, answer_in_subject, layer, n, hits_1, hits_10, hits_100, sum_reciprocal_rank,
    sum_squared_reciprocal_rank, answer_hits_1, sum_answer_reciprocal_rank
FROM by_layer
"""

#: The null of total knowledge, that is, of inner layers: of the facts that the last layer misses with both subjects,
#: those that an inner layer finds with the own, the swapped, or both. A run without inner layers has no row, a fact
#: without a swapped subject is not counted.
_TOTAL_NULL = f"""
SELECT n.run_id, n.relation, n.exposure, n.answer_in_subject, k,
    count(*) FILTER (missed) AS n,
    count(*) FILTER (missed AND inner_rank <= k) AS own,
    count(*) FILTER (missed AND swapped_inner_rank <= k) AS swapped,
    count(*) FILTER (missed AND inner_rank <= k AND swapped_inner_rank <= k) AS own_and_swapped
FROM (SELECT *, last_rank > k AND swapped_last_rank > k AS missed FROM known, (SELECT unnest({list(RANKS)})::UTINYINT
    AS k)) n
WHERE inner_rank IS NOT NULL AND swapped_last_rank IS NOT NULL
GROUP BY ALL
"""

#: Paired counts of every inner layer against the last, on the same facts; a run of its last layer only has none.
_AGAINST_LAST = """
WITH pairs AS (
    SELECT b.*, unnest([
        {'k': 1::UTINYINT, 'hits': hits_1, 'both': both_1, 'last': last_1},
        {'k': 10::UTINYINT, 'hits': hits_10, 'both': both_10, 'last': last_10},
        {'k': 100::UTINYINT, 'hits': hits_100, 'both': both_100, 'last': last_100}
    ], recursive := true)
    FROM by_layer b JOIN runs r ON r.run_id = b.run_id
    WHERE b.layer >= 1 AND b.layer < r.layers - 1
)
SELECT run_id, relation, exposure, answer_in_subject, layer, k,
    "both", hits - "both" AS inner_only, "last" - "both" AS last_only, n - hits - "last" + "both" AS neither
FROM pairs
"""

#: ``answers`` is the number of the relation's different answers in the run. The most frequent answer is that of all
#: facts of the run and relation, whatever is filtered later; of two equally frequent ones the first by label.
_TOTAL = """
WITH answers AS (
    SELECT k.relation, f.object, row_number() OVER (PARTITION BY k.relation ORDER BY count(*) DESC, f.object) AS place
    FROM known k JOIN facts f ON f.fact_id = k.fact_id
    GROUP BY k.relation, f.object
)
SELECT k.run_id, k.relation, k.exposure, k.answer_in_subject,
    count(*) AS n,
    count(*) FILTER (last_rank <= 1) AS last_1,
    count(*) FILTER (last_rank <= 10) AS last_10,
    count(*) FILTER (last_rank <= 100) AS last_100,
    count(*) FILTER (best_rank <= 1) AS any_1,
    count(*) FILTER (best_rank <= 10) AS any_10,
    count(*) FILTER (best_rank <= 100) AS any_100,
    count(*) FILTER (f.object = a.object) AS majority_hits,
    any_value(d.answers) AS answers
FROM known k
JOIN facts f ON f.fact_id = k.fact_id
JOIN answers a ON a.relation = k.relation AND a.place = 1
JOIN (SELECT relation, count(*) AS answers FROM answers GROUP BY ALL) d ON d.relation = k.relation
GROUP BY ALL
"""

#: The kind of every top token, as ``tests.reference.facts.classify`` defines it, from the tables of
#: ``facts.counts``. A token that the vocabulary lacks is an other word; a row without any top token has no
#: kind.
_ANSWER_COUNTS = """
WITH tops AS (
    SELECT p.run_id, k.relation, k.exposure, k.answer_in_subject, p.layer, p.gold_rank = 1 AS is_right,
        f.subject_start, f.relation_start, f.prompt_start, v.word, v.shape
    FROM predictions p
    JOIN known k ON k.run_id = p.run_id AND k.fact_id = p.fact_id
    JOIN runs r ON r.run_id = p.run_id
    JOIN word_places f ON f.fact_id = p.fact_id
    LEFT JOIN pieces v ON v.tokenizer = r.tokenizer AND v.id = p.top_ids[1]
    WHERE len(p.top_ids) > 0
)
SELECT t.run_id, t.relation, t.exposure, t.answer_in_subject, t.layer,
    CASE WHEN t.is_right THEN 'right'
        WHEN s.place IS NOT NULL THEN 'subject answer'
        WHEN a.place IS NOT NULL THEN 'relation answer'
        WHEN c.place IS NOT NULL THEN 'copied'
        ELSE coalesce(t.shape, 'other word') END AS kind,
    count(*) AS n
FROM tops t
LEFT JOIN word_table s ON s.place = t.subject_start + t.word
LEFT JOIN word_table a ON a.place = t.relation_start + t.word
LEFT JOIN word_table c ON c.place = t.prompt_start + t.word
GROUP BY ALL
"""

#: Stored table -> the SQL of its rows, from those of the run and ``by_layer``.
_COUNTS = {
    "known": "SELECT * FROM known",
    "layer_counts": _LAYERS,
    "swapped_counts": _SWAPPED,
    "inner_counts": _TOTAL_NULL,
    "against_counts": _AGAINST_LAST,
    "total_counts": _TOTAL,
    "answer_counts": _ANSWER_COUNTS,
    "answer_clusters": BY_LAYER,
}


def count_facts(tables: Mapping[str, pa.Table]) -> dict[str, pa.Table]:
    """Stored table -> what it counts of a run on facts; a table of which the run has no row is left out.

    Facts, vocabularies and exposures may be those of other runs, too. If the run was counted before, ``known`` has the
    exposure of its facts: whoever pulls a run lacks the text that its base was trained on.
    """
    before = tables.get("known", SCHEMAS["known"].empty_table())
    with in_memory(tables, ("runs", "predictions", "facts", "vocabulary", "exposure")) as connection:
        connection.register("counted_before", before)
        connection.execute(_KNOWN)
        connection.execute(_BY_LAYER)
        load_words(connection)
        counts = {table: connection.sql(sql).to_arrow_table() for table, sql in _COUNTS.items()}
    return {table: as_stored(table, rows) for table, rows in counts.items() if len(rows)}
