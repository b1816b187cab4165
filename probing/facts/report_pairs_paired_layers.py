"""Two models by layer, on the facts that both were probed on."""

from collections.abc import Sequence

import pandas as pd

from probing.facts.store_answer_clusters import sums_of
from probing.facts.store_pairs_pair_queries import paired_layers
from probing.kernel.stats.intervals import wilson
from probing.kernel.stats.paired_tests import PairedCounts, each_interval, paired_difference
from probing.kernel.store.database import Database

_SHARES = (
    "base_value",
    "base_low",
    "base_high",
    "value",
    "low",
    "high",
    "difference",
    "difference_low",
    "difference_high",
    "difference_low_answers",
    "difference_high_answers",
    "more_low_answers",
    "more_high_answers",
    "p_value",
)


def paired_by_layer(
    db: Database,
    base_run: str,
    run: str,
    k: int,
    exposures: Sequence[str] | None = None,
    answer_in_subject: bool | None = None,
) -> pd.DataFrame:
    """P@k of two runs and its paired difference at every layer that both have; micro, because facts are paired.

    Intervals of shares are Wilson's, of the difference (the run's share minus the base's) Newcombe's, and with
    ``_answers`` those if answers are drawn again, too; more: the same of the difference of both minus the swapped
    subject; p_value: exact McNemar.
    """
    counted = paired_layers(db, base_run, run, k, exposures, answer_in_subject)
    rows = []
    answers = [
        answer_ends
        for value in ("more", "above_more")
        for answer_ends in each_interval(sums_of(counted, value), -1, "overall")
    ]
    for row, ends in zip(counted.itertuples(), zip(*answers, strict=True), strict=True):
        both, base_only, model_only, neither = (
            int(value) for value in (row.both, row.first_only, row.second_only, row.neither)
        )
        got = paired_difference(PairedCounts(both, model_only, base_only, neither))
        ours = [(hits / row.n, *wilson(hits, row.n)) for hits in (both + base_only, both + model_only)]
        change = (got.value, got.low, got.high, *ends, got.p)
        rows.append((int(row.layer), int(row.n), both, base_only, model_only, neither, *ours[0], *ours[1], *change))
    columns = ["layer", "n", "both", "base_only", "model_only", "neither", *_SHARES]
    return pd.DataFrame(rows, columns=columns).astype(dict.fromkeys(_SHARES, "float64"))
