"""What is stored: runs on facts, models with runs of any kind, their task scores, and files that are left out."""

from collections.abc import Sequence

import pandas as pd

from probing.kernel.provenance import stored_configuration
from probing.kernel.store.columns import SCHEMAS, SORT
from probing.kernel.store.database import Database


def fact_runs(db: Database) -> pd.DataFrame:
    """All runs on facts with every column of their files, by model, probe set, head, template set and seed.

    ``counted`` means that only counts are stored of a run: it has no predictions, and nothing by fact. ``hub_id`` is
    the model's full id on the hub; empty for a folder.
    """
    columns = ", ".join([*SCHEMAS["runs"].names, "counted", "coalesce(hub_id, '') AS hub_id"])
    return db.query(f"SELECT {columns} FROM runs_of_facts ORDER BY {', '.join(SORT['runs'])}")


def stored_models(db: Database) -> pd.DataFrame:
    """Every model with a run of any kind, as its runs describe it: model, base, objective; a row per description."""
    return db.query("SELECT DISTINCT model, base, objective FROM runs ORDER BY ALL")


def followed_only(db: Database) -> frozenset[str]:
    """The models that have only runs of series, or were made to be asked for planted facts."""
    of_series = "SELECT model FROM runs GROUP BY model HAVING bool_and(kind = 'series')"
    return frozenset(db.query(f"{of_series} UNION SELECT model FROM forgetting_runs WHERE planted > 0")["model"])


def left_out_files(db: Database) -> pd.DataFrame:
    """Results files that are not read, as damaged or of another version: name (below its source), why."""
    return db.left_out


def stored_scores(db: Database, models: Sequence[str] | None = None) -> pd.DataFrame:
    """What models reach on their own task: model, base, objective, metric, value, chance, chance_name, n.

    ``chance`` is what ``chance_name`` names: a baseline or a comparison.
    """
    return db.query(
        """
        SELECT * FROM tasks WHERE $models IS NULL OR model IN (SELECT unnest($models::VARCHAR[]))
        ORDER BY model, metric, chance_name
        """,
        {"models": None if models is None else list(models)},
    )


def one_run_each(runs: pd.DataFrame) -> pd.DataFrame:
    """The one run that a page shows for each model, head and probe set: as ``choose``, but with another template set if
    there is none with the default one.
    """
    if runs.empty:
        return runs
    names = ["model", "head", "probe_set"]
    primary = runs[runs["role"] == "primary"]
    by_default = primary["template_set"] == "default"
    either = [newest(primary[by_default], names), newest(primary[~by_default], names)]
    return (
        pd.concat([newest for newest in either if len(newest)] or either[:1])
        .drop_duplicates(names)
        .reset_index(drop=True)
    )


def newest(runs: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    """The newest of the runs with the same names, newest first; of several made at the same time, the one with the
    first id.

    A run with predictions comes before one with counts only, whatever their dates, and one in float32 before those of
    the same weights and facts in other numbers.
    """
    order, exact = ["counted", "_when", "run_id"], runs["dtype"] == "float32"
    if not exact.all():
        keys = [
            (*row[:-1], *map(stored_configuration(row[-1]).get, ("weights", "facts_sha256")))
            for row in runs[["counted", *names, "config"]].itertuples(index=False)
        ]
        known = {key for key, is_exact in zip(keys, exact, strict=True) if is_exact}
        runs = runs[[is_exact or key not in known for key, is_exact in zip(keys, exact, strict=True)]]
    ordered = runs.assign(_when=runs["created"].fillna("").astype(str)).sort_values(
        order, ascending=[True, False, True]
    )
    return ordered.drop_duplicates(list(names)).drop(columns="_when")
