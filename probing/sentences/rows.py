"""The tables that sentence-level probing stores: of a run, its row last, and of a task's data with its baselines."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from probing.kernel.models.arrays import stored_arrays
from probing.kernel.provenance import canonical_json, fingerprint_of
from probing.kernel.store.parquet import write_differing
from probing.kernel.version import __version__
from probing.sentences.examples import LEFT_OUT, OWN, PARTS, SentenceData, majority_right
from probing.sentences.numbers import Cell, right_and_right, stored_pairs, surface_features
from probing.sentences.predictions import Answer
from probing.sentences.probes import surface_right
from probing.sentences.requests import SentenceRunConfig
from probing.sentences.tasks import SentenceTask

#: Reading and portion of the training sentences.
Which = tuple[str, int]


def run_tables(predictions: bool) -> list[str]:
    """The tables of a run, in the order in which they are written."""
    return ["sentence_scores", "sentence_pairs", *["sentence_predictions"] * predictions, "sentence_runs"]


@dataclass(frozen=True)
class Answered:
    """All predictions of a run, and of the base that it is compared with."""

    model: str  #: their names; ``base`` is the model's own if it is a base
    base: str
    poolings: Sequence[str]  #: of the run; the base's are all of ``base_poolings``
    base_poolings: Sequence[str]
    asked: np.ndarray  #: (sentences,) bool, the test sentences that fit the models
    gold: np.ndarray  #: (sentences in ``asked``,) uint8
    n_dev: int  #: number of dev sentences that were used
    own: Mapping[Which, Answer]  #: reading and portion -> predictions of the run
    of_base: Mapping[Which, Answer]  #: the same of the base; for a base its own
    codes: np.ndarray | None  #: (poolings, layers) bits, if they were computed
    left_out: Mapping[str, Mapping[str, int]]  #: part -> reason -> sentences


def rows_of_run(config: SentenceRunConfig, given: Answered, width: int) -> dict[str, list[dict]]:
    """Table -> rows of one run, without device and time; ``width`` is the size of a vector."""
    run = {"run_id": config.fingerprint}
    layers = next(iter(given.own.values())).test.shape[1]
    row = (
        config.row
        | {name: getattr(config, name) for name in ("task", "protocol")}
        | {"layers": layers, "width": width, "n_test": int(given.asked.sum())}
        | {"left_out": json.dumps({part: dict(why) for part, why in given.left_out.items() if why}, sort_keys=True)}
    )
    return {
        "sentence_scores": [run | one for one in _score_rows(given)],
        "sentence_pairs": [run | one for one in _pair_rows(given)],
        "sentence_predictions": [run | one for one in _prediction_rows(given)],
        "sentence_runs": [row],
    }


def _cells(given: Answered) -> Iterator[tuple[dict[str, Any], Answer, int, int]]:
    """Columns of every cell of the run, the predictions of its reading, and its index among them."""
    for (reading, portion), answer in given.own.items():
        for place, pooling in enumerate(given.poolings):
            for layer in range(answer.test.shape[1]):
                yield {"pooling": pooling, "layer": layer, "reading": reading, "portion": portion}, answer, place, layer


def _score_rows(given: Answered) -> Iterator[dict]:
    for cell, answer, place, layer in _cells(given):
        coded = given.codes is not None and (cell["reading"], cell["portion"]) == (OWN, 1)
        yield cell | {
            "c": None if answer.c is None else float(answer.c[place, layer]),
            "n_train": answer.n_train,
            "dev_right": int(answer.dev_right[place, layer]),
            "n_dev": given.n_dev,
            "right": int((answer.test[place, layer] == given.gold).sum()),
            "n_test": len(given.gold),
            "code_length": float(given.codes[place, layer]) if coded and given.codes is not None else None,
        }


def _prediction_rows(given: Answered) -> Iterator[dict]:
    for cell, answer, place, layer in _cells(given):
        predicted = np.full(len(given.asked), LEFT_OUT, np.uint8)
        predicted[given.asked] = answer.test[place, layer]
        yield cell | {"predicted": predicted.tolist()}


def _pair_rows(given: Answered) -> Iterator[dict]:
    """Every two probes that ``stored_pairs`` names, on the same sentences."""
    dev, of_base = _dev_right(given.own, given.poolings), _dev_right(given.of_base, given.base_poolings)
    for pair in stored_pairs(given.model, dev, given.base, of_base):
        ours = _right(given.own, given.poolings, pair.this, given.gold)
        theirs = _right(given.of_base, given.base_poolings, pair.other, given.gold)
        counts = dict(zip(("both", "only_this", "only_other", "neither"), right_and_right(ours, theirs), strict=True))
        beside = {f"with_{name}": value for name, value in vars(pair.other).items()}
        yield vars(pair.this) | {"with_model": pair.with_model} | beside | counts


def _dev_right(answers: Mapping[Which, Answer], poolings: Sequence[str]) -> dict[Cell, int]:
    return {
        Cell(pooling, layer, *which): int(right)
        for which, answer in answers.items()
        for place, pooling in enumerate(poolings)
        for layer, right in enumerate(answer.dev_right[place])
    }


def _right(answers: Mapping[Which, Answer], poolings: Sequence[str], cell: Cell, gold: np.ndarray) -> np.ndarray:
    """(sentences,) bool, which of them a probe labels correctly."""
    right: np.ndarray = answers[cell.reading, cell.portion].test[poolings.index(cell.pooling), cell.layer] == gold
    return right


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
    return [
        write_differing(table, rows, folder / f"{table}-{data.task}-{data.protocol}.parquet")
        for table, rows in tables.items()
    ]


def _by_surface(data: SentenceData) -> int:
    train, dev, test = (surface_features(data.parts["train"], data.parts[part]) for part in PARTS)
    gold = gold_labels(data, "train"), gold_labels(data, "dev"), gold_labels(data, "test")
    return surface_right((train, dev, test), gold, len(data.labels))


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
