"""Of 100 facts that the base knew: how many are kept, come back by each way, or are not recovered; each way next to its yardsticks."""

import pandas as pd

from probing.core.forgetting.excess import UNKNOWN, verdict
from probing.core.forgetting.groups import LOST, NEVER_KNOWN, WRONG
from probing.core.forgetting.protocols import RANDOM_BODY, RIGHT
from probing.core.forgetting.ways import NOT_RECOVERED, WAYS
from probing.reports.forgetting.runs import KEYS, usual, with_keys
from probing.store.database import Database
from probing.store.forgetting import queries

#: Facts that both models know.
KEPT = "kept"
#: Every known fact is in one of these parts.
PARTS = (KEPT, *WAYS, NOT_RECOVERED)
#: Yardstick -> prefix of its columns.
_YARDSTICKS = {WRONG: "wrong", NEVER_KNOWN: "never", RANDOM_BODY: "random"}
OUTCOME = (
    *KEYS,
    "control",
    "part",
    "n",
    "known",
    "per_100",
    "verdict",
    *(f"{prefix}{end}" for prefix in _YARDSTICKS.values() for end in ("_excess", "_low", "_high")),
)


def outcome(db: Database, runs: pd.DataFrame) -> pd.DataFrame:
    """The parts of what the base knew.

    Args:
        db: the database.
        runs: of ``stored_runs``.

    Returns:
        One row per run and part: ``model, base, probe_set, k, control, part, n`` (facts), ``known`` (by the base), ``per_100`` of them;
        of parts that are ways, the excess of the way by itself over wrong answers of equal confidence (``wrong_excess, wrong_low,
        wrong_high``), over never-known facts (``never_...``) and over a random body (``random_...``), in shares, and its ``verdict``.
    """
    if runs.empty:
        return pd.DataFrame(columns=list(OUTCOME))
    ids = list(runs["run_id"])
    by_way = queries.counted(db, ids, "way").pivot_table(index="run_id", columns="way", values="n", aggfunc="sum", fill_value=0)
    counts = by_way.reindex(index=ids, columns=[*WAYS, NOT_RECOVERED], fill_value=0)
    of_ways = _excesses(db, ids)
    rows = []
    for run in runs.to_dict("records"):
        sizes = {KEPT: run["kept"], **counts.loc[run["run_id"]].to_dict()}
        for part in PARTS:
            n = int(sizes[part])
            row = {name: run[name] for name in (*KEYS, "control")} | {"part": part, "n": n, "known": int(run["known"])}
            rows.append(row | {"per_100": 100 * n / max(1, int(run["known"]))} | of_ways.get((run["run_id"], part), {}))
    return pd.DataFrame(rows, columns=list(OUTCOME)).assign(verdict=lambda table: table["verdict"].fillna(""))


def ways(db: Database, runs: pd.DataFrame) -> pd.DataFrame:
    """Each way by itself, next to every yardstick.

    Returns:
        One row per run, way, level, protocol and yardstick: ``share`` of the lost facts, ``yardstick_share``, ``excess`` with its 95 %
        interval ``low, high``, and the numbers of facts ``n, n_yardstick``.
    """
    excesses = queries.excesses(db, list(runs["run_id"]))
    excesses = excesses.assign(excess=excesses["share"] - excesses["yardstick_share"]).drop(columns="relation")
    columns = [
        *KEYS, "way", "level", "protocol", "yardstick", "share", "yardstick_share", "excess", "low", "high", "n", "n_yardstick",
    ]  # fmt: skip
    return with_keys(runs, excesses)[columns]


def by_confidence(db: Database, runs: pd.DataFrame) -> pd.DataFrame:
    """How often lost facts, wrong answers and never-known facts come back, in bins of the base's confidence.

    Returns:
        One row per run, way and bin (from 0; its upper ends are ``core.forgetting.excess.CONFIDENCE_BINS``): ``n, share, low, high`` of
        lost facts, and the same with ``wrong_`` and ``never_`` in front.
    """
    shares = usual(queries.shares(db, list(runs["run_id"]), bins=True))
    shares = shares[shares["protocol"] == RIGHT]
    keys, values = ["run_id", "way", "bin"], ["n", "share", "low", "high"]
    table = shares.loc[shares["asked"] == LOST, [*keys, *values]]
    for group, prefix in _YARDSTICKS.items():
        other = shares.loc[shares["asked"] == group, [*keys, *values]].rename(columns={name: f"{prefix}_{name}" for name in values})
        table = table.merge(other, on=keys, how="outer")
    table = table.sort_values(["way", "bin"], key=lambda column: column.map(WAYS.index) if column.name == "way" else column)
    return with_keys(runs, table)


def _excesses(db: Database, ids: list[str]) -> dict[tuple[str, str], dict[str, object]]:
    """(Run, way) -> its verdict, and the columns of its excesses."""
    rows = usual(queries.excesses(db, ids))
    rows = rows[(rows["protocol"] == RIGHT) & rows["yardstick"].isin(list(_YARDSTICKS))]
    found: dict[tuple[str, str], dict[str, object]] = {(run_id, way): {"verdict": UNKNOWN} for run_id in ids for way in WAYS}
    intervals: dict[tuple[str, str], dict[str, tuple[float, float]]] = {}
    for row in rows.to_dict("records"):
        key, prefix = (row["run_id"], row["way"]), _YARDSTICKS[row["yardstick"]]
        intervals.setdefault(key, {})[prefix] = row["low"], row["high"]
        excess = row["share"] - row["yardstick_share"]
        found[key] |= {f"{prefix}_excess": excess, f"{prefix}_low": row["low"], f"{prefix}_high": row["high"]}
    for key, ends in intervals.items():
        found[key]["verdict"] = verdict(*(ends.get(prefix) for prefix in _YARDSTICKS.values()))
    return found
