"""The kinds of words that each layer predicts first."""

from collections.abc import Sequence

import pandas as pd

from probing.facts.runs_runs import identities
from probing.facts.store_pairs import answer_types
from probing.facts.totals import KINDS, shares
from probing.kernel.store.database import Database

COLUMNS = ("run_id", "model", "head", "probe_set", "layer", "kind", "n", "share")


def answer_drift(
    db: Database, run_ids: Sequence[str], exposures: Sequence[str] | None = None, answer_in_subject: bool | None = None
) -> pd.DataFrame:
    """Kinds of the top tokens (micro, over facts) by run and layer 0..L; every kind of ``KIND_LABELS`` has a row."""
    counts: dict[str, dict[int, dict[str, int]]] = {}
    for row in answer_types(db, run_ids, exposures, answer_in_subject).itertuples(index=False):
        counts.setdefault(row.run_id, {}).setdefault(int(row.layer), {})[row.kind] = int(row.n)
    rows = []
    for run in identities(db, run_ids).itertuples(index=False):
        for layer, types in sorted(counts.get(run.run_id, {}).items()):
            of_kind = shares(types)
            rows += [
                (run.run_id, run.model, run.head, run.probe_set, layer, kind, types.get(kind, 0), of_kind[kind])
                for kind in KINDS
            ]
    return pd.DataFrame(rows, columns=list(COLUMNS)).astype({"share": "float64"})
