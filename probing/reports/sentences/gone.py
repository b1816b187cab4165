"""The fate of each property that a layer of the base had."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from probing.core.sentences import fates
from probing.core.sentences.example import ALIGNED, FROZEN, MEAN, MLP, OURS, OWN, RESCALED
from probing.core.sentences.pairs import QUARTER, Cell, best_layers
from probing.core.stats.paired import PairedCounts
from probing.reports.relatives import NAMES
from probing.reports.sentences.stored import cell_of, counted, in_order, share, stored, tasks_of
from probing.store.database import Database
from probing.store.sentences import queries

#: Accuracies of the fine-tuned model, and those of the base for comparisons with another probe than its own.
_TUNED = (OWN, FROZEN, RESCALED, ALIGNED, "quarter", MEAN, "best", MLP)
_BASES = ("quarter", MEAN, "best", MLP)
COLUMNS = (
    "model", "base", "objective", "task", "pooling", "layer", "where_gone", "counted", "base_accuracy", *_TUNED,
    *(f"base_{name}" for name in _BASES), "best_layer", "base_best_layer", "majority", "n_test",
)  # fmt: skip
_Pairs = Mapping[tuple[Cell, Cell], PairedCounts]


def where_gone(db: Database, models: Sequence[str] | None = None, protocol: str = OURS) -> pd.DataFrame:
    """The fate of every cell of fine-tuned models, with the deciding accuracies (``core.sentences.fates``).

    Args:
        db: the database.
        models: names to keep; None keeps all, and of models that differ only in their seed the one with the smallest.
        protocol: of ``core.sentences.example.PROTOCOLS``.

    Returns:
        model, base, objective, task, pooling, layer, where_gone (a fate; empty if the cell does not count, or a deciding accuracy was not
        measured), counted (whether the base's probe is significantly above its majority), base_accuracy; accuracies of the fine-tuned
        model: own, frozen, rescaled, aligned, quarter (own with a quarter of the training sentences), mean (own with mean-pooling), best
        (own at its best layer, chosen on dev), mlp; those of the base, base_quarter, base_mean, base_best, base_mlp; best_layer,
        base_best_layer, majority, n_test.
    """
    found = stored(db, protocol)
    tuned = found.relatives.listed(found.runs[found.runs["base"] != ""], models)
    by_run = {str(run_id): rows for run_id, rows in queries.pairs(db, list(tuned["run_id"])).groupby("run_id")}
    best = _best_of_runs(db, found.run_ids)
    run_of = {(row.model, row.task): str(row.run_id) for row in found.runs.itertuples()}
    majority = tasks_of(db, protocol).set_index("task")["majority"].to_dict()
    rows: list[dict[str, Any]] = []
    for run in tuned.to_dict("records"):
        mine = by_run.get(str(run["run_id"]))
        if mine is None:
            continue
        pairs = {(cell_of(row), cell_of(row, "with_")): counted(row) for row in mine[mine["with_model"] == run["base"]].to_dict("records")}
        layers = best.get(str(run["run_id"]), {}), best.get(run_of.get((run["base"], run["task"]), ""), {})
        for cell, other in sorted(pairs):
            if cell == other and (cell.reading, cell.portion) == (OWN, 1):
                names = {name: run[name] for name in (*NAMES, "task")}
                rows.append(names | _cell(pairs, cell, layers, majority.get(run["task"], np.nan)))
    return in_order(pd.DataFrame(rows, columns=list(COLUMNS)), COLUMNS).astype(_TYPES)


def where_gone_shares(db: Database, models: Sequence[str] | None = None, protocol: str = OURS, by: Sequence[str] = ()) -> pd.DataFrame:
    """Every fate's share of the cells that count and whose fate is known.

    Args:
        db: the database.
        models, protocol: as ``where_gone``.
        by: further columns to group by: ``task``, ``pooling``.

    Returns:
        model, base, objective, the columns of ``by``, where_gone, cells (with this fate), of (all that count), share. Shares of one
        model sum to 1; a model without such a cell has no row.
    """
    table = where_gone(db, models, protocol)
    keys = [*NAMES, *by]
    rows = []
    for key, cells in table[table["where_gone"] != ""].groupby(keys, sort=False):
        names = dict(zip(keys, key, strict=True))
        counts = cells["where_gone"].value_counts()
        rows += [
            names | {"where_gone": fate, "cells": int(counts.get(fate, 0)), "of": len(cells), "share": one}
            for fate, one in fates.fate_shares(cells["where_gone"]).items()
        ]
    return pd.DataFrame(rows, columns=[*keys, "where_gone", "cells", "of", "share"])


_TYPES = dict.fromkeys(("base_accuracy", *_TUNED, *(f"base_{name}" for name in _BASES), "majority"), "float64") | {
    "counted": "bool", "layer": "int64", "best_layer": "Int64", "base_best_layer": "Int64",
}  # fmt: skip


def _best_of_runs(db: Database, run_ids: Sequence[str]) -> dict[str, dict[str, int]]:
    """Run id -> pooling -> the layer whose own probe is best on dev."""
    scores = queries.scores(db, run_ids)
    own = scores[(scores["reading"] == OWN) & (scores["portion"] == 1)]
    return {
        str(run_id): best_layers({cell_of(row): int(row["dev_right"]) for row in rows.to_dict("records")})
        for run_id, rows in own.groupby("run_id")
    }


def _cell(pairs: _Pairs, cell: Cell, best: tuple[Mapping[str, int], Mapping[str, int]], majority: float) -> dict[str, Any]:
    """A cell's fate and the deciding accuracies; ``best`` are the best layers of the fine-tuned model and of the base, by pooling."""

    def against(this: Cell, other: Cell | None = None) -> PairedCounts | None:
        return pairs.get((this, other or this.of_base))

    pooling, layer = cell.pooling, cell.layer
    tuned_best, base_best = (layers.get(pooling) for layers in best)
    known = tuned_best is not None and base_best is not None
    evidence = fates.Evidence(
        frozen=against(Cell(pooling, layer, FROZEN)),
        rescaled=against(Cell(pooling, layer, RESCALED)),
        aligned=against(Cell(pooling, layer, ALIGNED)),
        own=pairs[cell, cell],
        quarter=against(Cell(pooling, layer, OWN, QUARTER)),
        mean=against(Cell(MEAN, layer)),
        best=against(Cell(pooling, tuned_best), Cell(pooling, base_best)) if tuned_best is not None and base_best is not None else None,
        mlp=against(Cell(pooling, layer, MLP)),
    )
    own = pairs[cell, cell]
    base_right = own.both + own.second_only
    counts = fates.above_majority(base_right, own.n, majority)
    sides = {name: getattr(evidence, name) for name in _TUNED}
    return {
        "pooling": pooling, "layer": layer, "where_gone": (fates.where_gone(evidence, pooling) or "") if counts else "", "counted": counts,
        "base_accuracy": share(base_right, own.n), "n_test": own.n, "majority": majority,
        "best_layer": tuned_best if known else None, "base_best_layer": base_best if known else None,
        **{name: np.nan if one is None else share(one.both + one.first_only, one.n) for name, one in sides.items()},
        **{f"base_{name}": np.nan if sides[name] is None else share(sides[name].both + sides[name].second_only, sides[name].n)
           for name in _BASES},
    }  # fmt: skip
