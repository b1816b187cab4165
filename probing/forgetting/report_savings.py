"""Savings: is what the base said relearned faster than counterfeits of equal probability?"""

from typing import Any

import pandas as pd

from probing.forgetting import store
from probing.forgetting.memory import LOST, detectable
from probing.forgetting.report_outcome import KEYS, with_keys
from probing.forgetting.savings import ALL_LOOKS, FIRST, conclusion, said_of
from probing.kernel.columns import Columns
from probing.kernel.store.database import Database

SAVINGS = Columns(
    KEYS,
    "asked measure passes taught counterfeit difference low high n n_counterfeit able answers detectable",
)


def savings(db: Database, runs: pd.DataFrame) -> pd.DataFrame:
    """What became of taught answers and of counterfeits after so many passes over all lessons; 0: mean of all looks.

    ``taught`` and ``counterfeit`` are shares that are first, or nats of log-probability gained; of ``answers`` of the
    group, ``able`` have a counterfeit; ``detectable`` would be seen in four of five cases.
    """
    return SAVINGS.of(with_keys(runs, compared(store.savings(db))))


def compared(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows of ``forgetting_savings`` with ``difference`` and ``detectable``."""
    return rows.assign(difference=rows["taught"] - rows["counterfeit"], detectable=rows["error"].map(detectable))


def in_words(rows: Any) -> list[str]:
    """The savings of each group of one run in words, from rows of ``compared``; what they say of the weights is last.

    Empty if lost facts have none.
    """
    means = rows[(rows["passes"] == ALL_LOOKS) & (rows["measure"] == FIRST)]
    of = {row["asked"]: row for row in means.to_dict("records")}
    if LOST not in of:
        return []
    return [*(said_of(row) for row in of.values()), conclusion(of)]
