"""Selects the stored runs of facts for a figure or a list, by the rules of the pages."""

from collections.abc import Iterable
from dataclasses import replace

import pandas as pd

from probing.api.stored.argument_values import several
from probing.core.errors import FigureError, OptionError, StoreError
from probing.core.head_kinds import head_order
from probing.figures.model_looks import looks_of
from probing.figures.shown_runs import RunNames, fit, in_line_order, overlaid, set_order
from probing.reports.knowledge.runs import RunSelection
from probing.reports.runs import base_of, nothing_common, one_run_each, pairs
from probing.store.database import Database
from probing.store.run_queries import runs as all_runs


def run_names(
    model: str | Iterable[str] | None = None,
    head: str | Iterable[str] | None = None,
    probe_set: str | Iterable[str] | None = None,
    templates: str = "default",
) -> RunSelection:
    """The selection by the arguments of a method."""
    return RunSelection(several("model", model), several("head", head), several("probe_set", probe_set), templates)


def page_runs(db: Database, templates: str) -> pd.DataFrame:
    """One run per model, head and probe set, as on the pages.

    Raises:
        StoreError: if no run of facts is stored.
    """
    runs = all_runs(db)
    if runs.empty:
        raise StoreError(
            "no probed facts are stored; make a run with: python -m probing probe --model nesia-mini --facts all --head"
            " tied"
        )
    return one_run_each(runs[runs["template_set"] == templates])


def laid_over(db: Database, names: RunSelection) -> pd.DataFrame:
    """The runs of an overview, in the order of its lines; open choices have the page's default.

    A named model without such a run has its own default, such as the logit lens if it was probed with no other head.

    Raises:
        StoreError: if no run has a name, or a named model has no run with the other names.
    """
    names.refuse_unknown(db)
    runs = page_runs(db, names.templates)
    models, heads, probe_sets = (tuple(one or ()) for one in (names.models, names.heads, names.probe_sets))
    fitted, _ = fit(RunNames(models=models, heads=heads, probe_sets=probe_sets), runs)
    shown = overlaid(runs, fitted.models, fitted.heads, fitted.probe_sets)
    lacking = [replace(names, models=(model,)) for model in models if model not in set(shown["model"])]
    own = [_by_default(_named(runs, one)) for one in lacking or [names] if lacking or shown.empty]
    return in_line_order(pd.concat([shown, *own])) if own else shown


def _by_default(runs: pd.DataFrame) -> pd.DataFrame:
    """The runs that an overview of these runs alone shows first."""
    fitted, _ = fit(RunNames(), runs)
    return overlaid(runs, fitted.models, fitted.heads, fitted.probe_sets)


def refuse_layers(db: Database, names: RunSelection, layers: tuple[int, ...] | None) -> None:
    """Raises an ``OptionError`` for a layer that no chosen run has, before anything is computed."""
    if layers is None:
        return
    names.refuse_unknown(db)
    there = range(max(names.runs(db)["layers"], default=0))
    if unknown := [one for one in layers if one not in there]:
        raise OptionError(f"got layer {unknown[0]}; there are {', '.join(map(str, there)) or 'none'}")


def one_run(db: Database, names: RunSelection) -> pd.Series:
    """The run of a page that shows a single one; open choices have the page's default.

    Raises:
        StoreError: as ``laid_over``.
    """
    names.refuse_unknown(db)
    kept = _named(page_runs(db, names.templates), names)
    fitted, _ = fit(RunNames(), kept)
    here = (kept["model"] == fitted.model) & (kept["head"] == fitted.head) & (kept["probe_set"] == fitted.probe_set)
    return kept[here].iloc[0]


def _named(runs: pd.DataFrame, names: RunSelection) -> pd.DataFrame:
    """The runs with the given names.

    Raises:
        StoreError: if there are none.
    """
    wanted = {"model": names.models, "head": names.heads, "probe_set": names.probe_sets}
    kept = runs
    for column, chosen in wanted.items():
        kept = kept if chosen is None else kept[kept[column].isin(list(chosen))]
    if kept.empty:
        asked = ", ".join(f"{column} {' or '.join(chosen)}" for column, chosen in wanted.items() if chosen)
        raise StoreError(f"no run has {asked} together; results.runs lists the runs that are stored")
    return kept


def compared_run(db: Database, names: RunSelection, base: str) -> pd.Series:
    """The run of ``one_run`` if ``base`` has a run with its head and probe set, else the first of the names with such a
    run of ``base``.

    Raises:
        StoreError: as ``laid_over``, or if the two models have no such runs.
    """
    run, runs = one_run(db, names), page_runs(db, names.templates)
    RunSelection((base,), templates=names.templates).refuse_unknown(db)
    model_runs = _named(runs, replace(names, models=(str(run["model"]),)))
    shared = model_runs.merge(runs.loc[runs["model"] == base, ["head", "probe_set"]])
    if shared.empty:
        raise StoreError(nothing_common(runs, str(run["model"]), base))
    return run if run["run_id"] in set(shared["run_id"]) else in_menu_order(shared, runs).iloc[0]


def tuned_pair(db: Database, names: RunSelection, base: str | None = None) -> pd.DataFrame:
    """One model's run with its base's: a row with the columns of ``reports.runs.pairs``.

    A model and a base that are both named need not be a fine-tuned model and its recorded base.

    Raises:
        StoreError: if no run has a name.
        FigureError: if there is no such pair.
    """
    names.refuse_unknown(db)
    runs = page_runs(db, names.templates)
    tuned = pairs(runs, (base,) if base and names.models else None)
    for column, chosen in (
        ("model", names.models),
        ("head", names.heads),
        ("probe_set", names.probe_sets),
        ("base", base and [base]),
    ):
        tuned = tuned if not chosen else tuned[tuned[column].isin(list(chosen))]
    # Runs with stored counts alone have no single facts.
    tuned = tuned[~tuned["run_id"].isin(runs.loc[runs["counted"].astype(bool), "run_id"])]
    if tuned.empty:
        raise FigureError(
            "no fine-tuned model of this selection is stored fact by fact with its base; results.transitions() lists"
            " the pairs, model= and base= name any two models"
        )
    return in_menu_order(tuned, runs).head(1).reset_index(drop=True)


def in_menu_order(found: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Pairs or runs by model, head and probe set, in the order of the pages' menus."""
    models = list(looks_of(runs).colours)
    places = {
        "_model": found["model"].map(models.index),
        "_head": found["head"].map(head_order),
        "_set": found["probe_set"].map(set_order),
    }
    return found.assign(**places).sort_values(list(places), kind="stable").drop(columns=list(places))


def without_pair(db: Database, names: RunSelection, bases: tuple[str, ...] | None) -> str:
    """The message for named models without a row in ``Results.transitions``."""
    runs = page_runs(db, names.templates)
    model = next(iter(names.models or ()))
    base = bases[0] if bases else base_of(runs[runs["model"] == model].iloc[0])
    if not base:
        return (
            f"{model} has no stored base; name the model to compare with in base=, or load it with base= and probe it"
            " again"
        )
    shared = runs[runs["model"] == model].merge(runs.loc[runs["model"] == base, ["head", "probe_set"]])
    for column, wanted in (("head", names.heads), ("probe_set", names.probe_sets)):
        shared = shared if wanted is None else shared[shared[column].isin(list(wanted))]
    if shared.empty:
        return nothing_common(runs, model, base)
    return (
        f"{model} and {base} cannot be compared fact by fact, because only counts or only the last layer are stored;"
        " probe them again"
    )
