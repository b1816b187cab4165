"""Sentences of edge probing by what the layers make of their targets, and the answers to one of them.

All functions take the database first. ``run_ids`` are runs that store answers, one a task; filters that are None do not filter. A sentence
is known by the sha256 of its text, so that the targets of all tasks that were asked on it stand together.
"""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from probing.core.edges.traces import AMBIGUOUS
from probing.store.database import Database

#: Every stored target of the runs, with what the layers make of it; ``passes`` says whether it passes the filters. Where one text is stored
#: several times, equal questions on it count once. Of two tasks out of order those targets pass that share a word.
_TARGETS = """
WITH asked AS (
    SELECT r.run_id, r.task, s.text_sha256, max(s.text) OVER (PARTITION BY s.text_sha256) AS text, s.document, t.part, t.target,
        t.sentence, t.start1, t.end1, t.start2, t.end2, t.seen, t.gold, t.memory, t.unknown_gold, c.settled, c.revisions,
        c.strongest_mean, c.last_right, c.strongest_mean <= $ambiguous AS ambiguous,
    FROM edge_traces c
    JOIN edge_runs r ON r.run_id = c.run_id
    JOIN edge_targets t ON t.task = r.task AND t.part = c.part AND t.target = c.target
    JOIN edge_sentences s ON s.task = r.task AND s.part = c.part AND s.sentence = t.sentence
    WHERE r.run_id IN (SELECT unnest($run_ids::VARCHAR[])) AND c.part = $part
    QUALIFY row_number() OVER (
        PARTITION BY r.run_id, s.text_sha256, t.start1, t.end1, t.start2, t.end2, t.gold ORDER BY t.target
    ) = 1
), swapped AS (
    SELECT l.task AS later, l.target AS first, e.task AS earlier, e.target AS last
    FROM asked l JOIN asked e ON e.text_sha256 = l.text_sha256 AND e.task = $earlier AND l.settled < e.settled AND (
        (l.start1 < e.end1 AND e.start1 < l.end1) OR (l.start2 < e.end1 AND e.start1 < l.end2)
        OR (l.start1 < e.end2 AND e.start2 < l.end1) OR (l.start2 < e.end2 AND e.start2 < l.end2)
    )
    WHERE l.task = $later
), out_of_order AS (
    SELECT later AS task, first AS target FROM swapped UNION SELECT earlier, last FROM swapped
), targets AS (
    SELECT *, ($task IS NULL OR task = $task) AND (NOT $unseen OR NOT seen) AND ($settled IS NULL OR settled = $settled)
        AND ($label IS NULL OR list_contains(gold, (SELECT n.label FROM edge_labels n WHERE n.task = asked.task AND n.name = $label)))
        AND ($kind = 'any' OR ($kind = 'ambiguous' AND ambiguous) OR ($kind = 'revised' AND revisions > 0))
        AND ($later IS NULL OR (task, target) IN (SELECT (task, target) FROM out_of_order)) AS passes
    FROM asked
)
"""
_ORDERS = {
    "ambiguous": "ambiguous DESC, revisions DESC, first, text_sha256",
    "revised": "revisions DESC, ambiguous DESC, first, text_sha256",
    "sentence": "first, text_sha256",
}


def traced_runs(db: Database) -> pd.DataFrame:
    """The run of every model and task whose answers can be read layer by layer: run_id, model, task, title, layers (layer 0 included).

    It is the one of the trained encoder with cumulative probes on the task's labels; of several the widest with the first seed.
    """
    return db.query("""
        SELECT r.run_id, r.model, r.task, k.title, r.layers FROM edge_runs r
        LEFT JOIN (SELECT task, any_value(title) AS title FROM edge_tasks GROUP BY task) k ON k.task = r.task
        WHERE r.kind = 'cumulative' AND r.encoder = 'trained' AND r.labels = 'task' AND r.run_id IN (SELECT run_id FROM edge_traces)
        QUALIFY row_number() OVER (PARTITION BY r.model, r.task ORDER BY r.width DESC, r.seed, r.run_id) = 1
        ORDER BY r.model, r.task
    """)


def gold_labels(db: Database, task: str) -> pd.DataFrame:
    """The labels of a task by name: name, n (training targets)."""
    return db.query("SELECT name, n FROM edge_labels WHERE task = $task ORDER BY name", {"task": task})


def count_sentences(db: Database, run_ids: Sequence[str], part: str, **filters: Any) -> int:
    """Number of sentences with a target that passes the filters of ``sentences``."""
    found = db.query(f"{_TARGETS} SELECT count(DISTINCT text_sha256) AS n FROM targets WHERE passes", _values(run_ids, part, **filters))
    return int(found["n"].iloc[0])


def sentences(
    db: Database, run_ids: Sequence[str], part: str, *, order: str = "ambiguous", offset: int = 0, limit: int = 50, **filters: Any
) -> pd.DataFrame:
    """Sentences with a target that passes the filters: text_sha256, text, tasks, targets (that pass), ambiguous, revisions (of these).

    Args:
        run_ids: runs of one model that store answers, one a task.
        part: of the data.
        order: ``ambiguous`` (most ambiguous targets first), ``revised`` (most revisions first) or ``sentence``.
        offset, limit: the page.
        filters: ``task, label, unseen, kind`` (any, ambiguous or revised), ``settled`` (a layer), and ``out_of_order``: two tasks; a target
            of the first that settles before one of the second that shares a word with it, and the latter.

    Raises:
        ValueError: if the order is unknown.
    """
    if order not in _ORDERS:
        raise ValueError(f"got the order {order!r}, expected one of {sorted(_ORDERS)}")
    return db.query(
        f"""
        {_TARGETS}
        SELECT text_sha256, any_value(text) AS text, list(DISTINCT task ORDER BY task) AS tasks, count(*) AS targets,
            count(*) FILTER (ambiguous) AS ambiguous, CAST(sum(revisions) AS INTEGER) AS revisions, min(sentence) AS first
        FROM targets WHERE passes GROUP BY text_sha256 ORDER BY {_ORDERS[order]} LIMIT $limit OFFSET $offset
        """,
        {**_values(run_ids, part, **filters), "limit": limit, "offset": offset},
    ).drop(columns="first")


def traces(db: Database, run_ids: Sequence[str], part: str, text_sha256: str, **filters: Any) -> pd.DataFrame:
    """The answers to every target of a sentence, a row a target and layer.

    ``gold, memory, predicted`` are lists of labels' names, ``top`` and ``wrong`` names; ``p_gold`` goes with ``gold``; probabilities are
    stored whole numbers. ``right`` says whether the most probable label is right, ``memory_right`` whether the memory baseline is,
    ``passes`` whether the target passes the filters of ``sentences``.
    """
    return db.query(
        f"""
        {_TARGETS}, named AS (SELECT task, map_from_entries(list((label, name))) AS name_of FROM edge_labels GROUP BY task)
        SELECT t.task, t.text_sha256, t.text, t.document, t.target, t.sentence, t.start1, t.end1, t.start2, t.end2, t.seen,
            list_transform(t.gold, lambda x: n.name_of[x]) AS gold, list_transform(t.memory, lambda x: n.name_of[x]) AS memory,
            len(t.gold) > 0 AND list_has_all(t.gold, t.memory) AND len(t.memory) > 0 AS memory_right, t.settled, t.revisions,
            t.strongest_mean, t.ambiguous, t.passes, p.layer, list_transform(p.predicted, lambda x: n.name_of[x]) AS predicted,
            n.name_of[p.top] AS top, list_contains(t.gold, p.top) AS right, p.p_top, p.p_gold, n.name_of[p.wrong] AS wrong, p.p_wrong,
            p.p_sum
        FROM targets t
        JOIN named n ON n.task = t.task
        JOIN edge_predictions p ON p.run_id = t.run_id AND p.part = t.part AND p.target = t.target
        WHERE t.text_sha256 = $text_sha256
        ORDER BY t.task, t.target, p.layer
        """,
        {**_values(run_ids, part, **filters), "text_sha256": text_sha256},
    )


def _values(
    run_ids: Sequence[str], part: str, *, task: str | None = None, label: str | None = None, unseen: bool = False, kind: str = "any",
    settled: int | None = None, out_of_order: tuple[str, str] | None = None,
) -> dict[str, Any]:  # fmt: skip
    """The values of the placeholders."""
    later, earlier = out_of_order or (None, None)
    return {
        "run_ids": list(run_ids), "part": part, "task": task, "label": label, "unseen": unseen, "kind": kind, "settled": settled,
        "later": later, "earlier": earlier, "ambiguous": AMBIGUOUS,
    }  # fmt: skip
