"""The tables that are counted from predictions. SQL counts; shares and intervals are made in ``probing.core``.

``layers`` of a run counts layer 0, so its last layer is ``layers - 1``. All additive tables can be filtered by their keys
and summed.
"""

#: One row a run and fact: where it is known (rank 1) in the transformer layers 1..L; NULL layers when nowhere.
#: Exposure belongs to a base model's training text, so heads and fine-tuned models share their base's.
KNOWN = """
CREATE TABLE known AS
WITH ranks AS (
    SELECT p.run_id, p.fact_id,
        min(p.layer) FILTER (p.gold_rank = 1) AS first_layer,
        max(p.layer) FILTER (p.gold_rank = 1) AS last_layer,
        CAST(count(*) FILTER (p.gold_rank = 1) AS UTINYINT) AS layers_known,
        min(p.gold_rank) AS best_rank,
        min(p.gold_rank) FILTER (p.layer = r.layers - 1) AS last_rank
    FROM predictions p JOIN runs r ON r.run_id = p.run_id
    WHERE p.layer >= 1
    GROUP BY p.run_id, p.fact_id
)
SELECT k.run_id, k.fact_id, f.relation, coalesce(e.exposure, 'unknown') AS exposure, f.answer_in_subject,
    k.first_layer, k.last_layer, k.layers_known, k.best_rank, k.last_rank
FROM ranks k
JOIN runs r ON r.run_id = k.run_id
JOIN facts f ON f.fact_id = k.fact_id
LEFT JOIN exposure e ON e.model = coalesce(nullif(r.base, ''), r.model)
    AND e.fact_key = f.relation || chr(9) || f.subject || chr(9) || f.object
ORDER BY k.run_id, k.fact_id
"""

AGGREGATE = """
CREATE TABLE aggregate AS
SELECT p.run_id, p.layer, k.relation, k.exposure, k.answer_in_subject,
    count(*) AS n,
    count(*) FILTER (p.gold_rank <= 1) AS hits_1,
    count(*) FILTER (p.gold_rank <= 10) AS hits_10,
    count(*) FILTER (p.gold_rank <= 100) AS hits_100,
    sum(1.0::DOUBLE / p.gold_rank) AS sum_reciprocal_rank,
    sum(1.0::DOUBLE / (p.gold_rank::DOUBLE * p.gold_rank)) AS sum_squared_reciprocal_rank,
    count(*) FILTER (p.answer_rank = 1) AS answer_hits_1,
    sum(1.0::DOUBLE / p.answer_rank) AS sum_answer_reciprocal_rank,
    count(p.other_rank) AS other_n,
    count(*) FILTER (p.other_rank <= 1) AS other_1,
    count(*) FILTER (p.other_rank <= 10) AS other_10,
    count(*) FILTER (p.other_rank <= 100) AS other_100
FROM predictions p JOIN known k ON k.run_id = p.run_id AND k.fact_id = p.fact_id
GROUP BY ALL ORDER BY ALL
"""

TOTAL = """
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
GROUP BY ALL ORDER BY ALL
"""

#: The most frequent answer is that of all facts of the run and relation, whatever is filtered later; of two equally
#: frequent ones the first by label.
MAJORITY = """
CREATE TABLE majority AS
WITH answers AS (
    SELECT k.run_id, k.relation, f.object,
        row_number() OVER (PARTITION BY k.run_id, k.relation ORDER BY count(*) DESC, f.object) AS place
    FROM known k JOIN facts f ON f.fact_id = k.fact_id
    GROUP BY k.run_id, k.relation, f.object
)
SELECT k.run_id, k.relation, k.exposure, k.answer_in_subject,
    count(*) AS n,
    count(*) FILTER (f.object = a.object) AS majority_hits
FROM known k
JOIN facts f ON f.fact_id = k.fact_id
JOIN answers a ON a.run_id = k.run_id AND a.relation = k.relation AND a.place = 1
GROUP BY ALL ORDER BY ALL
"""

#: In the order in which they must be made.
STATEMENTS = {"known": KNOWN, "aggregate": AGGREGATE, "total": TOTAL, "majority": MAJORITY}
