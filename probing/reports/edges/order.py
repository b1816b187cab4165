"""Expected layers of several tasks, or of several models, compared pair by pair."""

import itertools
from collections.abc import Sequence

import numpy as np
import pandas as pd

from probing.core.edges.encoders import TRAINED
from probing.core.edges.numbers import expected_layer
from probing.core.edges.order import Comparison, Place, compare, compare_pairs
from probing.reports.edges.curves import EdgeCurve, curves
from probing.reports.edges.summary import expected_layer_of
from probing.store.database import Database

COLUMNS = ("first", "second", "verdict", "difference", "low", "high", "p", "pairs")


def tasks_in_order(
    db: Database, model: str, tasks: Sequence[str] | None = None, *, part: str = "dev", unseen: bool = False, encoder: str = TRAINED
) -> pd.DataFrame:
    """The tasks of a model, pair by pair.

    Sentences that two tasks share are drawn together, so that hard sentences do not count as a difference.

    Returns:
        first, second (tasks), verdict (earlier, later, order not resolved: of the first against the second), difference (expected layer of
        the first minus that of the second), low, high (its interval at Holm's level), p (adjusted), pairs (their number).
    """
    found = [one for one in curves(db, part, unseen=unseen, models=[model], tasks=tasks) if one.encoder == encoder]
    return _frame(compare([_place(one, one.task) for one in found]))


def models_in_order(
    db: Database, models: Sequence[str] | None = None, tasks: Sequence[str] | None = None, *, part: str = "dev", unseen: bool = False,
    encoder: str = TRAINED,
) -> pd.DataFrame:  # fmt: skip
    """The models on each task, pair by pair; expected layers are shares of the depth, and all tasks are one family.

    Returns:
        task, and the columns of ``tasks_in_order`` with models as first and second.
    """
    found = [one for one in curves(db, part, unseen=unseen, models=models, tasks=tasks) if one.encoder == encoder]
    pairs = [
        (task, pair)
        for task in dict.fromkeys(one.task for one in found)
        for pair in itertools.combinations([_place(one, one.model, 1 / one.layers[-1]) for one in found if one.task == task], 2)
    ]
    table = _frame(compare_pairs([pair for _, pair in pairs]))
    table.insert(0, "task", [task for task, _ in pairs])
    return table


def _place(curve: EdgeCurve, name: str, unit: float = 1.0) -> Place:
    """The expected layer of a curve, in units of the given number of layers."""
    return Place(name, unit * expected_layer_of(curve).value, unit * expected_layer(curve.drawn))


def _frame(compared: Sequence[Comparison]) -> pd.DataFrame:
    rows = [[getattr(one, name) for name in COLUMNS] for one in compared]
    return pd.DataFrame(rows, columns=list(COLUMNS)).astype(dict.fromkeys(("difference", "low", "high", "p"), np.float64))
