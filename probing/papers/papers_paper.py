"""The claims on forgetting: the bases that are compared, and what became of the facts that they knew."""

import pandas as pd

from probing.facts.fact import PROBE_SETS
from probing.forgetting.report_outcome import outcome, stored_runs
from probing.forgetting.series import PublishedForgetting
from probing.kernel.store.database import Database
from probing.papers.claims import BASE, Subject
from probing.papers.claims_paper import Ours, Paper


def bases_here(db: Database) -> dict[str, pd.DataFrame]:
    """Base -> the runs of its fine-tuned models at rank 1, on the probe set that most of them were asked."""
    runs = stored_runs(db, ks=[1])
    runs_of_base = {}
    for base, base_runs in runs.groupby("base"):
        largest = base_runs.groupby("probe_set")["model"].nunique().sort_values(ascending=False, kind="stable").index[0]
        runs_of_base[str(base)] = base_runs[base_runs["probe_set"] == largest].drop_duplicates(
            "model", ignore_index=True
        )
    return runs_of_base


def measure(db: Database, base: str) -> Ours:
    """The runs of a base's fine-tuned models, which are ``about``."""
    runs = bases_here(db)[base]
    probe_set = runs["probe_set"].iloc[0]
    return Ours(
        base, runs, tuple(runs["run_id"]), f"{base}, {PROBE_SETS.get(probe_set, probe_set)}", Subject({BASE: base})
    )


def tables(published: PublishedForgetting, db: Database | None, ours: Ours | None) -> dict[str, pd.DataFrame]:
    """The outcome of the known facts of every model; none without results of ours."""
    return {} if ours is None or db is None else {"outcome": outcome(db, ours.about)}


FORGETTING = Paper(
    "forgetting", PublishedForgetting, "recoveries of lost facts", bases_here, measure, tables, ("outcome",)
)
