"""Fine-tunings with their lower layers frozen, against the same fine-tunings of all layers."""

import re

import pandas as pd

from probing.core.stats.intervals import wilson
from probing.core.stats.paired_tests import newcombe
from probing.core.tasks.recipe import UNPROTECTED
from probing.reports.forgetting import series
from probing.reports.reproduction.forgetting.claims import PREVENTED
from probing.store.database import Database

#: What a training did against forgetting, if it froze layers and did nothing else.
_FROZEN = re.compile(r"freeze \d+")


def prevented(db: Database, base: str) -> pd.DataFrame:
    """The share of the base's facts that each fine-tuning lost by its end, usually and with lower layers frozen.

    Trainings of one seed and length are compared. Several seeds: the mean shares, and the widest interval. Both were asked the same
    facts, but only their counts are stored: the interval of a difference (Newcombe, as of independent shares) is rather too wide.

    Args:
        db: the database.
        base: the model that was fine-tuned.

    Returns:
        ``PREVENTED``, one row per objective and number of frozen layers; of one probe set, that of most trainings.
    """
    runs = series.runs(db)
    runs = runs[(runs["base"] == base) & (runs["protection"] != "")]
    if runs.empty:
        return pd.DataFrame(columns=list(PREVENTED))
    runs = runs[runs["probe_set"] == runs["probe_set"].mode().iloc[0]]
    lost = runs.merge(_lost(db, list(runs["run_id"])), on="run_id")
    same = ["objective", "tuned_seed", "before", "step"]
    usual = lost[lost["protection"] == UNPROTECTED].drop_duplicates(same)
    frozen = lost[lost["protection"].map(lambda words: bool(_FROZEN.fullmatch(words)))]
    pairs = frozen.merge(usual, on=same, suffixes=("_frozen", "_usual"))
    rows = []
    for (objective, words, step), some in pairs.groupby(["objective", "protection_frozen", "step"], sort=True):
        ends = [newcombe(_share(one.lost_frozen, one.before), _share(one.lost_usual, one.before)) for one in some.itertuples()]
        shares = [(some[f"lost_{name}"] / some["before"]).mean() for name in ("usual", "frozen")]
        rows.append((f"{objective}, {step:,} steps, {words} layers", *shares, min(end[1] for end in ends), max(end[2] for end in ends)))
    return pd.DataFrame(rows, columns=list(PREVENTED))


def _share(hits: int, n: int) -> tuple[float, float, float]:
    """A share with its Wilson interval."""
    low, high = wilson(hits, n)
    return hits / n, low, high


def _lost(db: Database, run_ids: list[str]) -> pd.DataFrame:
    """run_id, step (the last), before (facts known before), lost (of them those not known at the end), at the last layer."""
    last = series.at_end(db, run_ids, 1)
    trainings = last.assign(before=last["kept"] + last["returned"] + last["lost"])
    return trainings.loc[trainings["before"] > 0, ["run_id", "step", "before", "lost"]]
