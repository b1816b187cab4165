"""Stored results of sentence-level probing: runs, counts, and predictions for single sentences."""

from collections.abc import Sequence

import pandas as pd

from probing.kernel.store.database import Database
from probing.sentences.examples import LEFT_OUT, OWN


def sentence_runs(db: Database) -> pd.DataFrame:
    """All complete runs, newest first, with columns of their files and provenance; ``answered``: with predictions."""
    return db.query("""
        SELECT e.*, e.run_id IN (SELECT DISTINCT run_id FROM sentence_predictions) AS answered FROM runs_of_sentences e
        ORDER BY model, task, protocol, created DESC NULLS LAST, run_id
    """)


def sentence_tasks(db: Database) -> pd.DataFrame:
    """The data of every task by protocol, with the columns of their files."""
    return db.query("SELECT * FROM sentence_tasks ORDER BY task, protocol")


def scores(db: Database, run_ids: Sequence[str]) -> pd.DataFrame:
    """Counts of every probe of the runs, with the columns of ``sentence_scores``."""
    return db.query(f"SELECT * FROM sentence_scores s {_OF_RUNS} ORDER BY ALL", {"run_ids": list(run_ids)})


def pairs(db: Database, run_ids: Sequence[str]) -> pd.DataFrame:
    """Counts of every two probes of the runs that are compared, with the columns of ``sentence_pairs``."""
    return db.query(f"SELECT * FROM sentence_pairs s {_OF_RUNS} ORDER BY ALL", {"run_ids": list(run_ids)})


def examples(db: Database, task: str, protocol: str) -> pd.DataFrame:
    """The test sentences of a task in the order of predictions: place, example, label (number), gold, text, pair."""
    return db.query(
        """
        SELECT e.place, e.example, e.label, t.labels[e.label + 1] AS gold, coalesce(e.text, '') AS text,
            coalesce(e.pair, '') AS pair
        FROM sentence_examples e JOIN sentence_tasks t ON t.task = e.task AND t.protocol = e.protocol
        WHERE e.task = $task AND e.protocol = $protocol ORDER BY e.place
        """,
        {"task": task, "protocol": protocol},
    )


def answers(db: Database, run_id: str, pooling: str, layer: int) -> pd.DataFrame:
    """What a run's own probe says of each test sentence that the model can take: place, said (the label's name)."""
    return db.query(
        """
        WITH given AS (
            SELECT unnest(p.predicted) AS label, generate_subscripts(p.predicted, 1) - 1 AS place, t.labels
            FROM sentence_predictions p JOIN sentence_runs r ON r.run_id = p.run_id
            JOIN sentence_tasks t ON t.task = r.task AND t.protocol = r.protocol
            WHERE p.run_id = $run AND p.pooling = $pooling AND p.layer = $layer AND p.reading = $own AND p.portion = 1
        )
        SELECT place, labels[label + 1] AS said FROM given WHERE label <> $left_out ORDER BY place
        """,
        {"run": run_id, "pooling": pooling, "layer": layer, "own": OWN, "left_out": LEFT_OUT},
    )


def right_sentences(db: Database, run_ids: Sequence[str], readings: Sequence[str]) -> pd.DataFrame:
    """Which test sentences the probes on all training sentences have right, if their predictions are stored.

    ``right`` is a list of booleans; empty for a sentence that the model cannot take.
    """
    return db.query(
        f"""
        WITH gold AS (
            SELECT r.run_id, list(e.label ORDER BY e.place) AS labels
            FROM sentence_runs r JOIN sentence_examples e ON e.task = r.task AND e.protocol = r.protocol
            GROUP BY r.run_id
        )
        SELECT s.run_id, s.pooling, s.layer, s.reading, s.portion,
            list_transform(list_zip(s.predicted, g.labels),
                lambda x: CASE WHEN x[1] = {LEFT_OUT} THEN NULL ELSE x[1] = x[2] END) AS right
        FROM sentence_predictions s JOIN gold g ON g.run_id = s.run_id
        {_OF_RUNS} AND s.portion = 1 AND s.reading IN (SELECT unnest($readings::VARCHAR[])) ORDER BY ALL
        """,
        {"run_ids": list(run_ids), "readings": list(readings)},
    )


_OF_RUNS = "WHERE s.run_id IN (SELECT unnest($run_ids::VARCHAR[]))"
