"""Finding sentences by the layers' predictions for their targets, and those predictions.

A sentence is its text: targets of several records with the same words are grouped, because semantic roles have one
record per predicate, and equal questions on them count once. Filters that are None do not filter.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from probing.edges.store import by_task
from probing.edges.words import AMBIGUOUS
from probing.kernel.store.database import Database

KINDS = ("any", "ambiguous", "revised")
MAX_ROWS = 5000
#: Name of an order -> SQL; ties are broken by the sentence's place in the data.
ORDERS = {
    "ambiguous": "ambiguous DESC, revisions DESC, ",
    "revised": "revisions DESC, ambiguous DESC, ",
    "sentence": "",
}


@dataclass(frozen=True)
class TargetFilter:
    """Which targets are listed; None does not filter."""

    task: str | None = None
    label: str | None = None
    #: Whether the span text (of both spans) must not occur in training.
    unseen: bool = False
    #: ``ambiguous``: no label's mean p is above ``AMBIGUOUS``, several in a sentence; ``revised``: the label changes.
    kind: str = "any"
    #: The layer from which the most probable label stays right up to the last.
    settled: int | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"got the kind {self.kind!r}; expected one of {KINDS}")

    @property
    def values(self) -> dict[str, Any]:
        """Values of ``_TARGETS``."""
        return {
            "task": self.task,
            "label": self.label,
            "unseen": self.unseen,
            "kind": self.kind,
            "settled": self.settled,
            "threshold": AMBIGUOUS,
        }


#: Every traced target of the runs, with its sentence; ``passes`` states whether the filters keep it.
_TARGETS = """
    traced AS (
        SELECT c.run_id, r.task, r.layers, c.part, c.target, t.sentence, x.text_sha256, t.gold, t.memory,
            t.unknown_gold, t.seen, t.start1,
            t.end1, t.start2, t.end2, coalesce(c.settled, -1) AS settled, c.revisions, c.strongest_mean,
            c.strongest_mean <= $threshold AS is_ambiguous
        FROM edge_traces c JOIN edge_runs r ON r.run_id = c.run_id
        JOIN edge_targets t ON t.task = r.task AND t.part = c.part AND t.target = c.target
        JOIN edge_sentences x ON x.task = t.task AND x.part = t.part AND x.sentence = t.sentence
        WHERE c.run_id IN (SELECT unnest($run_ids::VARCHAR[])) AND c.part = $part
        QUALIFY row_number() OVER (
            PARTITION BY c.run_id, x.text_sha256, t.start1, t.end1, t.start2, t.end2, t.gold, t.unknown_gold
            ORDER BY c.target
        ) = 1
    ), filtered AS (
        SELECT *, ($task::VARCHAR IS NULL OR task = $task) AND NOT (seen AND $unseen)
            AND ($label::VARCHAR IS NULL OR EXISTS (
                SELECT 1 FROM edge_labels l
                WHERE l.task = traced.task AND l.name = $label AND list_contains(traced.gold, l.label)))
            AND ($settled::INTEGER IS NULL OR settled = $settled)
            AND ($kind <> 'ambiguous' OR is_ambiguous) AND ($kind <> 'revised' OR revisions > 0) AS passes
        FROM traced
    )
"""
#: The sentences that have targets which pass.
_SENTENCES = f"""
    WITH {_TARGETS}, counted AS (
        SELECT text_sha256, min(sentence) AS place, CAST(count(*) AS BIGINT) AS targets,
            CAST(count(*) FILTER (is_ambiguous) AS BIGINT) AS ambiguous, CAST(sum(revisions) AS BIGINT) AS revisions
        FROM filtered WHERE passes GROUP BY text_sha256
    ), kept AS (
        SELECT * FROM counted WHERE $kind <> 'ambiguous' OR ambiguous > 1
    )
"""


def sentences(
    db: Database,
    run_ids: Sequence[str],
    part: str,
    *,
    order: str = "ambiguous",
    offset: int = 0,
    limit: int = 100,
    **filters: Any,
) -> pd.DataFrame:
    """Sentences with targets that pass the filters (fields of ``TargetFilter``), at most ``MAX_ROWS``.

    The runs are at most one of each task; text is empty if results hold its hash only. ``targets``, ``ambiguous`` and
    ``revisions`` count those that pass, and the changes of their most probable label.
    """
    if not 0 <= limit <= MAX_ROWS or offset < 0 or order not in ORDERS:
        raise ValueError(
            f"got order {order!r}, offset {offset}, limit {limit}; expected one of {list(ORDERS)}, >= 0, 0 to"
            f" {MAX_ROWS}"
        )
    return db.query(
        f"""
        {_SENTENCES}, texts AS (
            SELECT text_sha256, max(text) AS text, max(document) AS document FROM edge_sentences WHERE part = $part
                GROUP BY text_sha256
        )
        SELECT k.text_sha256, t.text, t.document, k.targets, k.ambiguous, k.revisions
        FROM kept k JOIN texts t ON t.text_sha256 = k.text_sha256
        ORDER BY {ORDERS[order]}k.place, k.text_sha256 LIMIT $limit OFFSET $offset
        """,
        _values(run_ids, part, filters) | {"limit": int(limit), "offset": int(offset)},
    )


def count_sentences(db: Database, run_ids: Sequence[str], part: str, **filters: Any) -> int:
    """How many sentences ``sentences`` finds in all pages."""
    counted = db.query(f"{_SENTENCES} SELECT count(*) AS n FROM kept", _values(run_ids, part, filters))
    return int(counted["n"].iloc[0])


def tasks_of_texts(db: Database, part: str, hashes: Sequence[str]) -> pd.DataFrame:
    """The tasks that have each of some sentences, given by their hashes: task, text_sha256."""
    return by_task(
        db.query(
            """
            SELECT DISTINCT task, text_sha256 FROM edge_sentences
            WHERE part = $part AND text_sha256 IN (SELECT unnest($hashes::VARCHAR[]))
            """,
            {"part": part, "hashes": list(hashes)},
        ),
        "task",
        "text_sha256",
    )


def traces(db: Database, run_ids: Sequence[str], part: str, text_sha256: str, **filters: Any) -> pd.DataFrame:
    """The predictions for every target of a sentence, by task, target and layer.

    Columns: run_id, task, target, layer, text_sha256, text, document, start1, end1, start2, end2 (words), gold, memory,
    predicted (names of labels), top and wrong (names), right (whether the most probable label is a gold one),
    memory_right (whether the memory baseline gives just the gold labels), p_gold (of each gold label), p_wrong, p_top,
    p_sum (in steps of 1/255), settled (-1: the last layer is wrong), revisions, strongest_mean, seen, unknown_gold,
    passes (whether the filters keep the target).
    """
    answers = db.query(
        f"""
        WITH {_TARGETS}, named AS (SELECT task, map(list(label), list(name)) AS name FROM edge_labels GROUP BY task)
        SELECT f.run_id, f.task, f.target, p.layer, f.text_sha256, max(x.text) OVER () AS text, x.document,
            f.start1, f.end1, f.start2, f.end2,
            list_transform(f.gold, lambda one: n.name[one]) AS gold,
            list_transform(f.memory, lambda one: n.name[one]) AS memory,
            list_transform(p.predicted, lambda one: n.name[one]) AS predicted,
            n.name[p.top] AS top, n.name[p.wrong] AS wrong,
            list_contains(f.gold, p.top) AS right, f.memory = f.gold AND f.unknown_gold = 0 AS memory_right,
            p.p_gold, p.p_wrong, p.p_top, p.p_sum,
            f.settled, f.revisions, f.strongest_mean, f.seen, f.unknown_gold, f.passes
        FROM filtered f JOIN edge_predictions p ON p.run_id = f.run_id AND p.part = f.part AND p.target = f.target
        JOIN named n ON n.task = f.task
        JOIN edge_sentences x ON x.task = f.task AND x.part = f.part AND x.sentence = f.sentence
        WHERE f.text_sha256 = $text_sha256
        """,
        _values(run_ids, part, filters) | {"text_sha256": text_sha256},
    )
    lists = {name: [list(cell) for cell in answers[name]] for name in ("gold", "memory", "predicted", "p_gold")}
    return by_task(answers.assign(**lists), "task", "target", "layer")


def _values(run_ids: Sequence[str], part: str, filters: dict[str, Any]) -> dict[str, Any]:
    return TargetFilter(**filters).values | {"run_ids": list(run_ids), "part": part}
