"""The paper's own numbers, in the columns of ours."""

from functools import cache

import pandas as pd

from probing.core.edges.numbers import expected_layer, k_gains
from probing.core.edges.published import PublishedEdges

NAMES = {"base": "BERT-base (published)", "large": "BERT-large (published)"}


@cache
def scores() -> pd.DataFrame:
    """Every published F1: ``model, encoder, task, layer, last, value``."""
    found = PublishedEdges.read()
    last = {model.name: model.depth for model in found.models}
    rows = [
        {
            "model": NAMES[one.model],
            "encoder": "trained",
            "task": one.task,
            "layer": one.layer,
            "last": last[one.model],
            "value": one.f1,
        }
        for one in found.scores
    ]
    return pd.DataFrame(rows, columns=["model", "encoder", "task", "layer", "last", "value"])


@cache
def summary() -> pd.DataFrame:
    """The summary of the published F1s, by model and task; intervals and yardsticks are not published."""
    found = PublishedEdges.read()
    rows = []
    for name, shown in NAMES.items():
        for task, line in scores()[scores()["model"] == shown].groupby("task", sort=False):
            f1, of_task = line.sort_values("layer")["value"].to_numpy(), found.task(str(task))
            assert of_task is not None
            rows.append(
                {
                    "model": shown,
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
