"""How far the weights of fine-tuned models moved, and the facts that the models lost."""

import pandas as pd

from probing.core.knowledge.shares import lost_share


def drift_and_loss(drift: pd.DataFrame, transitions: pd.DataFrame) -> pd.DataFrame:
    """One point per model that is in both tables.

    Args:
        drift: ``model, layer, drift`` of ``store.knowledge.forgetting_queries.weight_drift``.
        transitions: of ``reports.knowledge.transitions.transitions`` at one k.

    Returns:
        model, drift (mean over layers 1..L; the embeddings are left out), lost_share (missing if the base knows nothing), lost, kept.
    """
    shares = [lost_share(int(row.kept), int(row.lost)) for row in transitions.itertuples()]
    lost = transitions.assign(lost_share=pd.Series(shares, index=transitions.index, dtype="float64"))
    moved = drift[drift["layer"] > 0].groupby("model", as_index=False)["drift"].mean()
    return moved.merge(lost[["model", "lost_share", "lost", "kept"]], on="model")
