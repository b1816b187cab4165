"""The reports of when facts are forgotten, and of what prevents it."""

import pandas as pd

from probing.forgetting import report_series, report_series_prevention
from probing.forgetting.series_rank_buckets import KNOWN_UP_TO
from probing.kernel.report import Choice, Filter, Report, Reports, refuse_unstored
from probing.kernel.store.database import Database

_OF_LAYERS = ("steps", "relations")


def _steps(db: Database, choice: Choice) -> pd.DataFrame:
    return report_series.steps(db, choice["model"], choice["probe_set"], choice["k"], choice["layer"])


def _relations(db: Database, choice: Choice) -> pd.DataFrame:
    return report_series.relations(db, choice["model"], choice["probe_set"], choice["k"], choice["layer"])


def _events(db: Database, choice: Choice) -> pd.DataFrame:
    return report_series.events(db, choice["model"], choice["probe_set"], choice["k"])


def _facts(db: Database, choice: Choice) -> pd.DataFrame:
    return report_series.facts(db, choice["model"], choice["probe_set"], choice["k"])


def _prevention(db: Database, choice: Choice) -> pd.DataFrame:
    return report_series_prevention.prevention(db, choice["k"], None, choice["probe_set"])


def _refuse(db: Database, choice: Choice) -> None:
    runs = report_series.runs(db)
    refuse_unstored(
        "series", choice, {"model": sorted(set(runs["model"])), "probe_set": sorted(set(runs["probe_set"]))}
    )


SERIES = Reports(
    "series",
    (
        Report("series", "steps", "facts kept, lost, returned and gained by training step", _steps),
        Report("series", "relations", "the same by relation", _relations),
        Report("series", "events", "how long facts last", _events),
        Report("series", "facts", "when each fact was lost", _facts),
        Report("series", "prevention", "task score against facts kept, by recipe", _prevention),
    ),
    (
        Filter(
            "model",
            "For all but prevention: training; repeatable. None: all.",
            only=("steps", "relations", "events", "facts"),
        ),
        Filter("probe_set", "Set of facts; repeatable. None: all."),
        Filter(
            "k",
            "A fact is known if the rank of its answer is at most k: 1 or 10.",
            int,
            tuple(KNOWN_UP_TO),
            usual=1,
            single=True,
        ),
        Filter("layer", "For steps and relations: layer; repeatable. None: the last.", int, only=_OF_LAYERS),
    ),
    _refuse,
)
