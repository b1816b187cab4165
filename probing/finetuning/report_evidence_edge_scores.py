"""F1 of edge probes of fine-tuned models and of their base, mean over the tasks that both have."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from probing.edges.report_curves import EdgeCurve, curves, number
from probing.edges.store import edge_runs
from probing.edges.targets import AT, CUMULATIVE, TRAINED
from probing.kernel.store.database import Database

#: Kinds of probes in order of preference: probes of one layer first, because the axis is single layers.
KINDS = (AT, CUMULATIVE)
COLUMNS = (
    "model",
    "base",
    "layer",
    "value",
    "low",
    "high",
    "base_value",
    "change",
    "change_low",
    "change_high",
    "n",
    "tasks",
    "kind",
)
_FLOATS = ("value", "low", "high", "base_value", "change", "change_low", "change_high")


def edge_scores(db: Database, bases: dict[str, str], models: Sequence[str], part: str = "test") -> pd.DataFrame:
    """F1 by layer, mean over tasks: probes of single layers if they are stored, else cumulative probes.

    ``bases`` is fine-tuned model -> base. base_value is on the same tasks, the interval of change is over shared
    sentences, n is the number of targets of all tasks.
    """
    runs = edge_runs(db)
    runs = runs[runs["encoder"] == TRAINED]
    probed = [model for model in models if bases.get(model) in set(runs["model"]) and model in set(runs["model"])]
    rows: list[tuple] = []
    if not probed:
        return _table(rows)
    for kind in KINDS:
        there = {*probed, *(bases[model] for model in probed)}
        known = {
            (curve.model, curve.task): curve
            for curve in curves(db, part, kind, models=sorted(there))
            if curve.encoder == TRAINED
        }
        for model in [name for name in probed if name not in {row[0] for row in rows}]:
            both = [
                (known[model, task], known[bases[model], task])
                for name, task in sorted(known)
                if name == model and (bases[model], task) in known
            ]
            rows += _rows(model, bases[model], kind, both)
    return _table(rows)


def _table(rows: list[tuple]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=list(COLUMNS)).astype(dict.fromkeys(_FLOATS, np.float64))


def _rows(model: str, base: str, kind: str, both: list[tuple[EdgeCurve, EdgeCurve]]) -> list[tuple]:
    both = [(own, other) for own, other in both if np.array_equal(own.layers, other.layers)]
    if not both:
        return []
    layers = both[0][0].layers
    both = [(own, other) for own, other in both if np.array_equal(own.layers, layers)]
    values, of_base = (np.mean([pair[side].values for pair in both], axis=0) for side in (0, 1))
    drawn, base_drawn = (np.mean([pair[side].drawn for pair in both], axis=0) for side in (0, 1))
    targets, tasks = sum(own.targets for own, _ in both), ", ".join(own.task for own, _ in both)
    rows = []
    for place, layer in enumerate(layers):
        own = number(float(values[place]), drawn[:, place])
        change = number(float(values[place] - of_base[place]), drawn[:, place] - base_drawn[:, place])
        ends = (change.value, change.low, change.high)
        rows.append(
            (model, base, int(layer), own.value, own.low, own.high, float(of_base[place]), *ends, targets, tasks, kind)
        )
    return rows
