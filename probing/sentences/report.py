"""The reports of sentence-level probing."""

from collections.abc import Callable

import pandas as pd

from probing.kernel.report import Choice, Filter, Report, Reports, refuse_unstored
from probing.kernel.store.database import Database
from probing.sentences.examples import OURS, OWN, POOLINGS, PROTOCOLS, READINGS
from probing.sentences.report_accuracy import only
from probing.sentences.report_accuracy_accuracy import accuracies, learning_curve
from probing.sentences.report_changes import changes, group_means
from probing.sentences.report_changes_property_places import where_gone
from probing.sentences.store import sentence_runs

ACCURACY = ("model", "task", "pooling", "layer", "reading", "c", "accuracy", "n_train", "n_test", "majority", "surface")
_ACCURACY_SHOWN = (
    *ACCURACY[:5],
    "portion",
    "c",
    "accuracy",
    "low",
    "high",
    *ACCURACY[7:],
    "seed_low",
    "seed_high",
    "seeds",
)
_CHANGES_SHOWN = (
    "model",
    "base",
    "task",
    "pooling",
    "layer",
    "base_accuracy",
    "accuracy",
    "change",
    "low",
    "high",
    "q",
    "family",
    "mean_change",
    "mean_q",
    "control_change",
    "control_spread",
    "inside_control",
    "seed_low",
    "seed_high",
    "seeds",
    "within_seeds",
)
_FATES_SHOWN = (
    "model",
    "base",
    "task",
    "pooling",
    "layer",
    "fate",
    "undecided",
    "needed",
    "why",
    "base_accuracy",
    "frozen",
    "own",
    "mlp",
    "mean",
    "best",
    "majority",
    "n_test",
)


def _of_models(function: Callable[..., pd.DataFrame]) -> Callable[[Database, Choice], pd.DataFrame]:
    """A report of models and tasks by one protocol."""
    return lambda db, choice: _kept(function(db, choice["model"], choice["task"], choice["protocol"]), choice)


def _accuracy(db: Database, choice: Choice) -> pd.DataFrame:
    return _kept(
        accuracies(db, choice["model"], choice["task"], choice["protocol"], choice["reading"] or (OWN,)), choice
    )


def _fates(db: Database, choice: Choice) -> pd.DataFrame:
    return _kept(where_gone(db, choice["model"], choice["protocol"]), choice)


def _kept(table: pd.DataFrame, choice: Choice) -> pd.DataFrame:
    return only(table, task=choice["task"], pooling=choice["pooling"]).reset_index(drop=True)


def _refuse(db: Database, choice: Choice) -> None:
    runs = sentence_runs(db)
    runs = runs[runs["protocol"] == choice["protocol"]]
    refuse_unstored(
        "probes", choice, {"model": runs["model"], "task": runs["task"]}, f" by protocol {choice['protocol']}"
    )


SENTENCES = Reports(
    "sentences",
    (
        Report("sentences", "accuracy", "every probe", _accuracy, ACCURACY, further=True, shown=_ACCURACY_SHOWN),
        Report(
            "sentences", "changes", "fine-tuned models against their base", _of_models(changes), shown=_CHANGES_SHOWN
        ),
        Report("sentences", "groups", "mean change of lower and upper layers", _of_models(group_means)),
        Report("sentences", "where-gone", "fates of the properties in the base's layers", _fates, shown=_FATES_SHOWN),
        Report("sentences", "curve", "with fewer training sentences", _of_models(learning_curve)),
    ),
    (
        Filter("model", "Model; repeatable. None: all, but only the lowest seed of models that differ by seed."),
        Filter("task", "Task; repeatable. None: all."),
        Filter("pooling", f"{', '.join(POOLINGS)}; repeatable. None: both.", known=POOLINGS),
        Filter(
            "reading",
            f"For accuracy: {', '.join(READINGS)}; repeatable. None: own.",
            known=READINGS,
            only=("accuracy",),
        ),
        Filter("protocol", ", ".join(PROTOCOLS), known=PROTOCOLS, usual=OURS, single=True),
    ),
    _refuse,
)
