"""Losses of a model's decoding heads after training, by kind, and the cost of training."""

import json
from collections.abc import Sequence
from typing import Any

import pandas as pd

from probing.facts.store import head_training
from probing.facts.store import runs as all_runs
from probing.kernel.models.names import HEADS, LOGIT_LENS
from probing.kernel.store.database import Database

LOSS_COLUMNS = ("head", "seed", "layer", "loss", "start_loss", "below_lens", "steps", "seconds", "start")
COST_COLUMNS = ("head", "layers", "start", "steps", "seconds", "inner_loss", "below_lens", "last_loss")


def losses(db: Database, run_ids: Sequence[str]) -> pd.DataFrame:
    """Validation loss, by layer and in nats, of the heads that the runs of one model used, one run per kind of head.

    below_lens: loss of the logit lens minus this one, as the head's own training measured it, or else another kind's.
    The kind ``logit_lens`` has the loss of the pre-trained head, which the training of another kind measured. A run
    whose head's training is not stored has no row; unknown numbers are empty.
    """
    runs = all_runs(db)
    runs = runs[runs["run_id"].isin(list(run_ids))]
    keys = ["model", "head", "seed", "recipe"]
    stored = head_training(db)
    of_models = stored[stored["model"].isin(runs["model"])]
    read = runs.assign(
        recipe=pd.Series([_recipe_of(config) for config in runs["config"]], index=runs.index, dtype="str")
    )
    read = read[keys].drop_duplicates()
    trained = of_models.merge(read, on=keys)
    trained = trained.assign(start=[_start(str(recipe)) for recipe in trained["recipe"]])
    measured = (trained if len(trained) else of_models).dropna(subset=["lens_loss"]).drop_duplicates("layer")
    its = measured["lens_loss"]
    untrained = measured.assign(head=LOGIT_LENS, seed=0, loss=its, start_loss=its, steps=0, seconds=0.0, start="")
    table = pd.concat(
        [part for part in (trained, untrained) if len(part)] or [trained.assign(below_lens=None)], ignore_index=True
    )
    of_layer = dict(zip(measured["layer"], its, strict=True))
    # Kinds may be validated on different texts: a loss is compared with the logit lens's on the same text if both are
    # known.
    lens_loss = table["lens_loss"].astype("float64").fillna(table["layer"].map(of_layer).astype("float64"))
    table["below_lens"] = lens_loss - table["loss"].astype("float64")
    table = table.sort_values(
        ["head", "layer"], key=lambda column: column.map(HEADS.index) if column.name == "head" else column
    )
    return table[list(LOSS_COLUMNS)].reset_index(drop=True)


def _recipe_of(config: str) -> str:
    """The recipe of a run's heads; ``""`` for heads that are not trained."""
    return str(json.loads(config).get("head_recipe") or "")


def _start(recipe: str) -> str:
    """Where the training of a head began; ``""`` for a head in closed form."""
    try:
        fields: Any = json.loads(recipe)
    except ValueError:
        return ""
    return str(fields.get("start", "")) if isinstance(fields, dict) else ""


def costs(table: pd.DataFrame) -> pd.DataFrame:
    """The cost of each kind of head, steps and seconds of all layers together, and its loss.

    seconds is empty if one layer's are not recorded; inner_loss and below_lens are means over the layers 1 to L-1.
    """
    rows = []
    for head, part in table.groupby("head", sort=False):
        last = part["layer"].max()
        inner = part[(part["layer"] > 0) & (part["layer"] < last)]
        seconds = part["seconds"].sum() if part["seconds"].notna().all() else float("nan")
        means = (inner["loss"].mean(), inner["below_lens"].mean())
        starts = ", ".join(dict.fromkeys(str(start) for start in part["start"] if start))
        rows.append(
            (
                head,
                len(part),
                starts,
                int(part["steps"].sum()),
                seconds,
                *means,
                part.loc[part["layer"] == last, "loss"].iloc[0],
            )
        )
    return pd.DataFrame(rows, columns=list(COST_COLUMNS))
