"""Accuracy of every probe with the baselines it has to beat, the best probe, and growth with the training sentences."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import product

import numpy as np
import pandas as pd

from probing.kernel.columns import Columns
from probing.kernel.provenance import stored_configuration
from probing.kernel.relatives import StoredRuns, named, relatives
from probing.kernel.report import whole_runs
from probing.kernel.stats.paired_tests import PairedCounts
from probing.kernel.store.database import Database
from probing.sentences.examples import OURS, OWN, READINGS
from probing.sentences.numbers import Cell, above_majority, accuracy
from probing.sentences.store import scores, sentence_runs, sentence_tasks

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


COLUMNS = Columns(
    "model base objective task protocol pooling layer reading portion c accuracy low high right n_train dev_right",
    "n_test majority surface code_length seed_low seed_high seeds above_majority",
)
CURVE = Columns(
    "model base objective task pooling layer portion n_train accuracy low high right n_test dev_right base_accuracy",
    "majority surface code_length seed_low seed_high seeds",
)
_KEYS = ("task", *CELL)


def accuracies(
    db: Database,
    models: Sequence[str] | None = None,
    tasks: Sequence[str] | None = None,
    protocol: str = OURS,
    readings: Sequence[str] | None = (OWN,),
    portions: Sequence[int] | None = (1,),
) -> pd.DataFrame:
    """Test accuracy of every probe, with Wilson's 95 % interval and the spread over models that differ only in their
    seed.

    ``models`` None keeps all, and of models that differ only in their seed the one with the smallest. n_train: of this
    portion; dev_right: development sentences that are right; majority and surface: accuracies of the most frequent
    training label and of a probe on surface features; code_length: bits; above_majority: significantly.
    """
    runs = stored(db, protocol)
    table = runs.named(scores(db, runs.run_ids))
    table = only(table, task=tasks, reading=readings or READINGS, portion=portions).merge(
        tasks_of(db, protocol), on="task"
    )
    counts = [(int(right), int(n)) for right, n in zip(table["right"], table["n_test"], strict=True)]
    shares = pd.DataFrame(
        [accuracy(*count) for count in counts], columns=["accuracy", "low", "high"], index=table.index
    )
    above = [above_majority(right, n, of) for (right, n), of in zip(counts, table["majority"], strict=True)]
    table = table.join(shares.astype("float64")).assign(above_majority=pd.Series(above, dtype=bool, index=table.index))
    table = runs.relatives.listed(runs.relatives.with_spread(table, _KEYS, "accuracy"), models)
    whole = dict.fromkeys(("layer", "portion", "right", "n_train", "dev_right", "n_test"), "int64")
    return in_order(table, COLUMNS).astype(whole | dict.fromkeys(("c", "code_length"), "float64"))


def learning_curve(
    db: Database, models: Sequence[str] | None = None, tasks: Sequence[str] | None = None, protocol: str = OURS
) -> pd.DataFrame:
    """Accuracy of own probes by their number of training sentences (portion 1: all, 4: a quarter).

    base_accuracy is of the base's probe with as many; empty for a base.
    """
    keys = ["task", "pooling", "layer", "portion"]
    every = accuracies(db, None, tasks, protocol, portions=None)
    table = every if models is None else accuracies(db, models, tasks, protocol, portions=None)
    of_bases = every[["model", *keys, "accuracy"]].rename(columns={"model": "base", "accuracy": "base_accuracy"})
    return in_order(table.drop(columns="above_majority").merge(of_bases, on=["base", *keys], how="left"), CURVE)
