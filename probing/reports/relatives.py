"""Which fine-tuned models differ by their seed alone, and which is the control: the yardsticks of every change.

Models with equal base and variant, and other seeds of their fine-tuning, are siblings. The one with the least seed stands for them in
lists; all of them give the spread. A control is a model that was trained on with its base's own objective and text.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pandas as pd

from probing.core.tasks.objectives import CONTROL

#: What a report says of the model of a row.
NAMES = ("model", "base", "objective")


@dataclass(frozen=True)
class Relatives:
    """Attributes:
    stands: model -> the sibling that stands for it in lists, perhaps itself.
    control: base -> the control that stands for it.
    """

    stands: dict[str, str]
    control: dict[str, str]

    def listed(self, table: pd.DataFrame, models: Iterable[str] | None) -> pd.DataFrame:
        """The rows of these models; of None those of the models that stand for themselves."""
        if models is None:
            return table[table["model"].map(self.stands) == table["model"]]
        return table[table["model"].isin(list(models))]

    def with_spread(self, table: pd.DataFrame, keys: Sequence[str], value: str) -> pd.DataFrame:
        """The table with seed_low, seed_high and seeds: least and greatest value of a model's siblings, and how many there are.

        Args:
            table: rows of all models, with the columns ``model``, ``keys`` and ``value``.
            keys: what says beside the model which number a row is.
            value: the number.
        """
        marked = table.assign(_stands=table["model"].map(self.stands))
        grouped = marked.groupby(["_stands", *keys], dropna=False, observed=True)
        spread = {"seed_low": grouped[value].transform("min"), "seed_high": grouped[value].transform("max")}
        return table.assign(**spread, seeds=grouped["model"].transform("nunique").astype("int64"))

    def with_control(self, table: pd.DataFrame, keys: Sequence[str], columns: dict[str, str]) -> pd.DataFrame:
        """The table with numbers of the control of a row's base in the same place; empty where there is none, and of the control itself.

        Args:
            table: rows of all models.
            keys: what says beside the model which number a row is.
            columns: of the control -> what they are called in the result.
        """
        controls = table[table["model"].isin(self.control.values())]
        beside = controls[["base", *keys, *columns]].rename(columns=columns)
        found = table.merge(beside, on=["base", *keys], how="left")
        mine = found["model"].map(self.stands).isin(self.control.values())
        found.loc[mine, list(columns.values())] = float("nan")
        return found


def named(runs: pd.DataFrame) -> pd.DataFrame:
    """The runs with names that can be compared: the base is empty where a model has none or is its own."""
    base = runs["base"].fillna("")
    return runs.assign(base=base.where(base != runs["model"], ""), objective=runs["objective"].fillna(""))


def relatives(runs: pd.DataFrame) -> Relatives:
    """Of runs with the columns model, base, objective, variant and tuned_seed, as ``named`` gives them."""
    known = runs[[*NAMES, "variant", "tuned_seed"]].drop_duplicates("model")
    known = known.sort_values(["tuned_seed", "model"], na_position="last")
    stands: dict[str, str] = {}
    first: dict[tuple[str, str], str] = {}
    for row in known.itertuples():
        alone = not row.base or not row.variant
        stands[row.model] = row.model if alone else first.setdefault((row.base, row.variant), row.model)
    controls = known[(known["objective"] == CONTROL) & (known["base"] != "")]
    standing = sorted((str(row.base), str(row.model)) for row in controls.itertuples() if stands[row.model] == row.model)
    # Of several controls of one base the first by name.
    return Relatives(stands, dict(reversed(standing)))
