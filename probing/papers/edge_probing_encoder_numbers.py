"""The numbers of one encoder on the paper's tasks: of a stored one, with intervals, or as the paper published them."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from probing.edges import numbers, store
from probing.edges.published import PublishedEdges
from probing.edges.report_curves import EdgeCurve, curves, newest_runs
from probing.edges.report_summary import baselines
from probing.edges.targets import CUMULATIVE, RANDOM, TASK, TRAINED
from probing.kernel.store.database import Database

#: The paper's headline is the development part, which also stopped the training.
PART = "dev"
ENCODER_COLUMNS = ("model", "base", "layers", "tasks")


@dataclass(frozen=True)
class EncoderNumbers:
    """The numbers of one encoder; unknown numbers have no entry, published ones (``published``) no interval.

    By task: ``curves``, micro F1 of P(0) to P(L) on the development set; ``centres``, centre of gravity of the mixing
    weights of P(L) in layers, ``k_weights`` their K in bits; ``beside``, F1 by yardstick first (``random`` is P(L) on a
    random encoder). ``weights`` are mixing weights of P(L), mean over seeds; ``data`` is on training data.
    """

    name: str
    depth: int
    curves: Mapping[str, EdgeCurve]
    centres: Mapping[str, float]
    k_weights: Mapping[str, float]
    weights: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=["task", "layer", "weight"]))
    beside: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    data: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=["task"]))
    published: bool = False


def published_encoders(published: PublishedEdges) -> list[EncoderNumbers]:
    """The paper's encoders under their titles."""
    return [
        EncoderNumbers(
            model.title,
            model.depth,
            {
                task.name: _published_curve(model.title, task.name, task.f1[model.name])
                for task in published.tasks
                if model.name in task.f1
            },
            {
                task.name: task.centre_of_gravity[model.name]
                for task in published.tasks
                if model.name in task.centre_of_gravity
            },
            {task.name: task.k_weights[model.name] for task in published.tasks if model.name in task.k_weights},
            published=True,
        )
        for model in published.models
    ]


def _published_curve(model: str, task: str, per_cent: tuple[float, ...]) -> EdgeCurve:
    values = np.array(per_cent) / 100
    alone = values[None]
    return EdgeCurve(model, TRAINED, task, CUMULATIVE, TASK, PART, 1, 0, np.arange(len(values)), values, alone, alone)


def probed_encoders(db: Database, published: PublishedEdges) -> pd.DataFrame:
    """Encoders with cumulative probes of the paper's tasks: pre-trained ones first, then those with most tasks."""
    runs = _runs(db)
    rows = [
        (
            model,
            base if (base := str(own_runs["base"].fillna("").iloc[0])) != model else "",
            int(own_runs["layers"].max()) - 1,
            len(stored),
        )
        for model, own_runs in runs.groupby("model", sort=True)
        if (stored := published.stored_tasks(set(own_runs["task"])))
    ]
    encoders = pd.DataFrame(rows, columns=list(ENCODER_COLUMNS))
    order = {"_tuned": encoders["base"].ne(""), "_most": -encoders["tasks"]}
    return encoders.assign(**order).sort_values(["_tuned", "_most", "model"], kind="stable", ignore_index=True)[
        list(ENCODER_COLUMNS)
    ]


def runs_of(db: Database, model: str, published: PublishedEdges) -> pd.DataFrame:
    """The runs behind an encoder's numbers, the newest of each seed, with the paper's task that each stands for."""
    runs = _runs(db)
    own_runs = runs[runs["model"] == model]
    names = {stored: task for task, stored in published.stored_tasks(set(own_runs["task"])).items()}
    return own_runs.assign(paper_task=own_runs["task"].map(names)).dropna(subset=["paper_task"])


def _runs(db: Database) -> pd.DataFrame:
    """The runs of cumulative probes with the task's labels on trained encoders."""
    runs = newest_runs(db)
    return runs[runs["encoder"].eq(TRAINED)]


def numbers_of(db: Database, model: str, published: PublishedEdges) -> EncoderNumbers:
    runs = runs_of(db, model, published)
    names, order = dict(zip(runs["task"], runs["paper_task"], strict=True)), [task.name for task in published.tasks]
    measured = curves(db, PART, models=[model], tasks=list(names))
    trained = sorted(
        (curve for curve in measured if curve.encoder == TRAINED), key=lambda curve: order.index(names[curve.task])
    )
    mix = (
        store.mix(db, list(runs["run_id"]))
        .merge(runs[["run_id", "paper_task"]], on="run_id")
        .rename(columns={"paper_task": "task"})
    )
    weights = mix.groupby(["task", "layer"], as_index=False, sort=False)["weight"].mean()
    by_layer = {
        str(task): rows.sort_values("layer")["weight"].to_numpy() for task, rows in weights.groupby("task", sort=False)
    }
    return EncoderNumbers(
        model,
        int(runs["layers"].max()) - 1,
        {names[curve.task]: curve for curve in trained},
        {task: float(numbers.centre_of_gravity(mixing)) for task, mixing in by_layer.items()},
        {task: float(numbers.k_weights(mixing)) for task, mixing in by_layer.items()},
        weights,
        _baselines(db, names)
        | {"random": {names[curve.task]: float(curve.values[-1]) for curve in measured if curve.encoder == RANDOM}},
        _training_data(db, names),
    )


def _baselines(db: Database, names: Mapping[str, str]) -> dict[str, dict[str, float]]:
    """Yardstick -> task of the paper -> F1."""
    by_yardstick: dict[str, dict[str, float]] = {}
    for (task, name), value in baselines(db, PART).items():
        if task in names:
            by_yardstick.setdefault(name, {})[names[task]] = value
    return by_yardstick


def _training_data(db: Database, names: Mapping[str, str]) -> pd.DataFrame:
    """Training data of the stored tasks under the paper's names: task, source, targets, labels."""
    tasks = store.edge_tasks(db)
    train = tasks[(tasks["part"] == "train") & tasks["task"].isin(list(names))]
    return train.assign(task=train["task"].map(names))[["task", "source", "targets", "labels"]].reset_index(drop=True)
