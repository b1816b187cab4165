"""Overview of the stored results: one row per model, and one row per run."""

import pandas as pd

from probing.core.head_kinds import head_order
from probing.core.provenance import LOCAL
from probing.core.tasks.task_success import in_words
from probing.figures.model_looks import looks_of
from probing.figures.shown_runs import set_order
from probing.reports.task_success import learned, verdicts_by_model
from probing.store.changes.queries import change_runs
from probing.store.database import Database
from probing.store.edges.queries import edge_runs
from probing.store.kinds import KINDS
from probing.store.run_queries import runs as fact_runs
from probing.store.run_queries import stored_models
from probing.store.sentences.queries import sentence_runs

#: Columns of ``stored_models_table`` that hold tuples of names.
LISTS = ("heads", "probe_sets", "edge_tasks", "sentence_tasks")
_RUN = (
    "run_id",
    "what",
    "model",
    "hub_id",
    "revision",
    "base",
    "objective",
    "head",
    "probe_set",
    "template_set",
    "role",
    "counted",
    "task",
    "seed",
    "layers",
    "created",
)


def stored_models_table(db: Database) -> pd.DataFrame:
    """Every stored model, see ``Results.models``."""
    described = stored_models(db).fillna("")
    looks, verdicts = looks_of(described), verdicts_by_model(learned(db))
    of = described.drop_duplicates("model", keep="last").set_index("model")
    facts, edges, sentences = fact_runs(db), edge_runs(db), sentence_runs(db)
    changed = set(change_runs(db)["model"])

    def names(runs: pd.DataFrame, model: str, column: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(runs.loc[runs["model"] == model, column]))

    rows = [
        {
            "model": model,
            "name": looks.names[model],
            "base": of.at[model, "base"],
            "objective": of.at[model, "objective"],
            "learned": in_words(verdicts[model]) if model in verdicts else "",
            "heads": tuple(sorted(names(facts, model, "head"), key=head_order)),
            "probe_sets": tuple(sorted(names(facts, model, "probe_set"), key=set_order)),
            "edge_tasks": names(edges, model, "task"),
            "sentence_tasks": names(sentences, model, "task"),
            "changes": model in changed,
        }
        for model in looks.colours
    ]
    return pd.DataFrame(rows, columns=["model", "name", "base", "objective", "learned", *LISTS, "changes"])


def stored_runs_table(db: Database) -> pd.DataFrame:
    """Every stored run, see ``Results.runs``."""
    parts = [
        runs.assign(what=what, revision=runs["model_revision"].fillna(LOCAL))
        .reindex(columns=list(_RUN))
        .astype("object")
        for what, runs in ((name, kind.listed(db)) for name, kind in KINDS.items())
        if len(runs)
    ]
    table = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=list(_RUN))
    table["counted"] = table["counted"].eq(True)
    table = table.assign(**{name: table[name].fillna("") for name in ("base", "objective", "hub_id")})
    return table.astype({"seed": "Int64", "layers": "Int64", "counted": "bool"})
