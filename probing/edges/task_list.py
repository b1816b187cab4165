"""The tasks of edge probing as a table: their questions, data sets and amounts of data."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from probing.edges.numbers import ceiling, f1, memory_answers, targets_of
from probing.edges.targets import Part, TaskData
from probing.edges.tasks import EDGE_TASKS, SPANS_ARE, EdgeTask, read_task

TASK_COUNTS = ("part", "sentences", "records", "targets", "labels", "unseen_labels", "dropped", "ceiling", "memory_f1")


def task_list(downloads: Path, names: Sequence[str] = (), counts: bool = False) -> pd.DataFrame:
    """One row per task or, with counts, per part of its data; the counts are empty if a task's data are not fetched.

    ``names`` are tasks, or folders in jiant's format; none: all built-in tasks. ``labels`` are those of the training
    part, ``unseen_labels`` gold labels of the part that training lacks, ``dropped`` targets that were left out
    (sentences, if the reason says so), ``ceiling`` and ``memory_f1`` F1 in [0, 1].
    """
    rows: list[dict] = []
    for name in names or EDGE_TASKS:
        task = EDGE_TASKS.get(name)
        data = None
        if task is None:
            task, data = read_task(name, downloads)
        there = all((downloads / one).is_dir() for one in task.data_set)
        if counts and there and data is None:
            _, data = read_task(name, downloads)
        about = {
            "task": task.name,
            "title": task.title,
            "spans": task.spans,
            "asks": ", ".join(SPANS_ARE.get(task.name, ("first span", "second span")[: task.spans])),
            "data_set": ", ".join(task.data_set) or "own",
            "licence": task.licence,
            "fetched": "yes" if there else "no",
        }
        rows += [about | one for one in _counted(task, data)] if counts else [about]
    return pd.DataFrame(rows, columns=[*rows[0], *(one for one in TASK_COUNTS if counts and one not in rows[0])])


def _counted(task: EdgeTask, data: TaskData | None) -> list[dict]:
    if data is None:
        return [{}]
    known = set(data.labels)
    return [
        {
            "part": name,
            "sentences": part.sentences,
            "records": len(part.records),
            "targets": part.targets,
            "labels": len(known),
            "unseen_labels": sum(label not in known for _, target in targets_of(part) for label in target.labels),
            "dropped": sum(part.dropped.values()),
            "ceiling": ceiling(part, task.counts),
            "memory_f1": np.nan if name == "train" else memory_f1(task, data.train, part),
        }
        for name, part in data.parts().items()
    ]


def memory_f1(task: EdgeTask, train: Part, part: Part) -> float:
    """Micro F1 of the memory baseline over the labels that count."""
    tp = fp = fn = 0
    for (_, target), answer in zip(targets_of(part), memory_answers(train, part), strict=True):
        gold, given = ({label for label in labels if task.counts(label)} for labels in (target.labels, answer))
        tp, fp, fn = tp + len(gold & given), fp + len(given - gold), fn + len(gold - given)
    return float(f1(tp, fp, fn))
