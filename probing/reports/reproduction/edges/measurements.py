"""The numbers of one stored encoder with their intervals, on which claims on edge probing are judged."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import special

from probing.core.edges import numbers
from probing.core.edges.encoders import RANDOM, TRAINED
from probing.core.edges.order import Place, compare
from probing.core.edges.published import PublishedEdges
from probing.core.stats.intervals import CONFIDENCE
from probing.reports.edges.curves import EdgeCurve, curves, newest_runs
from probing.reports.edges.places import spread_of
from probing.reports.edges.summary import baselines
from probing.reports.reproduction.curve_shapes import Curve
from probing.reports.reproduction.edges.claims_order import PIPELINE
from probing.reports.reproduction.edges.claims_weights import middle_layers
from probing.reports.reproduction.edges.evidence import MEASURES, ORDER_COLUMNS, PLACE_COLUMNS, SETTLED_COLUMNS, EdgeEvidence
from probing.store.database import Database
from probing.store.edges import queries
from probing.store.edges.sentence_queries import settled_order

#: The paper's headline is the development part, which also stopped the training.
PART = "dev"
ENCODER_COLUMNS = ("model", "base", "layers", "tasks")


def probed_encoders(db: Database, published: PublishedEdges) -> pd.DataFrame:
    """Encoders with cumulative probes of the paper's tasks: ``ENCODER_COLUMNS``; pre-trained ones first, then those with most tasks.

    ``base`` is empty for a pre-trained encoder, ``layers`` counts the layers above the embeddings, ``tasks`` the paper's tasks.
    """
    runs = _runs(db)
    rows = [
        (model, base if (base := str(own_runs["base"].fillna("").iloc[0])) != model else "", int(own_runs["layers"].max()) - 1, len(stored))
        for model, own_runs in runs.groupby("model", sort=True)
        if (stored := published.stored_tasks(set(own_runs["task"])))
    ]
    encoders = pd.DataFrame(rows, columns=list(ENCODER_COLUMNS))
    order = {"_tuned": encoders["base"].ne(""), "_most": -encoders["tasks"]}
    return encoders.assign(**order).sort_values(["_tuned", "_most", "model"], kind="stable", ignore_index=True)[list(ENCODER_COLUMNS)]


def runs_of(db: Database, model: str, published: PublishedEdges) -> pd.DataFrame:
    """The runs behind an encoder's numbers, the newest of each seed; ``paper_task`` is the task of the paper that a run stands for."""
    runs = _runs(db)
    own_runs = runs[runs["model"] == model]
    names = {stored: task for task, stored in published.stored_tasks(set(own_runs["task"])).items()}
    return own_runs.assign(paper_task=own_runs["task"].map(names)).dropna(subset=["paper_task"])


def _runs(db: Database) -> pd.DataFrame:
    """The runs of cumulative probes with the task's labels on trained encoders."""
    runs = newest_runs(db)
    return runs[runs["encoder"].eq(TRAINED)]


def training_data(db: Database, runs: pd.DataFrame) -> pd.DataFrame:
    """Training data of the runs: task (as the paper's), source, targets, labels."""
    tasks = queries.edge_tasks(db)
    train = tasks[(tasks["part"] == "train") & tasks["task"].isin(runs["task"])]
    return train.assign(task=train["task"].map(_names(runs)))[["task", "source", "targets", "labels"]].reset_index(drop=True)


def evidence_of(db: Database, model: str, published: PublishedEdges) -> EdgeEvidence:
    """An encoder's numbers, with those of the pre-trained encoder of another depth that shares most tasks with it."""
    there = probed_encoders(db, published).set_index("model")
    ours = _alone(db, model, published)
    if there.at[model, "base"]:
        return ours
    others = [str(name) for name in there.index[there["base"].eq("") & there["layers"].ne(ours.depth)]]
    if not others:
        return ours
    beside = max(others, key=lambda name: len(set(runs_of(db, name, published)["paper_task"]) & set(ours.curves)))
    return replace(ours, other=_alone(db, beside, published))


def _alone(db: Database, model: str, published: PublishedEdges) -> EdgeEvidence:
    runs = runs_of(db, model, published)
    names, order = _names(runs), [task.name for task in published.tasks]
    measured = curves(db, PART, models=[model], tasks=list(names))
    trained = sorted((one for one in measured if one.encoder == TRAINED), key=lambda one: order.index(names[one.task]))
    mix = queries.mix(db, list(runs["run_id"])).merge(runs[["run_id", "paper_task"]], on="run_id").rename(columns={"paper_task": "task"})
    evidence = EdgeEvidence(
        model,
        int(runs["layers"].max()) - 1,
        {names[one.task]: Curve(one.layers, one.values, one.drawn) for one in trained},
        places=places_of(mix),
        weights=mix.groupby(["task", "layer"], as_index=False, sort=False)["weight"].mean(),
        beside=_baselines(db, names) | {"random": {names[one.task]: float(one.values[-1]) for one in measured if one.encoder == RANDOM}},
    )
    return replace(evidence, order=_order(evidence, {names[one.task]: one for one in trained}), left_order=_left_order(db, runs))


def _names(runs: pd.DataFrame) -> dict[str, str]:
    """Stored task -> task of the paper."""
    return dict(zip(runs["task"], runs["paper_task"], strict=True))


def _baselines(db: Database, names: Mapping[str, str]) -> dict[str, dict[str, float]]:
    """Yardstick -> task of the paper -> F1."""
    by_yardstick: dict[str, dict[str, float]] = {}
    for (task, name), value in baselines(db, PART).items():
        if task in names:
            by_yardstick.setdefault(name, {})[names[task]] = value
    return by_yardstick


def _order(evidence: EdgeEvidence, measured: Mapping[str, EdgeCurve]) -> pd.DataFrame:
    """The expected layers of the tasks pair by pair, with ends corrected for the number of pairs; empty ends if seeds are too few."""
    spread = spread_of(measured.values())
    places = [
        Place(task, expected.value, numbers.expected_layer(curve.drawn), curve.seeds, spread)
        for task, curve in measured.items()
        if (expected := evidence.expected(task))
    ]
    # ``compare`` gives first minus second.
    rows = [(one.first, one.second, -one.difference, -one.high, -one.low) for one in compare(places)]
    return pd.DataFrame(rows, columns=list(ORDER_COLUMNS))


def _left_order(db: Database, runs: pd.DataFrame) -> pd.DataFrame:
    """Sentences in which a later task of the pipeline settles before an earlier one, of the first traced run of each task."""
    traced = runs[runs["traced"].astype(bool)].sort_values("seed").drop_duplicates("task")
    settled = settled_order(db, list(traced["run_id"]), PART)
    settled = settled.assign(**{column: settled[column].map(_names(runs)) for column in ("later", "earlier")})
    place = {task: number for number, task in enumerate(PIPELINE)}
    kept = settled["later"].isin(place) & settled["earlier"].isin(place)
    kept &= settled["later"].map(place) > settled["earlier"].map(place)
    return settled[kept].reset_index(drop=True)[list(SETTLED_COLUMNS)]


def places_of(mix: pd.DataFrame) -> pd.DataFrame:
    """Summaries of the mixing weights, task by task: ``PLACE_COLUMNS``, of the mean weights over seeds.

    Seeds are few, so all tasks with several of them share one estimate of the variance over seeds (the pooled variance); the ends are
    Student's t. If no task has several seeds, there are no ends.

    Args:
        mix: ``run_id, task, layer, weight`` of the probes on all layers; a run is a seed.
    """
    rows = []
    for measure in MEASURES:
        by_task = {str(task): _number(measure, _by_seed(weights)) for task, weights in mix.groupby("task", sort=False)}
        free = sum(len(values) - 1 for values in by_task.values())
        squares = sum(float(((values - values.mean()) ** 2).sum()) for values in by_task.values())
        for task, values in by_task.items():
            half = special.stdtrit(free, (1 + CONFIDENCE) / 2) * np.sqrt(squares / free / len(values)) if free else np.nan
            (value,) = _number(measure, _by_seed(mix[mix["task"] == task]).mean(axis=0)[None])
            rows.append((task, measure, float(value), float(value - half), float(value + half)))
    return pd.DataFrame(rows, columns=list(PLACE_COLUMNS))


def _by_seed(mix: pd.DataFrame) -> NDArray[np.float64]:
    """(seeds, layers) mixing weights of a task."""
    return mix.pivot(index="run_id", columns="layer", values="weight").sort_index(axis=1).to_numpy(dtype=np.float64)


def _number(measure: str, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """(seeds, layers) -> (seeds,)."""
    if measure == "middle":
        return weights[:, list(middle_layers(weights.shape[1] - 1))].sum(axis=1)
    return {"centre_of_gravity": numbers.centre_of_gravity, "k_weights": numbers.k_weights}[measure](weights)
