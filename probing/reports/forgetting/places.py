"""Where facts were lost and come back: by relation, by exposure, by layer; and the facts themselves."""

import pandas as pd

from probing.core.forgetting.excess import POOLED
from probing.core.forgetting.groups import WRONG
from probing.core.forgetting.protocols import RIGHT
from probing.core.forgetting.ways import LAYERS_BACK, OTHER_LAYER, RELEARNED
from probing.reports.forgetting.runs import usual, with_keys
from probing.store.database import Database
from probing.store.forgetting import queries

FACTS = (
    "fact_id", "relation", "subject", "object", "way", "layer", "fitted", "layers_back", "steps", "seeds_back", "bin", "exposure", "prompt",
)  # fmt: skip


def relations(db: Database, runs: pd.DataFrame, way: str = RELEARNED) -> pd.DataFrame:
    """Lost facts by relation.

    Args:
        db: the database.
        runs: of ``stored_runs``.
        way: whose excess is shown.

    Returns:
        One row per run and relation: ``relation, label, known, kept, lost``, numbers of lost facts by how they come back
        (``queries.BACK_COLUMNS``), and the excess of a way over wrong answers, ``excess, low, high``; ``pooled`` is whether
        the excess is that of all relations with few facts together.
    """
    ids = list(runs["run_id"])
    table = queries.by_relation(db, ids)
    excesses = usual(queries.excesses(db, ids, relations=True))
    excesses = excesses[(excesses["way"] == way) & (excesses["protocol"] == RIGHT) & (excesses["yardstick"] == WRONG)]
    excesses = excesses.assign(excess=excesses["share"] - excesses["yardstick_share"])[["run_id", "relation", "excess", "low", "high"]]
    own = set(excesses[["run_id", "relation"]].itertuples(index=False, name=None))
    table["pooled"] = [pair not in own for pair in table[["run_id", "relation"]].itertuples(index=False, name=None)]
    table["_of"] = table["relation"].where(~table["pooled"], POOLED)
    table = table.merge(excesses.rename(columns={"relation": "_of"}), on=["run_id", "_of"], how="left").drop(columns="_of")
    return with_keys(runs, table.sort_values(["lost", "relation"], ascending=[False, True]))


def exposures(db: Database, runs: pd.DataFrame) -> pd.DataFrame:
    """Lost facts by how the base's training text states them, of runs in which that is known.

    Returns:
        One row per run and exposure: ``exposure, lost``, and the numbers by how they come back (``queries.BACK_COLUMNS``).
    """
    return with_keys(runs, queries.by_exposure(db, list(runs["run_id"])))


def layers(db: Database, runs: pd.DataFrame) -> pd.DataFrame:
    """Where answers come back: the highest layer that reads them, and the fewest last layers that must be the base's.

    Returns:
        One row per run, way (``another layer`` or ``layers put back``) and layer or number of layers (``level``): ``n`` facts, whatever
        the cheapest way of each is.
    """
    parts = []
    for way, column in ((OTHER_LAYER, "layer"), (LAYERS_BACK, "layers_back")):
        counts = queries.counted(db, list(runs["run_id"]), column).dropna(subset=column)
        parts.append(counts.groupby(["run_id", column], as_index=False)["n"].sum().rename(columns={column: "level"}).assign(way=way))
    table = pd.concat(parts, ignore_index=True).astype({"level": "int64", "n": "int64"})
    return with_keys(runs, table[["run_id", "way", "level", "n"]])


def facts(db: Database, run_id: str, ways: tuple[str, ...] | None = None, relations: tuple[str, ...] | None = None) -> pd.DataFrame:
    """The lost facts of one run that come back by these ways and are of these relations; None keeps all. Columns: ``FACTS``."""
    return queries.facts(db, run_id, ways, relations)[list(FACTS)]
