"""F1 of every probe of every run, with the baselines that it has to beat."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from probing.edges.numbers_numbers import compression, f1, selectivity
from probing.edges.report_curves import newest
from probing.edges.report_curves_layers import f1_of_top
from probing.edges.report_summary import BASELINES, PARTS, baselines
from probing.edges.store import by_task, codes, score_counts, training
from probing.edges.targets_encoders import CONTROL, RANDOM, RANDOM_BODY, TASK, TRAINED
from probing.kernel.store.database import Database

NAMES = ("model", "encoder", "labels", "task", "kind", "seed", "layer", "last", "part", "targets")
#: F1, its yardsticks on the same targets (the ceiling: on all targets), and the difference from control labels.
NUMBERS = (
    "f1",
    "memory",
    "majority",
    "ceiling",
    "random",
    "random_body",
    "control",
    "selectivity",
    "compression",
    "f1_top",
    "selectivity_seen",
)
ENDS = ("steps", "stopped")
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
    trained = training(db, list(runs["run_id"]))[["run_id", "layer", *ENDS]].astype(
        {"steps": "Int64", "stopped": "boolean"}
    )
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
    table = scored[[*NAMES, *NUMBERS, *ENDS]].astype(
        dict.fromkeys(NUMBERS, "float64") | {"layer": "int64", "targets": "int64"}
    )
    return by_task(table, "model", "task", "encoder", "labels", "kind", "seed", "part", "layer")


def of_trained(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of ``scores`` for the trained models on the tasks' own labels."""
    return table[(table["encoder"] == TRAINED) & (table["labels"] == TASK)]
