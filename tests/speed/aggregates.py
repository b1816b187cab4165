"""Times of queries of counts with a hundred million predictions in the store."""

import pandas as pd

from probing.core.errors import ProbingError
from probing.core.paths import cache_folder
from probing.store import run_queries
from probing.store.opening import open_database
from tests.reference import recount
from tests.speed.generated import AGGREGATES, Size, make_store
from tests.speed.measurement import Measurement, alternate
from tests.speed.page_queries import medians, overviews

MAX_SECONDS = 1.0


def measure(quick: bool = False) -> list[Measurement]:
    """Every query of the overview pages, and two of them against the same counts made from the rows."""
    size = Size(facts=500, families=2, top_k=1) if quick else AGGREGATES
    rounds = 3 if quick else 7
    store = make_store(cache_folder() / "bench", size)
    of = (
        f"{size.rows:,} predictions: {size.families} families of 7 models, 3 heads, {size.facts:,} facts, 13 layers (made up); counted by the "
        "program's own statements; one family with one head is asked for"
    )
    with open_database(store) as db:
        asked = overviews(db)
        times = medians(asked, rounds)
        runs = run_queries.runs(db)
        ids = list(runs.loc[(runs["head"] == "tied") & (runs["model"].str.startswith("bert-base")), "run_id"])
        pairs = {
            "aggregate": (lambda: run_queries.aggregate(db, ids), lambda: recount.aggregate_of_rows(db, ids)),
            "totals": (lambda: run_queries.totals(db, ids), lambda: recount.total_of_rows(db, ids)),
        }
        rows = []
        for name, (ours, theirs) in pairs.items():
            _same(name, ours(), theirs())
            fast, slow = (sorted(taken)[len(taken) // 2] for taken in alternate(ours, theirs, 3))
            rows.append(
                Measurement(
                    f"{name} with {size.rows:,} predictions",
                    fast,
                    "the same counts from the rows",
                    slow,
                    slow / fast,
                    None,
                    False,
                    "every number, compared (sums of reciprocals within 1e-9)",
                    of,
                )
            )
    slowest = max(times, key=lambda name: times[name])
    words = ", ".join(f"{name} {1000 * seconds:.0f}" for name, seconds in times.items())
    rows.append(
        Measurement(
            f"queries of counts with {size.rows:,} predictions, the slowest ({slowest}): seconds",
            times[slowest],
            "",
            None,
            times[slowest],
            MAX_SECONDS,
            True,
            "nothing to compare",
            f"{of}; medians of {rounds} in ms, uncached: {words}",
        )
    )
    return rows


def _same(name: str, ours: pd.DataFrame, theirs: pd.DataFrame) -> None:
    try:
        pd.testing.assert_frame_equal(ours, theirs, check_dtype=False, rtol=1e-9)
    except AssertionError as error:
        raise ProbingError(f"{name} of the counted tables differs from the same counts of the rows: {error}") from error
