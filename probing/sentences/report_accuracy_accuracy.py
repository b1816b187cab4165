"""Accuracy of every probe with the baselines that it has to beat, and its growth with the training sentences."""

from collections.abc import Sequence

import pandas as pd

from probing.kernel.store.database import Database
from probing.sentences.examples import OURS, OWN, READINGS
from probing.sentences.numbers_fates import above_majority
from probing.sentences.numbers_numbers import accuracy
from probing.sentences.report_accuracy import CELL, in_order, only, stored, tasks_of
from probing.sentences.store import scores

COLUMNS = (
    "model",
    "base",
    "objective",
    "task",
    "protocol",
    "pooling",
    "layer",
    "reading",
    "portion",
    "c",
    "accuracy",
    "low",
    "high",
    "right",
    "n_train",
    "dev_right",
    "n_test",
    "majority",
    "surface",
    "code_length",
    "seed_low",
    "seed_high",
    "seeds",
    "above_majority",
)
CURVE = (
    "model",
    "base",
    "objective",
    "task",
    "pooling",
    "layer",
    "portion",
    "n_train",
    "accuracy",
    "low",
    "high",
    "right",
    "n_test",
    "dev_right",
    "base_accuracy",
    "majority",
    "surface",
    "code_length",
    "seed_low",
    "seed_high",
    "seeds",
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
