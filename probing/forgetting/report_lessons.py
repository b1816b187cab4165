"""What comes back of lost facts by lessons alike and unlike the question, beside guesses."""

import json

import pandas as pd

from probing.forgetting.memory import LOST, NEVER_KNOWN, WRONG
from probing.forgetting.report_outcome import KEYS, with_keys
from probing.forgetting.store import excesses, shares
from probing.forgetting.ways import LESSONS, USUAL_STEPS
from probing.kernel.columns import Columns, floats, integers
from probing.kernel.store.database import Database

_BESIDE = floats("wrong difference difference_low difference_high never_known")
_OF_RUN = Columns("lessons", integers("steps"), floats("share low high"), integers("n"), _BESIDE, "note")
LESSON_COLUMNS = Columns(KEYS, _OF_RUN)
_KEY = ["run_id", "protocol", "level"]


def lessons(db: Database, runs: pd.DataFrame) -> pd.DataFrame:
    """The share of ``n`` lost facts that comes back by each kind of lessons and number of steps, beside its yardsticks.

    ``wrong`` answers are at equal confidence, ``difference`` is to them; ``note``: why a kind was not tried, or how
    many of its lessons are of another set.
    """
    ids = list(runs["run_id"])
    return with_keys(runs, lesson_rows(runs, shares(db, ids), excesses(db, ids)))[list(LESSON_COLUMNS)]


def lesson_rows(runs: pd.DataFrame, shares: pd.DataFrame, against: pd.DataFrame) -> pd.DataFrame:
    """As ``lessons``, of rows of the three tables, with ``run_id``."""
    rows = shares[(shares["asked"] == LOST) & shares["protocol"].isin(LESSONS.values())]
    beside = [*_KEY, "yardstick_share", "share", "low", "high"]
    for yardstick, names in (
        (WRONG, ["wrong", "compared", "difference_low", "difference_high"]),
        (NEVER_KNOWN, ["never_known"]),
    ):
        found = against.loc[against["yardstick"] == yardstick, beside[: 3 + len(names)]]
        rows = rows.merge(found.set_axis([*_KEY, *names], axis=1), on=_KEY, how="left")
    notes = [
        {"run_id": run["run_id"], "protocol": why.split(" (")[0], "note": f"{n} {why}"}
        for run in runs.to_dict("records")
        for why, n in json.loads(run["left_out"] or "{}").items()
        if why.startswith(tuple(LESSONS.values()))
    ]
    noted = pd.DataFrame(notes, columns=["run_id", "protocol", "note"])
    rows = rows.merge(noted, on=["run_id", "protocol"], how="outer").fillna({"note": ""})
    rows = rows.assign(
        lessons=rows["protocol"].str.removeprefix("lessons: "),
        steps=rows["level"],
        difference=rows["compared"] - rows["wrong"],
        order=rows["protocol"].map(list(LESSONS.values()).index),
    ).sort_values(["order", "level"])
    return Columns("run_id", _OF_RUN).frame(rows)


def kept_in_words(table: pd.DataFrame) -> str:
    """What lessons of kept facts show after the usual steps, of rows of one model; empty without them."""
    kept = table[(table["lessons"] == LESSONS["kept"].removeprefix("lessons: ")) & (table["steps"] == USUAL_STEPS)]
    return "".join(
        f"{100 * row.share:.0f} of 100 come back though no lost fact is taught"
        + (f"; so do {100 * row.wrong:.0f} of equally confident wrong answers" if pd.notna(row.wrong) else "")
        for row in kept.itertuples()
    )
