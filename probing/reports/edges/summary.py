"""One row per model, encoder, task and part of the data: the layers that solve the task, and the baselines."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from probing.core.edges import numbers
from probing.core.edges.encoders import RANDOM
from probing.reports.edges.curves import EdgeCurve, Number, curves
from probing.reports.edges.layers import compression, selectivity, weights_by_layer
from probing.store.database import Database
from probing.store.edges import queries

#: Parts of the data that have scores; dev, which also stopped the training, comes first, as in the paper.
PARTS = ("dev", "test")
BASELINES = ("memory", "majority")
#: Replaces ``memory`` if it is stored: for tasks whose targets have several labels, one label is too weak a baseline.
MEMORY_EACH = "memory-each"
NAMES = ("model", "encoder", "task", "part", "seeds")
#: Numbers computed from gains; empty if these are not resolved.
PLACES = ("expected_layer", "expected_layer_low", "expected_layer_high", "k_gains")
NUMBERS = (
    "f1_first", "f1_last", "f1_last_low", "f1_last_high", "gain", "gain_low", "gain_high", "memory", "majority", "ceiling",
    "random", "selectivity", "compression", "centre_of_gravity", *PLACES[:3], "k_weights", "k_gains",
)  # fmt: skip


def summary(
    db: Database, *, unseen: bool = False, models: Sequence[str] | None = None, tasks: Sequence[str] | None = None,
    parts: Sequence[str] = PARTS,
) -> pd.DataFrame:  # fmt: skip
    """The cumulative probes on task labels, mean over seeds.

    Places are computed from the mean F1s and the mean weights. Expected layer and K(Δ) are empty if F1(L) - F1(0) is below one point or
    its interval contains 0. ``random`` is F1(L) on the random encoder of the model, ``selectivity`` and ``compression`` are those of P(L).
    Memory and majority are of the same targets; the ceiling is of all targets.

    Returns:
        model, encoder, task, part, seeds, last (L), targets, f1_first, f1_last, f1_last_low, f1_last_high, gain, gain_low, gain_high,
        memory (label by label if targets have several), majority, ceiling, random, selectivity, compression,
        centre_of_gravity, expected_layer, expected_layer_low, expected_layer_high, k_weights, k_gains: F1 in [0, 1], places in layers,
        K in bits.
    """
    weights = weights_by_layer(db)
    codes = at_the_last(compression(db))
    rows: list[dict[str, Any]] = []
    for part in parts:
        beside = baselines(db, part, unseen)
        selective = at_the_last(selectivity(db, part=part, unseen=unseen))
        found = curves(db, part, unseen=unseen, models=models, tasks=tasks)
        random = {(one.model, one.task): float(one.values[-1]) for one in found if one.encoder == RANDOM}
        for curve in found:
            name = (curve.model, curve.encoder, curve.task)
            rows.append(
                _row(curve)
                | _of_weights(weights, name)
                | {column: beside.get((curve.task, column)) for column in (*BASELINES, "ceiling")}
                | {"random": random.get((curve.model, curve.task)), "selectivity": selective.get(name), "compression": codes.get(name)}
            )
    table = pd.DataFrame(rows, columns=[*NAMES, "last", "targets", *NUMBERS]).astype(dict.fromkeys(NUMBERS, "float64"))
    return queries.by_task(table, "model", "task", "encoder", "part")


def _row(curve: EdgeCurve) -> dict[str, Any]:
    last, gain, place = _at(curve, -1), gain_of(curve), expected_layer_of(curve)
    return {
        "model": curve.model, "encoder": curve.encoder, "task": curve.task, "part": curve.part, "seeds": curve.seeds,
        "last": int(curve.layers[-1]), "targets": curve.targets, "f1_first": curve.values[0], "f1_last": last.value,
        "f1_last_low": last.low, "f1_last_high": last.high, "gain": gain.value, "gain_low": gain.low, "gain_high": gain.high,
        "expected_layer": place.value, "expected_layer_low": place.low, "expected_layer_high": place.high,
        "k_gains": np.nan if np.isnan(place.value) else float(numbers.k_gains(curve.values)),
    }  # fmt: skip


def _at(curve: EdgeCurve, place: int) -> Number:
    return curve.number(lambda values: values[..., place])


def gain_of(curve: EdgeCurve) -> Number:
    """F1(L) - F1(0)."""
    return curve.number(lambda values: values[..., -1] - values[..., 0])


def expected_layer_of(curve: EdgeCurve) -> Number:
    """The expected layer with its interval; NaN if it is not resolved."""
    gain = gain_of(curve)
    if not numbers.resolved(gain.value, gain.low):
        return Number(np.nan, np.nan, np.nan)
    return curve.number(numbers.expected_layer)


def _of_weights(weights: pd.DataFrame, name: tuple[str, str, str]) -> dict[str, float]:
    mine = weights[(weights["model"] == name[0]) & (weights["encoder"] == name[1]) & (weights["task"] == name[2])]
    if mine.empty:
        return {}
    values = mine["weight"].to_numpy()
    return {"centre_of_gravity": float(numbers.centre_of_gravity(values)), "k_weights": float(numbers.k_weights(values))}


def at_the_last(table: pd.DataFrame) -> dict[tuple[str, str, str], float]:
    """(Model, encoder, task) -> value at the last layer."""
    mine = table[table["layer"] == table["last"]]
    return {(row.model, row.encoder, row.task): float(row.value) for row in mine.itertuples(index=False)}


def baselines(db: Database, part: str, unseen: bool = False) -> dict[tuple[str, str], float]:
    """(Task, baseline) -> F1 on a part of the data; ``ceiling`` is that of all targets."""
    counts = queries.baseline_counts(db, unseen)
    mine = counts[counts["part"] == part]
    scores = numbers.f1(mine["tp"], mine["fp"], mine["fn"])
    found = dict(zip(zip(mine["task"], mine["baseline"], strict=True), map(float, scores), strict=True))
    found |= {(task, "memory"): value for (task, name), value in found.items() if name == MEMORY_EACH}
    tasks = queries.edge_tasks(db)
    tasks = tasks[tasks["part"] == part]
    return found | {(task, "ceiling"): float(value) for task, value in zip(tasks["task"], tasks["ceiling"], strict=True)}
