"""The runs behind the reports of sentence-level probing: one per model, task and protocol."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import product

import numpy as np
import pandas as pd

from probing.finetuning.relatives import StoredRuns, named, relatives
from probing.kernel.provenance import stored_configuration
from probing.kernel.report import whole_runs
from probing.kernel.stats.paired_tests import PairedCounts
from probing.kernel.store.database import Database
from probing.sentences.examples import OWN, READINGS
from probing.sentences.numbers import Cell
from probing.sentences.store import sentence_runs, sentence_tasks

CELL = ("pooling", "layer", "reading", "portion")
COUNTS = ("both", "only_this", "only_other", "neither")


def stored(db: Database, protocol: str) -> StoredRuns:
    """One run of a protocol per model and task."""
    runs = named(sentence_runs(db))
    of_protocol = runs[runs["protocol"] == protocol]
    whole = whole_runs(
        of_protocol, ["model", "task", "protocol"], [_has(run) for run in of_protocol.to_dict("records")]
    )
    return StoredRuns(whole, relatives(runs), ("task", "protocol"))


def _has(run: Mapping) -> frozenset[Hashable]:
    """The probes of a run, its further measurements, and their training data."""
    config = stored_configuration(run["config"])
    there = [reading for reading in READINGS if reading in config.get("readings", ())]
    portions = {reading: config.get("portions", ()) if reading == OWN else (1,) for reading in there}
    kinds = [(reading, portion) for reading, those in portions.items() for portion in those]
    extra = [name for name in ("codes", "base_weights") if config.get(name)] + ["answers"] * bool(run["answered"])
    of = [(name, config.get(name)) for name in ("weights", "data", "head_recipe")]
    return frozenset([*product(config.get("poolings", ()), kinds), *extra, *of])


def tasks_of(db: Database, protocol: str) -> pd.DataFrame:
    """Baselines of tasks without a model: task, majority, surface (shares of the test sentences)."""
    tasks = sentence_tasks(db)
    tasks = tasks[tasks["protocol"] == protocol]
    n = tasks["n_test"].where(tasks["n_test"] > 0).astype("float64")
    return pd.DataFrame(
        {
            "task": tasks["task"],
            "majority": tasks["majority_right"] / n,
            "surface": tasks["surface_right"] / n,
        }
    )


def only(table: pd.DataFrame, **columns: Iterable | None) -> pd.DataFrame:
    """The rows whose columns have the given values; None keeps all."""
    for column, values in columns.items():
        table = table if values is None else table[table[column].isin(list(values))]
    return table


def in_order(table: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    """The columns, sorted by model, task, pooling, layer, reading and portion."""
    by = [name for name in ("model", "task", "protocol", *CELL) if name in table]
    key = {"reading": lambda column: column.map(READINGS.index)}
    ordered = table.sort_values(
        by, key=lambda column: key.get(str(column.name), lambda same: same)(column), kind="stable", ignore_index=True
    )
    return ordered[list(columns)]


def base_runs(tuned: pd.DataFrame, runs: pd.DataFrame) -> dict[str, str]:
    """Run id of a fine-tuned model -> that of its base on the same task and the same test sentences; no item where
    there is none.

    A base that was tested on more sentences was also trained on others.
    """
    run_of = {(row.model, row.task): row for row in runs.itertuples()}
    pairs = ((str(row.run_id), run_of.get((row.base, row.task)), row.n_test) for row in tuned.itertuples())
    return {
        run_id: str(base.run_id) for run_id, base, sentences in pairs if base is not None and base.n_test == sentences
    }


def own_pairs(pairs: pd.DataFrame) -> pd.DataFrame:
    """The pairs of own probes on all training sentences whose second is the base's at the same layer."""
    both = (
        (pairs["reading"] == OWN)
        & (pairs["with_reading"] == OWN)
        & (pairs["portion"] == 1)
        & (pairs["with_portion"] == 1)
    )
    return pairs[both & (pairs["with_model"] == pairs["base"]) & (pairs["layer"] == pairs["with_layer"])]


def counted(row: Mapping[str, int]) -> PairedCounts:
    """The counts of a pair; first is the run's probe."""
    return PairedCounts(*(int(row[name]) for name in COUNTS))


def cell_of(row: Mapping, prefix: str = "") -> Cell:
    """The probe in a row's columns with a prefix."""
    return Cell(
        str(row[f"{prefix}pooling"]),
        int(row[f"{prefix}layer"]),
        str(row[f"{prefix}reading"]),
        int(row[f"{prefix}portion"]),
    )


def share(hits: int, n: int) -> float:
    """A share; NaN without sentences."""
    return hits / n if n else np.nan
