"""All fine-tuned models of a store with their bases, controls and seeds, which are the yardsticks of every change."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pandas as pd

from probing.kernel.objectives import CONTROL
from probing.kernel.registry import read_registry
from probing.kernel.store.database import Database
from probing.kernel.store.kinds import KINDS
from probing.kernel.store.stored import stored_models

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


COLUMNS = (*NAMES, "stands", "control")


def kin(db: Database) -> Relatives:
    """Siblings and controls among all stored models. Seeds are known only from sentence probes and measured changes."""
    return relatives(_described(db))


def tuned_models(db: Database) -> pd.DataFrame:
    """Every fine-tuned model: the sibling that stands for it in lists, possibly itself; whether it was trained further
    on its base's own text (control).
    """
    runs = _described(db)
    stands = relatives(runs).stands
    tuned = runs[runs["base"] != ""].drop_duplicates("model")
    made = tuned.assign(stands=tuned["model"].map(stands), control=tuned["objective"] == CONTROL)
    return made.sort_values("model", ignore_index=True)[list(COLUMNS)]


def control_beside(family: Relatives, model: str, base: str) -> str:
    """The control of a model's base; empty if there is none or the model is the control."""
    control = family.control.get(base, "")
    return "" if family.stands.get(model) == control else control


def beside(family: Relatives, table: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """The table with seed_low, seed_high, seeds, control_value, control_change and inside_control.

    A change is inside the control's if it is no larger, or if the value is within the spread of the control's seeds.
    ``table`` has model, base, the keys, value and change (from the base), of a model and of its relatives.
    """
    spread = family.with_spread(table, keys, "value")
    of_control = {"value": "control_value", "change": "control_change", "seed_low": "_low", "seed_high": "_high"}
    rows = family.with_control(spread, keys, of_control)
    small = rows["change"].abs() <= rows["control_change"].abs()
    return rows.assign(inside_control=small | rows["value"].between(rows["_low"], rows["_high"])).drop(
        columns=["_low", "_high"]
    )


def relatives_of(family: Relatives, tuned: pd.DataFrame, model: str) -> list[str]:
    """A model, the models that differ from it only in their seed, and the controls of its base."""
    base = tuned.set_index("model")["base"].get(model, "")
    stands = {family.stands.get(model, model), family.control.get(base, "")}
    return [model, *(name for name in tuned["model"] if name != model and family.stands.get(name, name) in stands)]


def _described(db: Database) -> pd.DataFrame:
    """Names and seeds of models; descriptions with a variant come first."""
    stored = stored_models(db)
    # Of further seeds and controls without probes and changes only facts are known, which other pages show.
    nameless = stored[~stored["model"].isin(read_registry().results_only)].assign(
        variant="", tuned_seed=pd.Series(dtype="Int64")
    )
    columns = [*NAMES, "variant", "tuned_seed"]
    # The kinds of runs whose provenance has the seed of a fine-tuning.
    listed = [KINDS[kind].listed(db) for kind in ("changes", "sentences")]
    runs = [named(described)[columns] for described in (*listed, nameless)]
    models = pd.concat([described.astype({"tuned_seed": "Int64"}) for described in runs], ignore_index=True)
    models["variant"] = models["variant"].fillna("")
    order = {"_bare": models["variant"] == "", "_nameless": models["objective"] == ""}
    return (
        models.assign(**order)
        .sort_values(list(order), kind="stable")[columns]
        .drop_duplicates("model", ignore_index=True)
    )
