"""All fine-tuned models side by side: facts kept, lost and gained, beside other seeds, shuffled labels and the task."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from probing.facts.report_pairs import transitions
from probing.facts.store import stored_models
from probing.finetuning.objectives import task_of
from probing.finetuning.report_by_layer import LOSSES
from probing.finetuning.success_report import learned
from probing.heads.report import points_lost
from probing.kernel.store.database import Database

_COUNTS = ("kept", "lost", "gained", "never", "p_value")
_SCORE = ("verdict", "metric", "score", "baseline", "baseline_name")
COLUMNS = (
    "base",
    "model",
    "objective",
    "n",
    "by_fact",
    *_COUNTS,
    "kept_share",
    "lost_share",
    "gained_share",
    "now_share",
    "net_lost",
    "net_lost_low",
    "net_lost_high",
    "net_lost_above",
    "net_lost_above_low",
    "net_lost_above_high",
    "seeds",
    "seeds_low",
    "seeds_high",
    "shuffled",
    *_SCORE,
)
_SHUFFLED = "shuffled labels"


def all_models(
    db: Database,
    pairs: pd.DataFrame,
    k: int = 1,
    exposures: Sequence[str] | None = None,
    answer_in_subject: bool | None = None,
) -> pd.DataFrame:
    """One row per fine-tuned model of ``pairs`` at the last layer, those that kept most first; unknown values are
    empty.

    Shares of what the base knows: kept, lost, gained, and now (what the model knows). Shares of all facts: net_lost
    (base minus model), net_lost_above (the same minus the swapped subject), seeds_low and seeds_high (of other
    trainings of the task), shuffled (with shuffled labels). p_value is McNemar's exact one; by_fact: single facts are
    stored.
    """
    lost = points_lost(db, pairs, k, exposures, answer_in_subject)
    net = {f"lost{end}": f"net_lost{end}" for end in ("", "_low", "_high", "_above", "_above_low", "_above_high")}
    facts = transitions(db, pairs, (k,), exposures, answer_in_subject)
    table = lost.rename(columns=net).merge(facts[["run_id", *_COUNTS]], on="run_id", how="left")
    known = (table["kept"] + table["lost"]).astype("float64")
    shares = {f"{part}_share": table[part] / known.where(known > 0) for part in ("kept", "lost", "gained")}
    table = table.assign(**shares, now_share=table["value"] / table["base_value"].where(table["base_value"] > 0))
    objectives = stored_models(db).drop_duplicates("model").set_index("model")["objective"].fillna("")
    table["objective"] = table["model"].map(objectives).fillna("")
    scored = learned(db).rename(columns={"value": "score"}).drop_duplicates("model")[["model", *_SCORE]]
    table = _beside(table).merge(scored, on="model", how="left")
    order = table["kept_share"].fillna(table["now_share"])
    table = table.assign(_order=order).sort_values(["_order", "model"], ascending=[False, True], ignore_index=True)
    return table.reindex(columns=list(COLUMNS))


def _beside(table: pd.DataFrame) -> pd.DataFrame:
    """The table with the net losses of other trainings of the same task, and of that with shuffled labels."""
    rows = []
    for model in table.itertuples():
        alike = table[
            (table["base"] == model.base)
            & (table["objective"].map(task_of) == task_of(model.objective))
            & (model.objective != "")
        ]
        shuffled = alike["objective"].str.contains(_SHUFFLED, regex=False)
        again = alike.loc[(alike["objective"] == model.objective) & (alike["model"] != model.model), "net_lost"]
        of_shuffled = alike.loc[shuffled & (alike["model"] != model.model), "net_lost"]
        rows.append((len(again), again.min(), again.max(), of_shuffled.mean()))
    trainings = pd.DataFrame(rows, columns=["seeds", "seeds_low", "seeds_high", "shuffled"], index=table.index)
    return table.join(trainings.astype({"seeds_low": "float64", "seeds_high": "float64", "shuffled": "float64"}))


def drift_and_losses(layers: pd.DataFrame, models: pd.DataFrame) -> pd.DataFrame:
    """One point per fine-tuned model that stands for others: drift and the losses of ``LOSSES``, means over layers 1 to
    L.

    facts_lost is at the last layer; of a model that stores only counts (counted) it is the net loss, per fact that the
    base knows.
    """
    own = layers[layers["model"] == layers["stands"]]
    points = own[own["layer"] > 0].groupby(["model", "control"], as_index=False)[["drift", *LOSSES]].mean()
    of_facts = models.set_index("model")
    counted = 1 - of_facts["now_share"]
    lost = points["model"].map(of_facts["lost_share"])
    points["counted"] = lost.isna() & points["model"].map(counted).notna()
    points["facts_lost"] = lost.fillna(points["model"].map(counted)).astype(np.float64)
    return points
