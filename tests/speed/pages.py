"""Times of pages with ten million predictions, and memory of the app."""

import json
import os
import subprocess
import sys
from pathlib import Path
from statistics import median

from probing.core.errors import ProbingError
from probing.core.paths import cache_folder
from probing.core.registry import REPOSITORY
from probing.store.opening import open_database
from tests.speed.generated import PAGES, Size, make_store
from tests.speed.measurement import Measurement
from tests.speed.page_queries import drill_downs, medians, overviews

#: Maximum seconds of a page that is shown again, and maximum memory of the app.
PAGE_SECONDS, APP_GIB = 0.2, 1.0
_EVERYTHING_ANEW = "the same page without caches"


def measure(quick: bool = False) -> list[Measurement]:
    """Every page shown again and in another view, the queries alone, and the memory of the process."""
    size = Size(facts=2_000) if quick else PAGES
    store = make_store(cache_folder() / "bench", size)
    found = _visits(store, 3 if quick else 7)
    of = f"{size.rows:,} predictions of 7 models, 13 layers, 3 heads, {size.facts:,} facts (made up)"
    rows = []
    for visit in found["visits"]:
        again, other = visit["again"], visit["other"]
        spread = f"{min(again):.3f} to {max(again):.3f} s in {len(again)} runs; first visit {visit['first']:.2f} s"
        equal = f"words and {visit['figures']} figures, compared" if visit["anew"] else "nothing to compare"
        rows.append(
            Measurement(
                f"page {visit['page']}, shown again: seconds",
                median(again),
                _EVERYTHING_ANEW if visit["anew"] else "",
                visit["anew"],
                median(again),
                PAGE_SECONDS,
                True,
                equal,
                f"{of}; {spread}",
            )
        )
        if other:
            words = ", ".join(f"{seconds:.2f}" for seconds in other)
            rows.append(
                Measurement(
                    f"page {visit['page']}, a view that is not cached yet: seconds",
                    median(other),
                    "",
                    None,
                    median(other),
                    None,
                    True,
                    "nothing to compare",
                    f"{of}; one run each: {words} s",
                )
            )
    with open_database(store) as db:
        for what, asked in (("overviews", overviews(db)), ("facts", drill_downs(db))):
            times = medians(asked, 3 if quick else 7)
            slowest = max(times, key=lambda name: times[name])
            words = ", ".join(f"{name} {1000 * seconds:.0f}" for name, seconds in times.items())
            rows.append(
                Measurement(
                    f"queries of {what}, the slowest ({slowest}): seconds",
                    times[slowest],
                    "",
                    None,
                    times[slowest],
                    PAGE_SECONDS,
                    True,
                    "nothing to compare",
                    f"{of}; medians in ms, uncached: {words}",
                )
            )
    for name, words in (
        ("bytes", "every page but Ask"),
        ("bytes_with_ask", "every page, including Ask with the shipped model"),
    ):
        gib = found[name] / 2**30
        rows.append(
            Measurement(
                f"memory of the app, {words}: GiB",
                sum(sum(v["again"]) for v in found["visits"]),
                "",
                None,
                gib,
                APP_GIB,
                True,
                "nothing to compare",
                f"{of}; maximum of one process (VmHWM) in Streamlit's test harness",
            )
        )
    return rows


def _visits(store: Path, rounds: int) -> dict:
    places = {"PROBING_SNAPSHOT": str(store), "PROBING_CACHE": str(store.parent / "cache"), "HF_HUB_OFFLINE": "1"}
    command = [sys.executable, "-m", "tests.speed.page_visits", str(rounds)]
    done = subprocess.run(command, cwd=REPOSITORY, env=os.environ | places, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ProbingError(f"visiting the pages failed with {done.returncode}: {done.stderr.strip()[-2000:]}")
    return json.loads(done.stdout.strip().splitlines()[-1])
