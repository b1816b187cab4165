"""The tables of the database that are made from the predictions of edge probing."""

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from probing.core.edges.traces import Traces, normalised, revisions, settled_layer, strongest_mean
from probing.store.schema import create_statement

#: Counts by sentence, so that sentences can be drawn again: only labels that F1 counts, by layer and by whether the span was seen.
#: ``unknown_gold`` labels, which no probe can predict, count as missed.
_SENTENCES = """
CREATE TABLE edge_sentence_counts AS
WITH counted AS (
    SELECT task, list(label) AS labels, list(label) FILTER (NOT counts) AS others FROM edge_labels GROUP BY task
), said AS (
    SELECT p.run_id, p.part, t.sentence, t.seen, p.layer, t.unknown_gold,
        CASE WHEN c.others IS NULL THEN p.predicted ELSE list_filter(p.predicted, lambda x: NOT list_contains(c.others, x)) END AS answer,
        CASE WHEN c.others IS NULL THEN t.gold ELSE list_filter(t.gold, lambda x: NOT list_contains(c.others, x)) END AS gold
    FROM edge_predictions p
    JOIN edge_runs r ON r.run_id = p.run_id
    JOIN runs k ON k.run_id = p.run_id
    JOIN edge_targets t ON t.task = r.task AND t.part = p.part AND t.target = p.target
    JOIN counted c ON c.task = r.task
)
SELECT run_id, part, sentence, seen, layer,
    CAST(sum(tp) AS UINTEGER) AS tp, CAST(sum(len(answer) - tp) AS UINTEGER) AS fp,
    CAST(sum(len(gold) + unknown_gold - tp) AS UINTEGER) AS fn, CAST(count(*) AS UINTEGER) AS targets
FROM (SELECT *, len(list_intersect(answer, gold)) AS tp FROM said)
GROUP BY ALL ORDER BY ALL
"""
#: One row per run and target, as ``core.edges.traces`` defines; ``settled`` is empty if the last layer is wrong.
_TRACES = pa.schema(
    [("run_id", pa.string()), ("part", pa.string()), ("target", pa.uint32()), ("settled", pa.int64()), ("revisions", pa.uint8())]
    + [(name, pa.float64()) for name in ("strongest_mean", "mean_gold", "mean_wrong")]
    + [(name, pa.bool_()) for name in ("first_right", "last_right")]
)
_ROWS = """
SELECT p.target, p.layer, p.top, list_contains(t.gold, p.top) AS right, p.p_gold, p.p_wrong, p.p_sum
FROM edge_predictions p
JOIN edge_runs r ON r.run_id = p.run_id
JOIN edge_targets t ON t.task = r.task AND t.part = p.part AND t.target = p.target
WHERE p.run_id = ? AND p.part = ? ORDER BY p.target, p.layer
"""


def count_edges(connection: duckdb.DuckDBPyConnection) -> None:
    """Makes ``edge_sentence_counts`` and ``edge_traces`` of the runs in ``runs``."""
    connection.execute(_SENTENCES)
    parts = connection.execute(
        "SELECT DISTINCT p.run_id, p.part FROM edge_predictions p JOIN runs r ON r.run_id = p.run_id ORDER BY ALL"
    ).fetchall()
    connection.execute(create_statement("edge_traces", _TRACES))
    for run_id, part in parts:
        rows = connection.sql(_ROWS, params=[run_id, part]).to_arrow_table()
        if _is_yes_or_no(rows):
            continue
        connection.register("incoming", _traces(run_id, part, rows))
        connection.execute("INSERT INTO edge_traces SELECT * FROM incoming")
        connection.unregister("incoming")


def _is_yes_or_no(rows: pa.Table) -> bool:
    """Whether probabilities are stored as 0 or 1 only, as in shipped runs that are kept for their counts: they have no trace."""
    values = pa.concat_arrays(
        [
            pc.list_flatten(rows.column("p_gold").combine_chunks()).cast(pa.uint32()),
            rows.column("p_wrong").combine_chunks().cast(pa.uint32()),
        ]
    )
    return bool(pc.all(pc.is_in(values, pa.array([0, 255], pa.uint32()))).as_py())


def _traces(run_id: str, part: str, rows: pa.Table) -> pa.Table:
    """One row per target, from its predictions by target and layer."""
    targets = pc.unique(rows.column("target"))
    shape = (len(targets), -1)
    top, right, wrong, total = (rows.column(name).to_numpy().reshape(shape) for name in ("top", "right", "p_wrong", "p_sum"))
    traces = Traces(normalised(wrong, total), _best_gold(rows, total))
    settled = settled_layer(right)
    columns = {
        "run_id": [run_id] * len(targets),
        "part": [part] * len(targets),
        "target": targets,
        "settled": pa.array(settled, mask=settled < 0),
        "revisions": revisions(top),
        "strongest_mean": strongest_mean(traces),
        "mean_gold": traces.best_gold,
        "mean_wrong": traces.wrong.mean(axis=1),
        "first_right": right[:, 0],
        "last_right": right[:, -1],
    }
    return pa.table(columns).cast(_TRACES)


def _best_gold(rows: pa.Table, total: NDArray) -> NDArray[np.float64]:
    """(targets,) as ``Traces.best_gold``, from rows by target and layer; ``total`` is (targets, layers).

    A target has as many gold labels at every layer. The array is as long as all their lists together, however long the longest is.
    """
    targets, layers = total.shape
    gold = rows.column("p_gold").combine_chunks()
    of_row = pc.list_parent_indices(gold).to_numpy()
    shares = normalised(pc.list_flatten(gold).to_numpy(), total.ravel()[of_row])
    lengths = pc.list_value_length(gold).to_numpy().reshape(total.shape)[:, 0]
    starts = np.cumsum(lengths) - lengths
    # The k-th value of a row belongs to the target's k-th gold label at every layer.
    place = np.arange(len(of_row)) - gold.offsets.to_numpy()[of_row] + starts[of_row // layers]
    means = np.bincount(place, weights=shares, minlength=int(lengths.sum())) / layers
    best = np.zeros(targets)
    np.maximum.at(best, np.repeat(np.arange(targets), lengths), means)
    return best
