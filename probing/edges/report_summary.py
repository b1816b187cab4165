"""One row per model, encoder, task and part: the layers that solve the task, and baselines; the order of two tasks."""

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from probing.edges.numbers import (
    Comparison,
    Place,
    SeedSpread,
    centre_of_gravity,
    compare,
    compare_pairs,
    expected_layer,
    f1,
    gain_above_memory,
    k_gains,
    k_weights,
    near_uniform,
)
from probing.edges.report_curves import (
    MEMORY_EACH,
    EdgeCurve,
    Number,
    compression,
    curves,
    expected_layer_of,
    f1_of_top,
    gain_of,
    newest_runs,
    reason_of,
    selectivity,
    spread_of,
    weights_by_layer,
)
from probing.edges.store import baseline_counts, by_task, edge_tasks, training
from probing.kernel.columns import Columns, floats, integers
from probing.kernel.provenance import RANDOM, TRAINED
from probing.kernel.store.database import Database

COLUMNS = Columns(
    "first second verdict", floats("difference low high p"), "pairs reason", Columns("pooled", dtype="bool")
)


def tasks_in_order(
    db: Database,
    model: str,
    tasks: Sequence[str] | None = None,
    *,
    part: str = "dev",
    unseen: bool = False,
    encoder: str = TRAINED,
) -> pd.DataFrame:
    """The tasks of a model, pair by pair: the verdict on the first, and the difference of their expected layers.

    Sentences that two tasks share are drawn together, so that hard sentences do not count as a difference. The
    variation over seeds is pooled over all stored tasks of the model that have several seeds, also if they are not
    compared (pooled: a task with one seed takes that of others). Intervals are at Holm's level, p is adjusted for all
    ``pairs``.
    """
    every = [curve for curve in curves(db, part, unseen=unseen, models=[model]) if curve.encoder == encoder]
    spread = spread_of(every)
    chosen = [curve for curve in every if tasks is None or curve.task in set(tasks)]
    return _frame(compare([_place(curve, curve.task, spread) for curve in chosen]))


def models_in_order(
    db: Database,
    models: Sequence[str] | None = None,
    tasks: Sequence[str] | None = None,
    *,
    part: str = "dev",
    unseen: bool = False,
    encoder: str = TRAINED,
) -> pd.DataFrame:
    """The models on each task, pair by pair, as ``tasks_in_order``; expected layers are shares of the depth, and all
    tasks are one family.

    The variation over seeds of a model is pooled over all its stored tasks that have several seeds.
    """
    every = [curve for curve in curves(db, part, unseen=unseen, models=models) if curve.encoder == encoder]
    spreads = {
        model: spread_of(curve for curve in every if curve.model == model) for model in {curve.model for curve in every}
    }
    chosen = [curve for curve in every if tasks is None or curve.task in set(tasks)]
    pairs = [
        (task, pair)
        for task in dict.fromkeys(curve.task for curve in chosen)
        for pair in itertools.combinations([curve for curve in chosen if curve.task == task], 2)
    ]

    def placed(curve: EdgeCurve) -> Place:
        return _place(curve, curve.model, spreads[curve.model], 1 / curve.layers[-1])

    table = _frame(compare_pairs([(placed(first), placed(second)) for _, (first, second) in pairs]))
    table.insert(0, "task", [task for task, _ in pairs])
    return table


def _place(curve: EdgeCurve, name: str, spread: SeedSpread | None, unit: float = 1.0) -> Place:
    """The expected layer of a curve, in units of the given number of layers."""
    value, drawn = unit * expected_layer_of(curve).value, unit * expected_layer(curve.drawn)
    return Place(name, value, drawn, curve.seeds, spread and spread.times(unit))


def _frame(compared: Sequence[Comparison]) -> pd.DataFrame:
    return COLUMNS.frame([[getattr(comparison, name) for name in COLUMNS] for comparison in compared])


#: Parts of the data that have scores; dev, which also stopped the training, comes first, as in the paper.
PARTS = ("dev", "test")
BASELINES = ("memory", "majority")
NAMES = Columns("model encoder task part seeds")
NUMBERS = floats(
    "f1_first f1_last f1_last_low f1_last_high gain gain_low gain_high memory majority ceiling random selectivity",
    "compression centre_of_gravity expected_layer expected_layer_low expected_layer_high k_weights k_gains",
    "f1_first_top f1_last_top gain_above_memory gain_above_memory_low gain_above_memory_high selectivity_seen",
)
#: Why an expected layer is empty, whether a centre of gravity means something, and how many probes patience stopped.
MARKS = Columns(
    "expected_layer_reason", Columns("weights_near_uniform", dtype="boolean"), integers("probes probes_stopped")
)


def summary(
    db: Database,
    *,
    unseen: bool = False,
    models: Sequence[str] | None = None,
    tasks: Sequence[str] | None = None,
    parts: Sequence[str] = PARTS,
) -> pd.DataFrame:
    """The cumulative probes on task labels, mean over seeds: F1 in [0, 1], places in layers, K in bits.

    Places are computed from the mean F1s and the mean weights. Expected layer and K(Δ) are empty if F1(L) - F1(0) is
    below one point, its interval contains 0, or the interval of the expected layer leaves 0 to L. ``random`` is F1(L)
    on the random encoder of the model, ``selectivity`` and ``compression`` are those of P(L). Memory and majority are
    of the same targets, memory label by label if targets have several; the ceiling is of all targets. The interval of
    gain_above_memory takes memory as exact. selectivity_seen is on targets whose span text occurs in training, whatever
    ``unseen`` is.
    """
    weights = weights_by_layer(db)
    codes, ends = at_the_last(compression(db)), _ends(db)
    rows: list[dict[str, Any]] = []
    for part in parts:
        baseline_scores = baselines(db, part, unseen)
        every = curves(db, part, unseen=unseen, models=models, tasks=tasks)
        selective = selectivity(db, part=part, unseen=unseen, on_task=every)
        of_all, of_seen, top = at_the_last(selective), at_the_last(selective, "value_seen"), _top(db, part, unseen)
        random = {(curve.model, curve.task): float(curve.values[-1]) for curve in every if curve.encoder == RANDOM}
        for curve in every:
            name = (curve.model, curve.encoder, curve.task)
            rows.append(
                _row(curve, baseline_scores)
                | _of_weights(weights, name)
                | {column: baseline_scores.get((curve.task, column)) for column in (*BASELINES, "ceiling")}
                | {
                    "random": random.get((curve.model, curve.task)),
                    "selectivity": of_all.get(name),
                    "compression": codes.get(name),
                }
                | {"selectivity_seen": of_seen.get(name)}
                | {
                    f"f1_{end}_top": top.get((*name, layer))
                    for end, layer in (("first", 0), ("last", int(curve.layers[-1])))
                }
                | dict(zip(("probes", "probes_stopped"), ends.get(name, (None, None)), strict=True))
            )
    table = Columns(NAMES, "last targets", NUMBERS, MARKS).frame(rows)
    return by_task(table, "model", "task", "encoder", "part")


def _row(curve: EdgeCurve, baseline_scores: dict[tuple[str, str], float]) -> dict[str, Any]:
    last, gain, place = _at(curve, -1), gain_of(curve), expected_layer_of(curve)
    memory = baseline_scores.get((curve.task, "memory"), np.nan)
    above = curve.number(lambda values: gain_above_memory(values, memory))
    return {
        "model": curve.model,
        "encoder": curve.encoder,
        "task": curve.task,
        "part": curve.part,
        "seeds": curve.seeds,
        "last": int(curve.layers[-1]),
        "targets": curve.targets,
        "f1_first": curve.values[0],
        "f1_last": last.value,
        "f1_last_low": last.low,
        "f1_last_high": last.high,
        "gain": gain.value,
        "gain_low": gain.low,
        "gain_high": gain.high,
        "expected_layer": place.value,
        "expected_layer_low": place.low,
        "expected_layer_high": place.high,
        "k_gains": np.nan if np.isnan(place.value) else float(k_gains(curve.values)),
        "gain_above_memory": above.value,
        "gain_above_memory_low": above.low,
        "gain_above_memory_high": above.high,
        "expected_layer_reason": reason_of(curve, baseline_scores.get((curve.task, "majority"))),
    }


def _at(curve: EdgeCurve, place: int) -> Number:
    return curve.number(lambda values: values[..., place])


def _top(db: Database, part: str, unseen: bool) -> dict[tuple[str, str, str, int], float]:
    """(Model, encoder, task, layer) -> F1 of the most probable label, mean over the seeds with stored predictions."""
    runs = newest_runs(db)
    scored = f1_of_top(db, list(runs["run_id"]), part, unseen).merge(
        runs[["run_id", "model", "encoder", "task"]], on="run_id"
    )
    return scored.groupby(["model", "encoder", "task", "layer"])["f1_top"].mean().to_dict()


def _ends(db: Database) -> dict[tuple[str, str, str], tuple[int, int]]:
    """(Model, encoder, task) -> number of cumulative probes of all seeds, and how many of them patience stopped."""
    runs = newest_runs(db)
    probes = training(db, list(runs["run_id"])).merge(runs[["run_id", "model", "encoder", "task"]], on="run_id")
    ended = probes.groupby(["model", "encoder", "task"])["stopped"].agg(["size", "sum"])
    return {key: (int(row["size"]), int(row["sum"])) for key, row in ended.iterrows()}


def _of_weights(weights: pd.DataFrame, name: tuple[str, str, str]) -> dict[str, Any]:
    task_weights = weights[
        (weights["model"] == name[0]) & (weights["encoder"] == name[1]) & (weights["task"] == name[2])
    ]
    if task_weights.empty:
        return {}
    values = task_weights["weight"].to_numpy()
    bits = float(k_weights(values))
    near = bool(near_uniform(bits))
    return {
        "centre_of_gravity": float(centre_of_gravity(values)),
        "k_weights": bits,
        "weights_near_uniform": near,
    }


def at_the_last(table: pd.DataFrame, column: str = "value") -> dict[tuple[str, str, str], float]:
    """(Model, encoder, task) -> a number at the last layer."""
    at_last = table[table["layer"] == table["last"]]
    return {(row["model"], row["encoder"], row["task"]): float(row[column]) for row in at_last.to_dict("records")}


def baselines(db: Database, part: str, unseen: bool = False) -> dict[tuple[str, str], float]:
    """(Task, baseline) -> F1 on a part of the data; ``ceiling`` is that of all targets."""
    counts = baseline_counts(db, unseen)
    part_counts = counts[counts["part"] == part]
    scores = f1(part_counts["tp"], part_counts["fp"], part_counts["fn"])
    f1_of = dict(zip(zip(part_counts["task"], part_counts["baseline"], strict=True), map(float, scores), strict=True))
    # For tasks whose targets have several labels, one label is too weak a baseline.
    f1_of |= {(task, "memory"): value for (task, name), value in f1_of.items() if name == MEMORY_EACH}
    tasks = edge_tasks(db)
    tasks = tasks[tasks["part"] == part]
    return f1_of | {
        (task, "ceiling"): float(value) for task, value in zip(tasks["task"], tasks["ceiling"], strict=True)
    }
