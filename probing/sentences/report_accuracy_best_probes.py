"""Which of the probes of a model and task is the best."""

from collections.abc import Hashable, Sequence

import numpy as np
import pandas as pd


def best_probes(table: pd.DataFrame, of: Sequence[str] = ("model", "task")) -> pd.DataFrame:
    """The probe of each group that is right for most development sentences (``dev_right``), groups in their first
    order.

    Ties go to the lowest layer, then to the first token.
    """
    groups = table.groupby(list(of), sort=False).ngroup()
    ranked = table.assign(_group=groups).sort_values(
        ["dev_right", "layer", "pooling"], ascending=[False, True, True], kind="stable"
    )
    return ranked.drop_duplicates("_group").sort_values("_group").drop(columns="_group")


def best_read(table: pd.DataFrame) -> pd.DataFrame:
    """The best probe of each model and task; ``beyond``: above the higher baseline, ``read``: with its interval."""
    best = best_probes(table.dropna(subset=["accuracy"]))
    higher = best[["majority", "surface"]].max(axis=1)
    return best.assign(beyond=best["accuracy"] - higher, read=best["low"] > higher)


def best_predicting(predictions: pd.DataFrame, stored: pd.DataFrame) -> Hashable:
    """The index of the probe that predicts for a model and task: the best by its ``stored`` accuracies, or without them
    the best on test sentences.
    """
    cell = ["pooling", "layer"]
    both = predictions.reset_index().merge(stored[[*cell, "accuracy", "dev_right"]], on=cell, suffixes=("", "_stored"))
    # The stored results may belong to other probes, if these were trained again.
    if len(both) != len(predictions) or not np.allclose(
        both["accuracy"], both["accuracy_stored"].astype("float64"), atol=1e-6
    ):
        return predictions["accuracy"].idxmax()
    return best_probes(both)["index"].iloc[0]
