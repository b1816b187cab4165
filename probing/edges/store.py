"""Stored results of edge probing: runs, counts of predictions, mixing weights and code lengths, all counts or sums.

``unseen`` keeps only targets whose span text (of both spans, if there are two) does not occur in training. Counts are
those of the labels that F1 counts, unless they are by label.
"""

from collections.abc import Sequence

import pandas as pd

from probing.edges.tasks import EDGE_TASKS
from probing.kernel.store.database import Database, remembered

_OF_RUNS = (
    "s.run_id IN (SELECT unnest($run_ids::VARCHAR[])) AND ($part::VARCHAR IS NULL OR s.part = $part) AND NOT (s.seen"
    " AND $unseen) AND (s.seen OR NOT $seen)"
)
_COUNTED = """
    FROM edge_scores s JOIN edge_runs r ON r.run_id = s.run_id LEFT JOIN edge_labels l ON l.task = r.task AND l.label =
        s.label
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
        SELECT l.name AS label, {_SUMS} FROM edge_baselines s JOIN edge_labels l ON l.task = s.task AND l.label =
            s.label
        WHERE s.baseline = 'majority' AND s.task = $task AND s.part = $part AND NOT (s.seen AND $unseen) GROUP BY
            l.name ORDER BY l.name
        """,
        {"task": task, "part": part, "unseen": unseen},
    )


def top_counts(db: Database, run_ids: Sequence[str], part: str | None = None, unseen: bool = False) -> pd.DataFrame:
    """Counts if the most probable label is predicted for every target: run_id, part, layer, tp, fp, fn.

    Only of runs and parts whose predictions are stored.
    """
    return db.query(
        f"""
        WITH others AS (SELECT task, list(label) FILTER (NOT counts) AS labels FROM edge_labels GROUP BY task), said AS
            (
            SELECT p.run_id, p.part, p.layer, NOT coalesce(list_contains(o.labels, p.top), false) AS counted,
                list_contains(s.gold, p.top) AS hit,
                s.unknown_gold + len(s.gold) - len(list_intersect(s.gold, coalesce(o.labels, []))) AS gold
            FROM edge_predictions p JOIN edge_runs r ON r.run_id = p.run_id
            JOIN edge_targets s ON s.task = r.task AND s.part = p.part AND s.target = p.target JOIN others o ON o.task
                = r.task
            WHERE {_OF_RUNS.replace("s.run_id", "p.run_id")}
        )
        SELECT run_id, part, layer, count(*) FILTER (counted AND hit) AS tp, count(*) FILTER (counted AND NOT hit) AS
            fp,
            CAST(sum(gold) AS BIGINT) - count(*) FILTER (counted AND hit) AS fn
        FROM said GROUP BY ALL ORDER BY run_id, part, layer
        """,
        _values(run_ids, part, unseen),
    )


def mix(db: Database, run_ids: Sequence[str]) -> pd.DataFrame:
    """The mix of each run's probe on all layers: run_id, layer (0..L), weight, gamma, norm (mean, of its states)."""
    return db.query(
        """
        SELECT m.run_id, m.of_layer AS layer, m.weight, m.gamma, m.norm FROM edge_mix m JOIN edge_runs r ON r.run_id =
            m.run_id
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
