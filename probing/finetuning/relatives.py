"""Which fine-tuned models differ only in their seed, and which is the control: the yardsticks of every change.

Models with the same base and variant and different seeds of fine-tuning are siblings. The one with the smallest seed
represents them in lists; all of them give the spread. A control is a model that was trained further with its base's own
objective and text.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pandas as pd

from probing.finetuning.objectives import CONTROL

NAMES = ("model", "base", "objective")


@dataclass(frozen=True)
class Relatives:
    """model -> the sibling that represents it in lists, possibly itself; base -> its control."""

    stands: dict[str, str]
    control: dict[str, str]

    def listed(self, table: pd.DataFrame, models: Iterable[str] | None) -> pd.DataFrame:
        """The rows of these models; None keeps one model of each group of siblings."""
        if models is None:
            return table[table["model"].map(self.stands) == table["model"]]
        return table[table["model"].isin(list(models))]

    def with_spread(self, table: pd.DataFrame, keys: Sequence[str], value: str) -> pd.DataFrame:
        """The table with seed_low, seed_high and seeds: extremes of ``value`` over a model's siblings, and their
        number.

        ``keys`` are the columns that, with the model, identify the number of a row.
        """
        marked = table.assign(_stands=table["model"].map(self.stands))
        grouped = marked.groupby(["_stands", *keys], dropna=False, observed=True)
        spread = {"seed_low": grouped[value].transform("min"), "seed_high": grouped[value].transform("max")}
        return table.assign(**spread, seeds=grouped["model"].transform("nunique").astype("int64"))

    def with_control(self, table: pd.DataFrame, keys: Sequence[str], columns: dict[str, str]) -> pd.DataFrame:
        """The table with the numbers of the control of each row's base for the same keys, renamed by ``columns``; empty
        without a control, and for itself.
        """
        controls = table[table["model"].isin(self.control.values())]
        of_control = controls[["base", *keys, *columns]].rename(columns=columns)
        compared = table.merge(of_control, on=["base", *keys], how="left")
        is_control = compared["model"].map(self.stands).isin(self.control.values())
        compared.loc[is_control, list(columns.values())] = float("nan")
        return compared


@dataclass(frozen=True)
class StoredRuns:
    """The runs behind reports (``whole_runs``), and their models' relatives; a row gets ``columns`` of its run."""

    runs: pd.DataFrame
    relatives: Relatives
    columns: tuple[str, ...]

    @property
    def run_ids(self) -> list[str]:
        return list(self.runs["run_id"])

    def named(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Rows of runs with the names of their model and the further columns."""
        return rows.merge(self.runs[["run_id", *NAMES, *self.columns]], on="run_id")


def named(runs: pd.DataFrame) -> pd.DataFrame:
    """The runs with comparable names: the base is empty if a model has none or is its own."""
    base = runs["base"].fillna("")
    return runs.assign(base=base.where(base != runs["model"], ""), objective=runs["objective"].fillna(""))


def relatives(runs: pd.DataFrame) -> Relatives:
    """The relatives among runs with the columns that ``named`` gives."""
    known = runs[[*NAMES, "variant", "tuned_seed"]].drop_duplicates("model")
    known = known.sort_values(["tuned_seed", "model"], na_position="last")
    stands: dict[str, str] = {}
    first: dict[tuple[str, str], str] = {}
    for row in known.itertuples():
        alone = not row.base or not row.variant
        stands[row.model] = row.model if alone else first.setdefault((row.base, row.variant), row.model)
    controls = known[(known["objective"] == CONTROL) & (known["base"] != "")]
    standing = sorted(
        (str(row.base), str(row.model)) for row in controls.itertuples() if stands[row.model] == row.model
    )
    # The first by name of several controls of one base.
    return Relatives(stands, dict(reversed(standing)))
