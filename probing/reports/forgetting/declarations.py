"""The reports of lost facts."""

import pandas as pd

from probing.core.errors import OptionError
from probing.core.forgetting.ways import NOT_RECOVERED, RELEARNED, WAYS
from probing.core.metrics import RANKS
from probing.core.options import spelled
from probing.reports.forgetting import outcome, places
from probing.reports.forgetting.runs import KEYS, stored_runs
from probing.reports.report import Choice, Filter, Report, Reports, refuse_unstored
from probing.store.database import Database
from probing.store.forgetting import queries

_BACK = tuple(queries.BACK_COLUMNS.values())
_RELATIONS = (*KEYS, "relation", "label", "known", "kept", "lost", *_BACK, "excess", "low", "high", "pooled")
_OUTCOME_SHOWN = ("model", "probe_set", "k", "part", "n", "per_100", "wrong_excess", "wrong_low", "wrong_high", "never_excess", "verdict")
_FACTS_SHOWN = ("relation", "subject", "object", "way", "layer", "layers_back", "steps", "seeds_back")
_WITH_WAY = ("relations", "facts")


def _runs(db: Database, choice: Choice) -> pd.DataFrame:
    return stored_runs(db, choice["model"], choice["probe_set"], choice["k"])


def _relations(db: Database, choice: Choice) -> pd.DataFrame:
    ways = choice["way"] or (RELEARNED,)
    if len(ways) > 1:
        raise OptionError(f"got {len(ways)} values of {spelled('way')} for relations; name one")
    table = places.relations(db, _runs(db, choice), ways[0])
    return table if choice["relation"] is None else table[table["relation"].isin(list(choice["relation"]))].reset_index(drop=True)


def _facts(db: Database, choice: Choice) -> pd.DataFrame:
    runs = _runs(db, choice)
    if runs.empty:
        return pd.DataFrame(columns=list(places.FACTS))
    return places.facts(db, runs["run_id"].iloc[0], choice["way"], choice["relation"])


def _pooled(table: pd.DataFrame) -> str:
    pooled = int(table["pooled"].sum()) if len(table) else 0
    return f"the excess of {pooled} relations is that of all relations with few facts together (pooled).\n" if pooled else ""


def _refuse(db: Database, choice: Choice) -> None:
    runs = queries.forgetting_runs(db)
    known = queries.by_relation(db, list(runs["run_id"]))["relation"] if choice["relation"] else ()
    refuse_unstored(
        "lost facts", choice, {"model": runs["model"], "probe_set": sorted(set(runs["probe_set"])), "relation": sorted(set(known))}
    )


FORGETTING = Reports(
    "forgetting",
    (
        Report(
            "forgetting", "outcome", "of 100 facts that the base knew", lambda db, choice: outcome.outcome(db, _runs(db, choice)),
            outcome.OUTCOME, shown=_OUTCOME_SHOWN, figure="outcome",
        ),
        Report("forgetting", "ways", "each way next to its yardsticks", lambda db, choice: outcome.ways(db, _runs(db, choice))),
        Report("forgetting", "relations", "lost facts by relation", _relations, _RELATIONS, shown=_RELATIONS, note=_pooled),
        Report("forgetting", "exposure", "lost facts by training text", lambda db, choice: places.exposures(db, _runs(db, choice))),
        Report(
            "forgetting", "confidence", "by the base's confidence", lambda db, choice: outcome.by_confidence(db, _runs(db, choice)),
        ),
        Report("forgetting", "layers", "where answers come back", lambda db, choice: places.layers(db, _runs(db, choice))),
        Report("forgetting", "facts", "the lost facts", _facts, places.FACTS, shown=_FACTS_SHOWN, needs=("model",)),
    ),
    (
        Filter("model", "Model; repeatable. None: all."),
        Filter("probe_set", "trex, google_re, ...; repeatable. None: all."),
        Filter("k", "1 or 10; repeatable. None: all.", int, tuple(one for one in RANKS if one < 100)),
        Filter(
            "way", f"For facts: {', '.join((*WAYS, NOT_RECOVERED))}; repeatable. For relations: the way whose excess is shown.",
            known=(*WAYS, NOT_RECOVERED), only=_WITH_WAY,
        ),
        Filter("relation", "For relations and facts: relation; repeatable. None: all.", only=_WITH_WAY),
    ),
    _refuse,
)  # fmt: skip
