"""Two models by layer, on the facts that both were probed on."""

from collections.abc import Sequence

import pandas as pd

from probing.core.stats.intervals import wilson
from probing.core.stats.paired_tests import PairedCounts, paired_difference
from probing.store.database import Database
from probing.store.knowledge.pair_queries import paired_layers

_SHARES = ("base_value", "base_low", "base_high", "value", "low", "high", "difference", "difference_low", "difference_high", "p_value")


def paired_by_layer(
    db: Database, base_run: str, run: str, k: int, exposures: Sequence[str] | None = None, answer_in_subject: bool | None = None
) -> pd.DataFrame:
    """P@k of two runs and its paired difference at every layer that both have; micro, because facts are paired.

    Args:
        db: the database.
        base_run: id of the run compared with.
        run: id of the other.
        k: the rank up to which a fact counts as known.
        exposures, answer_in_subject: filters; None keeps all.

    Returns:
        layer, n (facts in common), both, base_only, model_only, neither, base_value, base_low, base_high, value, low, high (Wilson),
        difference (the run's share minus the base's), difference_low, difference_high (Newcombe), p_value (exact McNemar).
    """
    counted = paired_layers(db, base_run, run, k, exposures, answer_in_subject)
    rows = []
    for row in counted.itertuples():
        both, base_only, model_only, neither = (int(value) for value in (row.both, row.first_only, row.second_only, row.neither))
        got = paired_difference(PairedCounts(both, model_only, base_only, neither))
        ours = [(hits / row.n, *wilson(hits, row.n)) for hits in (both + base_only, both + model_only)]
        rows.append(
            (int(row.layer), int(row.n), both, base_only, model_only, neither, *ours[0], *ours[1], got.value, got.low, got.high, got.p)
        )
    columns = ["layer", "n", "both", "base_only", "model_only", "neither", *_SHARES]
    return pd.DataFrame(rows, columns=columns).astype(dict.fromkeys(_SHARES, "float64"))
