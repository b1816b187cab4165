"""What is counted of the predictions of edge probing when they are stored."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from probing.edges.words import Traces, normalised, revisions, settled_layer, strongest_mean
from probing.kernel.store.kinds import in_memory
from probing.kernel.store.parquet import as_stored

COUNTS = ("edge_sentence_counts", "edge_traces")
#: Counts by sentence, so that sentences can be drawn again: only labels that F1 counts, by layer and by whether the
#: span was seen. ``unknown_gold`` labels, which no probe can predict, count as missed.
_SENTENCES = """
WITH counted AS (
    SELECT task, list(label) AS labels, list(label) FILTER (NOT counts) AS others FROM edge_labels GROUP BY task
), said AS (
    SELECT p.run_id, p.part, t.sentence, t.seen, p.layer, t.unknown_gold,
        CASE WHEN c.others IS NULL THEN p.predicted ELSE list_filter(p.predicted, lambda x: NOT list_contains(c.others,
            x)) END AS answer,
        CASE WHEN c.others IS NULL THEN t.gold ELSE list_filter(t.gold, lambda x: NOT list_contains(c.others, x)) END
            AS gold
    FROM edge_predictions p
    JOIN edge_runs r ON r.run_id = p.run_id
    JOIN edge_targets t ON t.task = r.task AND t.part = p.part AND t.target = p.target
    JOIN counted c ON c.task = r.task
)
SELECT run_id, part, sentence, seen, layer,
    CAST(sum(tp) AS UINTEGER) AS tp, CAST(sum(len(answer) - tp) AS UINTEGER) AS fp,
    CAST(sum(len(gold) + unknown_gold - tp) AS UINTEGER) AS fn, CAST(count(*) AS UINTEGER) AS targets
FROM (SELECT *, len(list_intersect(answer, gold)) AS tp FROM said)
GROUP BY ALL
"""
_ROWS = """
SELECT p.target, p.layer, p.top, list_contains(t.gold, p.top) AS right, p.p_gold, p.p_wrong, p.p_sum
FROM edge_predictions p
JOIN edge_runs r ON r.run_id = p.run_id
JOIN edge_targets t ON t.task = r.task AND t.part = p.part AND t.target = p.target
WHERE p.part = ? ORDER BY p.target, p.layer
"""


def count_edges(tables: Mapping[str, pa.Table]) -> dict[str, pa.Table]:
    """``edge_sentence_counts`` and ``edge_traces`` of a run with stored predictions; targets may be of other tasks."""
    (run_id,) = tables["edge_runs"].column("run_id").to_pylist()
    traces = []
    with in_memory(tables, ("edge_runs", "edge_predictions", "edge_targets", "edge_labels")) as connection:
        counts = as_stored("edge_sentence_counts", connection.sql(_SENTENCES).to_arrow_table())
        for (part,) in connection.execute("SELECT DISTINCT part FROM edge_predictions ORDER BY part").fetchall():
            rows = connection.sql(_ROWS, params=[part]).to_arrow_table()
            if not _is_yes_or_no(rows):
                traces.append(as_stored("edge_traces", _traces(run_id, part, rows)))
    parts = {"edge_sentence_counts": [counts] if len(counts) else [], "edge_traces": traces}
    return {table: pa.concat_tables(rows) for table, rows in parts.items() if rows}


def _is_yes_or_no(rows: pa.Table) -> bool:
    """Whether probabilities are stored as 0 or 1 only, as in shipped runs kept for their counts: without trace."""
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
    top, right, wrong, total = (
        rows.column(name).to_numpy().reshape(shape) for name in ("top", "right", "p_wrong", "p_sum")
    )
    traces = Traces(normalised(wrong, total), _best_gold(rows, total))
    settled = settled_layer(right)
    return pa.table(
        {
            "run_id": [run_id] * len(targets),
            "part": [part] * len(targets),
            "target": targets,
            "settled": pa.array(settled, mask=settled < 0),
            "revisions": revisions(top),
            "strongest_mean": strongest_mean(traces),
        }
    )


def _best_gold(rows: pa.Table, total: NDArray) -> NDArray[np.float64]:
    """(targets,) as ``Traces.best_gold``, from rows by target and layer; ``total`` is (targets, layers).

    A target has as many gold labels at every layer. The array is as long as all their lists together.
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
