"""How far weights moved and what was lost, one point per model."""

import pandas as pd

from probing.reports.knowledge.drift_and_loss import drift_and_loss


def test_the_mean_drift_leaves_the_embeddings_out_and_a_base_that_knows_nothing_has_no_lost_share():
    drift = pd.DataFrame(
        [(model, layer, value) for model in "abc" for layer, value in enumerate((9.0, 0.1, 0.3))], columns=["model", "layer", "drift"]
    )
    lost = pd.DataFrame([("a", 3, 1), ("b", 0, 0)], columns=["model", "kept", "lost"])
    points = drift_and_loss(drift, lost).set_index("model")
    assert list(points.index) == ["a", "b"]
    assert points["drift"].round(12).tolist() == [0.2, 0.2]
    assert points.at["a", "lost_share"] == 0.25 and pd.isna(points.at["b", "lost_share"])
