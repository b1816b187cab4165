"""Lost facts by relation, how far they fell, and the facts themselves."""

import pandas as pd

from probing.forgetting import store
from probing.forgetting.report_outcome_runs import KEYS, with_keys
from probing.kernel.store.database import Database

FACTS = (
    "fact_id",
    "relation",
    "subject",
    "object",
    "way",
    "layer",
    "fitted",
    "layers_back",
    "after_5",
    "after_15",
    "after_45",
    "by_subject",
    "base_logp",
    "logp",
    "rank",
    "margin",
    "exposure",
    "reworded",
    "prompt",
)
FALLS = (*KEYS, "lost", "fall", "rank", "margin", "second", "near")
#: A margin of fewer nats is near.
NEAR = 0.1


def relations(db: Database, runs: pd.DataFrame) -> pd.DataFrame:
    """Lost facts by relation, and how many of them came back in which way (``queries.BACK_COLUMNS``)."""
    table = store.by_relation(db, list(runs["run_id"]))
    return with_keys(runs, table.sort_values(["lost", "relation"], ascending=[False, True]))


def reworded(db: Database, runs: pd.DataFrame) -> pd.DataFrame:
    """What another wording shows of the lost facts: ``reworded, n``, of runs that asked for them in one."""
    return with_keys(runs, store.counted(db, list(runs["run_id"]), "reworded").dropna(subset="reworded"))


def falls(db: Database, runs: pd.DataFrame) -> pd.DataFrame:
    """How far lost facts fell, one row per run.

    Medians of the loss of log-probability of the right answer (``fall``, nats), of its ``rank`` in the fine-tuned model
    and of the ``margin`` by which that prefers its first answer (nats); shares of lost facts that are second now
    (``second``), and second by less than 0.1 nats (``near``).
    """
    rows = store.falls(db, list(runs["run_id"]))
    second = rows["rank"] == 2
    rows = rows.assign(fall=rows["base_logp"] - rows["logp"], second=second, near=second & (rows["margin"] < NEAR))
    table = rows.groupby("run_id", as_index=False).agg(
        lost=("rank", "size"),
        fall=("fall", "median"),
        rank=("rank", "median"),
        margin=("margin", "median"),
        second=("second", "mean"),
        near=("near", "mean"),
    )
    return with_keys(runs, table)[list(FALLS)]


def facts(
    db: Database, run_id: str, ways: tuple[str, ...] | None = None, relations: tuple[str, ...] | None = None
) -> pd.DataFrame:
    """The lost facts (``FACTS``) of one run by these ways back and relations; None keeps all."""
    return store.facts(db, run_id, ways, relations)[list(FACTS)]
