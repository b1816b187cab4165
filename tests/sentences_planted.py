"""A planted store of sentence-level probing and of what fine-tuning changed: answers drawn here, from which scores and
pairs follow.

A base, its relatives and the control on three tasks. In every cell of ``planted-cola`` it is known where the property
went (``BECAME``); ``odd-man-out`` is beyond all models. Layer 0 of the first token is one vector for all sentences, and
always gives the majority label.
"""

import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from probing.kernel.provenance import fingerprint_of
from probing.sentences.examples import FIRST, FROZEN, LEFT_OUT, MLP, OURS, OWN, POOLINGS, QUICK, Example
from probing.sentences.numbers import Cell, right_and_right, stored_pairs
from tests.changes_planted import plant_changes
from tests.planted_files import Change, write_planted
from tests.planted_relatives import BASE, COLA, CONTROL, LAST, LAYERS, LOST, MODELS, PlantedModel

PORTIONS = (1, 4, 16)
#: Protocol -> train, dev and test sentences; a task may have more test sentences by our protocol.
SIZES = {OURS: (1600, 100, 200), QUICK: (800, 50, 100)}
#: By how many of 200 sentences a probe falls that has lost the property, and one that cannot be told from the base's.
FALL, UNCLEAR = 40, 2


@dataclass(frozen=True)
class PlantedTask:
    """A task to plant.

    Attributes:
        open: whether its texts are stored.
        first, mean: by layer, how many of 200 sentences the base's own probes have right.
        test: number of test sentences by our protocol; fates need some thousands.
    """

    name: str
    level: str
    labels: tuple[str, str]
    open: bool
    first: tuple[int, ...]
    mean: tuple[int, ...]
    test: int = 200

    def sizes(self, protocol: str) -> tuple[int, int, int]:
        """Train, dev and test sentences."""
        train, dev, test = SIZES[protocol]
        return train, dev, self.test if protocol == OURS else test

    def right(self, pooling: str, layer: int) -> int:
        """How many of 200 test sentences the base's own probe has right."""
        return (self.first if pooling == FIRST else self.mean)[layer]


BIGRAM = PlantedTask(
    "bigram-shift", "syntactic", ("I", "O"), False, (100, 130, 140, 150, 130), (100, 140, 150, 180, 140), 3000
)
COORDINATION = PlantedTask(
    "coordination-inversion", "semantic", ("I", "O"), False, (100, 130, 140, 160, 136), (100, 140, 150, 170, 160), 3000
)
ODD = PlantedTask("odd-man-out", "semantic", ("C", "O"), True, (100, 101, 99, 103, 100), (98, 102, 104, 101, 99))
TASKS = (BIGRAM, COORDINATION, ODD)


@dataclass(frozen=True)
class PlantedSentenceRun:
    """One run to plant."""

    model: PlantedModel = BASE
    task: PlantedTask = BIGRAM
    protocol: str = OURS

    @property
    def config(self) -> str:
        """Canonical JSON of what the fingerprint is made of."""
        model = self.model
        return model.config(
            head_recipe='{"solver":"planted"}',
            seed=0,
            task=self.task.name,
            protocol=self.protocol,
            data=data_sha256(self.task, self.protocol),
        )

    @property
    def run_id(self) -> str:
        """Fingerprint of the run."""
        return fingerprint_of(self.config)

    @property
    def asked(self) -> np.ndarray:
        """(test sentences,) whether the model can take them."""
        return np.arange(self.task.sizes(self.protocol)[2]) >= self.model.too_long


RUNS = (
    *(PlantedSentenceRun(model, task) for model in MODELS for task in TASKS),
    *(PlantedSentenceRun(model, task, QUICK) for model in (BASE, COLA, CONTROL) for task in (BIGRAM, COORDINATION)),
)


@cache
def gold(task: PlantedTask, protocol: str) -> np.ndarray:
    """(test sentences,) label numbers, half of them each, in no order."""
    n = task.sizes(protocol)[2]
    return _random("gold", task.name, protocol).permutation(np.arange(n) % 2).astype(np.uint8)


@cache
def examples(task: PlantedTask, protocol: str) -> tuple[Example, ...]:
    """The test sentences."""
    return tuple(
        Example(f"Sentence {place} of {task.name} by {protocol}.", task.labels[label])
        for place, label in enumerate(gold(task, protocol))
    )


def data_sha256(task: PlantedTask, protocol: str) -> str:
    """Fingerprint of a task's data."""
    return f"{zlib.crc32(f'{task.name} {protocol}'.encode()):064x}"


def cells(model: PlantedModel) -> list[Cell]:
    """Every probe of a run."""
    readings = [(OWN, portion) for portion in PORTIONS] + [(MLP, 1)]
    if model.base:
        readings += [(FROZEN, 1)]
    return [
        Cell(pooling, layer, reading, portion)
        for pooling in POOLINGS
        for layer in LAYERS
        for reading, portion in readings
    ]


def rights_of_200(model: PlantedModel, task: PlantedTask, cell: Cell) -> int:
    """How many of 200 test sentences a probe has right."""
    of_base = task.right(cell.pooling, cell.layer)
    if cell.reading == MLP:
        of_base += 4
    elif cell.portion > 1:
        of_base = max(of_base - (10 if cell.portion == 4 else 20), 96)
    if not model.base:
        return of_base
    became = model.became(task.name, cell.pooling, cell.layer)
    if became == "unclear":
        return task.right(cell.pooling, cell.layer) - UNCLEAR
    held = {
        FROZEN: became == "kept",
        MLP: became not in LOST or became == "not linear",
        OWN: became not in LOST,
    }[cell.reading]
    # Odd-man-out has nothing to lose.
    fallen = 0 if held or task is ODD else FALL
    return of_base - fallen


@cache
def right(run: PlantedSentenceRun, cell: Cell) -> np.ndarray:
    """(test sentences,) whether a probe has them right; those that the model cannot take are not."""
    n = run.task.sizes(run.protocol)[2]
    if (cell.pooling, cell.layer) == (FIRST, 0):
        return (gold(run.task, run.protocol) == 0) & run.asked
    order = _random("order", run.task.name, run.protocol, cell.pooling).permutation(n)
    k = rights_of_200(run.model, run.task, cell) * n // 200
    k += run.model.more_at(cell.layer) if (cell.reading, cell.portion) == (OWN, 1) else 0
    found = np.zeros(n, dtype=bool)
    # To be unclear, two probes must disagree on many sentences.
    unclear = run.model.base and run.model.became(run.task.name, cell.pooling, cell.layer) == "unclear"
    shift = n // 10 if unclear else run.model.shift
    found[order[shift : shift + k]] = True
    return found & run.asked


def predicted(run: PlantedSentenceRun, cell: Cell) -> list[int]:
    """Label numbers that a probe gives."""
    labels = gold(run.task, run.protocol)
    return np.where(run.asked, np.where(right(run, cell), labels, 1 - labels), LEFT_OUT).tolist()


def dev_right(run: PlantedSentenceRun) -> dict[Cell, int]:
    """Probe -> how many dev sentences it has right: the same share as of the test sentences, rounded down."""
    _, dev, test = run.task.sizes(run.protocol)
    return {cell: int(right(run, cell).sum()) * dev // test for cell in cells(run.model)}


def task_rows(task: PlantedTask, protocol: str) -> dict[str, list[dict[str, Any]]]:
    """Table -> the rows of a task's data."""
    train, dev, test = task.sizes(protocol)
    found = {
        "task": task.name,
        "protocol": protocol,
        "title": task.name.replace("-", " ").capitalize(),
        "level": task.level,
        "source": "planted",
        "licence": "CC-BY-SA-4.0" if task.open else "not to be shown",
        "labels": list(task.labels),
        "n_train_labels": [train // 2] * 2,
        "n_train": train,
        "n_dev": dev,
        "n_test": test,
        "majority_right": int((gold(task, protocol) == 0).sum()),
        "surface_right": test // 2 + max(test // 50, 4),
        "dropped": json.dumps({"repeated": 3, "two labels": 1}),
        "sha256": data_sha256(task, protocol),
    }
    shown = [
        {
            "task": task.name,
            "protocol": protocol,
            "place": place,
            "example": one.sha256[:16],
            "label": task.labels.index(one.label),
        }
        | ({"text": one.text, "pair": one.pair} if task.open else {"text": None, "pair": None})
        for place, one in enumerate(examples(task, protocol))
    ]
    return {"sentence_tasks": [found], "sentence_examples": shown}


def run_rows(run: PlantedSentenceRun, base: PlantedModel = BASE) -> dict[str, list[dict[str, Any]]]:
    """Table -> the rows of a run."""
    model, (train, dev, test) = run.model, run.task.sizes(run.protocol)
    row = {
        "run_id": run.run_id,
        "model": model.name,
        "model_revision": "planted",
        "base": model.base or None,
        "objective": model.objective,
        "variant": model.variant,
        "tuned_seed": model.tuned_seed,
        "task": run.task.name,
        "protocol": run.protocol,
        "seed": 0,
        "layers": LAST + 1,
        "width": 16,
        "n_test": test - model.too_long,
        "left_out": json.dumps(_left_out(model)),
        "device": "cpu",
        "code_version": "planted",
        "created": "2026-01-01T00:00:00Z",
        "config": run.config,
    }
    rows: dict[str, list[dict[str, Any]]] = {
        "sentence_runs": [row],
        "sentence_scores": [],
        "sentence_pairs": [],
        "sentence_predictions": [],
    }
    of_dev = dev_right(run)
    for cell in cells(model):
        name = _named(run.run_id, cell)
        own = cell.reading == OWN
        rows["sentence_scores"].append(
            name
            | {
                "n_train": train // cell.portion,
                "dev_right": of_dev[cell],
                "n_dev": dev,
                "right": int(right(run, cell).sum()),
            }
            | {"n_test": test - model.too_long, "c": None if cell.reading == MLP else 2.0**-5}
            | {"code_length": train * (1 - 0.1 * cell.layer) if own and cell.portion == 1 else None}
        )
        rows["sentence_predictions"].append(name | {"predicted": predicted(run, cell)})
    of_base = PlantedSentenceRun(base, run.task, run.protocol)
    for pair in stored_pairs(model.name, of_dev, model.base, dev_right(of_base)):
        other = right(of_base if pair.with_model == model.base else run, pair.other)
        asked = right_and_right(right(run, pair.this)[run.asked], other[run.asked])
        counts = dict(zip(("both", "only_this", "only_other", "neither"), asked, strict=True))
        beside = {f"with_{key}": value for key, value in vars(pair.other).items()}
        rows["sentence_pairs"].append(_named(run.run_id, pair.this) | {"with_model": pair.with_model} | beside | counts)
    return rows


def _left_out(model: PlantedModel) -> dict[str, dict[str, int]]:
    return {"test": {"longer than the model takes": model.too_long}} if model.too_long else {}


def _named(run_id: str, cell: Cell) -> dict[str, Any]:
    return {"run_id": run_id} | vars(cell)


def plant_sentence_runs(
    folder: Path,
    runs: Sequence[PlantedSentenceRun] = RUNS,
    change: Change | None = None,
) -> Path:
    """Writes the Parquet files of the runs and of their tasks below ``folder`` and returns it; ``change`` damages rows
    by table.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for task, protocol in dict.fromkeys((run.task, run.protocol) for run in runs):
        write_planted(folder, f"{task.name}-{protocol}", change, task_rows, task, protocol)
    for run in runs:
        write_planted(folder / run.run_id, run.run_id, change, run_rows, run)
    return folder


def plant_sentences(
    folder: Path, runs: Sequence[PlantedSentenceRun] = RUNS, models: Sequence[PlantedModel] = MODELS
) -> Path:
    """Plants runs of both capabilities in ``folder / "runs"``, which it returns."""
    plant_changes(plant_sentence_runs(folder / "runs", runs), models)
    return folder / "runs"


def _random(*key: object) -> np.random.Generator:
    return np.random.default_rng(zlib.crc32(repr(key).encode()))
