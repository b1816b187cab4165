"""The stored tables of a task's data: parts, labels, targets of the development part, and predictions of baselines."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from probing.edges.numbers_baselines import (
    ceiling,
    has_many_labels,
    majority_answer,
    memory_answers,
    memory_each_answers,
    seen_in_training,
    targets_of,
)
from probing.edges.requests_run import part_sha256
from probing.edges.targets import Part, TaskData
from probing.edges.tasks import EdgeTask
from probing.kernel.store.parquet import write_differing

#: The part whose targets are stored one by one, as in the paper.
STORED_PART = "dev"
#: The name of the label for all labels without training targets.
UNSEEN_LABEL = "(not in training)"
_MEMORY, _MAJORITY, _MEMORY_EACH = "memory", "majority", "memory-each"


def label_names(data: TaskData) -> list[str]:
    """Names by label number; the last is for labels that only other parts have, if any."""
    names = list(data.labels)
    known = set(names)
    unseen = any(
        label not in known
        for part in data.parts().values()
        for _, target in targets_of(part)
        for label in target.labels
    )
    return [*names, UNSEEN_LABEL] if unseen else names


def write_task(task: EdgeTask, data: TaskData, folder: Path) -> list[Path]:
    """Writes the tables of a task's data if they are missing or differ, and returns the files."""
    stored = data.parts()[STORED_PART]
    tables = {
        "edge_tasks": [part_row(task, data, name, part) for name, part in data.parts().items()],
        "edge_labels": _label_rows(task, data),
        "edge_sentences": sentence_rows(data.task, STORED_PART, stored),
        "edge_targets": target_rows(task, data, STORED_PART, stored),
        "edge_baselines": _baseline_rows(task, data),
    }
    return [write_differing(table, rows, folder / f"{table}-{data.task}.parquet") for table, rows in tables.items()]


def counted_mask(task: EdgeTask, names: Sequence[str]) -> np.ndarray:
    """(labels,) bool: which labels F1 counts."""
    return np.array([name == UNSEEN_LABEL or task.counts(name) for name in names])


def part_row(task: EdgeTask, data: TaskData, name: str, part: Part) -> dict:
    """The row of ``edge_tasks`` of one part; the labels are those of the training part."""
    known, best = set(data.labels), ceiling(part, task.counts)
    return {
        "task": data.task,
        "part": name,
        "title": task.title,
        "source": ", ".join(task.data_set),
        "sha256": part_sha256(part),
        "licence": task.licence,
        "spans": task.spans,
        "sentences": part.sentences,
        "records": len(part.records),
        "targets": part.targets,
        "labels": len(known),
        "unseen_labels": sum(label not in known for _, target in targets_of(part) for label in target.labels),
        "ceiling": None if np.isnan(best) else best,
        "dropped": json.dumps(dict(part.dropped), sort_keys=True),
    }


def _label_rows(task: EdgeTask, data: TaskData) -> list[dict]:
    names = label_names(data)
    counted = dict.fromkeys(names, 0)
    for _, target in targets_of(data.train):
        for label in target.labels:
            counted[label] += 1
    counts = counted_mask(task, names)
    return [
        {"task": data.task, "label": number, "name": name, "counts": bool(counts[number]), "n": counted[name]}
        for number, name in enumerate(names)
    ]


def sentence_rows(task: str, name: str, part: Part) -> list[dict]:
    """The rows of ``edge_sentences`` of one part of a task's data."""
    return [
        {
            "task": task,
            "part": name,
            "sentence": number,
            "text_sha256": record.sha256,
            "text": record.text if record.open else None,
            "document": record.document or None,
        }
        for number, record in enumerate(part.records)
    ]


def target_rows(task: EdgeTask, data: TaskData, name: str, part: Part) -> list[dict]:
    """The rows of ``edge_targets`` of one part; labels and memory are those of the training part of ``data``."""
    number_of = {label: number for number, label in enumerate(data.labels)}
    memory, seen = memory_answers(data.train, part), seen_in_training(data.train, part)
    rows: list[dict] = []
    for sentence, record in enumerate(part.records):
        for target in record.targets:
            place = len(rows)
            start2, end2 = target.span2 or (None, None)
            rows.append(
                {
                    "task": data.task,
                    "part": name,
                    "target": place,
                    "sentence": sentence,
                    "start1": target.span1[0],
                    "end1": target.span1[1],
                    "start2": start2,
                    "end2": end2,
                    "gold": sorted(number_of[label] for label in target.labels if label in number_of),
                    "unknown_gold": sum(label not in number_of and task.counts(label) for label in target.labels),
                    "memory": sorted(number_of[label] for label in memory[place]),
                    "seen": seen[place],
                }
            )
    return rows


def _baseline_rows(task: EdgeTask, data: TaskData) -> list[dict]:
    names, majority = label_names(data), majority_answer(data.train)
    rows = []
    for name, part in data.parts().items():
        if name == "train":
            continue
        gold = k_hot([target.labels for _, target in targets_of(part)], names, task)
        seen = np.array(seen_in_training(data.train, part), bool)
        answers = {_MEMORY: memory_answers(data.train, part), _MAJORITY: [majority] * part.targets}
        if has_many_labels(data.train):
            answers[_MEMORY_EACH] = memory_each_answers(data.train, part)
        for baseline, given in answers.items():
            answered = k_hot(given, names, task)
            for which in (False, True):
                rows += [
                    {"task": data.task, "part": name, "baseline": baseline, "seen": which, "label": label} | counts
                    for label, counts in enumerate(count_rows(answered[seen == which], gold[seen == which]))
                ]
    return rows


def k_hot(labels: Sequence[Sequence[str]], names: Sequence[str], task: EdgeTask) -> np.ndarray:
    """(targets, labels) numbers of gold labels: 0 or 1, but the label of all that training lacks counts all of them."""
    number_of = {name: number for number, name in enumerate(names)}
    counts = np.zeros((len(labels), len(names)), np.int64)
    for row, given in enumerate(labels):
        for label in given:
            if label in number_of:
                counts[row, number_of[label]] = 1
            elif task.counts(label):
                counts[row, number_of[UNSEEN_LABEL]] += 1
    return counts


def count_rows(answered: np.ndarray, gold: np.ndarray) -> list[dict]:
    """Counts by label of (targets, labels) arrays that hold 0 or 1, or more for several labels in one column."""
    tp = np.minimum(answered, gold).sum(0)
    fp, fn = answered.sum(0) - tp, gold.sum(0) - tp
    tn = ((answered == 0) & (gold == 0)).sum(0)
    return [{"tp": int(a), "fp": int(b), "fn": int(c), "tn": int(d)} for a, b, c, d in zip(tp, fp, fn, tn, strict=True)]
