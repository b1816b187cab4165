"""F1 of the probes by layer, the mixing weights, and what the probes can memorise: control labels and code lengths."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from probing.edges import numbers_numbers, store
from probing.edges.report_curves import EdgeCurve, curves, newest, newest_runs
from probing.edges.targets_encoders import AT, CONTROL, CUMULATIVE, KINDS, TASK
from probing.kernel.store.database import Database

#: A baseline that is stored for tasks whose targets have several labels: no single label is an answer there.
MEMORY_EACH = "memory-each"
_POINTS = ("model", "encoder", "task", "kind", "part", "layer", "last", "seeds", "targets", "value", "low", "high")
_WEIGHTS = ("model", "encoder", "task", "kind", "layer", "last", "seeds", "weight", "normed", "norm")
_ON_SEEN = ("value_seen", "f1_seen", "control_seen", "targets_seen")
_SELECTIVE = ("model", "encoder", "task", "kind", "part", "layer", "last", "value", "f1", "control", *_ON_SEEN)
_CODES = ("model", "encoder", "task", "kind", "layer", "last", "seeds", "value", "bits", "uniform", "targets")


def f1_by_layer(
    db: Database,
    kind: str = CUMULATIVE,
    *,
    part: str = "dev",
    unseen: bool = False,
    models: Sequence[str] | None = None,
    tasks: Sequence[str] | None = None,
) -> pd.DataFrame:
    """Micro F1 (value) of every probe, mean over seeds, with its interval over seeds and sentences; last is L."""
    rows = [point for curve in curves(db, part, kind, unseen, models=models, tasks=tasks) for point in _points(curve)]
    return pd.DataFrame(rows, columns=list(_POINTS)).astype(dict.fromkeys(("value", "low", "high"), "float64"))


def _points(curve: EdgeCurve) -> list[tuple]:
    name = (curve.model, curve.encoder, curve.task, curve.kind, curve.part)
    points = []
    for place, layer in enumerate(curve.layers):
        number = curve.number(lambda values, place=place: values[..., place])  # type: ignore[misc]
        points.append(
            (
                *name,
                int(layer),
                int(curve.layers[-1]),
                curve.seeds,
                curve.targets,
                number.value,
                number.low,
                number.high,
            )
        )
    return points


def weights_by_layer(db: Database, kind: str = CUMULATIVE) -> pd.DataFrame:
    """The mixing weights of the probes on all layers, mean over seeds; normed: times the layer's norm, as share."""
    runs = newest_runs(db, kind)
    mix = store.mix(db, list(runs["run_id"]))
    rows: list[tuple] = []
    for key, group in runs.groupby(["model", "encoder", "task"], sort=False):
        group_mix = mix[mix["run_id"].isin(list(group["run_id"]))]
        if group_mix.empty:
            continue
        last, seeds = int(group["layers"].max()) - 1, group_mix["run_id"].nunique()
        weights = group_mix.pivot(index="run_id", columns="layer", values="weight").to_numpy().mean(axis=0)
        norms = group_mix.pivot(index="run_id", columns="layer", values="norm").to_numpy().mean(axis=0)
        shares = numbers_numbers.times_norm(weights, norms)
        rows += [
            (*key, kind, layer, last, seeds, weights[layer], shares[layer], norms[layer])
            for layer in range(len(weights))
        ]
    return pd.DataFrame(rows, columns=list(_WEIGHTS))


def selectivity(
    db: Database,
    kind: str = CUMULATIVE,
    *,
    part: str = "dev",
    unseen: bool = False,
    on_task: Sequence[EdgeCurve] | None = None,
) -> pd.DataFrame:
    """F1 minus that of equal probes on control labels, mean over seeds; only if control labels were trained.

    Only the control label of a text that occurs in training can be known, and the share of such targets differs between
    tasks. So tasks are compared by ``value_seen``, on these targets alone, whatever ``unseen`` is. ``on_task``: the
    curves on task labels, if they are known.
    """
    on_seen = {labels: _f1_on_seen(db, kind, part, labels) for labels in (TASK, CONTROL)}
    on_task = curves(db, part, kind, unseen) if on_task is None else on_task
    models, tasks = sorted({curve.model for curve in on_task}), sorted({curve.task for curve in on_task})
    of_control = curves(db, part, kind, unseen, CONTROL, models, tasks)
    with_control = {_name(curve): curve for curve in of_control}
    rows = []
    for curve in on_task:
        if (control := with_control.get(_name(curve))) is None:
            continue
        values = numbers_numbers.selectivity(curve.values, control.values)
        for place, layer in enumerate(curve.layers):
            scores = (values[place], curve.values[place], control.values[place])
            (own, targets), (arbitrary, _) = (
                on_seen[labels].get((*_name(curve), int(layer)), (np.nan, 0)) for labels in (TASK, CONTROL)
            )
            seen = (float(numbers_numbers.selectivity(own, arbitrary)), own, arbitrary, targets)
            rows.append((*_name(curve), kind, part, int(layer), int(curve.layers[-1]), *scores, *seen))
    floats = dict.fromkeys(("value", "f1", "control", *_ON_SEEN[:3]), "float64")
    return pd.DataFrame(rows, columns=list(_SELECTIVE)).astype(floats | {"targets_seen": "int64"})


def _f1_on_seen(db: Database, kind: str, part: str, labels: str) -> dict[tuple[str, str, str, int], tuple[float, int]]:
    """(Model, encoder, task, layer) -> mean F1 over seeds, and number of targets whose span text occurs in training."""
    runs = newest_runs(db, kind, labels)
    table = store.score_counts(db, list(runs["run_id"]), part, seen=True)
    table = table.merge(runs[["run_id", "model", "encoder", "task"]], on="run_id")
    table["f1"] = numbers_numbers.f1(table["tp"], table["fp"], table["fn"])
    means = table.groupby(["model", "encoder", "task", "layer"]).agg(f1=("f1", "mean"), targets=("targets", "max"))
    return {key: (float(row["f1"]), int(row["targets"])) for key, row in means.iterrows()}


def f1_of_top(db: Database, run_ids: Sequence[str], part: str | None = None, unseen: bool = False) -> pd.DataFrame:
    """F1 of the most probable label of each target, without the threshold of 0.5: run_id, part, layer, f1_top.

    Only of runs and parts whose predictions are stored, and of tasks whose targets have one label each.
    """
    baselines, runs = store.baseline_counts(db), store.edge_runs(db)
    several = set(baselines.loc[baselines["baseline"] == MEMORY_EACH, "task"])
    chosen = runs[runs["run_id"].isin(list(run_ids)) & ~runs["task"].isin(several)]
    counts = store.top_counts(db, list(chosen["run_id"]), part, unseen)
    counts["f1_top"] = numbers_numbers.f1(counts["tp"], counts["fp"], counts["fn"])
    return counts[["run_id", "part", "layer", "f1_top"]]


def _name(curve: EdgeCurve) -> tuple[str, str, str]:
    return curve.model, curve.encoder, curve.task


def compression(db: Database, kind: str | None = None) -> pd.DataFrame:
    """How many times shorter the online code of the labels is than the uniform code, by layer, mean over seeds.

    ``kind`` None takes the cumulative probes of a model and task, else those of single layers.
    """
    runs = newest(db)
    runs = runs[
        runs["codes"].astype(bool) & (runs["labels"] == TASK) & runs["kind"].isin([kind] if kind else [CUMULATIVE, AT])
    ]
    preferred: Any = (
        runs.assign(_kind=runs["kind"].map(KINDS.index))
        .sort_values("_kind", kind="stable")
        .drop_duplicates(["model", "encoder", "task"])
    )
    chosen = set(preferred[["model", "encoder", "task", "kind"]].itertuples(index=False, name=None))
    table = store.codes(db, list(runs["run_id"])).merge(
        runs[["run_id", "model", "encoder", "task", "kind", "layers"]], on="run_id"
    )
    rows = []
    for key, group in table.groupby(["model", "encoder", "task", "kind", "layer"], sort=False):
        *name, layer = key
        if tuple(name) in chosen:
            value = float(np.mean(numbers_numbers.compression(group["uniform"], group["bits"])))
            means = (group["bits"].mean(), group["uniform"].mean(), int(group["targets"].max()))
            rows.append((*name, int(layer), int(group["layers"].max()) - 1, len(group), value, *means))
    return store.by_task(pd.DataFrame(rows, columns=list(_CODES)), "model", "task", "encoder", "layer")
