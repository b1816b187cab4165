"""Expected layers of several tasks, or of several models, compared pair by pair."""

import itertools
from collections.abc import Sequence

import numpy as np
import pandas as pd

from probing.edges.numbers import Comparison, Place, SeedSpread, compare, compare_pairs
from probing.edges.numbers_numbers import expected_layer
from probing.edges.report_curves import EdgeCurve, curves
from probing.edges.report_curves_places import expected_layer_of, spread_of
from probing.edges.targets_encoders import TRAINED
from probing.kernel.store.database import Database

COLUMNS = ("first", "second", "verdict", "difference", "low", "high", "p", "pairs", "reason", "pooled")


def tasks_in_order(
    db: Database,
    model: str,
    tasks: Sequence[str] | None = None,
    *,
    part: str = "dev",
    unseen: bool = False,
    encoder: str = TRAINED,
) -> pd.DataFrame:
    """The tasks of a model, pair by pair: the verdict on the first, and the difference of their expected layers.

    Sentences that two tasks share are drawn together, so that hard sentences do not count as a difference. The
    variation over seeds is pooled over all stored tasks of the model that have several seeds, also if they are not
    compared (pooled: a task with one seed takes that of others). Intervals are at Holm's level, p is adjusted for all
    ``pairs``.
    """
    every = [curve for curve in curves(db, part, unseen=unseen, models=[model]) if curve.encoder == encoder]
    spread = spread_of(every)
    chosen = [curve for curve in every if tasks is None or curve.task in set(tasks)]
    return _frame(compare([_place(curve, curve.task, spread) for curve in chosen]))


def models_in_order(
    db: Database,
    models: Sequence[str] | None = None,
    tasks: Sequence[str] | None = None,
    *,
    part: str = "dev",
    unseen: bool = False,
    encoder: str = TRAINED,
) -> pd.DataFrame:
    """The models on each task, pair by pair, as ``tasks_in_order``; expected layers are shares of the depth, and all
    tasks are one family.

    The variation over seeds of a model is pooled over all its stored tasks that have several seeds.
    """
    every = [curve for curve in curves(db, part, unseen=unseen, models=models) if curve.encoder == encoder]
    spreads = {
        model: spread_of(curve for curve in every if curve.model == model) for model in {curve.model for curve in every}
    }
    chosen = [curve for curve in every if tasks is None or curve.task in set(tasks)]
    pairs = [
        (task, pair)
        for task in dict.fromkeys(curve.task for curve in chosen)
        for pair in itertools.combinations([curve for curve in chosen if curve.task == task], 2)
    ]

    def placed(curve: EdgeCurve) -> Place:
        return _place(curve, curve.model, spreads[curve.model], 1 / curve.layers[-1])

    table = _frame(compare_pairs([(placed(first), placed(second)) for _, (first, second) in pairs]))
    table.insert(0, "task", [task for task, _ in pairs])
    return table


def _place(curve: EdgeCurve, name: str, spread: SeedSpread | None, unit: float = 1.0) -> Place:
    """The expected layer of a curve, in units of the given number of layers."""
    value, drawn = unit * expected_layer_of(curve).value, unit * expected_layer(curve.drawn)
    return Place(name, value, drawn, curve.seeds, spread and spread.times(unit))


def _frame(compared: Sequence[Comparison]) -> pd.DataFrame:
    rows = [[getattr(comparison, name) for name in COLUMNS] for comparison in compared]
    kinds = dict.fromkeys(("difference", "low", "high", "p"), np.float64) | {"pooled": bool}
    return pd.DataFrame(rows, columns=list(COLUMNS)).astype(kinds)
