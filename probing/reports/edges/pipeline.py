"""The tables of edge probing for the pipeline's figures: rows of the chosen models and tasks, with the published numbers."""

from collections.abc import Sequence

import pandas as pd

from probing.core.edges.encoders import TRAINED
from probing.reports.edges import published
from probing.reports.edges.summary import PARTS

#: More models than this cannot be distinguished in a row.
MAX_MODELS = 4
#: More labels than this do not fit in a figure.
MAX_LABELS = 20
#: Column of the summary -> name of the level.
_LEVELS = {"memory": "memory", "majority": "majority label", "ceiling": "ceiling"}


def usual_models(runs: pd.DataFrame, models: Sequence[str]) -> list[str]:
    """The models that are shown by default: those that are not fine-tuned, else all; at most ``MAX_MODELS``.

    Args:
        runs: from ``store.edges.queries.edge_runs``.
        models: the stored models in the order of menus.
    """
    own = set(runs.loc[runs["base"].isna() | (runs["base"] == ""), "model"])
    return ([model for model in models if model in own] or list(models))[:MAX_MODELS]


def in_order(table: pd.DataFrame, models: Sequence[str], tasks: Sequence[str]) -> pd.DataFrame:
    """The rows of these models and tasks, in their order."""
    kept = table[table["model"].isin(list(models)) & table["task"].isin(list(tasks))]
    places = {"_task": kept["task"].map(list(tasks).index), "_model": kept["model"].map(list(models).index)}
    return kept.assign(**places).sort_values(["_task", "_model"], kind="stable").drop(columns=["_task", "_model"])


def on_part(table: pd.DataFrame, part: str) -> pd.DataFrame:
    """The summary of the trained encoders on a part of the data, with F1 of P(L) on the other part (``f1_last_PART``)."""
    trained = table[table["encoder"] == TRAINED]
    other = next(one for one in PARTS if one != part)
    beside = trained[trained["part"] == other][["model", "task", "f1_last"]].rename(columns={"f1_last": f"f1_last_{other}"})
    return trained[trained["part"] == part].merge(beside, on=["model", "task"], how="left")


def published_summary(tasks: Sequence[str]) -> pd.DataFrame:
    """The published numbers of these tasks, in their order."""
    table = published.summary()
    kept = table[table["task"].isin(list(tasks))]
    return kept.assign(_task=kept["task"].map(list(tasks).index)).sort_values("_task", kind="stable").drop(columns="_task")


def with_published(ours: pd.DataFrame, theirs: pd.DataFrame) -> pd.DataFrame:
    """Our summary with the published one below it."""
    if theirs.empty:
        return ours
    if ours.empty:
        return theirs
    both = pd.concat([ours, theirs.reindex(columns=ours.columns)], ignore_index=True)
    counts = dict.fromkeys(("seeds", "targets", "probes", "probes_stopped"), "Int64")
    return both.astype(counts | {"last": "int64", "weights_near_uniform": "boolean"})


def with_published_scores(points: pd.DataFrame, tasks: Sequence[str]) -> pd.DataFrame:
    """F1 by layer of cumulative probes with the published values of these tasks below it."""
    theirs = published.scores()
    return pd.concat([points, theirs[theirs["task"].isin(list(tasks))].reindex(columns=points.columns)], ignore_index=True)


def task_levels(summary: pd.DataFrame) -> pd.DataFrame:
    """The yardsticks of each task, one row each: task, name, value."""
    first = summary.drop_duplicates("task")
    rows = [(row["task"], name, row[column]) for row in first.to_dict("records") for column, name in _LEVELS.items()]
    return pd.DataFrame(rows, columns=["task", "name", "value"])


def frequent_labels(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of the most frequent labels, the most frequent first, with the label as ``row``.

    Args:
        table: of ``by_label``, trained encoders of one task.
    """
    frequent = table.groupby("label")["n"].max().sort_values(ascending=False, kind="stable")
    kept = list(frequent.index[:MAX_LABELS])
    drawn = table[table["label"].isin(kept)]
    drawn = drawn.assign(row=drawn["label"], _place=drawn["label"].map(kept.index)).sort_values("_place", kind="stable")
    return drawn.drop(columns="_place")
