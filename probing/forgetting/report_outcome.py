"""What became of the facts that the base knew; each way next to its yardsticks; and the test of memory."""

from typing import Any

import pandas as pd

from probing.forgetting.memory import NEVER_HAD
from probing.forgetting.memory_memory import describe, detectable, verdict
from probing.forgetting.report_outcome_runs import KEYS, with_keys
from probing.forgetting.store import counted, excesses
from probing.forgetting.ways import ANY, KEPT, LAYERS_BACK, LOST_OUTCOMES, OUTCOMES, RANDOM_BODY, USUAL_STEPS
from probing.kernel.store.database import Database

OUTCOME = (*KEYS, "control", "part", "n", "known", "per_100", "note")
#: The interval of a test of memory, and that without the commonest answer.
_ENDS = ("low", "high", "low_without", "high_without")
_COMPARED = (
    "way",
    "level",
    "protocol",
    "yardstick",
    "share",
    "yardstick_share",
    "difference",
    "low",
    "high",
    "n",
    "n_yardstick",
)
WAYS_BACK = (*KEYS, *_COMPARED)
MEMORY = (
    *KEYS,
    "way",
    "protocol",
    "seeds",
    "stated",
    "never_had",
    "difference",
    *_ENDS,
    "n",
    "n_never_had",
    "detectable",
    "verdict",
)


def outcome(db: Database, runs: pd.DataFrame) -> pd.DataFrame:
    """What became of each fact that the base knew: the outcomes add up to all.

    ``known`` is by the base, ``per_100`` of them; ``note`` has the reason why layers were not put back.
    """
    if runs.empty:
        return pd.DataFrame(columns=list(OUTCOME))
    ids = list(runs["run_id"])
    by_way = counted(db, ids, "way").pivot_table(index="run_id", columns="way", values="n", aggfunc="sum", fill_value=0)
    counts = by_way.reindex(index=ids, columns=list(LOST_OUTCOMES), fill_value=0)
    rows = []
    for run in runs.to_dict("records"):
        sizes = {KEPT: run["kept"], **counts.loc[run["run_id"]].to_dict()}
        for part in OUTCOMES:
            row = {name: run[name] for name in (*KEYS, "control")} | {
                "part": part,
                "n": int(sizes[part]),
                "known": int(run["known"]),
            }
            note = run["not_put_back"] if part == LAYERS_BACK and pd.notna(run["not_put_back"]) else ""
            rows.append(row | {"per_100": 100 * row["n"] / max(1, row["known"]), "note": note})
    return pd.DataFrame(rows, columns=list(OUTCOME))


def ways(db: Database, runs: pd.DataFrame) -> pd.DataFrame:
    """Each way by itself, next to every yardstick: its share of the lost facts, and the difference with its 95 %
    interval.

    ``yardstick_share`` is at equal confidence where it is that of wrong answers, or of right answers that the text
    never had.
    """
    rows = excesses(db, list(runs["run_id"]))
    return with_keys(runs, rows.assign(difference=rows["share"] - rows["yardstick_share"]))[list(WAYS_BACK)]


def memory(db: Database, runs: pd.DataFrame) -> pd.DataFrame:
    """The test of memory of every way, of runs for which it is known what the base's training text states, or what was
    planted.

    Relearning, after the usual steps, is split by answer and by subject. Shares of ``stated`` facts and of those that
    the text ``never_had`` are at equal confidence; ``low_without, high_without`` is the interval without the commonest
    answer of the second; ``verdict``: see ``forgetting.memory_memory``.
    """
    rows = tested(excesses(db, list(runs["run_id"]))).rename(
        columns={"share": "stated", "yardstick_share": "never_had", "n_yardstick": "n_never_had"}
    )
    return with_keys(runs, rows.merge(runs[["run_id", "seeds"]], on="run_id"))[list(MEMORY)]


def tested(rows: pd.DataFrame) -> pd.DataFrame:
    """The tests of memory among rows of ``forgetting_excesses``, with ``detectable`` and ``verdict``."""
    rows = rows[
        (rows["yardstick"] == NEVER_HAD) & (rows["protocol"] != RANDOM_BODY) & rows["level"].isin((ANY, USUAL_STEPS))
    ]
    rows = rows.assign(
        difference=rows["share"] - rows["yardstick_share"],
        back=rows[["share", "yardstick_share"]].max(axis=1),
        detectable=rows["error"].map(detectable),
    )
    numbers = rows[["back", *_ENDS]].astype(float).itertuples(index=False, name=None)
    return rows.assign(verdict=[verdict(*number) for number in numbers])


def in_words(test: Any) -> str:
    """One row of ``tested`` or ``memory``, of ``itertuples``, as command, card, document and page say it."""
    return describe(test.verdict, test.difference, [getattr(test, end) for end in _ENDS], test.detectable)
