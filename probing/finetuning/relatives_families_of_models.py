"""All fine-tuned models of a store with their bases, controls and seeds."""

import pandas as pd

from probing.changes.store import change_runs
from probing.facts.store import stored_models
from probing.finetuning.objectives import CONTROL
from probing.finetuning.relatives import NAMES, Relatives, named, relatives
from probing.kernel.registry import read_registry
from probing.kernel.store.database import Database
from probing.sentences.store import sentence_runs

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
    runs = [named(described)[columns] for described in (change_runs(db), sentence_runs(db), nameless)]
    models = pd.concat([described.astype({"tuned_seed": "Int64"}) for described in runs], ignore_index=True)
    models["variant"] = models["variant"].fillna("")
    order = {"_bare": models["variant"] == "", "_nameless": models["objective"] == ""}
    return (
        models.assign(**order)
        .sort_values(list(order), kind="stable")[columns]
        .drop_duplicates("model", ignore_index=True)
    )
