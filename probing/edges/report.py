"""The reports of edge probing: F1 of every probe and label, their baselines, and the paper's numbers."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from probing.edges.numbers import compression, expected_layer, f1, k_gains, selectivity
from probing.edges.published import PublishedEdges
from probing.edges.report_curves import (
    DRAWS,
    GROUP,
    EdgeCurve,
    drawn_again,
    expected_layer_of,
    f1_of_top,
    newest,
    newest_runs,
    reason_of,
    sentence_draws,
)
from probing.edges.report_summary import BASELINES, MARKS, PARTS, baselines, models_in_order, summary, tasks_in_order
from probing.edges.store import (
    by_task,
    codes,
    edge_labels,
    edge_runs,
    edge_tasks,
    label_counts,
    label_sentence_counts,
    majority_by_label,
    score_counts,
    training,
)
from probing.edges.targets import CONTROL, CUMULATIVE, KINDS, TASK
from probing.kernel.columns import Columns, floats, integers
from probing.kernel.provenance import RANDOM, RANDOM_BODY, TRAINED
from probing.kernel.report import Choice, Filter, Report, Reports, refuse_unstored
from probing.kernel.store.database import Database

_NUMBERS = floats(
    "f1_first f1_last f1_last_low f1_last_high centre_of_gravity expected_layer expected_layer_low expected_layer_high",
    "k_gains",
)
COLUMNS = Columns("model encoder task part label counts n seeds last", _NUMBERS, "expected_layer_reason")


def by_label(
    db: Database,
    task: str,
    *,
    part: str = "dev",
    unseen: bool = False,
    models: Sequence[str] | None = None,
    kind: str = CUMULATIVE,
) -> pd.DataFrame:
    """F1 and expected layer of every training label, as ``summary`` gives them for the task.

    All labels of a task share a mix, so a label has no centre of gravity: that column is empty. counts: whether the
    task's F1 counts the label; n: targets of the part that have it.
    """
    runs = newest_runs(db, kind, models=models, tasks=[task])
    run_ids = list(runs["run_id"])
    scored = label_counts(db, run_ids, part, unseen)
    by_sentence = {
        (run_ids[int(run)], label): rows
        for (run, label), rows in label_sentence_counts(db, run_ids, part, unseen).groupby(["run", "label"], sort=False)
    }
    traced = {run_id for run_id, _ in by_sentence}
    majority = _majority(db, task, part, unseen)
    rows = []
    for key, group in runs.groupby(list(GROUP), sort=False):
        model, encoder, *_ = (str(name) for name in key)
        of_group = scored[scored["run_id"].isin(list(group["run_id"]))]
        for label, of_label in of_group.groupby("label", sort=False):
            seeds = list(dict.fromkeys(of_label["run_id"]))
            layers = np.unique(of_label["layer"]).astype(int)
            counts = of_label[["tp", "fp", "fn"]].to_numpy(dtype=np.float64).reshape(len(seeds), len(layers), 3)
            scores = f1(*np.moveaxis(counts, 2, 0))
            deviations = [
                _drawn(by_sentence.get((run_id, label)), len(layers)) - score if run_id in traced else None
                for run_id, score in zip(seeds, scores, strict=True)
            ]
            drawn = drawn_again(scores, deviations, np.moveaxis(counts, 2, 1), (*key, label))
            n = int(counts[0, 0, [0, 2]].sum())
            curve = EdgeCurve(
                model, encoder, task, kind, TASK, part, len(seeds), n, layers, scores.mean(axis=0), drawn, scores
            )
            known = bool(of_label["counts"].iloc[0])
            rows.append(
                (
                    curve.model,
                    curve.encoder,
                    task,
                    part,
                    label,
                    known,
                    *_row(curve),
                    reason_of(curve, majority.get(str(label))),
                )
            )
    return COLUMNS.frame(rows)


def _majority(db: Database, task: str, part: str, unseen: bool) -> dict[str, float]:
    """Label -> its F1 if the majority label is predicted for every target: 0 for every other label."""
    counts = majority_by_label(db, task, part, unseen)
    return dict(zip(counts["label"], map(float, f1(counts["tp"], counts["fp"], counts["fn"])), strict=True))


def _row(curve: EdgeCurve) -> tuple:
    last = curve.number(lambda values: values[..., -1])
    place = expected_layer_of(curve)
    bits = np.nan if np.isnan(place.value) else float(k_gains(curve.values))
    ends = (curve.values[0], last.value, last.low, last.high)
    return (curve.targets, curve.seeds, int(curve.layers[-1]), *ends, np.nan, place.value, place.low, place.high, bits)


def _drawn(rows: pd.DataFrame | None, layers: int) -> NDArray[np.float64]:
    """(draws, layers) F1 of a label on drawn sentences."""
    if rows is None:
        return np.full((DRAWS, layers), np.nan)
    texts, of_row = np.unique(rows["text"].to_numpy(), return_inverse=True)
    counts = np.zeros((len(texts), layers, 3), dtype=np.float32)
    counts[of_row, rows["layer"].to_numpy()] = rows[["tp", "fp", "fn"]].to_numpy()
    summed = (sentence_draws(texts) @ counts.reshape(len(texts), -1)).reshape(DRAWS, layers, 3)
    return f1(*np.moveaxis(summed, 2, 0))


_PLACE, _TARGETS = Columns("layer", dtype="int64"), Columns("targets", dtype="int64")
NAMES = Columns("model encoder labels task kind seed", _PLACE, "last part", _TARGETS)
#: F1, its yardsticks on the same targets (the ceiling: on all targets), and the difference from control labels.
NUMBERS = floats(
    "f1 memory majority ceiling random random_body control selectivity compression f1_top selectivity_seen"
)
ENDS = Columns(integers("steps"), Columns("stopped", dtype="boolean"))
_PROBE = ["run_id", "part", "layer"]


def scores(
    db: Database,
    *,
    unseen: bool = False,
    models: Sequence[str] | None = None,
    tasks: Sequence[str] | None = None,
    parts: Sequence[str] = PARTS,
    kinds: Sequence[str] | None = None,
) -> pd.DataFrame:
    """Every probe with its own seed; numbers that are not stored are empty.

    random and random_body: F1 of the same probe on encoders with random weights, mean over seeds; selectivity: f1 minus
    control; f1_top: F1 of the most probable label; selectivity_seen: on targets whose span text occurs in training,
    whatever ``unseen`` is; stopped: whether patience ended the training.
    """
    runs = newest(db)
    runs = runs if tasks is None else runs[runs["task"].isin(list(tasks))]
    counts = score_counts(db, list(runs["run_id"]), None, unseen)
    scored = counts.merge(runs[["run_id", "model", "encoder", "labels", "task", "kind", "seed", "layers"]], on="run_id")
    scored["f1"], scored["last"] = (
        f1(scored["tp"], scored["fp"], scored["fn"]),
        scored["layers"].astype(int) - 1,
    )
    probe = ["model", "task", "kind", "layer", "part"]
    for name, untrained in (
        ("random", (scored["encoder"] == RANDOM) & (scored["labels"] == TASK)),
        ("random_body", (scored["encoder"] == RANDOM_BODY) & (scored["labels"] == TASK)),
    ):
        scored = scored.merge(
            scored[untrained].groupby(probe)["f1"].mean().rename(name).reset_index(), on=probe, how="left"
        )
    on_seen = score_counts(db, list(runs["run_id"]), seen=True)
    on_seen["f1_seen"] = f1(on_seen["tp"], on_seen["fp"], on_seen["fn"])
    scored = scored.merge(on_seen[[*_PROBE, "f1_seen"]], on=_PROBE, how="left")
    for score, control, difference in (
        ("f1", "control", "selectivity"),
        ("f1_seen", "control_seen", "selectivity_seen"),
    ):
        arbitrary = (
            scored[scored["labels"] == CONTROL].groupby([*probe, "encoder"])[score].mean().rename(control).reset_index()
        )
        scored = scored.merge(arbitrary, on=[*probe, "encoder"], how="left")
        scored[difference] = selectivity(scored[score], scored[control])
        scored.loc[scored["labels"] == CONTROL, [control, difference]] = np.nan
    # Predictions are of the task's labels.
    scored = scored.merge(f1_of_top(db, list(runs["run_id"]), None, unseen), on=_PROBE, how="left")
    trained = Columns("run_id layer", ENDS).of(training(db, list(runs["run_id"])))
    scored = scored.merge(trained, on=["run_id", "layer"], how="left")
    coded = codes(db, list(runs["run_id"]))
    coded["compression"] = compression(coded["uniform"], coded["bits"])
    scored = scored.merge(coded[["run_id", "layer", "compression"]], on=["run_id", "layer"], how="left")
    baseline_f1: dict[Any, float] = {
        (*key, part): value for part in PARTS for key, value in baselines(db, part, unseen).items()
    }
    for name in (*BASELINES, "ceiling"):
        scored[name] = [
            baseline_f1.get((task, name, part), np.nan)
            for task, part in zip(scored["task"], scored["part"], strict=True)
        ]
    scored = scored[scored["part"].isin(list(parts))]
    for column, names in (("model", models), ("kind", kinds)):
        scored = scored if names is None else scored[scored[column].isin(list(names))]
    return by_task(
        Columns(NAMES, NUMBERS, ENDS).of(scored), "model", "task", "encoder", "labels", "kind", "seed", "part", "layer"
    )


def of_trained(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of ``scores`` for the trained models on the tasks' own labels."""
    return table[(table["encoder"] == TRAINED) & (table["labels"] == TASK)]


SCORES = Columns("model task kind seed layer part f1 targets f1_top", ENDS)
_FIRST_AND_LAST = Columns("model encoder task part seeds f1_first f1_last")
_PLACES = Columns(
    "memory ceiling centre_of_gravity expected_layer expected_layer_low expected_layer_high k_weights k_gains",
    *("f1_first_top f1_last_top gain_above_memory selectivity_seen", MARKS),
)
SUMMARY = Columns(_FIRST_AND_LAST, _PLACES)
#: A LaTeX table has intervals, too.
LATEX = Columns(
    _FIRST_AND_LAST,
    "f1_last_low f1_last_high gain gain_low gain_high gain_above_memory gain_above_memory_low gain_above_memory_high",
    _PLACES.without("gain_above_memory"),
)


def _summary(db: Database, choice: Choice) -> pd.DataFrame:
    if choice["kind"] is not None and CUMULATIVE not in choice["kind"]:
        return summary(db, parts=())
    return summary(db, unseen=choice["unseen"], models=choice["model"], tasks=choice["task"], parts=_parts(choice))


def _scores(db: Database, choice: Choice) -> pd.DataFrame:
    filters = {"models": choice["model"], "tasks": choice["task"], "parts": _parts(choice), "kinds": choice["kind"]}
    return scores(db, unseen=choice["unseen"], **filters)


def _labels(db: Database, choice: Choice) -> pd.DataFrame:
    runs = edge_runs(db)
    tables = [
        by_label(db, task, part=part, unseen=choice["unseen"], models=choice["model"], kind=kind).assign(kind=kind)
        for task in _chosen(runs, choice, "task")
        for part in _parts(choice)
        for kind in choice["kind"] or (CUMULATIVE,)
    ]
    table = pd.concat(tables, ignore_index=True) if tables else by_label(db, "").assign(kind="")
    return by_task(table, "model", "task", "encoder", "kind", "part", "label").drop(columns="centre_of_gravity")


def _tasks(db: Database, choice: Choice) -> pd.DataFrame:
    runs = edge_runs(db)
    tables = [
        _named(tasks_in_order(db, model, choice["task"], part=part, unseen=choice["unseen"]), part, model=model)
        for model in _chosen(runs[runs["encoder"] == TRAINED], choice, "model")
        for part in _parts(choice)
    ]
    return pd.concat(tables, ignore_index=True) if tables else _named(tasks_in_order(db, ""), "", model="")


def _models(db: Database, choice: Choice) -> pd.DataFrame:
    models, tasks, unseen = choice["model"], choice["task"], choice["unseen"]
    tables = [_named(models_in_order(db, models, tasks, part=part, unseen=unseen), part) for part in _parts(choice)]
    return pd.concat(tables, ignore_index=True)


def _named(table: pd.DataFrame, part: str, **names: str) -> pd.DataFrame:
    """The table with columns for these names and the part."""
    for column, value in reversed(({**names, "part": part}).items()):
        table.insert(0, column, value)
    return table


def _chosen(runs: pd.DataFrame, choice: Choice, column: str) -> list[str]:
    return [name for name in dict.fromkeys(runs[column]) if choice[column] is None or name in choice[column]]


def _parts(choice: Choice) -> Sequence[str]:
    return PARTS if choice["part"] is None else [part for part in PARTS if part in choice["part"]]


def _dev(table: pd.DataFrame) -> str:
    return (
        "dev also stopped the training, as in the paper; test did not.\n" if "dev" in set(table.get("part", [])) else ""
    )


def _refuse(db: Database, choice: Choice) -> None:
    runs = edge_runs(db)
    refuse_unstored("probes", choice, {"model": runs["model"], "task": runs["task"]})


EDGES = Reports(
    "edges",
    (
        Report(
            "summary",
            "per model, encoder, task and part",
            _summary,
            SUMMARY,
            shown=SUMMARY,
            latex=LATEX,
            note=_dev,
        ),
        Report("scores", "every probe", _scores, SCORES, rows=of_trained, note=_dev),
        Report("labels", "each label of a task", _labels, note=_dev),
        Report("tasks", "expected layers of two tasks", _tasks, note=_dev),
        Report("models", "expected layers of two models", _models, note=_dev),
    ),
    (
        Filter("model", "Model; repeatable. None: all."),
        Filter("task", "Task; repeatable. None: all."),
        Filter("part", "dev or test; repeatable. None: both.", known=PARTS),
        Filter(
            "kind",
            f"{', '.join(KINDS)}; repeatable. None: all scores, and labels of cumulative probes, as in summaries.",
            known=tuple(KINDS),
        ),
        Filter("unseen", "Count only targets whose span text does not occur in training.", bool),
    ),
    _refuse,
    together=("scores", "summary"),
)


PUBLISHED_MODELS = {"base": "BERT-base (published)", "large": "BERT-large (published)"}


@cache
def published_scores() -> pd.DataFrame:
    """Every published F1: ``model, encoder, task, layer, last, value``."""
    published = PublishedEdges.read()
    last = {model.name: model.depth for model in published.models}
    rows = [
        {
            "model": PUBLISHED_MODELS[score.model],
            "encoder": "trained",
            "task": score.task,
            "layer": score.layer,
            "last": last[score.model],
            "value": score.f1,
        }
        for score in published.scores
    ]
    return pd.DataFrame(rows, columns=["model", "encoder", "task", "layer", "last", "value"])


@cache
def summarise_published() -> pd.DataFrame:
    """The summary of the published F1s, by model and task; intervals and yardsticks are not published."""
    published = PublishedEdges.read()
    rows = []
    for name, label in PUBLISHED_MODELS.items():
        for task, line in published_scores()[published_scores()["model"] == label].groupby("task", sort=False):
            f1, of_task = line.sort_values("layer")["value"].to_numpy(), published.task(str(task))
            assert of_task is not None
            rows.append(
                {
                    "model": label,
                    "encoder": "trained",
                    "task": task,
                    "part": "dev",
                    "last": len(f1) - 1,
                    "f1_first": f1[0],
                    "f1_last": f1[-1],
                    "centre_of_gravity": of_task.centre_of_gravity.get(name),
                    "k_weights": of_task.k_weights.get(name),
                    "expected_layer": float(expected_layer(f1)),
                    "expected_layer_low": None,
                    "expected_layer_high": None,
                    "k_gains": float(k_gains(f1)),
                }
            )
    numbers = ("centre_of_gravity", "expected_layer_low", "expected_layer_high", "k_weights")
    return pd.DataFrame(rows).astype(dict.fromkeys(numbers, "float64"))


#: The part whose numbers are shown with a prediction.
PART = "dev"


@dataclass(frozen=True)
class TaskYardsticks:
    """F1 on dev of always predicting a span text's commonest training label, that of all texts, and its share."""

    memory: float
    label: str
    share: float


def yardsticks(db: Database) -> dict[str, TaskYardsticks]:
    """Task -> its yardsticks, for every task whose data are described in the store."""
    tasks, labels, scores = edge_tasks(db), edge_labels(db), baselines(db, PART)
    trained = tasks[tasks["part"] == "train"].set_index("task")["targets"]
    by_task = {}
    for task, rows in labels.groupby("task", sort=False):
        name = str(task)
        if (name, "memory") in scores and int(trained.get(name, 0)):
            most = rows.sort_values(["n", "name"], ascending=[False, True]).iloc[0]
            by_task[name] = TaskYardsticks(
                scores[name, "memory"], str(most["name"]), int(most["n"]) / int(trained[name])
            )
    return by_task
