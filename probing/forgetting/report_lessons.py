"""What comes back of lost facts by lessons alike and unlike the question, beside guesses."""

import json

import pandas as pd

from probing.forgetting.memory import LOST, NEVER_KNOWN, WRONG
from probing.forgetting.report_outcome import KEYS, stored_runs, with_keys
from probing.forgetting.store import excesses, shares
from probing.forgetting.ways import LESSONS, RELEARNED, USUAL_STEPS
from probing.kernel.columns import Columns, floats, integers
from probing.kernel.provenance import stored_configuration
from probing.kernel.store.database import Database

_MEASURED = (
    floats("share low high"),
    integers("n"),
    floats("compared wrong difference difference_low difference_high"),
)
_OF_RUN = Columns("lessons", integers("steps"), *_MEASURED, floats("never_known"), "left_out")
LESSON_COLUMNS = Columns(KEYS, _OF_RUN)


def lessons(db: Database, runs: pd.DataFrame) -> pd.DataFrame:
    """The share of lost facts that comes back by each kind of lessons and number of steps, beside its yardsticks.

    ``share`` is of ``n`` lost facts; ``compared`` of those beside ``wrong`` answers at equal confidence,
    and ``difference`` is that of the two. A kind with too few lessons has their number in ``left_out``, and no shares.
    """
    ids = list(runs["run_id"])
    return with_keys(runs, lesson_rows(runs, shares(db, ids), excesses(db, ids)))[list(LESSON_COLUMNS)]


def lesson_rows(runs: pd.DataFrame, shares: pd.DataFrame, against: pd.DataFrame) -> pd.DataFrame:
    """As ``lessons``, of rows of the three tables, with ``run_id``."""
    key = ["run_id", "protocol", "level"]
    found = shares[(shares["way"] == RELEARNED) & (shares["asked"] == LOST)].set_index(key)
    by = {name: rows.set_index(key) for name, rows in against.groupby("yardstick")}
    rows = []
    for run in runs.to_dict("records"):
        few = json.loads(run["left_out"] or "{}")
        for protocol in map(LESSONS.__getitem__, stored_configuration(run["config"]).get("lessons", ())):
            one = {"run_id": run["run_id"], "lessons": protocol.removeprefix("lessons: ")}
            rows += [one | {"left_out": f"{n} {why}"} for why, n in few.items() if why.startswith(f"{protocol} (")]
            for level in sorted(
                level for run_id, name, level in found.index if (run_id, name) == (run["run_id"], protocol)
            ):
                at = (run["run_id"], protocol, level)
                row = one | {"steps": level, "left_out": "", **found.loc[at, ["share", "low", "high", "n"]]}
                if WRONG in by and at in by[WRONG].index:
                    each = by[WRONG].loc[at]
                    row |= {"compared": each["share"], "wrong": each["yardstick_share"]}
                    row |= {"difference": each["share"] - each["yardstick_share"]}
                    row |= {"difference_low": each["low"], "difference_high": each["high"]}
                if NEVER_KNOWN in by and at in by[NEVER_KNOWN].index:
                    row["never_known"] = by[NEVER_KNOWN].loc[at, "yardstick_share"]
                rows.append(row)
    return Columns("run_id", _OF_RUN).frame(rows)


def usual_lessons(table: pd.DataFrame) -> pd.DataFrame:
    """The rows after the usual steps, and those of kinds that were left out."""
    return table[table["steps"].fillna(USUAL_STEPS) == USUAL_STEPS].reset_index(drop=True)


def kept_in_words(table: pd.DataFrame) -> str:
    """What the lessons of kept facts show after the usual steps, of rows of one model; empty without them."""
    kept = table[(LESSONS["kept"] == "lessons: " + table["lessons"]) & (table["steps"] == USUAL_STEPS)]
    if kept.empty:
        return ""
    return f"{100 * kept['share'].iloc[0]:.0f} of 100 come back though no lost fact is taught"


def runs_with_lessons(db: Database) -> pd.DataFrame:
    """The runs of ``stored_runs`` among those that compared lessons."""
    return stored_runs(db, lessons=True)
