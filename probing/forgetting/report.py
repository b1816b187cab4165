"""The reports of lost facts."""

import pandas as pd

from probing.forgetting import report_outcome
from probing.forgetting.report_outcome_places import FACTS, FALLS, facts, falls, relations, reworded
from probing.forgetting.report_outcome_runs import stored_runs
from probing.forgetting.store import by_relation, forgetting_runs
from probing.forgetting.ways import LOST_OUTCOMES
from probing.kernel.report import Choice, Filter, Report, Reports, refuse_unstored
from probing.kernel.store.database import Database
from probing.terms import RANKS

_OUTCOME_SHOWN = ("model", "probe_set", "k", "part", "n", "per_100", "note")
_MEMORY_SHOWN = (
    "model",
    "way",
    "protocol",
    "stated",
    "never_had",
    "difference",
    "low",
    "high",
    "n_never_had",
    "detectable",
    "verdict",
)
_FACTS_SHOWN = ("relation", "subject", "object", "way", "layer", "layers_back", "after_15", "rank", "margin")


def _runs(db: Database, choice: Choice, planted: bool = False) -> pd.DataFrame:
    return stored_runs(db, choice["model"], choice["probe_set"], choice["k"], planted)


def _relations(db: Database, choice: Choice) -> pd.DataFrame:
    table = relations(db, _runs(db, choice))
    return (
        table
        if choice["relation"] is None
        else table[table["relation"].isin(list(choice["relation"]))].reset_index(drop=True)
    )


def _facts(db: Database, choice: Choice) -> pd.DataFrame:
    runs = _runs(db, choice)
    if runs.empty:
        return pd.DataFrame(columns=list(FACTS))
    return facts(db, runs["run_id"].iloc[0], choice["way"], choice["relation"])


def _refuse(db: Database, choice: Choice) -> None:
    runs = forgetting_runs(db)
    known = by_relation(db, list(runs["run_id"]))["relation"] if choice["relation"] else ()
    refuse_unstored(
        "lost facts",
        choice,
        {"model": runs["model"], "probe_set": sorted(set(runs["probe_set"])), "relation": sorted(set(known))},
    )


FORGETTING = Reports(
    "forgetting",
    (
        Report(
            "forgetting",
            "outcome",
            "of 100 facts that the base knew",
            lambda db, choice: report_outcome.outcome(db, _runs(db, choice)),
            report_outcome.OUTCOME,
            shown=_OUTCOME_SHOWN,
        ),
        Report(
            "forgetting",
            "ways",
            "each way next to its yardsticks",
            lambda db, choice: report_outcome.ways(db, _runs(db, choice)),
        ),
        Report(
            "forgetting",
            "memory",
            "memory, or good guesses",
            lambda db, choice: report_outcome.memory(db, _runs(db, choice, planted=True)),
            report_outcome.MEMORY,
            shown=_MEMORY_SHOWN,
        ),
        Report(
            "forgetting",
            "falls",
            "how far lost facts fell",
            lambda db, choice: falls(db, _runs(db, choice)),
            FALLS,
        ),
        Report(
            "forgetting",
            "wording",
            "lost for one wording, or in both",
            lambda db, choice: reworded(db, _runs(db, choice)),
        ),
        Report("forgetting", "relations", "lost facts by relation", _relations),
        Report("forgetting", "facts", "the lost facts", _facts, FACTS, shown=_FACTS_SHOWN, needs=("model",)),
    ),
    (
        Filter("model", "Model; repeatable. None: all."),
        Filter("probe_set", "trex, google_re, ...; repeatable. None: all."),
        Filter("k", "1 or 10; repeatable. None: all.", int, tuple(rank for rank in RANKS if rank < 100)),
        Filter(
            "way",
            f"For facts: {', '.join(LOST_OUTCOMES)}; repeatable. None: all.",
            known=LOST_OUTCOMES,
            only=("facts",),
        ),
        Filter("relation", "For relations and facts: relation; repeatable. None: all.", only=("relations", "facts")),
    ),
    _refuse,
)
