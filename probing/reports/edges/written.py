"""Reports of edge probing as text, CSV, LaTeX or JSON."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import pandas as pd

from probing.core.edges.encoders import CUMULATIVE, KINDS, TRAINED
from probing.core.errors import OptionError
from probing.reports.choices import refuse_unknown_words
from probing.reports.edges.labels import by_label
from probing.reports.edges.order import models_in_order, tasks_in_order
from probing.reports.edges.scores import ENDS, of_trained, scores
from probing.reports.edges.summary import MARKS, PARTS, summary
from probing.reports.table_text import Form, as_json, latex_table, objects, text_table
from probing.store.database import Database
from probing.store.edges import queries

#: The keys of JSON's objects, which programs rely on.
SCORES = ("model", "task", "kind", "seed", "layer", "part", "f1", "targets", "f1_top", *ENDS)
SUMMARY = (
    "model", "encoder", "task", "part", "seeds", "f1_first", "f1_last", "memory", "ceiling", "centre_of_gravity", "expected_layer",
    "expected_layer_low", "expected_layer_high", "k_weights", "k_gains", "f1_first_top", "f1_last_top", "gain_above_memory",
    "selectivity_seen", *MARKS,
)  # fmt: skip
#: A LaTeX table has intervals, too.
LATEX = (
    "model", "encoder", "task", "part", "seeds", "f1_first", "f1_last", "f1_last_low", "f1_last_high", "gain", "gain_low", "gain_high",
    "gain_above_memory", "gain_above_memory_low", "gain_above_memory_high", *SUMMARY[7:],
)  # fmt: skip
DEV = "dev also stopped the training, as in the paper; test did not."


class What(StrEnum):
    """What is reported."""

    summary = "summary"
    scores = "scores"
    labels = "labels"
    tasks = "tasks"
    models = "models"


@dataclass(frozen=True)
class EdgeChoice:
    """The report and its runs; None keeps all.

    Attributes:
        what: the report.
        models, tasks, parts, kinds: names to keep.
        unseen: whether only targets count whose span text does not occur in training.

    Raises:
        OptionError: for an unknown part or kind.
    """

    what: What = What.summary
    models: Sequence[str] | None = None
    tasks: Sequence[str] | None = None
    parts: Sequence[str] | None = None
    kinds: Sequence[str] | None = None
    unseen: bool = False

    def __post_init__(self) -> None:
        refuse_unknown_words("part", self.parts, PARTS)
        refuse_unknown_words("kind", self.kinds, KINDS)


def refuse_unknown(db: Database, choice: EdgeChoice) -> None:
    """Raises an ``OptionError`` that lists the stored ones if a model or task is not stored."""
    runs = queries.edge_runs(db)
    for column, wanted in (("model", choice.models), ("task", choice.tasks)):
        if unknown := sorted(set(wanted or ()) - set(runs[column])):
            stored = ", ".join(dict.fromkeys(runs[column])) or "none"
            raise OptionError(f"no probes of the {column} {unknown[0]!r} are stored; there are those of {stored}")


def report(db: Database, choice: EdgeChoice) -> pd.DataFrame:
    """The frame of the report."""
    made: dict[What, Callable[[Database, EdgeChoice], pd.DataFrame]] = {
        What.summary: _summary, What.scores: _scores, What.labels: _labels, What.tasks: _tasks, What.models: _models,
    }  # fmt: skip
    return made[choice.what](db, choice)


def json_table(db: Database, choice: EdgeChoice) -> pd.DataFrame:
    """The rows and columns of the report in JSON, which has scores of trained encoders only."""
    if choice.what is What.scores:
        return of_trained(_scores(db, choice))[list(SCORES)].reset_index(drop=True)
    table = report(db, choice)
    return table[list(SUMMARY)] if choice.what is What.summary else table


def written(db: Database, choice: EdgeChoice, form: Form) -> str:
    """The report in that form; as JSON, scores and summary are in one object."""
    if form == "json" and choice.what in (What.summary, What.scores):
        return as_json({what.value: objects(json_table(db, replace(choice, what=what))) for what in (What.scores, What.summary)})
    if form == "json":
        return as_json(objects(json_table(db, choice)))
    table = report(db, choice)
    if form == "csv":
        return table.to_csv(index=False)
    if form == "latex":
        return latex_table(table[list(dict.fromkeys(LATEX))] if choice.what is What.summary else table)
    shown = table[list(SUMMARY)] if choice.what is What.summary else table
    return text_table(shown) + (f"{DEV}\n" if len(shown) and "dev" in set(shown.get("part", [])) else "")


def _summary(db: Database, choice: EdgeChoice) -> pd.DataFrame:
    if choice.kinds is not None and CUMULATIVE not in choice.kinds:
        return summary(db, parts=())
    return summary(db, unseen=choice.unseen, models=choice.models, tasks=choice.tasks, parts=_parts(choice))


def _scores(db: Database, choice: EdgeChoice) -> pd.DataFrame:
    return scores(db, unseen=choice.unseen, models=choice.models, tasks=choice.tasks, parts=_parts(choice), kinds=choice.kinds)


def _labels(db: Database, choice: EdgeChoice) -> pd.DataFrame:
    runs = queries.edge_runs(db)
    tasks = [task for task in dict.fromkeys(runs["task"]) if choice.tasks is None or task in choice.tasks]
    found = [
        by_label(db, task, part=part, unseen=choice.unseen, models=choice.models, kind=kind).assign(kind=kind)
        for task in tasks
        for part in _parts(choice)
        for kind in choice.kinds or (CUMULATIVE,)
    ]
    table = pd.concat(found, ignore_index=True) if found else by_label(db, "").assign(kind="")
    return queries.by_task(table, "model", "task", "encoder", "kind", "part", "label").drop(columns="centre_of_gravity")


def _tasks(db: Database, choice: EdgeChoice) -> pd.DataFrame:
    runs = queries.edge_runs(db)
    models = [
        model for model in dict.fromkeys(runs[runs["encoder"] == TRAINED]["model"]) if choice.models is None or model in choice.models
    ]
    found = [
        _named(tasks_in_order(db, model, choice.tasks, part=part, unseen=choice.unseen), part, model=model)
        for model in models
        for part in _parts(choice)
    ]
    return pd.concat(found, ignore_index=True) if found else _named(tasks_in_order(db, ""), "", model="")


def _models(db: Database, choice: EdgeChoice) -> pd.DataFrame:
    found = [_named(models_in_order(db, choice.models, choice.tasks, part=part, unseen=choice.unseen), part) for part in _parts(choice)]
    return pd.concat(found, ignore_index=True)


def _named(table: pd.DataFrame, part: str, **names: str) -> pd.DataFrame:
    """The table with columns for these names and the part."""
    for column, value in reversed(({**names, "part": part}).items()):
        table.insert(0, column, value)
    return table


def _parts(choice: EdgeChoice) -> Sequence[str]:
    return PARTS if choice.parts is None else [part for part in PARTS if part in choice.parts]
