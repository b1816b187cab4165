"""Our points for the figures of the paper. The paper prints no values of its figures, so only ours can be drawn."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from probing.finetuning.objectives import BASE, CONTROL
from probing.papers.interplay_families import COLA, COLA_MEAN, SST, TUNED
from probing.papers.interplay_measurements import DISTANCE, ENTROPY, SentenceNumbers
from probing.sentences.examples import FIRST, MEAN, POOLINGS

POINT_COLUMNS = ("panel", "encoder", "objective", "dashed", "x", "value", "low", "high")
LEVEL_COLUMNS = ("panel", "name", "value")
#: Panels of Figure 3c and 3d; the second is the control that the paper lacks.
PUT_BACK = {"last": "last n layers put back", "first": "first n layers put back"}


class Plot(NamedTuple):
    """A figure of the paper with our numbers.

    ``dashed`` points are of CLS-pooling if both poolings are drawn; ``levels`` are yardsticks of a panel; ``stars``
    compare with the encoder's own mean-pooled probe.
    """

    points: pd.DataFrame
    levels: pd.DataFrame
    stars: pd.DataFrame


def plot(ours: SentenceNumbers, kind: str) -> Plot:
    """The points of a figure of the base and its models; one of pre-trained encoders shows all stored ones."""
    nothing = pd.DataFrame(columns=list(LEVEL_COLUMNS)), pd.DataFrame(columns=list(POINT_COLUMNS))
    if kind == "accuracy":
        return _accuracy(ours, nothing[1])
    if kind in POOLINGS:
        return _changes(ours, kind)
    if kind == "replaced":
        return _replaced(ours, nothing[1])
    if kind == "epochs":
        epochs = ours.epochs
        epochs = epochs[epochs["objective"].isin([COLA, SST, CONTROL])]
        points = epochs.assign(
            panel="", dashed=False, x=epochs["epoch"], value=epochs["perplexity"], low=np.nan, high=np.nan
        )
        return Plot(points[list(POINT_COLUMNS)], *nothing)
    measure = ENTROPY if kind == "entropy" else DISTANCE
    values = ours.values[ours.values["measure"].eq(measure)]
    values = values[values["objective"].isin([BASE, COLA, COLA_MEAN, CONTROL])]
    return Plot(values.assign(panel="", dashed=False, x=values["layer"])[list(POINT_COLUMNS)], *nothing)


def _accuracy(ours: SentenceNumbers, stars: pd.DataFrame) -> Plot:
    accuracies = ours.accuracies
    points = accuracies.assign(
        panel=accuracies["task"], objective=BASE, dashed=accuracies["pooling"].eq(FIRST), x=accuracies["layer"]
    )
    tasks = accuracies.drop_duplicates("task")
    levels = [(row.task, name, getattr(row, name)) for row in tasks.itertuples() for name in ("majority", "surface")]
    return Plot(points[list(POINT_COLUMNS)], pd.DataFrame(levels, columns=list(LEVEL_COLUMNS)), stars)


def _changes(ours: SentenceNumbers, pooling: str) -> Plot:
    changes = ours.changes
    changes = changes[changes["objective"].isin(TUNED) & changes["pooling"].eq(pooling)]
    placed = changes.assign(panel=changes["task"], dashed=False, x=changes["layer"])
    control = placed[placed["control"].notna()].drop_duplicates(["encoder", "task", "layer"])
    control = control.assign(objective=CONTROL, value=control["control"], low=np.nan, high=np.nan)
    points = pd.concat([points_of[list(POINT_COLUMNS)] for points_of in (placed, control)], ignore_index=True)
    stars = placed.assign(value=placed["over_mean"], low=placed["over_mean_low"], high=placed["over_mean_high"])
    stars = stars[stars["value"].notna()] if pooling != MEAN else stars.iloc[:0]
    levels = pd.DataFrame(
        [(task, "no change", 0.0) for task in dict.fromkeys(changes["task"])], columns=list(LEVEL_COLUMNS)
    )
    return Plot(points, levels, stars[list(POINT_COLUMNS)])


def _replaced(ours: SentenceNumbers, stars: pd.DataFrame) -> Plot:
    perplexities = ours.perplexities
    base = perplexities[perplexities["objective"].eq(BASE) & perplexities["replaced"].eq("none")]
    perplexities = perplexities[
        perplexities["objective"].isin([COLA, SST, CONTROL]) & ~perplexities["embeddings"].astype(bool)
    ]
    tables = []
    for replaced, panel in PUT_BACK.items():
        rows = perplexities[perplexities["replaced"].isin(["none", replaced])]
        ends = {end: rows["perplexity"] * np.exp(rows[end] - rows["value"]) for end in ("low", "high")}
        tables.append(
            rows.assign(panel=panel, dashed=False, x=rows["n"], **ends)
            .assign(value=rows["perplexity"])
            .sort_values("x")
        )
    levels = [(panel, "the base", float(base["perplexity"].iloc[0])) for panel in PUT_BACK.values() if len(base)]
    return Plot(
        pd.concat(tables, ignore_index=True)[list(POINT_COLUMNS)],
        pd.DataFrame(levels, columns=list(LEVEL_COLUMNS)),
        stars,
    )
