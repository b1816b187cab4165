"""The reports of edge probing."""

from collections.abc import Sequence

import pandas as pd

from probing.edges.report_labels import by_label
from probing.edges.report_scores import ENDS, of_trained, scores
from probing.edges.report_summary import MARKS, PARTS, summary
from probing.edges.report_summary_order import models_in_order, tasks_in_order
from probing.edges.store import by_task, edge_runs
from probing.edges.targets_encoders import CUMULATIVE, KINDS, TRAINED
from probing.kernel.report import Choice, Filter, Report, Reports, refuse_unstored
from probing.kernel.store.database import Database

SCORES = ("model", "task", "kind", "seed", "layer", "part", "f1", "targets", "f1_top", *ENDS)
SUMMARY = (
    "model",
    "encoder",
    "task",
    "part",
    "seeds",
    "f1_first",
    "f1_last",
    "memory",
    "ceiling",
    "centre_of_gravity",
    "expected_layer",
    "expected_layer_low",
    "expected_layer_high",
    "k_weights",
    "k_gains",
    "f1_first_top",
    "f1_last_top",
    "gain_above_memory",
    "selectivity_seen",
    *MARKS,
)
#: A LaTeX table has intervals, too.
LATEX = (
    *SUMMARY[:7],
    "f1_last_low",
    "f1_last_high",
    "gain",
    "gain_low",
    "gain_high",
    "gain_above_memory",
    "gain_above_memory_low",
    "gain_above_memory_high",
    *(name for name in SUMMARY[7:] if name != "gain_above_memory"),
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
            "edges",
            "summary",
            "per model, encoder, task and part",
            _summary,
            SUMMARY,
            shown=SUMMARY,
            latex=LATEX,
            note=_dev,
        ),
        Report("edges", "scores", "every probe", _scores, SCORES, rows=of_trained, note=_dev),
        Report("edges", "labels", "each label of a task", _labels, note=_dev),
        Report("edges", "tasks", "expected layers of two tasks", _tasks, note=_dev),
        Report("edges", "models", "expected layers of two models", _models, note=_dev),
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
