"""Sentences of edge probing by what the layers make of their targets, and the answers to one of them.

All functions take the database first. ``run_ids`` are runs that store answers, one a task; filters that are None do not filter. A sentence
is known by the sha256 of its text, so that the targets of all tasks that were asked on it stand together.
"""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from probing.core.edges.traces import AMBIGUOUS
from probing.store.database import Database

#: Every stored target of the runs, with what the layers make of it; ``passes`` says whether it passes the filters.
_TARGETS = """
WITH names AS (SELECT task, label, name FROM edge_labels),
targets AS (
    SELECT r.run_id, r.task, s.text_sha256, s.text, s.document, t.part, t.target, t.sentence, t.start1, t.end1, t.start2, t.end2, t.seen,
        t.gold, t.memory, t.unknown_gold, c.settled, c.revisions, c.strongest_mean, c.last_right,
        c.strongest_mean <= $ambiguous AS ambiguous,
        ($task IS NULL OR r.task = $task) AND (NOT $unseen OR NOT t.seen) AND ($settled IS NULL OR c.settled = $settled)
            AND ($label IS NULL OR list_contains(t.gold, (SELECT n.label FROM names n WHERE n.task = r.task AND n.name = $label)))
            AND ($kind = 'any' OR ($kind = 'ambiguous' AND c.strongest_mean <= $ambiguous) OR ($kind = 'revised' AND c.revisions > 0))
            AS passes
    FROM edge_traces c
    JOIN edge_runs r ON r.run_id = c.run_id
    JOIN edge_targets t ON t.task = r.task AND t.part = c.part AND t.target = c.target
    JOIN edge_sentences s ON s.task = r.task AND s.part = c.part AND s.sentence = t.sentence
    WHERE r.run_id IN (SELECT unnest($run_ids::VARCHAR[])) AND c.part = $part
), swapped AS (
    SELECT text_sha256 FROM targets GROUP BY text_sha256
    HAVING min(settled) FILTER (task = $later) < max(settled) FILTER (task = $earlier)
)
"""
_FOUND = """
    FROM targets WHERE passes AND ($later IS NULL OR text_sha256 IN (SELECT text_sha256 FROM swapped))
"""
_ORDERS = {
    "ambiguous": "ambiguous DESC, revisions DESC, first, text_sha256",
    "revised": "revisions DESC, ambiguous DESC, first, text_sha256",
    "sentence": "first, text_sha256",
}


def count_sentences(db: Database, run_ids: Sequence[str], part: str, **filters: Any) -> int:
    """Number of sentences with a target that passes the filters of ``sentences``."""
    found = db.query(f"{_TARGETS} SELECT count(DISTINCT text_sha256) AS n {_FOUND}", _values(run_ids, part, **filters))
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
        filters: ``task, label, unseen, kind`` (any, ambiguous or revised), ``settled`` (a layer), and ``out_of_order``: two tasks; only
            sentences in which a target of the first settles before one of the second.

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
        {_FOUND}
        GROUP BY text_sha256 ORDER BY {_ORDERS[order]} LIMIT $limit OFFSET $offset
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
        {_TARGETS}, named AS (SELECT task, map_from_entries(list((label, name))) AS name_of FROM names GROUP BY task)
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
