"""Stored results of edge probing: what is counted when they are stored, and queries; all results are counts or sums."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from probing.edges.tasks import EDGE_TASKS
from probing.edges.words import Traces, normalised, revisions, settled_layer, strongest_mean
from probing.kernel.store.database import Database, remembered
from probing.kernel.store.kinds import in_memory
from probing.kernel.store.parquet import as_stored

_OF_RUNS = (
    "s.run_id IN (SELECT unnest($run_ids::VARCHAR[])) AND ($part::VARCHAR IS NULL OR s.part = $part) AND NOT (s.seen"
    " AND $unseen) AND (s.seen OR NOT $seen)"
)
_COUNTED = """
    FROM edge_scores s JOIN edge_runs r ON r.run_id = s.run_id
    LEFT JOIN edge_labels l ON l.task = r.task AND l.label = s.label
"""
_SUMS = ", ".join(f"CAST(sum({name}) AS BIGINT) AS {name}" for name in ("tp", "fp", "fn"))


@remembered
def edge_runs(db: Database) -> pd.DataFrame:
    """All complete runs with the columns of their files and provenance; ``traced``: with stored predictions."""
    runs = db.query("""
        SELECT e.*, e.run_id IN (SELECT run_id FROM edge_traces) AS traced FROM runs_of_edges e
        ORDER BY model, task, encoder, kind, labels, seed, run_id
    """)
    return by_task(runs, "model", "task", "encoder", "kind", "labels", "seed", "run_id")


def traced_parts(db: Database) -> pd.DataFrame:
    """The parts of the data of which predictions for single targets are stored: run_id, part."""
    return db.query("SELECT DISTINCT run_id, part FROM edge_traces ORDER BY ALL")


@remembered
def edge_tasks(db: Database) -> pd.DataFrame:
    """The parts of every task's data with the columns of their files, in the order of tables."""
    return by_task(db.query("SELECT * FROM edge_tasks ORDER BY task, part"), "task", "part")


@remembered
def edge_labels(db: Database) -> pd.DataFrame:
    """The labels of every task: task, label (its number), name, counts, n (training targets that have it)."""
    return by_task(db.query("SELECT * FROM edge_labels ORDER BY task, label"), "task", "label")


def by_task(table: pd.DataFrame, *columns: str) -> pd.DataFrame:
    """The rows by these columns, of which ``task`` is in the paper's order; own tasks come last, by name."""
    places = {name: task.place for name, task in EDGE_TASKS.items()}
    key = {"task": lambda names: names.map(lambda name: (places.get(name, len(places)), name))}
    return table.sort_values(
        list(columns), key=lambda col: key.get(str(col.name), lambda same: same)(col), kind="stable", ignore_index=True
    )


def score_counts(
    db: Database, run_ids: Sequence[str], part: str | None = None, unseen: bool = False, seen: bool = False
) -> pd.DataFrame:
    """Counts by run, part and layer: run_id, part, layer, tp, fp, fn, targets (how many were probed).

    ``seen`` keeps only targets whose span text occurs in training.
    """
    return db.query(
        f"""
        WITH asked AS (
            SELECT s.run_id, s.part, s.layer, s.seen, max(s.tp + s.fp + s.fn + s.tn) AS targets
            {_COUNTED} WHERE coalesce(l.n, 1) > 0 AND {_OF_RUNS} GROUP BY ALL
        ), summed AS (SELECT run_id, part, layer, CAST(sum(targets) AS BIGINT) AS targets FROM asked GROUP BY ALL)
        SELECT s.run_id, s.part, s.layer, {_SUMS}, any_value(a.targets) AS targets
        {_COUNTED} JOIN summed a ON a.run_id = s.run_id AND a.part = s.part AND a.layer = s.layer
        WHERE coalesce(l.counts, true) AND {_OF_RUNS}
        GROUP BY ALL ORDER BY s.run_id, s.part, s.layer
        """,
        _values(run_ids, part, unseen, seen),
    )


def label_counts(db: Database, run_ids: Sequence[str], part: str, unseen: bool = False) -> pd.DataFrame:
    """Counts of every training label: run_id, label (its name), counts, layer, tp, fp, fn."""
    return db.query(
        f"""
        SELECT s.run_id, l.name AS label, any_value(l.counts) AS counts, s.layer, {_SUMS} {_COUNTED}
        WHERE l.n > 0 AND {_OF_RUNS} GROUP BY s.run_id, l.name, s.layer ORDER BY s.run_id, l.name, s.layer
        """,
        _values(run_ids, part, unseen),
    )


def baseline_counts(db: Database, unseen: bool = False) -> pd.DataFrame:
    """Counts of memory and majority: task, part, baseline, tp, fp, fn."""
    return db.query(
        f"""
        SELECT s.task, s.part, s.baseline, {_SUMS}
        FROM edge_baselines s LEFT JOIN edge_labels l ON l.task = s.task AND l.label = s.label
        WHERE coalesce(l.counts, true) AND NOT (s.seen AND $unseen) GROUP BY ALL ORDER BY ALL
        """,
        {"unseen": unseen},
    )


def majority_by_label(db: Database, task: str, part: str, unseen: bool = False) -> pd.DataFrame:
    """Counts of predicting the majority label for every target: label (its name), tp, fp, fn."""
    return db.query(
        f"""
        SELECT l.name AS label, {_SUMS} FROM edge_baselines s
        JOIN edge_labels l ON l.task = s.task AND l.label = s.label
        WHERE s.baseline = 'majority' AND s.task = $task AND s.part = $part AND NOT (s.seen AND $unseen)
        GROUP BY l.name ORDER BY l.name
        """,
        {"task": task, "part": part, "unseen": unseen},
    )


def top_counts(db: Database, run_ids: Sequence[str], part: str | None = None, unseen: bool = False) -> pd.DataFrame:
    """Counts if the most probable label is predicted for every target: run_id, part, layer, tp, fp, fn.

    Only of runs and parts whose predictions are stored.
    """
    return db.query(
        f"""
        WITH others AS (SELECT task, list(label) FILTER (NOT counts) AS labels FROM edge_labels GROUP BY task),
        said AS (
            SELECT p.run_id, p.part, p.layer, NOT coalesce(list_contains(o.labels, p.top), false) AS counted,
                list_contains(s.gold, p.top) AS hit,
                s.unknown_gold + len(s.gold) - len(list_intersect(s.gold, coalesce(o.labels, []))) AS gold
            FROM edge_predictions p JOIN edge_runs r ON r.run_id = p.run_id
            JOIN edge_targets s ON s.task = r.task AND s.part = p.part AND s.target = p.target
            JOIN others o ON o.task = r.task
            WHERE {_OF_RUNS.replace("s.run_id", "p.run_id")}
        )
        SELECT run_id, part, layer, count(*) FILTER (counted AND hit) AS tp,
            count(*) FILTER (counted AND NOT hit) AS fp,
            CAST(sum(gold) AS BIGINT) - count(*) FILTER (counted AND hit) AS fn
        FROM said GROUP BY ALL ORDER BY run_id, part, layer
        """,
        _values(run_ids, part, unseen),
    )


def mix(db: Database, run_ids: Sequence[str]) -> pd.DataFrame:
    """The mix of each run's probe on all layers: run_id, layer (0..L), weight, gamma, norm (mean, of its states)."""
    return db.query(
        """
        SELECT m.run_id, m.of_layer AS layer, m.weight, m.gamma, m.norm FROM edge_mix m
        JOIN edge_runs r ON r.run_id = m.run_id
        WHERE m.run_id IN (SELECT unnest($run_ids::VARCHAR[])) AND m.layer = r.layers - 1 ORDER BY m.run_id, m.of_layer
        """,
        {"run_ids": list(run_ids)},
    )


def codes(db: Database, run_ids: Sequence[str]) -> pd.DataFrame:
    """Code lengths summed over portions: run_id, layer, targets, bits, uniform."""
    return db.query(
        """
        SELECT run_id, layer, CAST(sum(targets) AS BIGINT) AS targets, sum(bits ORDER BY portion) AS bits,
            sum(uniform ORDER BY portion) AS uniform
        FROM edge_codes WHERE run_id IN (SELECT unnest($run_ids::VARCHAR[])) GROUP BY run_id, layer ORDER BY run_id,
            layer
        """,
        {"run_ids": list(run_ids)},
    )


def training(db: Database, run_ids: Sequence[str]) -> pd.DataFrame:
    """Steps and best point of each probe's training, with the columns of ``edge_training``."""
    return db.query(
        "SELECT * FROM edge_training WHERE run_id IN (SELECT unnest($run_ids::VARCHAR[])) ORDER BY run_id, layer",
        {"run_ids": list(run_ids)},
    )


#: A sentence as a number: the first 16 hex digits of its text's sha256.
_TEXT = "CAST('0x' || left(text_sha256, 16) AS UBIGINT)"


def sentence_counts(db: Database, run_ids: Sequence[str], part: str, unseen: bool = False) -> pd.DataFrame:
    """Counts by sentence of runs with stored predictions: run (its place among the ids), text, layer, tp, fp, fn.

    ``text`` is a number made from the hash of the text. Every sentence of a run has all its layers.
    """
    return db.query(
        f"""
        SELECT list_position($run_ids::VARCHAR[], s.run_id) - 1 AS run, {_TEXT} AS text, s.layer, {_SUMS}
        FROM edge_sentence_counts s JOIN edge_runs r ON r.run_id = s.run_id
        JOIN edge_sentences t ON t.task = r.task AND t.part = s.part AND t.sentence = s.sentence
        WHERE {_OF_RUNS} GROUP BY ALL ORDER BY run, text, s.layer
        """,
        _values(run_ids, part, unseen),
    )


def label_sentence_counts(db: Database, run_ids: Sequence[str], part: str, unseen: bool = False) -> pd.DataFrame:
    """The same by label: run, label (its name), text, layer, tp, fp, fn; only if a label is gold or predicted."""
    return db.query(
        f"""
        WITH chosen AS (
            SELECT list_position($run_ids::VARCHAR[], s.run_id) - 1 AS run, r.task, s.layer, s.predicted, t.gold,
                {_TEXT} AS text
            FROM edge_predictions s JOIN edge_runs r ON r.run_id = s.run_id
            JOIN edge_targets t ON t.task = r.task AND t.part = s.part AND t.target = s.target
            JOIN edge_sentences x ON x.task = r.task AND x.part = t.part AND x.sentence = t.sentence
            WHERE {_OF_RUNS.replace("s.seen", "t.seen")}
        ), each AS (
            SELECT run, task, layer, text, unnest(predicted) AS label, gold AS other, true AS said FROM chosen
            UNION ALL SELECT run, task, layer, text, unnest(gold), predicted, false FROM chosen
        )
        SELECT e.run, l.name AS label, e.text, e.layer,
            count(*) FILTER (said AND list_contains(other, e.label)) AS tp,
            count(*) FILTER (said AND NOT list_contains(other, e.label)) AS fp,
            count(*) FILTER (NOT said AND NOT list_contains(other, e.label)) AS fn
        FROM each e JOIN edge_labels l ON l.task = e.task AND l.label = e.label
        GROUP BY ALL ORDER BY e.run, l.name, e.text, e.layer
        """,
        _values(run_ids, part, unseen),
    )


def _values(run_ids: Sequence[str], part: str | None, unseen: bool, seen: bool = False) -> dict[str, object]:
    return {"run_ids": list(run_ids), "part": part, "unseen": unseen, "seen": seen}


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
