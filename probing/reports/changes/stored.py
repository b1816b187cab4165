"""What the reports of changes are made from: the newest run of every model."""

from dataclasses import dataclass

import pandas as pd

from probing.reports.relatives import NAMES, Relatives, named, relatives
from probing.store.changes import queries
from probing.store.database import Database


@dataclass(frozen=True)
class Stored:
    """Attributes:
    runs: the newest of each model.
    relatives: of the models of all runs.
    """

    runs: pd.DataFrame
    relatives: Relatives

    @property
    def run_ids(self) -> list[str]:
        """Ids of the runs."""
        return list(self.runs["run_id"])

    def named(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Rows of runs with the names of their model."""
        return rows.merge(self.runs[["run_id", *NAMES]], on="run_id")


def stored(db: Database) -> Stored:
    """The runs with their relatives."""
    runs = named(queries.change_runs(db))
    return Stored(runs.drop_duplicates("model", ignore_index=True), relatives(runs))


def beside_base(table: pd.DataFrame, keys: list[str], columns: dict[str, str]) -> pd.DataFrame:
    """The table with numbers of the row's base in the same place; empty of a base.

    Args:
        table: rows of all models.
        keys: what says beside the model which number a row is.
        columns: of the base -> what they are called in the result.
    """
    of_bases = table[["model", *keys, *columns]].rename(columns={"model": "base", **columns})
    return table.merge(of_bases, on=["base", *keys], how="left")
