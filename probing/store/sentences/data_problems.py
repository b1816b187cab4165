"""What is wrong with the stored data of tasks of sentence-level probing."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from probing.core.sentences.example import PROTOCOLS, Example


def data_problems(frames: Mapping[str, pd.DataFrame]) -> Iterator[str]:
    """Problems of ``sentence_tasks`` and ``sentence_examples``: numbers of sentences and labels must agree."""
    tasks, examples = frames["sentence_tasks"], frames["sentence_examples"]
    known = set(zip(tasks["task"], tasks["protocol"], strict=True))
    of_task = dict(iter(examples.groupby(["task", "protocol"])))
    for name in sorted(set(of_task) - known):
        yield f"task {name[0]} by protocol {name[1]}: has test sentences but no row in any sentence_tasks file; run `sentences train` again"
    for task in tasks.to_dict("records"):
        shown = of_task.get((task["task"], task["protocol"]), examples.iloc[:0])
        if problem := _task_problem(task) or _examples_problem(task, shown):
            yield f"task {task['task']} by protocol {task['protocol']}: {problem}; delete its files and run `sentences train` again"


def _task_problem(task: dict[str, Any]) -> str | None:
    labels, by_label = list(task["labels"]), [int(n) for n in task["n_train_labels"]]
    if task["protocol"] not in PROTOCOLS:
        return f"its protocol is {task['protocol']!r}, expected one of {', '.join(PROTOCOLS)}"
    if len(labels) < 2 or len(set(labels)) != len(labels) or len(labels) != len(by_label):
        return f"it has the labels {labels} with {by_label} training sentences, expected two or more, each once, and a number for each"
    if sum(by_label) != task["n_train"]:
        return f"its labels have {sum(by_label):,} training sentences, expected {task['n_train']:,}"
    for name in ("majority_right", "surface_right"):
        if task[name] > task["n_test"]:
            return f"{name} is {task[name]:,} of {task['n_test']:,} test sentences"
    try:
        dict(json.loads(task["dropped"]))
    except (TypeError, ValueError, RecursionError):
        return f"dropped is not JSON of reason -> number: {task['dropped']!r}"
    return None


def _examples_problem(task: dict[str, Any], shown: pd.DataFrame) -> str | None:
    """The test sentences: one for each place, labels of the task, the counted majority, texts that fit their names."""
    # The lengths are compared first: a number in a file must not decide how long a list becomes.
    if len(shown) != task["n_test"] or sorted(shown["place"]) != list(range(len(shown))):
        return f"{len(shown):,} test sentences are stored, expected the places 0 to {int(task['n_test']) - 1}"
    labels = list(task["labels"])
    if len(shown) and int(shown["label"].max()) >= len(labels):
        return f"a test sentence has the label number {shown['label'].max()}, the task has {len(labels)} labels"
    # Among equally common labels the first by name.
    most = max(range(len(labels)), key=lambda number: (int(task["n_train_labels"][number]), -sorted(labels).index(labels[number])))
    if (found := int((shown["label"] == most).sum())) != task["majority_right"]:
        return f"majority_right is {task['majority_right']:,}, but {found:,} test sentences have the label {labels[most]}"
    for row in shown[shown["text"].notna()].to_dict("records"):
        pair = row["pair"] if isinstance(row["pair"], str) else ""
        if not Example(row["text"], labels[row["label"]], pair).sha256.startswith(row["example"]):
            return f"the test sentence {row['place']} has another text or label than its name {row['example']} says"
    return None
