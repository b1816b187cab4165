"""The paper on edge probing: which of our encoders are compared with it, and its numbers next to ours."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from probing.edges import numbers, store
from probing.edges.numbers import k_gains
from probing.edges.published import PublishedEdges
from probing.edges.report_curves import EdgeCurve, Number, curves, expected_layer_of, newest_runs
from probing.edges.report_summary import baselines
from probing.edges.targets import CUMULATIVE, TASK
from probing.kernel.columns import Columns, floats, integers
from probing.kernel.provenance import RANDOM, TRAINED
from probing.kernel.store.database import Database
from probing.papers.claims import OF_THE_BASE, Ours, Paper, Subject

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


CALLED = {
    "pos": "part of speech",
    "constituents": "constituents",
    "dependencies": "dependencies",
    "entities": "entities",
    "srl": "semantic roles",
    "coreference": "coreference",
    "proto-roles": "proto-roles",
    "relations": "relations",
}

SUMMARY_COLUMNS = Columns(
    *("row model last", floats("f1_first f1_last f1_last_low f1_last_high memory majority ceiling random")),
    floats("centre_of_gravity expected_layer expected_layer_low expected_layer_high k_weights k_gains"),
)
POINT_COLUMNS = Columns("model encoder task layer last value", floats("low high"))
BAR_COLUMNS = Columns("task layer", floats("weight normed gain"))
DATA_COLUMNS = Columns("task published_data", integers("published_targets published_labels"))


def scores_by_layer(tasks: Sequence[str], encoders: Sequence[EncoderNumbers]) -> pd.DataFrame:
    """One row per task and encoder, one column per probe, P(0) to P(L): F1 in %; empty above the last layer."""
    most = max((encoder.depth for encoder in encoders), default=0)
    rows = []
    for task in tasks:
        for encoder in encoders:
            if task in encoder.curves:
                values = 100 * encoder.curves[task].values
                rows.append([task, encoder.name, *values, *[np.nan] * (most - encoder.depth)])
    return pd.DataFrame(rows, columns=["task", "encoder", *(f"P({layer})" for layer in range(most + 1))])


def summary(tasks: Sequence[str], encoders: Sequence[EncoderNumbers]) -> pd.DataFrame:
    """One row per task and encoder, as in the paper's Figure 1: F1 in [0, 1], places in layers, K in bits.

    The interval of a published number is only its rounding, so it is not shown here.
    """
    return SUMMARY_COLUMNS.frame(
        [_summary_row(task, encoder) for task in tasks for encoder in encoders if task in encoder.curves]
    )


def _summary_row(task: str, encoder: EncoderNumbers) -> tuple:
    curve = encoder.curves[task]
    last, expected = _at(encoder, task, -1), expected_layer_of(curve)
    yardsticks = [encoder.beside.get(name, {}).get(task) for name in ("memory", "majority", "ceiling", "random")]
    return (
        task,
        encoder.name,
        encoder.depth,
        curve.values[0],
        last.value,
        *_ends(last, encoder),
        *yardsticks,
        encoder.centres.get(task),
        expected.value,
        *_ends(expected, encoder),
        encoder.k_weights.get(task),
        np.nan if np.isnan(expected.value) else float(k_gains(curve.values)),
    )


def _ends(number: Number, encoder: EncoderNumbers) -> tuple[float | None, float | None]:
    return (None, None) if encoder.published else (number.low, number.high)


def points(tasks: Sequence[str], encoders: Sequence[EncoderNumbers]) -> pd.DataFrame:
    """F1 of every probe: ``POINT_COLUMNS``, in [0, 1]."""
    rows = [
        (
            encoder.name,
            "trained",
            task,
            layer,
            encoder.depth,
            curve.values[place],
            *_ends(_at(encoder, task, place), encoder),
        )
        for task in tasks
        for encoder in encoders
        if (curve := encoder.curves.get(task)) is not None
        for place, layer in enumerate(curve.layers)
    ]
    return POINT_COLUMNS.frame(rows)


def _at(encoder: EncoderNumbers, task: str, place: int) -> Number:
    return encoder.curves[task].number(lambda f1: f1[..., place])


def levels(tasks: Sequence[str], ours: EncoderNumbers | None) -> pd.DataFrame:
    """The yardsticks of our data: ``task, name, value``, F1 in [0, 1]."""
    yardstick_f1 = ours.beside if ours else {}
    names = {"memory": "memory", "majority": "commonest label", "ceiling": "ceiling"}
    rows = [
        (task, label, yardstick_f1[name][task])
        for task in tasks
        for name, label in names.items()
        if task in yardstick_f1.get(name, {})
    ]
    return pd.DataFrame(rows, columns=["task", "name", "value"])


def bars(tasks: Sequence[str], encoder: EncoderNumbers) -> pd.DataFrame:
    """Weights and gains of an encoder by layer (layer 0 has no gain); published weights exist only as a drawing."""
    known = encoder.weights.set_index(["task", "layer"])["weight"]
    rows = []
    for task in tasks:
        if task in encoder.curves:
            curve = encoder.curves[task]
            gains = [np.nan, *np.diff(curve.values)]
            rows += [
                (task, int(layer), known.get((task, layer), np.nan), np.nan, gain)
                for layer, gain in zip(curve.layers, gains, strict=True)
            ]
    return BAR_COLUMNS.frame(rows)


def data(published: PublishedEdges, ours: pd.DataFrame) -> pd.DataFrame:
    """Training data of the paper's probes and of ours, one row per task of the paper."""
    rows = [(task.name, task.data, task.targets, task.labels) for task in published.tasks]
    theirs = DATA_COLUMNS.frame(rows)
    return theirs.merge(ours, on="task", how="left") if len(ours) else theirs


def encoders_here(db: Database) -> dict[str, None]:
    """Encoders with cumulative probes of the paper's tasks: pre-trained ones first, then those with most tasks."""
    return dict.fromkeys(probed_encoders(db, EDGE_PROBING.numbers)["model"])


def measure(db: Database, encoder: str) -> Ours:
    """An encoder's numbers; ``about`` is its ``EncoderNumbers``."""
    published = EDGE_PROBING.numbers
    ids = tuple(runs_of(db, encoder, published)["run_id"])
    return Ours(
        encoder,
        numbers_of(db, encoder, published),
        ids,
        f"{encoder} with the published numbers, dev",
        Subject({OF_THE_BASE: encoder}),
    )


def tables(published: PublishedEdges, db: Database | None, ours: Ours | None) -> dict[str, pd.DataFrame]:
    """F1 of every layer, Figure 1's summary, and the data, published and ours."""
    tasks, encoders = (
        [task.name for task in published.tasks],
        [*([ours.about] if ours else []), *published_encoders(published)],
    )
    return {
        "scores": scores_by_layer(tasks, encoders),
        "summary": summary(tasks, encoders),
        "data": data(published, ours.about.data if ours else pd.DataFrame(columns=["task"])),
        "points": points(tasks, encoders),
        "levels": levels(tasks, ours.about if ours else None),
    }


EDGE_PROBING = Paper(
    "edge-probing",
    PublishedEdges,
    "cumulative probes",
    encoders_here,
    measure,
    tables,
    written=("scores", "summary", "data"),
)
