"""The share of the facts known at a layer of the base that the same layer of a fine-tuned model still knows."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from probing.facts.report_pairs import paired_by_layer
from probing.facts.runs import one_run_each, pairs
from probing.facts.store import runs as all_runs
from probing.kernel.stats.intervals import wilson
from probing.kernel.store.database import Database

COLUMNS = ("model", "base", "layer", "value", "low", "high", "change", "n")


def fact_pairs(db: Database) -> pd.DataFrame:
    """Runs of fine-tuned models paired with their base's, both stored fact by fact; see ``facts.runs.pairs``."""
    runs = all_runs(db)
    return pairs(one_run_each(runs[~runs["counted"].astype(bool)])) if len(runs) else pairs(runs.assign(base=""))


def facts_kept(db: Database, models: Sequence[str], head: str, probe_set: str, k: int) -> pd.DataFrame:
    """The share of the base's known facts that fine-tuned models kept, by layer, with Wilson's interval.

    A layer at which the base knows no fact has no row.
    """
    of_models = fact_pairs(db)
    of_models = of_models[
        of_models["model"].isin(list(models)) & (of_models["head"] == head) & (of_models["probe_set"] == probe_set)
    ]
    rows = []
    for pair in of_models.itertuples():
        for layer in paired_by_layer(db, str(pair.base_run_id), str(pair.run_id), k).itertuples():
            n_kept, known = int(layer.both), int(layer.both + layer.base_only)
            if known:
                rows.append(
                    (
                        pair.model,
                        pair.base,
                        int(layer.layer),
                        n_kept / known,
                        *wilson(n_kept, known),
                        n_kept / known - 1,
                        known,
                    )
                )
    return pd.DataFrame(rows, columns=list(COLUMNS)).astype(
        dict.fromkeys(("value", "low", "high", "change"), np.float64)
    )
