"""The runs behind the reports of lost facts: one per model, probe set and k."""

from collections.abc import Sequence

import pandas as pd

from probing.finetuning.objectives import CONTROL
from probing.finetuning.relatives import named
from probing.forgetting.store import forgetting_runs
from probing.forgetting.ways import WAYS, usual_level, usual_protocol
from probing.kernel.store.database import Database

KEYS = ("model", "base", "probe_set", "k")


def stored_runs(
    db: Database,
    models: Sequence[str] | None = None,
    probe_sets: Sequence[str] | None = None,
    ks: Sequence[int] | None = None,
    planted: bool = False,
) -> pd.DataFrame:
    """One run per model, probe set, template set and k: of several the one with the most seeds, then the newest.

    The columns of ``forgetting_runs``, and ``control``: whether the model was trained further on its base's own text;
    controls are last. ``planted`` keeps controls with planted facts.
    """
    runs = named(forgetting_runs(db))
    runs = runs[planted | (runs["planted"] == 0)].drop_duplicates(["model", "probe_set", "template_set", "k"])
    for column, values in (("model", models), ("probe_set", probe_sets), ("k", ks)):
        runs = runs[runs[column].isin(list(values))] if values is not None else runs
    return runs.assign(control=runs["objective"] == CONTROL).sort_values(
        ["control", "probe_set", "k", "model"], ignore_index=True
    )


def with_keys(runs: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    """Rows of runs, in the order of the runs, with the columns that name them in front and without ``run_id``."""
    of_runs = runs[["run_id", *KEYS]].merge(rows, on="run_id", how="inner", suffixes=("", "_of_rows"))
    return of_runs.drop(columns="run_id")


def usual(rows: pd.DataFrame) -> pd.DataFrame:
    """What outcomes count: relearning split by answer after the usual steps, other ways of the model as it is."""
    counted = {(way, usual_level(way), usual_protocol(way)) for way in WAYS}
    return rows.loc[[key in counted for key in zip(rows["way"], rows["level"], rows["protocol"], strict=True)]]
