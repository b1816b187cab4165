"""Which of the probes of a model and task is the best."""

from collections.abc import Hashable, Sequence

import numpy as np
import pandas as pd


def best_probes(table: pd.DataFrame, of: Sequence[str] = ("model", "task")) -> pd.DataFrame:
    """The probe of each group that is right for most development sentences; ties go to the lowest layer, then to the
    first token.

    Args:
        table: one row per probe: ``layer, pooling, dev_right`` and the columns of ``of``.
        of: columns of a group.

    Returns:
        One row per group, in the order in which the groups first appear.
    """
    groups = table.groupby(list(of), sort=False).ngroup()
    ranked = table.assign(_group=groups).sort_values(
        ["dev_right", "layer", "pooling"], ascending=[False, True, True], kind="stable"
    )
    return ranked.drop_duplicates("_group").sort_values("_group").drop(columns="_group")


def best_read(table: pd.DataFrame) -> pd.DataFrame:
    """The best probe of each model and task with ``beyond``, its accuracy above the higher baseline, and ``read``,
    whether its interval is.

    Args:
        table: accuracies, see ``reports.sentences.accuracy.accuracies``.
    """
    best = best_probes(table.dropna(subset=["accuracy"]))
    higher = best[["majority", "surface"]].max(axis=1)
    return best.assign(beyond=best["accuracy"] - higher, read=best["low"] > higher)


def best_predicting(predictions: pd.DataFrame, stored: pd.DataFrame) -> Hashable:
    """The probe that predicts for a model and task: the best by its stored results, or without them the best on test
    sentences.

    Args:
        predictions: one row per probe of one model and task: ``model, task, pooling, layer, accuracy``.
        stored: the stored accuracies of these probes; those of other probes are ignored.

    Returns:
        The index of its row in ``predictions``.
    """
    cell = ["pooling", "layer"]
    both = predictions.reset_index().merge(stored[[*cell, "accuracy", "dev_right"]], on=cell, suffixes=("", "_stored"))
    # The stored results may belong to other probes, if these were trained again.
    if len(both) != len(predictions) or not np.allclose(
        both["accuracy"], both["accuracy_stored"].astype("float64"), atol=1e-6
    ):
        return predictions["accuracy"].idxmax()
    return best_probes(both)["index"].iloc[0]
