"""The tasks of sentence-level probing as a table: their questions, data sets and amounts of data."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from probing.sentences.examples import OURS, PARTS, SentenceData
from probing.sentences.examples_majority import majority_right
from probing.sentences.tasks import SENTENCE_TASKS, SentenceTask, read_task

COUNTS = ("source", "rows", *PARTS, "labels", "majority", "dropped")


def task_list(downloads: Path, names: Sequence[str] = (), counts: bool = False, protocol: str = OURS) -> pd.DataFrame:
    """One row per task; the counts are empty if its data are not fetched.

    ``names`` are tasks, or files; none: all built-in tasks. Any of the data_set is enough. ``majority`` is the test
    accuracy of the most frequent training label in [0, 1]; ``dropped`` reasons with numbers, and the parts, make up all
    ``rows`` of the files.
    """
    rows: list[dict] = []
    for name in names or SENTENCE_TASKS:
        task = SENTENCE_TASKS.get(name)
        there = task is None or any((downloads / one).is_dir() for one in task.data_sets)
        data = None
        if task is None or (counts and there):
            task, data = read_task(name, downloads, protocol)
        rows.append(_about(task, there) | (_counted(task, data) if counts and data is not None else {}))
    return pd.DataFrame(rows, columns=[*_about(next(iter(SENTENCE_TASKS.values())), True), *(COUNTS if counts else ())])


def _about(task: SentenceTask, there: bool) -> dict:
    return {
        "task": task.name,
        "title": task.title,
        "level": task.level,
        "asks": task.asks,
        "data_set": " or ".join(task.data_sets) or "own",
        "licence": task.licence,
        "fetched": "yes" if there else "no",
    }


def _counted(task: SentenceTask, data: SentenceData) -> dict:
    parts = {part: len(data.parts[part]) for part in PARTS}
    return parts | {
        "source": task.source,
        "rows": sum(parts.values()) + sum(data.dropped.values()),
        "labels": len(data.labels),
        "majority": majority_right(data.parts["train"], data.parts["test"]) / parts["test"],
        "dropped": "; ".join(f"{number:,} {reason}" for reason, number in data.dropped.items()),
    }
