"""The reports of what fine-tuning changed inside models."""

import pandas as pd

from probing.changes import store
from probing.changes.report import epoch_perplexities, perplexities
from probing.changes.report_measures import values
from probing.kernel.report import Choice, Filter, Report, Reports, refuse_unstored
from probing.kernel.store.database import Database

VALUES = ("model", "base", "layer", "measure", "value", "low", "high")
_SHOWN = (
    "model",
    "base",
    "measure",
    "layer",
    "head",
    "value",
    "low",
    "high",
    "n",
    "base_value",
    "control_value",
    "seed_low",
    "seed_high",
    "seeds",
)


def _values(db: Database, choice: Choice) -> pd.DataFrame:
    return values(db, choice["model"], choice["measure"], choice["heads"])


def _perplexities(db: Database, choice: Choice) -> pd.DataFrame:
    return perplexities(db, choice["model"])


def _epochs(db: Database, choice: Choice) -> pd.DataFrame:
    return epoch_perplexities(db, choice["model"])


def _refuse(db: Database, choice: Choice) -> None:
    runs = store.change_runs(db)
    models = store.epochs(db)["model"] if choice.report.name == "epochs" else runs["model"]
    measures = store.values(db, list(runs["run_id"]))["measure"] if choice["measure"] else ()
    refuse_unstored("values", choice, {"model": sorted(set(models)), "measure": sorted(set(measures))})


CHANGES = Reports(
    "changes",
    (
        Report(
            "changes",
            "values",
            "attention and similarity of states by layer",
            _values,
            VALUES,
            further=True,
            shown=_SHOWN,
        ),
        Report("changes", "perplexity", "with layers of the base put back", _perplexities),
        Report("changes", "epochs", "perplexity while a model was fine-tuned", _epochs),
    ),
    (
        Filter("model", "Model; repeatable. None: all, but only the lowest seed of models that differ by seed."),
        Filter("measure", "For values: measure; repeatable. None: all.", only=("values",)),
        Filter("heads", "For values: also those of single heads.", bool, only=("values",)),
    ),
    _refuse,
)
