"""What stored predictions say of one lost fact."""

import pandas as pd

from probing.core.head_kinds import HEADS, LOGIT_LENS
from probing.store.database import Database
from probing.store.forgetting import queries


def ranks_by_layer(db: Database, fact_id: str, models: tuple[str, ...]) -> pd.DataFrame:
    """The rank of a fact's right answer by layer, read by one kind of heads that all models have: the pre-trained head, if possible.

    Returns:
        One row per model, with ``model, head`` and a column for each layer; empty unless every model has predictions of the fact.
    """
    rows = queries.ranks(db, fact_id, models)
    there = [head for head in (LOGIT_LENS, *HEADS) if set(rows.loc[rows["head"] == head, "model"]) == set(models)]
    if not there:
        return pd.DataFrame(columns=["model", "head"])
    head_rows = rows[rows["head"] == there[0]]
    table = head_rows.pivot_table(index=["model", "head"], columns="layer", values="gold_rank", aggfunc="first")
    table.columns = [str(layer) for layer in table.columns]
    return table.reindex([(model, there[0]) for model in models]).reset_index().astype(dict.fromkeys(table.columns, "Int64"))
