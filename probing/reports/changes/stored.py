"""What the reports of changes are made from: one run of every model."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from probing.core.provenance import stored_configuration
from probing.reports.relatives import NAMES, Relatives, named, relatives
from probing.reports.whole_runs import whole_runs
from probing.store.changes import queries
from probing.store.database import Database

#: What of a run's configuration says what sentences and what masked blocks it read.
TEXTS = ("sentences_sha256", "blocks_sha256")


@dataclass(frozen=True)
class Stored:
    """Attributes:
    runs: one of each model, see ``whole_runs``; ``sentences_sha256`` and ``blocks_sha256`` say what text it was measured on.
    relatives: of the models of all runs.
    """

    runs: pd.DataFrame
    relatives: Relatives

    @property
    def run_ids(self) -> list[str]:
        """Ids of the runs."""
        return list(self.runs["run_id"])

    def named(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Rows of runs with the names of their model, and with what text it was measured on: on others no two values can be compared."""
        return rows.merge(self.runs[["run_id", *NAMES, *TEXTS]], on="run_id")


def stored(db: Database) -> Stored:
    """The runs with their relatives."""
    runs = named(queries.change_runs(db))
    configs = [stored_configuration(config) for config in runs["config"]]
    runs = runs.assign(**{name: [str(one.get(name, "")) for one in configs] for name in TEXTS})
    return Stored(whole_runs(runs, ["model"], [_has(one) for one in configs]), relatives(runs))


def _has(config: Mapping[str, Any]) -> frozenset[Hashable]:
    """What a run with this configuration measures, and on what."""
    extra = {name: config.get(name) for name in ("base_weights", "blocks_sha256") if config.get(name)}
    replaced = ["replaced"] if len(extra) == 2 and config.get("replaced", True) else []
    of = [(name, config.get(name)) for name in ("weights", "sentences_sha256", "head_recipe")]
    return frozenset([*extra.items(), *replaced, *of])


def beside_base(table: pd.DataFrame, keys: list[str], columns: dict[str, str]) -> pd.DataFrame:
    """The table with numbers of the row's base in the same place; empty of a base.

    Args:
        table: rows of all models.
        keys: what says beside the model which number a row is.
        columns: of the base -> what they are called in the result.
    """
    of_bases = table[["model", *keys, *columns]].rename(columns={"model": "base", **columns})
    return table.merge(of_bases, on=["base", *keys], how="left")
