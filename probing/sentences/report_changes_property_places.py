"""Where a fine-tuned model's probes read each property that a layer of its base had."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from probing.finetuning.relatives import NAMES
from probing.kernel.store.database import Database
from probing.sentences.examples import OURS, OWN
from probing.sentences.numbers import Cell, best_layers, fate_probes
from probing.sentences.numbers_fates import Fate, above_majority, fate_shares, property_fate
from probing.sentences.report_accuracy import base_runs, cell_of, in_order, only, share, stored, tasks_of
from probing.sentences.report_changes_fate_counts import Pairs, counts_of_runs
from probing.sentences.store import scores

_TUNED = ("frozen", "own", "mlp", "mean", "best")
COLUMNS = (
    "model",
    "base",
    "objective",
    "task",
    "pooling",
    "layer",
    "fate",
    "undecided",
    "needed",
    "counted",
    "why",
    "base_accuracy",
    *_TUNED,
    "best_layer",
    "majority",
    "n_test",
)
NO_PREDICTIONS, NOT_TRAINED, BELOW = (
    "no predictions stored",
    "a probe was not trained",
    "the base is not above its majority",
)


def where_gone(
    db: Database, models: Sequence[str] | None = None, protocol: str = OURS, tasks: Sequence[str] | None = None
) -> pd.DataFrame:
    """The fate of every cell of fine-tuned models, with the deciding accuracies (``sentences.numbers_fates``).

    Counts that a run does not store come from its predictions for single sentences. A run of which not all of them are
    known has no fates, and why has the reason. undecided: the step that needs most test sentences, needed their number;
    counted: whether the base's probe is significantly above its majority. Accuracies on the fine-tuned model: frozen
    (the base's probe), own, mlp (or the own one if it is as good on dev), mean (own with mean-pooling), best (own at
    its best layer, chosen on dev).
    """
    stored_runs = stored(db, protocol)
    tuned = only(stored_runs.relatives.listed(stored_runs.runs[stored_runs.runs["base"] != ""], models), task=tasks)
    probes = _probes(db, tuned, stored_runs.runs)
    bases = {run: run_probes.base_run for run, run_probes in probes.items() if run_probes.base_run}
    counts = counts_of_runs(db, tuned, bases, {run: run_probes.pairs for run, run_probes in probes.items()})
    majority = tasks_of(db, protocol).set_index("task")["majority"].to_dict()
    rows: list[dict[str, Any]] = []
    for run in tuned.to_dict("records"):
        if run_probes := probes.get(run["run_id"]):
            names = {name: run[name] for name in (*NAMES, "task")}
            rows += [
                names | cell for cell in _cells(run_probes, counts[run["run_id"]], majority.get(run["task"], np.nan))
            ]
    return in_order(pd.DataFrame(rows, columns=list(COLUMNS)), COLUMNS).astype(_TYPES)


def where_gone_shares(
    db: Database, models: Sequence[str] | None = None, protocol: str = OURS, by: Sequence[str] = ()
) -> pd.DataFrame:
    """Every fate's share of the cells that count and have one, grouped also by ``task`` or ``pooling`` if they are in
    ``by``.

    Shares of one model sum to 1; a model without such a cell has no row.
    """
    table = where_gone(db, models, protocol)
    keys = [*NAMES, *by]
    rows = []
    for key, cells in table[table["fate"] != ""].groupby(keys, sort=False):
        names = dict(zip(keys, key, strict=True))
        counts = cells["fate"].value_counts()
        rows += [
            names | {"fate": fate, "cells": int(counts.get(fate, 0)), "of": len(cells), "share": fate_share}
            for fate, fate_share in fate_shares(cells["fate"]).items()
        ]
    return pd.DataFrame(rows, columns=[*keys, "fate", "cells", "of", "share"])


_TYPES = dict.fromkeys(("base_accuracy", *_TUNED, "majority"), "float64") | {
    "counted": "bool",
    "layer": "int64",
    "best_layer": "Int64",
    "needed": "Int64",
}


@dataclass(frozen=True)
class _Probes:
    """Counts of single probes of a fine-tuned model; ``base_run``, on the same test sentences, is empty without one."""

    right: Mapping[Cell, int]
    dev_right: Mapping[Cell, int]
    n_test: int
    base_run: str

    @cached_property
    def steps(self) -> dict[Cell, dict[str, Cell]]:
        """Own probe -> step of its fate -> the probe that is compared with the base's own."""
        own = [cell for cell in sorted(self.dev_right) if (cell.reading, cell.portion) == (OWN, 1)]
        return {cell: fate_probes(cell, self.best[cell.pooling], self.dev_right) for cell in own}

    @cached_property
    def best(self) -> dict[str, int]:
        """Pooling -> best layer on dev."""
        return best_layers(self.dev_right)

    @property
    def pairs(self) -> set[tuple[Cell, Cell]]:
        """All pairs of ``steps``."""
        return {(this, cell) for cell, steps in self.steps.items() for this in steps.values()}

    def accuracy(self, cell: Cell) -> float:
        """Accuracy of a probe; NaN if it was not trained."""
        return share(self.right[cell], self.n_test) if cell in self.right else np.nan


def _probes(db: Database, tuned: pd.DataFrame, runs: pd.DataFrame) -> dict[str, _Probes]:
    """Run id of a fine-tuned model -> its probes."""
    sizes = {str(row.run_id): int(row.n_test) for row in runs.itertuples()}
    bases = base_runs(tuned, runs)
    probes = {}
    for run_id, rows in scores(db, list(tuned["run_id"])).groupby("run_id"):
        run = str(run_id)
        cells = {cell_of(row): row for row in rows.to_dict("records")}
        right, dev = ({cell: int(row[name]) for cell, row in cells.items()} for name in ("right", "dev_right"))
        probes[run] = _Probes(right, dev, sizes[run], bases.get(run, ""))
    return probes


def _cells(probes: _Probes, counts: Pairs, majority: float) -> list[dict[str, Any]]:
    """The rows of a run, without names."""
    steps = {cell: by_step for cell, by_step in probes.steps.items() if (cell, cell) in counts}
    # Without all counts no cell has a fate, even if an early step holds: the fates of the other cells would be missing
    # from every share.
    complete = all((this, cell) in counts for cell, by_step in steps.items() for this in by_step.values())
    trained = all(this in probes.right for by_step in steps.values() for this in by_step.values())
    lacking = "" if complete else NO_PREDICTIONS if trained else NOT_TRAINED
    rows = []
    for cell, by_step in steps.items():
        own = counts[cell, cell]
        base_right = own.both + own.second_only
        above = above_majority(base_right, own.n, majority)
        fate = Fate("")
        if above and complete:
            fate = property_fate({step: counts[this, cell] for step, this in by_step.items()}, majority)
        rows.append(
            {"pooling": cell.pooling, "layer": cell.layer, "counted": above, "why": lacking if above else BELOW}
            | {"fate": fate.name, "undecided": fate.step, "needed": fate.needed}
            | {"base_accuracy": share(base_right, own.n), "n_test": own.n, "majority": majority}
            | {step: probes.accuracy(this) for step, this in by_step.items()}
            | {"best_layer": probes.best[cell.pooling]}
        )
    return rows
