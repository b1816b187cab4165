"""The reports of lost facts, of when facts are forgotten, and of what prevents it."""

from collections.abc import Callable

import pandas as pd

from probing.forgetting import report_outcome, report_series
from probing.forgetting.report_lessons import LESSON_COLUMNS, lessons
from probing.forgetting.report_outcome import FACTS, FALLS, facts, falls, relations, reworded, stored_runs
from probing.forgetting.report_savings import SAVINGS, savings
from probing.forgetting.report_series import prevention, steps
from probing.forgetting.series import KNOWN_UP_TO
from probing.forgetting.store import by_relation, forgetting_runs, series_runs
from probing.forgetting.ways import BY_ANY, LOST_OUTCOMES
from probing.kernel.columns import Columns
from probing.kernel.metric import RANKS
from probing.kernel.report import Choice, Filter, Report, Reports, refuse_unstored
from probing.kernel.store.database import Database

#: Filters of most reports, and of those by layer.
_CHOSEN, _AT_LAYERS = "model probe_set k", "model probe_set k layer"
_OUTCOME_SHOWN = ("model", "probe_set", "k", "part", "n", "per_100", "note")
_MEMORY_SHOWN = Columns("model way protocol stated never_had difference low high n_never_had detectable verdict")
_SAVINGS_SHOWN = Columns("model asked measure passes taught counterfeit difference low high detectable")
_FACTS_SHOWN = ("relation", "subject", "object", "way", "layer", "layers_back", "after_15", "rank", "margin")


def _runs(db: Database, choice: Choice, planted: bool = False, lessons: bool = False) -> pd.DataFrame:
    return stored_runs(db, choice["model"], choice["probe_set"], choice["k"], planted, lessons)


def _given(report: Callable[..., pd.DataFrame], filters: str) -> Callable[[Database, Choice], pd.DataFrame]:
    """A report that takes the values of these filters."""
    return lambda db, choice: report(db, *(choice[name] for name in filters.split()))


def _relations(db: Database, choice: Choice) -> pd.DataFrame:
    table, names = relations(db, _runs(db, choice)), choice["relation"]
    return table if names is None else table[table["relation"].isin(list(names))].reset_index(drop=True)


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
            "outcome",
            "of 100 facts that the base knew",
            lambda db, choice: report_outcome.outcome(db, _runs(db, choice)),
            report_outcome.OUTCOME,
            shown=_OUTCOME_SHOWN,
            note=lambda table: f"Guesses come back, too: the report ways has {BY_ANY!r} beside them.\n",
        ),
        Report(
            "ways",
            "each way next to its yardsticks",
            lambda db, choice: report_outcome.ways(db, _runs(db, choice)),
        ),
        Report(
            "memory",
            "stated facts minus right answers that the text never had",
            lambda db, choice: report_outcome.memory(db, _runs(db, choice, planted=True)),
            report_outcome.MEMORY_COLUMNS,
            shown=_MEMORY_SHOWN,
            note=lambda table: f"{report_outcome.by_chance(table)}\n",
        ),
        Report(
            "lessons",
            "what comes back by lessons unlike the question",
            lambda db, choice: lessons(db, _runs(db, choice, lessons=True)),
            LESSON_COLUMNS,
        ),
        Report("savings", "relearned beside counterfeits", _given(savings, _CHOSEN), SAVINGS, shown=_SAVINGS_SHOWN),
        Report("falls", "how far lost facts fell", lambda db, choice: falls(db, _runs(db, choice)), FALLS),
        Report("wording", "lost for one wording, or in both", lambda db, choice: reworded(db, _runs(db, choice))),
        Report("relations", "lost facts by relation", _relations),
        Report("facts", "the lost facts", _facts, FACTS, shown=_FACTS_SHOWN, needs=("model",)),
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


_OF_LAYERS = ("steps", "relations")


def _prevention(db: Database, choice: Choice) -> pd.DataFrame:
    return prevention(db, choice["k"], None, choice["probe_set"])


def _refuse_series(db: Database, choice: Choice) -> None:
    runs = series_runs(db)
    refuse_unstored(
        "series", choice, {"model": sorted(set(runs["model"])), "probe_set": sorted(set(runs["probe_set"]))}
    )


SERIES = Reports(
    "series",
    (
        Report("steps", "facts kept, lost, returned and gained by training step", _given(steps, _AT_LAYERS)),
        Report("relations", "the same by relation", _given(report_series.relations, _AT_LAYERS)),
        Report("events", "how long facts last", _given(report_series.events, _CHOSEN)),
        Report("facts", "when each fact was lost", _given(report_series.facts, _CHOSEN)),
        Report("prevention", "task score against facts kept, by recipe", _prevention),
        Report(
            "line",
            "means of base and fine-tuned weights",
            _given(report_series.line, _CHOSEN),
            report_series.LINE_COLUMNS,
        ),
    ),
    (
        Filter(
            "model",
            "For all but prevention: training; repeatable. None: all.",
            only=("steps", "relations", "events", "facts", "line"),
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
    _refuse_series,
)
