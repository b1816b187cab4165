"""The tables that edge probing stores: of a run, its row last, and of a task's data."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from probing.edges.numbers import (
    ceiling,
    has_many_labels,
    majority_answer,
    memory_answers,
    memory_each_answers,
    seen_in_training,
    targets_of,
)
from probing.edges.probes import mask_of, mixing_weights
from probing.edges.requests import EdgeRunConfig, part_sha256
from probing.edges.states import PartArrays, WordStates
from probing.edges.targets import CONTROL, CUMULATIVE, TASK, Part, TaskData
from probing.edges.tasks import EdgeTask
from probing.edges.training import Codes, Trained, counts_by_label, probabilities, traces_of
from probing.kernel.models.load import Encoder
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


def run_tables(config: EdgeRunConfig, predictions: bool) -> list[str]:
    """The tables of a run, in the order in which they are written."""
    tables = ["edge_scores", "edge_mix", "edge_training"]
    tables += ["edge_codes"] * config.codes
    tables += ["edge_predictions"] * (predictions and (config.kind, config.labels) == (CUMULATIVE, TASK))
    return [*tables, "edge_runs"]


@dataclass(frozen=True)
class Answered:
    """The data that the rows of all runs of a task are made from."""

    data: TaskData  #: the task's data
    arrays: Mapping[str, PartArrays]  #: part -> its arrays
    states: WordStates
    encoder: Encoder
    trained: Trained  #: the probes of all runs
    coded: Codes | None  #: code lengths of the probes of the runs that have them
    names: Sequence[str]  #: of the labels, by number; one more than the probes have if a label is not in training
    counted: np.ndarray  #: (labels,), whether F1 counts a label


def rows_of_run(config: EdgeRunConfig, places: Sequence[int], given: Answered, tables: Sequence[str]) -> dict[str, Any]:
    """Table -> rows of one run, without device and time; ``places`` are those of its probes among all, by layer."""
    run, trained = {"run_id": config.fingerprint}, given.trained
    keys = [trained.keys[place] for place in places]
    rows: dict[str, Any] = {"edge_scores": []}
    for part in ("dev", "test"):
        if part not in given.arrays:
            continue
        p = probabilities(trained, places, given.arrays[part], given.states, given.encoder.device)
        rows["edge_scores"] += [run | row for row in _score_rows(p, part, config.labels, keys, given)]
        if part == STORED_PART and "edge_predictions" in tables:
            arrays = given.arrays[part]
            rows["edge_predictions"] = prediction_columns(config.fingerprint, part, p, arrays.gold[0], arrays.target)
    rows["edge_mix"] = [run | row for row in _mix_rows(trained, places, given.states)]
    rows["edge_training"] = [
        run
        | {
            "layer": trained.keys[place].layer,
            "steps": int(trained.steps[place]),
            "best_step": int(trained.best_step[place]),
            "best": float(trained.best[place]),
            "rate": float(trained.rate[place]),
            "stopped": bool(trained.stopped[place]),
        }
        for place in places
    ]
    if config.codes and given.coded:
        coded = given.coded
        rows["edge_codes"] = [
            run
            | {
                "layer": layer,
                "portion": portion,
                "targets": int(targets),
                "bits": float(bits),
                "uniform": float(uniform),
            }
            for layer in range(len(coded.bits))
            for portion, (targets, bits, uniform) in enumerate(
                zip(coded.targets, coded.bits[layer], coded.uniform, strict=True)
            )
        ]
    left_out = {part: dict(arrays.left_out) for part, arrays in given.arrays.items() if arrays.left_out}
    rows["edge_runs"] = [
        config.row
        | {name: getattr(config, name) for name in ("task", "kind", "encoder", "labels", "codes")}
        | {
            "layers": given.states.layers,
            "width": trained.shape.width,
            "left_out": json.dumps(left_out, sort_keys=True),
        }
    ]
    return rows


def _score_rows(p: np.ndarray, part: str, labels: str, keys: Sequence, given: Answered) -> list[dict]:
    arrays = given.arrays[part]
    seen = np.array(seen_in_training(given.data.train, given.data.parts()[part]), bool)[arrays.target]
    known = p.shape[2]
    rows = []
    for which in (False, True):
        chosen = np.flatnonzero(seen == which)
        counts = counts_by_label(p, keys, arrays, chosen)
        # The control labels are all drawn from the training part.
        missed = int(arrays.unknown[chosen].sum()) if labels != CONTROL else 0
        others = int((arrays.unknown[chosen] == 0).sum()) if labels != CONTROL else len(chosen)
        for key, of_probe in zip(keys, counts, strict=True):
            about = {"layer": key.layer, "part": part, "seen": which}
            rows += [
                about | {"label": label} | dict(zip(("tp", "fp", "fn", "tn"), map(int, four), strict=True))
                for label, four in enumerate(of_probe)
            ]
            if len(given.names) > known:
                rows.append(about | {"label": known, "tp": 0, "fp": 0, "fn": missed, "tn": others})
    return rows


def _mix_rows(trained: Trained, places: Sequence[int], states: WordStates) -> list[dict]:
    keys = [trained.keys[place] for place in places]
    weights, gammas = mixing_weights(trained.flat[list(places)], trained.shape, mask_of(keys, trained.shape.layers))
    return [
        {"layer": key.layer, "of_layer": layer, "weight": float(weight), "gamma": float(gamma), "norm": float(norm)}
        for key, of_probe, gamma in zip(keys, weights.double(), gammas, strict=True)
        for layer, (weight, norm) in enumerate(zip(of_probe, states.norms, strict=True))
    ]


def prediction_columns(run_id: str, part: str, p: np.ndarray, gold: np.ndarray, target: np.ndarray) -> pa.Table:
    """The table ``edge_predictions`` of one run and part, layer by layer.

    ``p``: (layers, targets, labels); ``gold``: (targets, labels) bool; ``target``: (targets,) their numbers.
    """
    traces = traces_of(p, gold)
    layers, targets = p.shape[:2]
    at = np.arange(targets)
    count = layers * targets
    columns: dict[str, Any] = {
        "run_id": pa.array([run_id]).take(pa.array(np.zeros(count, np.int64))),
        "part": pa.array([part]).take(pa.array(np.zeros(count, np.int64))),
        "target": np.tile(target, layers).astype(np.uint32),
        "layer": np.repeat(np.arange(layers), targets).astype(np.uint8),
        "predicted": _lists(traces.predicted),
        "top": traces.top.reshape(-1).astype(np.uint32),
        "p_top": np.concatenate([traces.p[layer, at, traces.top[layer]] for layer in range(layers)]),
        "p_gold": _lists(np.broadcast_to(gold, p.shape), traces.p),
        "wrong": np.tile(traces.wrong, layers).astype(np.uint32),
        "p_wrong": traces.p[:, at, traces.wrong].reshape(-1),
        "p_sum": traces.p.astype(np.int64).sum(2).reshape(-1).astype(np.uint32),
    }
    return pa.table(columns)


def _lists(chosen: np.ndarray, values: np.ndarray | None = None) -> pa.ListArray:
    """(layers, targets, labels) bool -> a list per layer and target: numbers of the chosen labels, or their values."""
    starts = np.concatenate([[0], np.cumsum(chosen.sum(2).reshape(-1))]).astype(np.int32)
    flat = np.nonzero(chosen)[2] if values is None else values[chosen]
    return pa.ListArray.from_arrays(pa.array(starts), pa.array(flat.astype(np.uint32)))
