"""The paper's own numbers, in the columns of ours."""

from functools import cache

import pandas as pd

from probing.edges.numbers_numbers import expected_layer, k_gains
from probing.edges.published import PublishedEdges

NAMES = {"base": "BERT-base (published)", "large": "BERT-large (published)"}


@cache
def scores() -> pd.DataFrame:
    """Every published F1: ``model, encoder, task, layer, last, value``."""
    published = PublishedEdges.read()
    last = {model.name: model.depth for model in published.models}
    rows = [
        {
            "model": NAMES[score.model],
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
def summary() -> pd.DataFrame:
    """The summary of the published F1s, by model and task; intervals and yardsticks are not published."""
    published = PublishedEdges.read()
    rows = []
    for name, label in NAMES.items():
        for task, line in scores()[scores()["model"] == label].groupby("task", sort=False):
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
