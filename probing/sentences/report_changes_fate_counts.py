"""Two probes on the same test sentences: the counts that a run stores, else from stored predictions."""

from collections.abc import Collection, Mapping, Sequence

import numpy as np
import pandas as pd

from probing.kernel.stats.paired_tests import PairedCounts
from probing.kernel.store.database import Database
from probing.sentences import store
from probing.sentences.examples import OWN
from probing.sentences.numbers import Cell, right_and_right
from probing.sentences.report_accuracy import cell_of, counted

#: A fine-tuned model's probe and its base's -> counts.
Pairs = dict[tuple[Cell, Cell], PairedCounts]


def counts_of_runs(
    db: Database,
    tuned: pd.DataFrame,
    bases: Mapping[str, str],
    pairs_by_run: Mapping[str, Collection[tuple[Cell, Cell]]],
) -> dict[str, Pairs]:
    """Run id of a fine-tuned model -> the counts of its wanted pairs that are stored or follow from predictions.

    A run that is not in ``bases`` (run id -> run id of the base on the same test sentences) has only stored counts.
    """
    base_of = {str(row.run_id): row.base for row in tuned.itertuples()}
    counts: dict[str, Pairs] = {run: {} for run in pairs_by_run}
    for row in store.pairs(db, list(pairs_by_run)).to_dict("records"):
        if row["with_model"] == base_of[row["run_id"]]:
            counts[row["run_id"]][cell_of(row), cell_of(row, "with_")] = counted(row)
    missing = {
        run: lacking
        for run, pairs in pairs_by_run.items()
        if run in bases and (lacking := set(pairs) - set(counts[run]))
    }
    readings = {OWN, *(this.reading for pairs in missing.values() for this, _ in pairs)}
    right = right_sentences(db, [*missing, *{bases[run] for run in missing}], readings)
    for run, lacking in missing.items():
        for this, other in lacking:
            own, theirs = right.get((run, this)), right.get((bases[run], other))
            if own is not None and theirs is not None:
                counts[run][this, other] = _counted(own, theirs)
    return counts


def right_sentences(
    db: Database, run_ids: Sequence[str], readings: Collection[str]
) -> dict[tuple[str, Cell], np.ndarray]:
    """Run id and probe -> (test sentences,) 1 if right, 0 if wrong, NaN if the model cannot take the sentence."""
    rows = store.right_sentences(db, run_ids, [*readings]).to_dict("records") if run_ids else []
    return {(row["run_id"], cell_of(row)): np.array(row["right"], dtype=np.float64) for row in rows}


def _counted(this: np.ndarray, other: np.ndarray) -> PairedCounts:
    readable = ~np.isnan(this)
    return PairedCounts(*right_and_right(this[readable], other[readable]))
