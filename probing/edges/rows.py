"""The stored tables of a run: scores, mix, codes, training, predictions and, last, its row."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from probing.edges.numbers_baselines import seen_in_training
from probing.edges.probes import mask_of, mixing_weights
from probing.edges.requests_run import EdgeRunConfig
from probing.edges.rows_task_rows import STORED_PART
from probing.edges.states import WordStates
from probing.edges.states_arrays import PartArrays
from probing.edges.targets import TaskData
from probing.edges.targets_encoders import CONTROL, CUMULATIVE, TASK
from probing.edges.training import Trained
from probing.edges.training_codes import Codes
from probing.edges.training_traces import counts_by_label, probabilities, traces_of
from probing.kernel.models.load import Encoder


def run_tables(config: EdgeRunConfig, predictions: bool) -> list[str]:
    """The tables of a run, in the order in which they are written."""
    tables = ["edge_scores", "edge_mix", "edge_training"]
    tables += ["edge_codes"] * config.codes
    tables += ["edge_predictions"] * (predictions and (config.kind, config.labels) == (CUMULATIVE, TASK))
    return [*tables, "edge_runs"]


@dataclass(frozen=True)
class Answered:
    """The data that the rows of all runs of a task are made from.

    Attributes:
        data: the task's data.
        arrays: part -> its arrays.
        trained: the probes of all runs.
        coded: code lengths of the probes of the runs that have them.
        names: of the labels, by number; one more than the probes have if a label is not in training.
        counted: (labels,), whether F1 counts a label.
    """

    data: TaskData
    arrays: Mapping[str, PartArrays]
    states: WordStates
    encoder: Encoder
    trained: Trained
    coded: Codes | None
    names: Sequence[str]
    counted: np.ndarray


def rows_of_run(config: EdgeRunConfig, places: Sequence[int], given: Answered, tables: Sequence[str]) -> dict[str, Any]:
    """Table -> rows of one run, without device and time.

    Args:
        config: the run.
        places: of its probes among all that were trained, by layer.
        given: the data that all runs of the task share.
        tables: the requested tables.
    """
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

    Args:
        run_id: the run.
        part: of the data.
        p: (layers, targets, labels) probabilities.
        gold: (targets, labels) bool.
        target: (targets,) their numbers.
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
