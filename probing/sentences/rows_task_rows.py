"""The stored tables of a task's data: its row with both baselines, and the test sentences."""

import json
from collections import Counter
from pathlib import Path

import numpy as np

from probing import __version__
from probing.kernel.models.arrays import stored_arrays
from probing.kernel.provenance import canonical_json, fingerprint_of
from probing.kernel.store.parquet import write_differing
from probing.sentences.examples import PARTS, SentenceData
from probing.sentences.examples_majority import majority_right
from probing.sentences.numbers_surface import surface_features
from probing.sentences.probes_surface import surface_right
from probing.sentences.tasks import SentenceTask


def write_task(task: SentenceTask, data: SentenceData, folder: Path, cache: Path) -> list[Path]:
    """Writes the tables of a task's data if they are missing or differ, and returns the files.

    ``cache`` keeps the surface probe's correct sentences.
    """
    decides = canonical_json([__version__, data.task, data.protocol, data.sha256])
    # It depends on no model, and takes seconds.
    surface = stored_arrays(
        cache / f"surface-{fingerprint_of(decides)}.safetensors", lambda: {"right": np.array([_by_surface(data)])}
    )
    tables = {
        "sentence_tasks": [task_row(task, data, int(surface["right"][0]))],
        "sentence_examples": example_rows(task, data),
    }
    return [write_differing(table, rows, task_path(table, data, folder)) for table, rows in tables.items()]


def _by_surface(data: SentenceData) -> int:
    train, dev, test = (surface_features(data.parts["train"], data.parts[part]) for part in PARTS)
    gold = gold_labels(data, "train"), gold_labels(data, "dev"), gold_labels(data, "test")
    return surface_right((train, dev, test), gold, len(data.labels))


def task_path(table: str, data: SentenceData, folder: Path) -> Path:
    """The file of one of the tables of a task's data."""
    return folder / f"{table}-{data.task}-{data.protocol}.parquet"


def task_row(task: SentenceTask, data: SentenceData, right: int) -> dict:
    """The row of ``sentence_tasks``; ``right`` is how many test sentences the surface probe labels correctly."""
    of_label = Counter(one.label for one in data.parts["train"])
    return {
        "task": data.task,
        "protocol": data.protocol,
        "title": task.title,
        "level": task.level,
        "source": task.source,
        "licence": task.licence,
        "labels": list(data.labels),
        "n_train_labels": [of_label[label] for label in data.labels],
        "n_train": len(data.parts["train"]),
        "n_dev": len(data.parts["dev"]),
        "n_test": len(data.parts["test"]),
        "majority_right": majority_right(data.parts["train"], data.parts["test"]),
        "surface_right": right,
        "dropped": json.dumps(dict(data.dropped), sort_keys=True),
        "sha256": data.sha256,
    }


def example_rows(task: SentenceTask, data: SentenceData) -> list[dict]:
    """The rows of ``sentence_examples``, with words if the licence allows results to hold them."""
    number_of = {label: number for number, label in enumerate(data.labels)}
    return [
        {
            "task": data.task,
            "protocol": data.protocol,
            "place": place,
            "example": one.sha256[:16],
            "label": number_of[one.label],
            "text": one.text if task.open else None,
            "pair": one.pair or None if task.open else None,
        }
        for place, one in enumerate(data.parts["test"])
    ]


def gold_labels(data: SentenceData, part: str) -> np.ndarray:
    """(sentences,) uint8, the numbers of a part's labels."""
    number_of = {label: number for number, label in enumerate(data.labels)}
    return np.array([number_of[one.label] for one in data.parts[part]], np.uint8)
