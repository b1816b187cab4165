"""The paper's own numbers, in the columns of ours."""

from functools import cache

import pandas as pd

from probing.core.edges.numbers import expected_layer, uniformity
from probing.core.edges.published import published_edges

#: Encoder of the paper -> how figures call it.
NAMES = {"base": "BERT-base (published)", "large": "BERT-large (published)"}


@cache
def scores() -> pd.DataFrame:
    """Every published F1: ``model, encoder, task, layer, last, value``."""
    found = published_edges()
    last = {model.name: model.layers for model in found.models}
    rows = [
        {"model": NAMES[one.model], "encoder": "trained", "task": one.task, "layer": one.layer, "last": last[one.model], "value": one.f1}
        for one in found.scores
    ]
    return pd.DataFrame(rows, columns=["model", "encoder", "task", "layer", "last", "value"])


@cache
def summary() -> pd.DataFrame:
    """What follows from them, by model and task; no intervals and no yardsticks are published."""
    centres = {(model, task.name): value for task in published_edges().tasks for model, value in task.centre_of_gravity.items()}
    rows = []
    for name, shown in NAMES.items():
        for task, line in scores()[scores()["model"] == shown].groupby("task", sort=False):
            f1 = line.sort_values("layer")["value"].to_numpy()
            rows.append(
                {
                    "model": shown, "encoder": "trained", "task": task, "last": len(f1) - 1, "f1_first": f1[0], "f1_last": f1[-1],
                    "centre_of_gravity": centres.get((name, task)), "expected_layer": expected_layer(f1),
                    "expected_layer_low": None, "expected_layer_high": None,
                }
            )  # fmt: skip
    return pd.DataFrame(rows).astype({"centre_of_gravity": "float64", "expected_layer_low": "float64", "expected_layer_high": "float64"})
