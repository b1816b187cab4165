"""The two claims on forgetting: which bases they are judged on, and with which numbers."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from probing.core.facts.fact import PROBE_SETS
from probing.core.forgetting.excess import verdict
from probing.core.forgetting.groups import LOST, NEVER_KNOWN, WRONG
from probing.core.forgetting.protocols import RIGHT
from probing.core.forgetting.published import PublishedForgetting
from probing.core.forgetting.ways import RELEARNED
from probing.reports.forgetting.outcome import outcome
from probing.reports.forgetting.runs import stored_runs, usual
from probing.reports.reproduction.forgetting.claims import BACK, RULES, ForgettingEvidence
from probing.reports.reproduction.forgetting.frozen_layers import prevented
from probing.reports.reproduction.paper import Ours, Paper
from probing.reports.task_success import learned, verdicts_by_model
from probing.store.database import Database
from probing.store.forgetting import queries


def bases_here(db: Database) -> dict[str, pd.DataFrame]:
    """Base -> the runs of its fine-tuned models at rank 1, on the probe set that most of them were asked."""
    runs = stored_runs(db, ks=[1])
    found = {}
    for base, base_runs in runs.groupby("base"):
        largest = base_runs.groupby("probe_set")["model"].nunique().sort_values(ascending=False, kind="stable").index[0]
        found[str(base)] = base_runs[base_runs["probe_set"] == largest].drop_duplicates("model", ignore_index=True)
    return found


def measure(db: Database, base: str) -> Ours:
    """The numbers of a base with its fine-tuned models."""
    runs = bases_here(db)[base]
    tuned = runs[~runs["control"]]
    named = tuned.set_index("run_id")[["model", "objective"]]
    shares, excesses = usual(queries.shares(db, list(tuned["run_id"]))), usual(queries.excesses(db, list(tuned["run_id"])))
    rows = []
    for run_id, names in named.iterrows():
        run_shares = shares[(shares["run_id"] == run_id) & (shares["way"] == RELEARNED) & (shares["protocol"] == RIGHT)].set_index("asked")
        over = excesses[(excesses["run_id"] == run_id) & (excesses["way"] == RELEARNED) & (excesses["protocol"] == RIGHT)]
        over = over.set_index("yardstick")
        ends = [(over.loc[one, "low"], over.loc[one, "high"]) if one in over.index else None for one in (WRONG, NEVER_KNOWN)]
        yardsticks = [over["yardstick_share"].get(one, float("nan")) for one in (WRONG, NEVER_KNOWN)]
        values = [run_shares.loc[LOST, name] for name in ("share", "low", "high")]
        rows.append([*names, *values, *yardsticks, verdict(*ends)])
    back = pd.DataFrame(rows, columns=list(BACK))
    verdicts = verdicts_by_model(learned(db, tuple(back["model"]))) if len(back) else {}
    evidence = ForgettingEvidence(
        back=back, prevented=prevented(db, base), learned={model: verdicts.get(model, "no score stored") for model in back["model"]}
    )
    origin = f"{base}, {PROBE_SETS.get(runs['probe_set'].iloc[0], runs['probe_set'].iloc[0])}"
    return Ours(base, evidence, tuple(runs["run_id"]), origin, runs)


def tables(published: PublishedForgetting, db: Database | None, ours: Ours | None, papers: Mapping[str, Any]) -> dict[str, pd.DataFrame]:
    """The outcome of the known facts of every model; none without results of ours."""
    return {} if ours is None or db is None else {"outcome": outcome(db, ours.about)}


FORGETTING = Paper(
    "forgetting",
    PublishedForgetting,
    RULES,
    "No recoveries of lost facts are stored.",
    "recoveries of lost facts",
    bases_here,
    measure,
    lambda published: {},
    tables,
)
