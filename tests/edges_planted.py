"""A planted store of edge probing: probabilities drawn here, from which scores, predictions and baselines follow.

Three tasks: ``pos`` (one span), ``srl`` (two spans, labels that F1 does not count, the sentences of ``pos``) and
    ``proto-roles`` (two
spans, several labels or none, sentences whose words may not be shown). ``pos`` becomes right early, ``srl`` later,
``proto-roles`` never.
"""

import json
import zlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from probing.edges.targets import Record, Target
from probing.kernel.errors import StoreError
from probing.kernel.provenance import canonical_json, fingerprint_of
from probing.kernel.store.kinds import KINDS
from probing.kernel.store.opening import write_counts
from tests.planted_files import Change, write_planted

PARTS = ("dev", "test")
SENTENCES = {"dev": 30, "test": 20}
#: Steps of a stored probability.
STEPS = 255
_TAGS = {
    "DT": "the a",
    "JJ": "old tall",
    "NN": "bank girl house river",
    "VBD": "sold saw",
    "IN": "near in",
    "NNP": "Rome Paris",
    ".": ".",
}
_TAG_OF = {word: tag for tag, words in _TAGS.items() for word in words.split()}
_PORTIONS = (0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.0625, 0.125, 0.25, 0.5, 1.0)


@dataclass(frozen=True)
class PlantedTask:
    """A task to plant: ``uncounted`` are labels that F1 does not count, ``rises`` the share of the depth at which
    probes become right.
    """

    name: str
    title: str
    spans: int
    labels: tuple[str, ...]
    rises: float
    uncounted: tuple[str, ...] = ()
    several: bool = False
    open: bool = True

    @property
    def counted(self) -> np.ndarray:
        """(labels,) whether F1 counts them."""
        return np.array([label not in self.uncounted for label in self.labels])


POS = PlantedTask("pos", "Part of speech", 1, tuple(sorted(_TAGS)), rises=0.1)
SRL = PlantedTask("srl", "Semantic roles", 2, ("ARG0", "ARG1", "ARGM-LOC", "R-ARG0"), rises=0.6, uncounted=("R-ARG0",))
ROLES = PlantedTask(
    "proto-roles",
    "Proto-roles",
    2,
    ("awareness", "change of state", "existed before", "volition"),
    rises=9.0,
    several=True,
    open=False,
)
TASKS = (POS, SRL, ROLES)


@dataclass(frozen=True)
class PlantedEdgeRun:
    """One run to plant; ``made`` holds further parts of the configuration, ``predictions`` says whether they are
    stored.
    """

    model: str = "nesia-mini"
    task: PlantedTask = POS
    kind: str = "cumulative"
    encoder: str = "trained"
    labels: str = "task"
    seed: int = 0
    layers: int = 5
    codes: bool = False
    base: str = ""
    predictions: bool = True
    made: tuple[tuple[str, Any], ...] = field(default=())

    @property
    def config(self) -> str:
        """Canonical JSON of what the fingerprint is made of."""
        parts = {
            "model": self.model,
            "weights": f"{self.model} {self.encoder}",
            "model_revision": "planted",
            "base": self.base,
            "objective": "masked language modelling",
            "head_recipe": '{"width":16}',
            "seed": self.seed,
            "dtype": "float32",
            "threads": 1,
            "code_version": "planted",
            "task": self.task.name,
            "kind": self.kind,
            "encoder": self.encoder,
            "labels": self.labels,
            "codes": self.codes,
        }
        return canonical_json(parts | dict(self.made))

    @property
    def run_id(self) -> str:
        """Fingerprint of the run."""
        return fingerprint_of(self.config)

    @property
    def probes(self) -> tuple[int, ...]:
        """The layers that the run has probes of."""
        return (self.layers - 1,) if self.kind == "full" else tuple(range(self.layers))

    @property
    def stores_predictions(self) -> bool:
        """Control labels are of the run alone: no stored target has them."""
        return self.predictions and self.labels == "task"


_MINI = tuple(
    PlantedEdgeRun(task=task, kind=kind, encoder=encoder, codes=(task, kind, encoder) == (POS, "at", "trained"))
    for task in TASKS
    for kind, encoder in (("cumulative", "trained"), ("at", "trained"), ("cumulative", "random"))
)
RUNS = (
    *_MINI,
    PlantedEdgeRun(task=SRL, seed=1),
    PlantedEdgeRun(task=SRL, seed=2),
    PlantedEdgeRun(task=POS, labels="control"),
    PlantedEdgeRun(task=POS, labels="control", kind="at"),
    PlantedEdgeRun(task=POS, kind="full", predictions=False),
    PlantedEdgeRun(task=POS, encoder="random-body", predictions=False),
    *(PlantedEdgeRun(model="other-bert", task=task, layers=7) for task in (POS, SRL)),
)


@dataclass(frozen=True)
class PlantedPart:
    """Dev or test data of a task: records, and of their targets in order (sentence, gold as (targets, labels), unknown,
    seen, memory).
    """

    records: tuple[Record, ...]
    sentences: np.ndarray
    gold: np.ndarray
    unknown: np.ndarray
    seen: np.ndarray
    memory: np.ndarray

    @property
    def targets(self) -> list[Target]:
        """In the order of the records."""
        return [target for record in self.records for target in record.targets]


@cache
def planted_part(task: PlantedTask, part: str) -> PlantedPart:
    """The records of a part, and what is known of their targets."""
    records = tuple(_record(task, part, number) for number in range(SENTENCES[part]))
    targets = [(number, record, target) for number, record in enumerate(records) for target in record.targets]
    gold = np.array([[label in target.labels for label in task.labels] for _, _, target in targets])
    unknown = np.array([len(set(target.labels) - set(task.labels)) for _, _, target in targets])
    random = _random("memory", task.name, part)
    seen = random.random(len(targets)) < 0.6
    guess = np.zeros_like(gold)
    guess[:, majority_label(task)] = True
    memory = np.where((seen & (random.random(len(targets)) < 0.7))[:, None], gold, guess)
    return PlantedPart(records, np.array([number for number, _, _ in targets]), gold, unknown, seen, memory)


def majority_label(task: PlantedTask) -> int:
    """The most frequent label of the training part that was never planted."""
    return 1


def _record(task: PlantedTask, part: str, number: int) -> Record:
    """A sentence of the shape that every planted sentence has; the sentences of tasks with open text are the same."""
    random = _random("sentence", part, number, task.open)

    def one(tag: str) -> str:
        return str(random.choice(_TAGS[tag].split()))

    words = [one(tag) for tag in ("DT", "JJ", "NN", "VBD", "DT", "NN", "IN", "NNP", ".")]
    targets: list[Target]
    if task is POS:
        targets = [Target((place, place + 1), None, (_TAG_OF[word],)) for place, word in enumerate(words)]
        if part == "test" and number == 3:
            # A tag that training does not have.
            targets[8] = Target((8, 9), None, ("UH",))
    elif task is SRL:
        targets = [
            Target((3, 4), span, (label,)) for span, label in (((0, 3), "ARG0"), ((4, 6), "ARG1"), ((6, 8), "ARGM-LOC"))
        ]
        if number % 4 == 0:
            targets.append(Target((3, 4), (0, 1), ("R-ARG0",)))
    else:
        # Every label holds of half of the targets, and no target has all of them.
        random = _random("proto-roles", part, number)
        held = [random.choice(list(task.labels), int(random.integers(0, 4)), replace=False) for _ in range(2)]
        targets = [
            Target((3, 4), span, tuple(sorted(map(str, of)))) for span, of in zip(((0, 3), (4, 6)), held, strict=True)
        ]
    return Record(tuple(words), tuple(targets), document=f"text {number // 5}", open=task.open)


@cache
def planted_probabilities(run: PlantedEdgeRun, part: str) -> np.ndarray:
    """(probes, targets, labels) sigmoids in steps of 1/255, as whole numbers; 128 and more is an answer."""
    data = planted_part(run.task, part)
    gold = planted_gold(run, part)
    random = _random(run.run_id, part)
    probes, last = np.array(run.probes), run.layers - 1
    depth = probes / last
    if run.encoder != "trained":
        strength = np.full(len(probes), 0.3)
    elif run.labels == "control":
        strength = 0.15 + 0.15 * depth
    else:
        strength = 0.5 + 0.8 / (1 + np.exp(-12 * (depth - run.task.rises)))
        if run.kind == "at":
            strength = strength - 0.6 * np.maximum(depth - 0.6, 0)
    # Most of what is hard about a target is hard at every layer.
    hard = random.normal(size=data.gold.shape)
    noise = random.normal(size=(len(probes), *data.gold.shape))
    # The factor leaves the answers as they are and makes most of them sure.
    logits = 3 * (strength[:, None, None] * (4.0 * gold - 2.2) + 1.2 * hard + 0.5 * noise)
    return np.rint(STEPS / (1 + np.exp(-logits))).astype(np.int64)


def planted_gold(run: PlantedEdgeRun, part: str) -> np.ndarray:
    """(targets, labels) what the run's probes are to answer: the task's labels, or those of targets drawn at random."""
    gold = planted_part(run.task, part).gold
    if run.labels == "task":
        return gold
    return gold[_random("control", run.task.name, part).integers(len(gold), size=len(gold))]


def answers(probabilities: np.ndarray) -> np.ndarray:
    """The labels with p >= 0.5."""
    return 2 * probabilities >= STEPS


def task_rows(task: PlantedTask) -> dict[str, list[dict[str, Any]]]:
    """Table -> the rows of a task's data."""
    rows: dict[str, list[dict[str, Any]]] = {
        name: [] for name in ("tasks", "labels", "sentences", "targets", "baselines")
    }
    rows["labels"] = [
        {
            "task": task.name,
            "label": number,
            "name": name,
            "counts": bool(counts),
            "n": 900 if number == majority_label(task) else 100,
        }
        for number, (name, counts) in enumerate(zip(task.labels, task.counted, strict=True))
    ]
    if any(planted_part(task, part).unknown.any() for part in PARTS):
        unseen = {"task": task.name, "label": len(task.labels), "name": "(not in training)", "counts": True, "n": 0}
        rows["labels"].append(unseen)
    for part in ("train", *PARTS):
        data = planted_part(task, part if part in PARTS else "dev")
        rows["tasks"].append(
            {
                "task": task.name,
                "part": part,
                "title": task.title,
                "source": "planted",
                "sha256": f"{zlib.crc32(part.encode()):064x}",
                "licence": "CC-BY-SA-4.0" if task.open else "not to be shown",
                "spans": task.spans,
                "sentences": len(data.records) + 1,
                "records": len(data.records),
                "targets": len(data.targets),
                "labels": len(task.labels),
                "unseen_labels": int(data.unknown.sum()),
                "ceiling": 0.97,
                "dropped": json.dumps({"span is empty": 1}),
            }
        )
    for part in PARTS:
        data = planted_part(task, part)
        rows["sentences"] += [
            {
                "task": task.name,
                "part": part,
                "sentence": number,
                "text_sha256": record.sha256,
                "document": record.document,
            }
            | {"text": record.text if record.open else None}
            for number, record in enumerate(data.records)
        ]
        for number, target in enumerate(data.targets):
            start2, end2 = target.span2 or (None, None)
            rows["targets"].append(
                {
                    "task": task.name,
                    "part": part,
                    "target": number,
                    "sentence": int(data.sentences[number]),
                    "start1": target.span1[0],
                    "end1": target.span1[1],
                    "start2": start2,
                    "end2": end2,
                    "gold": np.flatnonzero(data.gold[number]).tolist(),
                    "unknown_gold": int(data.unknown[number]),
                    "memory": np.flatnonzero(data.memory[number]).tolist(),
                    "seen": bool(data.seen[number]),
                }
            )
        majority = np.zeros_like(data.gold)
        majority[:, majority_label(task)] = True
        for name, answer in (("memory", data.memory), ("majority", majority)):
            common = {"task": task.name, "part": part, "baseline": name}
            rows["baselines"] += [common | row for row in score_rows(answer, data.gold, data.unknown, data.seen)]
    return {f"edge_{name}": found for name, found in rows.items()}


def score_rows(answer: np.ndarray, gold: np.ndarray, unknown: np.ndarray, seen: np.ndarray) -> list[dict[str, Any]]:
    """Counts by seen and label; labels that training does not have are counted as missed, below one further label."""
    rows = []
    for value in (False, True):
        chosen = seen == value
        if not chosen.any():
            continue
        said, true = answer[chosen], gold[chosen]
        for label in range(gold.shape[1]):
            one, other = said[:, label], true[:, label]
            counts = {
                "tp": (one & other).sum(),
                "fp": (one & ~other).sum(),
                "fn": (~one & other).sum(),
                "tn": (~one & ~other).sum(),
            }
            rows.append({"seen": value, "label": label} | {name: int(n) for name, n in counts.items()})
        if unknown.any():
            missed, others = int(unknown[chosen].sum()), int((unknown[chosen] == 0).sum())
            rows.append({"seen": value, "label": gold.shape[1], "tp": 0, "fp": 0, "fn": missed, "tn": others})
    return rows


def run_rows(run: PlantedEdgeRun) -> dict[str, list[dict[str, Any]]]:
    """Table -> the rows of a run."""
    rows: dict[str, list[dict[str, Any]]] = {
        name: [] for name in ("runs", "scores", "mix", "codes", "training", "predictions")
    }
    rows["runs"] = [
        {
            "run_id": run.run_id,
            "model": run.model,
            "model_revision": "planted",
            "base": run.base,
            "objective": "masked language modelling",
            "task": run.task.name,
            "kind": run.kind,
            "encoder": run.encoder,
            "labels": run.labels,
            "seed": run.seed,
            "layers": run.layers,
            "width": 16,
            "codes": run.codes,
            "left_out": json.dumps({}),
            "device": "cpu",
            "code_version": "planted",
            "created": f"2026-01-01T00:00:{run.seed:02d}Z",
            "config": run.config,
        }
    ]
    random = _random("mix", run.run_id)
    for place, layer in enumerate(run.probes):
        name = {"run_id": run.run_id, "layer": layer}
        best = 0.0
        for part in PARTS:
            data = planted_part(run.task, part)
            answer = answers(planted_probabilities(run, part)[place])
            found = score_rows(
                answer, planted_gold(run, part), data.unknown if run.labels == "task" else 0 * data.unknown, data.seen
            )
            rows["scores"] += [name | {"part": part} | row for row in found]
            if part == "dev":
                best = _f1(
                    [row for row in found if row["label"] == len(run.task.labels) or run.task.counted[row["label"]]]
                )
        rows["training"].append(
            name | {"steps": 400 + layer, "best_step": 300, "best": best, "rate": 0.001, "stopped": layer % 2 == 0}
        )
        weights = np.exp(random.normal(size=layer + 1))
        if run.kind == "at":
            weights[:layer] = 0
        weights /= weights.sum()
        rows["mix"] += [
            name | {"of_layer": of, "weight": float(weights[of]), "gamma": 1.0 + 0.1 * place, "norm": 12.0 + 0.5 * of}
            for of in range(layer + 1)
        ]
        if run.codes:
            n = np.diff([0, *(int(1000 * share) for share in _PORTIONS)])
            uniform = n * float(np.log2(len(run.task.labels)))
            bits = np.where(
                np.arange(len(n)) == 0, uniform, uniform * (0.7 - 0.1 * layer) * np.linspace(1, 0.6, len(n))
            )
            rows["codes"] += [
                name
                | {
                    "portion": portion,
                    "targets": int(n[portion]),
                    "bits": float(bits[portion]),
                    "uniform": float(uniform[portion]),
                }
                for portion in range(len(n))
            ]
    if run.stores_predictions:
        rows["predictions"] = [row for part in PARTS for row in prediction_rows(run, part)]
    return {f"edge_{name}": found for name, found in rows.items() if found}


def prediction_rows(run: PlantedEdgeRun, part: str) -> list[dict[str, Any]]:
    """The rows of ``edge_predictions`` of a run and part."""
    p, gold = planted_probabilities(run, part), planted_part(run.task, part).gold
    shares = (p / np.maximum(p.sum(axis=2, keepdims=True), 1)).mean(axis=0)
    wrong = np.where(gold, -1.0, shares).argmax(axis=1)
    said = answers(p)
    run_id = run.run_id
    rows = []
    for target in range(len(gold)):
        for place, layer in enumerate(run.probes):
            one = p[place, target]
            top = int(one.argmax())
            rows.append(
                {
                    "run_id": run_id,
                    "part": part,
                    "target": target,
                    "layer": layer,
                    "top": top,
                    "p_top": int(one[top]),
                    "predicted": np.flatnonzero(said[place, target]).tolist(),
                    "p_gold": one[gold[target]].tolist(),
                    "wrong": int(wrong[target]),
                    "p_wrong": int(one[wrong[target]]),
                    "p_sum": int(one.sum()),
                }
            )
    return rows


def plant_edge_runs(
    folder: Path,
    runs: Sequence[PlantedEdgeRun] = RUNS,
    change: Change | None = None,
) -> Path:
    """Writes the Parquet files of the runs and of their tasks below ``folder`` and returns it; ``change`` damages rows
    by table.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for task in dict.fromkeys(run.task for run in runs):
        write_planted(folder, task.name, change, task_rows, task)
    for run in runs:
        write_planted(folder / run.run_id, run.run_id, change, run_rows, run)
        # Damaged rows may be beyond counting.
        with suppress(StoreError):
            write_counts(KINDS["edges"], run_rows(run)["edge_runs"][0], folder / run.run_id, [folder])
    return folder


def own_too(table: str, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows, and those of dev once more as sentences of our own, which have answers and no scores; ``proto-roles``
    has none.
    """
    others = {run.run_id for run in RUNS if run.task is ROLES}
    if table not in ("edge_tasks", "edge_sentences", "edge_targets", "edge_predictions"):
        return rows
    mine = [
        row
        for row in rows
        if row["part"] == "dev" and row.get("task") != ROLES.name and row.get("run_id") not in others
    ]
    return [*rows, *(row | {"part": "own"} for row in mine)]


def plant_edges(folder: Path, runs: Sequence[PlantedEdgeRun] = RUNS) -> Path:
    """Plants runs in ``folder / "edges"``, which it returns."""
    return plant_edge_runs(folder / "edges", runs)


def _f1(rows: Sequence[dict[str, Any]]) -> float:
    tp, fp, fn = (sum(row[name] for row in rows) for name in ("tp", "fp", "fn"))
    return 2 * tp / (2 * tp + fp + fn) if tp + fp + fn else 0.0


def _random(*key: object) -> np.random.Generator:
    return np.random.default_rng(zlib.crc32(repr(key).encode()))
