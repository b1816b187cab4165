"""Would exiting at an earlier layer answer better than the last layer?"""

from collections.abc import Sequence

import pandas as pd

from probing.facts import totals_early_exit
from probing.facts.runs_runs import identities
from probing.facts.store_pairs import exit_counts, layers_stored
from probing.kernel.stats.paired_tests import PairedCounts
from probing.kernel.store.database import Database

_SHARES = ("last_layer", "early_exit", "union", "difference", "low", "high", "p_value")
COLUMNS = ("run_id", "model", "head", "probe_set", "k", "n", *_SHARES)


def early_exit(
    db: Database,
    run_ids: Sequence[str],
    k: int = 1,
    seed: int = 0,
    exposures: Sequence[str] | None = None,
    answer_in_subject: bool | None = None,
) -> pd.DataFrame:
    """The best layer of each relation, chosen on one half of its facts and scored on the other (micro), one row per
    run.

    Runs that store only their last layer, or only counts, have no row. ``seed`` is of the halves; union: known at some
    layer 1..L; difference: early exit minus last layer, with Newcombe's interval; p_value: exact McNemar.
    """
    stored = layers_stored(db, run_ids).set_index("run_id")["n_layers"].to_dict()
    exits = exit_counts(db, run_ids, k, seed, exposures, answer_in_subject)
    halves: dict[str, dict[str, list]] = {}
    for row in exits.itertuples(index=False):
        halves.setdefault(row.run_id, {}).setdefault(row.relation, []).append(row)
    rows = []
    for run in identities(db, run_ids, by_fact=True).itertuples(index=False):
        if stored.get(run.run_id, 0) < 2:
            continue
        got = totals_early_exit.early_exit(
            [_counts(name, rows_of) for name, rows_of in halves.get(run.run_id, {}).items()]
        )
        change = got.difference
        shares = (got.last_layer, got.early_exit, got.union, change.value, change.low, change.high, change.p)
        rows.append((run.run_id, run.model, run.head, run.probe_set, int(k), got.n, *shares))
    return pd.DataFrame(rows, columns=list(COLUMNS)).astype(dict.fromkeys(_SHARES, "float64"))


def _counts(relation: str, rows: list) -> totals_early_exit.ExitCounts:
    chosen, scored, union = {}, {}, 0
    for row in rows:
        if row.scored:
            scored[int(row.layer)] = PairedCounts(
                int(row.both), int(row.layer_only), int(row.last_only), int(row.neither)
            )
            union = int(row.any)
        else:
            chosen[int(row.layer)] = int(row.both) + int(row.layer_only)
    return totals_early_exit.ExitCounts(relation, chosen, scored, union)
