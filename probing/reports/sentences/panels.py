"""The tables of sentence probes for their figures: tasks in order, and the models that are shown by default."""

from collections.abc import Sequence

import pandas as pd

from probing.core.sentences.tasks import SENTENCE_TASKS
from probing.core.tasks.objectives import CONTROL
from probing.reports.relatives import named, relatives

#: More models than this cannot be distinguished in a panel: each has one line per pooling.
MAX_MODELS = 4


def tasks_of_runs(about: pd.DataFrame, runs: pd.DataFrame, protocol: str) -> pd.DataFrame:
    """The tasks of a protocol that these runs have, in the order of tables; the user's own tasks come last.

    Args:
        about: from ``store.sentences.queries.sentence_tasks``.
        runs: from ``store.sentences.queries.sentence_runs``.
        protocol: of ``core.sentences.example.PROTOCOLS``.
    """
    mine = about[(about["protocol"] == protocol) & about["task"].isin(runs["task"])]
    return mine.sort_values("task", key=lambda tasks: tasks.map(_place), kind="stable")


def _place(task: str) -> int:
    return list(SENTENCE_TASKS).index(task) if task in SENTENCE_TASKS else len(SENTENCE_TASKS)


def usual_models(runs: pd.DataFrame, models: Sequence[str]) -> list[str]:
    """The models that are shown by default: the first that is not fine-tuned, and its control.

    Args:
        runs: from ``store.sentences.queries.sentence_runs``.
        models: the stored models in the order of menus, at least one.
    """
    bases = set(runs.loc[runs["base"].fillna("") == "", "model"])
    first = next((model for model in models if model in bases), models[0])
    control = runs.loc[(runs["base"] == first) & (runs["objective"] == CONTROL), "model"]
    return [first, *[model for model in models if model in set(control)][:1]]


def compared_models(runs: pd.DataFrame, models: Sequence[str], also: str = "") -> list[str]:
    """The fine-tuned models that are compared with their base, controls last.

    Args:
        runs: from ``store.sentences.queries.sentence_runs``, of one protocol.
        models: the stored models in the order of menus.
        also: a model that is kept although a sibling stands for it.
    """
    runs = named(runs)
    stands = relatives(runs).stands
    mine = runs[runs["base"].isin(runs["model"])]
    there = {model for model in mine["model"] if stands[model] == model or model == also}
    controls = set(runs.loc[runs["objective"] == CONTROL, "model"])
    return sorted((model for model in models if model in there), key=lambda model: model in controls)


def in_panel_order(table: pd.DataFrame, models: Sequence[str], tasks: Sequence[str]) -> pd.DataFrame:
    """The rows of these tasks (and models, if the table has several) in their order, by pooling and layer."""
    kept = table[table["task"].isin(list(tasks))]
    places = {"_task": kept["task"].map(list(tasks).index)}
    if kept["model"].nunique() > 1:
        kept = kept[kept["model"].isin(list(models))]
        places = {"_task": kept["task"].map(list(tasks).index), "_model": kept["model"].map(list(models).index)}
    ordered = kept.assign(**places).sort_values([*places, "pooling", "layer"], kind="stable")
    return ordered.drop(columns=list(places)).reset_index(drop=True)


def curve_rows(table: pd.DataFrame, models: Sequence[str], layer: int | None = None) -> pd.DataFrame:
    """The rows of a learning curve at one layer, or at the best one of each model and pooling, in the order of lines.

    Args:
        table: learning curves of one task.
        models: names in the order of lines.
        layer: None takes the layer whose probe on all training sentences is best on dev; the lowest of equally good ones.
    """
    points = table[table["layer"] == layer] if layer is not None else _at_best_layer(table)
    places = list(models).index
    return points.sort_values(["model", "pooling", "n_train"], key=lambda one: one.map(places) if one.name == "model" else one)


def _at_best_layer(table: pd.DataFrame) -> pd.DataFrame:
    whole = table[table["portion"] == 1].sort_values(["dev_right", "layer"], ascending=[False, True], kind="stable")
    best = whole.drop_duplicates(["model", "pooling"])[["model", "pooling", "layer"]]
    return table.merge(best, on=["model", "pooling", "layer"])
