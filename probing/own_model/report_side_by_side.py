"""All models that were asked a set of own facts in the same way, next to each other and next to T-REx."""

import json

import pandas as pd

from probing.facts.fact import FactSet
from probing.facts.report_layers import by_layer
from probing.facts.runs import choose
from probing.facts.store_facts import MAX_ROWS, search_facts
from probing.kernel.models.names import LOGIT_LENS
from probing.kernel.report import shown_baselines
from probing.kernel.store.database import Database
from probing.own_model.report import TREX

COLUMNS = (
    "model",
    "base",
    "n",
    "left_out",
    "value",
    "low",
    "high",
    "majority",
    "trex",
    "trex_low",
    "trex_high",
    "trex_n",
    "run_id",
)


def side_by_side(db: Database, probe_set: str, k: int = 1, head: str = LOGIT_LENS) -> pd.DataFrame:
    """P@k of the last layer of every model on a probe set, and on T-REx (``trex...``) if the same kind of heads asked
    it.

    Bases first. ``majority``, the share that the relation's most frequent answer has, is NaN for too few facts.
    """
    runs = choose(db, None, [head], [probe_set])
    if runs.empty:
        return pd.DataFrame(columns=list(COLUMNS))
    own, wide = _last(db, runs, k), _last(db, choose(db, list(runs["model"]), [head], [TREX]), k)
    rows = []
    for run in runs.to_dict("records"):
        on_own, trex = own.loc[run["model"]], wide.loc[run["model"]] if run["model"] in wide.index else {}
        left = {reason: number for reason, number in json.loads(run["left_out"] or "{}").items() if number}
        rows.append(
            {
                "model": run["model"],
                "base": run["base"] or "",
                "n": int(on_own["n"]),
                "left_out": ", ".join(f"{number:,} {reason}" for reason, number in sorted(left.items())),
                **{name: on_own[name] for name in ("value", "low", "high", "majority")},
                **{
                    f"trex{end}": trex.get(name)
                    for end, name in (("", "value"), ("_low", "low"), ("_high", "high"), ("_n", "n"))
                },
                "run_id": run["run_id"],
            }
        )
    models = pd.DataFrame(rows, columns=list(COLUMNS))
    return models.sort_values(["base", "model"], ignore_index=True)


def _last(db: Database, runs: pd.DataFrame, k: int) -> pd.DataFrame:
    if runs.empty:
        return pd.DataFrame(columns=["n", "value", "low", "high", "majority"])
    return shown_baselines(by_layer(db, list(runs["run_id"]), f"p_at_{k}", "micro", last_only=True)).set_index("model")


def not_asked(db: Database, models: pd.DataFrame, facts: FactSet) -> pd.DataFrame:
    """The facts of a set that were left out, by the reading of the file (``model`` is empty) or by a model.

    A model's reason is that of its run, or all of its run's if there are several.
    """
    rows = [("", reason, fact.subject, fact.object, fact.prompt) for fact, reason in facts.dropped]
    for model in models.itertuples():
        fact_ids = _asked(db, model.run_id)
        ours = {reason for _, reason in facts.dropped}
        reasons = ", ".join(
            part.split(" ", 1)[1] for part in model.left_out.split(", ") if part and part.split(" ", 1)[1] not in ours
        )
        rows += [
            (model.model, reasons, fact.subject, fact.object, fact.prompt)
            for fact in facts.facts
            if fact.fact_id not in fact_ids
        ]
    return pd.DataFrame(rows, columns=["model", "reason", "subject", "object", "prompt"])


def _asked(db: Database, run_id: str) -> set[str]:
    """The ids of the facts of a run."""
    fact_ids: set[str] = set()
    while len(page := search_facts(db, run_id, offset=len(fact_ids), limit=MAX_ROWS)):
        fact_ids |= set(page["fact_id"])
    return fact_ids
