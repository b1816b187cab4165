"""The tables that are counted from predictions. SQL counts; shares and intervals are made in ``probing.core``.

Runs of which only counts are stored are in the same tables by layer and relation, and in no table by fact.

``layers`` of a run counts layer 0, so its last layer is ``layers - 1``; inner layers are 1 to ``layers - 2``. All additive
tables can be filtered by their keys and summed.
"""

#: One row per run and fact: where it is known (rank 1) in the transformer layers 1..L; NULL layers if nowhere.
#: Bit l of ``known_layers`` is set where layer l, the embeddings included, has rank 1; so it holds layers 0 to 63.
#: Exposure belongs to a base model's training text, so heads and fine-tuned models share their base's.
KNOWN = """
CREATE TABLE known AS
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
    FROM predictions p JOIN fact_runs r ON r.run_id = p.run_id
    GROUP BY p.run_id, p.fact_id
)
SELECT k.run_id, k.fact_id, f.relation, coalesce(e.exposure, 'unknown') AS exposure, f.answer_in_subject,
    k.first_layer, k.last_layer, k.layers_known, k.known_layers, k.best_rank, k.last_rank,
    k.inner_rank, k.swapped_last_rank, k.swapped_inner_rank
FROM ranks k
JOIN runs r ON r.run_id = k.run_id
JOIN facts f ON f.fact_id = k.fact_id
LEFT JOIN exposure e ON e.model = coalesce(nullif(r.base, ''), r.model)
    AND e.fact_key = f.relation || chr(9) || f.subject || chr(9) || f.object
ORDER BY k.run_id, k.fact_id
"""

#: The rows of stored counts that are of runs without predictions.
_COUNTED = "WHERE run_id IN (SELECT run_id FROM fact_runs WHERE counted)"
#: The runs whose counts with the swapped subject may be stored: made by another run, or of a run without predictions.
_MAY_BE_COUNTED = "SELECT run_id FROM fact_runs WHERE counted OR run_id IN (SELECT run_id FROM swapped_runs)"

_PLACES = 2.0**36


def _exact_sum(share: str) -> str:
    """SQL of a sum of shares rounded to 36 binary places (off by less than 1e-11 each).

    Up to 2^17 of them are added without any rounding, so the order in which threads add them makes no difference: equal
    predictions give equal numbers on every machine.
    """
    return f"sum(floor({share} * {_PLACES}::DOUBLE + 0.5) / {_PLACES}::DOUBLE)"


#: Both additive tables by layer come from one pass over the predictions; ``both`` counts what layer and last layer know.
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

AGGREGATE = f"""
CREATE TABLE aggregate AS
SELECT * EXCLUDE (
    other_n, other_1, other_10, other_100, own_1, own_10, own_100, own_other_1, own_other_10, own_other_100,
    both_1, both_10, both_100, last_1, last_10, last_100
) FROM by_layer
UNION ALL BY NAME SELECT * FROM layer_counts {_COUNTED}
ORDER BY ALL
"""


def _too_many(table: str, by: str) -> str:
    """SQL of the runs of which a stored table counts more facts than they asked."""
    each = f"SELECT run_id, sum(n) AS n FROM {table} GROUP BY run_id, {by}"
    return f"SELECT c.run_id FROM ({each}) c JOIN fact_runs r ON r.run_id = c.run_id WHERE c.n > r.n_probed"


#: Paired counts of own and swapped subject by layer, on the facts that have a swapped subject; for runs that do not measure it, the
#: counts made elsewhere, if they are stored.
SWAPPED = f"""
CREATE TABLE swapped AS
SELECT run_id, relation, exposure, answer_in_subject, layer, other_n AS n, own_1, own_10, own_100,
    other_1 AS swapped_1, other_10 AS swapped_10, other_100 AS swapped_100,
    own_other_1 AS both_1, own_other_10 AS both_10, own_other_100 AS both_100
FROM by_layer WHERE other_n > 0
UNION ALL
SELECT run_id, relation, exposure, answer_in_subject, layer, n, own_1, own_10, own_100, swapped_1, swapped_10, swapped_100,
    both_1, both_10, both_100
FROM swapped_counts WHERE run_id IN ({_MAY_BE_COUNTED}) AND run_id NOT IN (SELECT run_id FROM by_layer WHERE other_n > 0)
    AND run_id NOT IN ({_too_many("swapped_counts", "layer")})
ORDER BY ALL
"""

#: The null of total knowledge: of the facts that the last layer misses with both subjects, those that an inner layer finds with
#: the own, the swapped, or both. A run without inner layers has no row, a fact without a swapped subject is not counted.
INNER = f"""
CREATE TABLE inner_layers AS
WITH ks AS (SELECT unnest([1, 10, 100])::UTINYINT AS k), measured AS (
    SELECT n.run_id, n.relation, n.exposure, n.answer_in_subject, k,
        count(*) FILTER (missed) AS n,
        count(*) FILTER (missed AND inner_rank <= k) AS own,
        count(*) FILTER (missed AND swapped_inner_rank <= k) AS swapped,
        count(*) FILTER (missed AND inner_rank <= k AND swapped_inner_rank <= k) AS own_and_swapped
    FROM (SELECT *, last_rank > k AND swapped_last_rank > k AS missed FROM known, ks) n
    WHERE inner_rank IS NOT NULL AND swapped_last_rank IS NOT NULL
    GROUP BY ALL
)
SELECT * FROM measured
UNION ALL
SELECT run_id, relation, exposure, answer_in_subject, k, n, own, swapped, own_and_swapped
FROM inner_counts WHERE run_id IN ({_MAY_BE_COUNTED}) AND run_id NOT IN (SELECT run_id FROM measured)
    AND run_id NOT IN ({_too_many("inner_counts", "k")})
ORDER BY ALL
"""

#: Paired counts of every inner layer against the last, on the same facts; a run of its last layer only has none.
AGAINST_LAST = f"""
CREATE TABLE against_last AS
WITH pairs AS (
    SELECT b.*, unnest([
        {{'k': 1::UTINYINT, 'hits': hits_1, 'both': both_1, 'last': last_1}},
        {{'k': 10::UTINYINT, 'hits': hits_10, 'both': both_10, 'last': last_10}},
        {{'k': 100::UTINYINT, 'hits': hits_100, 'both': both_100, 'last': last_100}}
    ], recursive := true)
    FROM by_layer b JOIN fact_runs r ON r.run_id = b.run_id
    WHERE b.layer >= 1 AND b.layer < r.layers - 1
)
SELECT run_id, relation, exposure, answer_in_subject, layer, k,
    "both", hits - "both" AS inner_only, "last" - "both" AS last_only, n - hits - "last" + "both" AS neither
FROM pairs
UNION ALL BY NAME SELECT * FROM against_counts {_COUNTED}
ORDER BY ALL
"""

TOTAL = f"""
CREATE TABLE total AS
SELECT run_id, relation, exposure, answer_in_subject,
    count(*) AS n,
    count(*) FILTER (last_rank <= 1) AS last_1,
    count(*) FILTER (last_rank <= 10) AS last_10,
    count(*) FILTER (last_rank <= 100) AS last_100,
    count(*) FILTER (best_rank <= 1) AS any_1,
    count(*) FILTER (best_rank <= 10) AS any_10,
    count(*) FILTER (best_rank <= 100) AS any_100
FROM known
GROUP BY ALL
UNION ALL BY NAME SELECT * EXCLUDE (majority_hits, answers) FROM total_counts {_COUNTED}
ORDER BY ALL
"""

#: ``answers`` is the number of the relation's different answers in the run.
#: The most frequent answer is that of all facts of the run and relation, whatever is filtered later; of two equally
#: frequent ones the first by label.
MAJORITY = f"""
CREATE TABLE majority AS
WITH answers AS (
    SELECT k.run_id, k.relation, f.object,
        row_number() OVER (PARTITION BY k.run_id, k.relation ORDER BY count(*) DESC, f.object) AS place
    FROM known k JOIN facts f ON f.fact_id = k.fact_id
    GROUP BY k.run_id, k.relation, f.object
)
SELECT k.run_id, k.relation, k.exposure, k.answer_in_subject,
    count(*) AS n,
    count(*) FILTER (f.object = a.object) AS majority_hits,
    any_value(d.answers) AS answers
FROM known k
JOIN facts f ON f.fact_id = k.fact_id
JOIN answers a ON a.run_id = k.run_id AND a.relation = k.relation AND a.place = 1
JOIN (SELECT run_id, relation, count(*) AS answers FROM answers GROUP BY ALL) d ON d.run_id = k.run_id AND d.relation = k.relation
GROUP BY ALL
UNION ALL BY NAME SELECT run_id, relation, exposure, answer_in_subject, n, majority_hits, answers FROM total_counts {_COUNTED}
ORDER BY ALL
"""

#: The kind of every top token, as ``tests.reference.knowledge.classify`` defines it, from the tables of ``store.knowledge.word_ids``.
#: A token that the vocabulary lacks is an other word; a row without any top token has no kind.
ANSWER_TYPES = """
CREATE TABLE answer_types AS
WITH tops AS (
    SELECT p.run_id, k.relation, k.exposure, k.answer_in_subject, p.layer, p.gold_rank = 1 AS is_right,
        f.subject_start, f.relation_start, f.prompt_start, v.word, v.shape
    FROM predictions p
    JOIN known k ON k.run_id = p.run_id AND k.fact_id = p.fact_id
    JOIN fact_runs r ON r.run_id = p.run_id
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
GROUP BY ALL ORDER BY ALL
"""

#: In the order in which they must be made.
STATEMENTS = {
    "known": KNOWN,
    "layers": _BY_LAYER,
    "aggregate": AGGREGATE,
    "swapped": SWAPPED,
    "inner_layers": INNER,
    "against_last": AGAINST_LAST,
    "total": TOTAL,
    "majority": MAJORITY,
    "answer_types": ANSWER_TYPES,
}
