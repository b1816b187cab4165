"""Which stored runs a report is about, and which run of its base a fine-tuned model is compared with."""

from collections.abc import Sequence

import pandas as pd

from probing.facts.store import runs as all_runs
from probing.kernel.models.names import canonical_heads
from probing.kernel.store.database import Database

IDENTITY = ("run_id", "model", "head", "seed", "probe_set")
PAIR = ("base_run_id", "run_id", "base", "model", "head", "seed", "probe_set")


def choose(
    db: Database,
    models: Sequence[str] | None = None,
    heads: Sequence[str] | None = None,
    probe_sets: Sequence[str] | None = None,
    seeds: Sequence[int] | None = None,
    templates: str = "default",
) -> pd.DataFrame:
    """Runs with every column of the table ``runs``, the newest of each model, head, seed and probe set.

    None keeps all, but of seeds the primary runs only.
    """
    runs, heads = all_runs(db), canonical_heads(heads)
    runs = runs[runs["template_set"] == templates]
    runs = runs[runs["role"] == "primary"] if seeds is None else runs[runs["seed"].isin(list(seeds))]
    for column, values in (("model", models), ("head", heads), ("probe_set", probe_sets)):
        if values is not None:
            runs = runs[runs[column].isin(list(values))]
    names = ["model", "head", "seed", "probe_set"]
    return _newest(runs, names).sort_values(names).reset_index(drop=True)


def one_run_each(runs: pd.DataFrame) -> pd.DataFrame:
    """The one run that a page shows for each model, head and probe set: as ``choose``, but with another template set if
    there is none with the default one.
    """
    if runs.empty:
        return runs
    names = ["model", "head", "probe_set"]
    primary = runs[runs["role"] == "primary"]
    by_default = primary["template_set"] == "default"
    either = [_newest(primary[by_default], names), _newest(primary[~by_default], names)]
    return (
        pd.concat([newest for newest in either if len(newest)] or either[:1])
        .drop_duplicates(names)
        .reset_index(drop=True)
    )


def _newest(runs: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    """The newest of the runs with the same names, newest first; of several made at the same time, the one with the
    first id.

    A run with predictions comes before one with counts only, whatever their dates.
    """
    order = ["counted", "_when", "run_id"]
    ordered = runs.assign(_when=runs["created"].fillna("").astype(str)).sort_values(
        order, ascending=[True, False, True]
    )
    return ordered.drop_duplicates(list(names)).drop(columns="_when")


def stored_templates(
    db: Database,
    models: Sequence[str] | None = None,
    heads: Sequence[str] | None = None,
    probe_sets: Sequence[str] | None = None,
) -> list[str]:
    """Names of the template sets that have primary runs of these models, heads and probe sets; None keeps all."""
    runs, heads = all_runs(db), canonical_heads(heads)
    runs = runs[runs["role"] == "primary"]
    for column, values in (("model", models), ("head", heads), ("probe_set", probe_sets)):
        runs = runs if values is None else runs[runs[column].isin(list(values))]
    return sorted(set(runs["template_set"]))


def pairs(runs: pd.DataFrame, bases: Sequence[str] | None = None) -> pd.DataFrame:
    """Every fine-tuned model's run paired with its base's (or each of ``bases``') with the same head, seed, probe set
    and template set.

    A run whose base is not among ``runs`` has no pair.
    """
    if bases is not None:
        runs = runs.drop(columns="base").merge(pd.DataFrame({"base": list(bases)}), how="cross")
    tuned = runs[runs["base"].fillna("").ne("") & runs["base"].ne(runs["model"])]
    keys = ["head", "seed", "probe_set", "template_set"]
    theirs = (
        runs[["run_id", "model", *keys]].drop_duplicates().rename(columns={"run_id": "base_run_id", "model": "base"})
    )
    return tuned.merge(theirs, on=["base", *keys])[list(PAIR)].reset_index(drop=True)


def base_of(run: pd.Series) -> str:
    """The base that a run's model was fine-tuned from; empty if there is none."""
    return run["base"] if isinstance(run["base"], str) and run["base"] != run["model"] else ""


def nothing_common(runs: pd.DataFrame, model: str, base: str) -> str:
    """The message for two models that have no runs with the same head and probe set."""

    def has(name: str) -> str:
        model_runs = runs[runs["model"] == name]
        return (
            "; ".join(f"{head} on {', '.join(part['probe_set'])}" for head, part in model_runs.groupby("head"))
            or "no run"
        )

    return (
        f"{model} and {base} have no such run with the same head and probe set. {model} has {has(model)}. {base} has"
        f" {has(base)}. Probe both on the same facts with the same head"
    )


def identities(db: Database, run_ids: Sequence[str], by_fact: bool = False) -> pd.DataFrame:
    """run_id, model, head, seed, probe_set of the runs, in the order given; unknown ones are left out.

    With ``by_fact``, runs with counts only are left out, too.
    """
    known = (_by_fact(db) if by_fact else all_runs(db)).set_index("run_id", drop=False)
    return known.loc[[run_id for run_id in run_ids if run_id in known.index], list(IDENTITY)].reset_index(drop=True)


def pair_identities(db: Database, run_pairs: pd.DataFrame | Sequence[tuple[str, str]]) -> pd.DataFrame:
    """The columns of ``pairs`` for a frame of it, or for (base's run id, run id) of each pair.

    A pair is left out if one of its runs has counts only, because its facts cannot be compared one by one.
    """
    known = _by_fact(db).set_index("run_id")
    if isinstance(run_pairs, pd.DataFrame):
        run_pairs = run_pairs[run_pairs["base_run_id"].isin(known.index) & run_pairs["run_id"].isin(known.index)]
        return run_pairs[list(PAIR)].drop_duplicates(["base_run_id", "run_id"]).reset_index(drop=True)
    rows = [
        (base, run, known.at[base, "model"], *known.loc[run, ["model", "head", "seed", "probe_set"]])
        for base, run in dict.fromkeys(run_pairs)
        if base in known.index and run in known.index
    ]
    return pd.DataFrame(rows, columns=list(PAIR))


def _by_fact(db: Database) -> pd.DataFrame:
    runs = all_runs(db)
    return runs[~runs["counted"].astype(bool)]
