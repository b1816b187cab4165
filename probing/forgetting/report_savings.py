"""Savings: is what the base said relearned faster than counterfeits of equal probability?"""

import json
from collections.abc import Sequence
from typing import Any

import pandas as pd

from probing.forgetting import store
from probing.forgetting.memory import LOST, detectable
from probing.forgetting.report_outcome import KEYS, stored_runs, with_keys
from probing.forgetting.savings import SAVED, TOO_FEW, conclusion, means, said_of
from probing.kernel.columns import Columns
from probing.kernel.store.database import Database

_NUMBERS = "asked measure passes taught counterfeit difference low high error n n_counterfeit able answers detectable"
SAVINGS = Columns(KEYS, _NUMBERS)


def savings(
    db: Database,
    models: Sequence[str] | None = None,
    probe_sets: Sequence[str] | None = None,
    ks: Sequence[int] | None = None,
) -> pd.DataFrame:
    """What became of taught answers and of counterfeits after so many passes over all lessons; 0: mean of all looks.

    ``taught`` and ``counterfeit`` are shares that are first, or nats of log-probability gained; of ``answers`` of the
    group, ``able`` have a counterfeit; ``detectable`` would be seen in four of five cases.
    """
    rows = store.savings(db).sort_values("asked", key=lambda asked: asked.map(list(SAVED).index), kind="stable")
    runs = stored_runs(db, models, probe_sets, ks, planted=True, among=set(rows["run_id"]))
    return SAVINGS.of(with_keys(runs, compared(rows)))


def compared(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows of ``forgetting_savings`` with ``difference`` and ``detectable``."""
    return rows.assign(difference=rows["taught"] - rows["counterfeit"], detectable=rows["error"].map(detectable))


def stored_words(db: Database, model: str, probe_set: str, k: int) -> list[str]:
    """``in_words`` of a model's stored run; empty if it has no savings."""
    chosen = ([model], [probe_set], [k])
    runs = stored_runs(db, *chosen)
    return in_words(savings(db, *chosen), next(iter(runs["left_out"]), None))


def in_words(rows: Any, left_out: str | None = None) -> list[str]:
    """The savings of each group of one run in words, from rows of ``compared``; what they say of the weights is last.

    If lost facts have none, how few have a counterfeit, as the run's ``left_out`` says; else empty.
    """
    of = {row["asked"]: row for row in means(rows).to_dict("records")}
    if LOST not in of:
        few = json.loads(left_out or "{}").get(TOO_FEW)
        return [] if few is None else [f"{few:,} {TOO_FEW}."]
    return [*(said_of(row) for row in of.values()), conclusion(of)]
