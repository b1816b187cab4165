"""Total knowledge beside the last layer, the share that only inner layers hold, and the union over re-trained heads."""

from collections.abc import Sequence

import pandas as pd

from probing.core.knowledge.total import KnowledgeCounts, knowledge
from probing.core.metrics import RANKS
from probing.core.stats.intervals import AVERAGES, RelationCounts, macro, micro
from probing.reports.bootstrap import together
from probing.reports.runs import IDENTITY, identities
from probing.store import run_queries
from probing.store.database import Database
from probing.store.knowledge import forgetting_queries

_SHARES = ("last_layer", "last_low", "last_high", "total", "total_low", "total_high", "intermediate_share")
COLUMNS = (*IDENTITY, "k", "average", "n", "relations", *_SHARES, "seeds", "seed_union")


def total(
    db: Database,
    run_ids: Sequence[str],
    ks: Sequence[int] = RANKS,
    averages: Sequence[str] = AVERAGES,
    exposures: Sequence[str] | None = None,
    answer_in_subject: bool | None = None,
) -> pd.DataFrame:
    """Last-layer and total knowledge of runs, one row a run, k and average.

    A union over layers grows by chance; ``seed_union``, the union over as many re-trained heads of the last layer as there
    are, says by how much that alone may raise it. A run that stores its last layer only has no total.

    Returns:
        run_id, model, head, seed, probe_set, k, average, n, relations, last_layer, last_low, last_high, total, total_low, total_high,
        intermediate_share, seeds (runs that differ in their seed only, this one included), seed_union (share of facts with rank <= k
        at the last layer of one of them; empty where there is one run only): shares in [0, 1].
    """
    table = run_queries.totals(db, run_ids, exposures, answer_in_subject)
    unions = forgetting_queries.seed_unions(db, run_ids, exposures, answer_in_subject)
    stored = forgetting_queries.layers_stored(db, run_ids).set_index("run_id")["n_layers"]
    wanted = []
    for run in identities(db, run_ids).itertuples(index=False):
        mine, union = table[table["run_id"] == run.run_id], unions[unions["run_id"] == run.run_id]
        seeds = int(union["seeds"].iloc[0]) if len(union) else 1
        whole = stored.get(run.run_id, 0) > 1
        for k in ks:
            counts = [
                KnowledgeCounts(r.relation, int(r.n), int(getattr(r, f"last_{k}")), int(getattr(r, f"any_{k}"))) for r in mine.itertuples()
            ]
            among = [RelationCounts(r.relation, int(r.n), int(getattr(r, f"any_{k}"))) for r in union.itertuples()]
            wanted += [(run, int(k), average, counts, among, seeds, whole) for average in averages]
    known = together(lambda one: knowledge(one[3], one[2]), wanted)
    rows = []
    for (run, k, average, _, among, seeds, whole), got in zip(wanted, known, strict=True):
        last, every = got.last, got.total
        shares = (every.value, every.low, every.high, got.intermediate_share) if whole else (None,) * 4
        either = (macro if average == "macro" else micro)(among).value if seeds > 1 else None
        rows.append((*run, k, average, last.n, last.relations, last.value, last.low, last.high, *shares, seeds, either))
    return pd.DataFrame(rows, columns=list(COLUMNS)).astype(dict.fromkeys([*_SHARES, "seed_union"], "float64"))
