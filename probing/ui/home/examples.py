"""The example sentences of Home: stored facts, chosen by rule, and their description."""

from collections.abc import Mapping
from itertools import groupby, zip_longest
from typing import Any

import pandas as pd

from probing.figures.shown_runs import set_order
from probing.store.knowledge.one_fact import example_facts, fact_predictions
from probing.store.knowledge.one_fact import fact as fact_of
from probing.ui.facts import guesses
from probing.ui.facts.running_example import rocky
from probing.ui.frame.page import View
from probing.ui.home.selection import EXAMPLES
from probing.ui.widgets.markdown import Markdown, filled, joined

#: The wanted kinds of facts in order; each kind is used once before any is used twice.
_WANTED = ("late", "lost")


def base_runs(view: View) -> pd.DataFrame:
    """The runs to take examples from: those of one model, preferably a base, with the first chosen head; T-REx first."""
    runs = view.runs[view.runs["model"].isin(view.chosen.models)]
    chosen = runs[runs["head"].isin(view.chosen.heads[:1])]
    runs = chosen if len(chosen) else runs
    bases = runs[runs["base"].fillna("") == ""]
    runs = bases if len(bases) else runs
    first = next(model for model in (*view.chosen.models, *runs["model"]) if model in set(runs["model"]))
    runs = runs[(runs["model"] == first) & (runs["head"] == runs.loc[runs["model"] == first, "head"].iloc[0])]
    return runs.sort_values("probe_set", key=lambda sets: sets.map(set_order), kind="stable")


def stored_examples(view: View, runs: pd.DataFrame) -> list[dict[str, Any]]:
    """Up to three facts with their runs: one that is known late, one that is lost at the end, and Rocky Balboa.

    A missing one is replaced by the next best fact that is known late or lost. Of alike ones those come first that a fine-tuned model
    lost at its last layer and finds at an inner one.

    Returns:
        The columns of ``one_fact.fact`` and ``run_id`` of each.
    """
    found: dict[str, list[tuple[str, str]]] = {kind: [] for kind in _WANTED}
    for run_id in runs["run_id"]:
        tuned = tuple(_tuned_runs(view, run_id).index)
        for one in view.read(example_facts, run_id, limit=len(EXAMPLES), tuned=tuned).itertuples():
            found[one.kind].append((one.fact_id, run_id))
        if all(found.values()):
            break
    balboa = rocky(view, runs)
    chosen = [found[kind][0] for kind in _WANTED if found[kind]]
    chosen += [(str(balboa["fact_id"]), str(balboa["run_id"]))] if balboa is not None else []
    chosen += [one for pair in zip_longest(*(found[kind][1:] for kind in _WANTED)) for one in pair if one]
    shown = list(dict.fromkeys(chosen))[: len(EXAMPLES)]
    return [{**view.read(fact_of, fact_id).iloc[0].to_dict(), "run_id": run_id} for fact_id, run_id in shown]


def layers_in_words(layers: list[int]) -> str:
    """Layers in words: "layer 4", "layers 2, 4 and 6 to 8"."""
    runs = [[layer for _, layer in group] for _, group in groupby(enumerate(sorted(layers)), lambda pair: pair[1] - pair[0])]
    words = [part for run in runs for part in ([f"{run[0]} to {run[-1]}"] if len(run) > 2 else map(str, run))]
    listed = f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else words[0]
    return f"{'layer' if len(layers) == 1 else 'layers'} {listed}"


def line(fact: Mapping[str, Any], rows: pd.DataFrame, guess: pd.DataFrame, model: Markdown) -> Markdown:
    """The layers' predictions for a fact in words, and those of guessing.

    Args:
        fact: ``object`` and ``label``, its relation.
        rows: the fact's predictions by layer in one run: ``layer, gold_rank, other_rank``.
        guess: the result of ``guesses.guess``.
        model: the run's model.
    """
    inner = rows[rows["layer"] >= 1].set_index("layer")
    ranks = inner["gold_rank"] if len(inner) else rows.set_index("layer")["gold_rank"]
    last = int(ranks.index.max())
    first = [int(layer) for layer, rank in ranks.items() if rank == 1]
    best = int(ranks.astype("int64").idxmin())
    if first:
        words = filled(
            "In {model} the right word, **{object}**, comes first at {layers}",
            model=model,
            object=fact["object"],
            layers=layers_in_words(first),
        )
        at_end = filled(".") if last in first else filled(", and has rank {rank:,} at the last layer.", rank=int(ranks[last]))
    else:
        words = filled("In {model} the right word, **{object}**, comes first at no layer", model=model, object=fact["object"])
        at_end = filled(
            ": its best rank is {best:,}, at layer {layer}, and it has rank {rank:,} at the last layer.",
            best=int(ranks[best]),
            layer=best,
            rank=int(ranks[last]),
        )
    return joined(" ", [one for one in (joined("", [words, at_end]), guesses.in_words(fact, rows, guess)) if one])


def in_models(view: View, example: Mapping[str, Any]) -> dict[str, pd.DataFrame]:
    """The example's predictions by layer in its model, and in one that was fine-tuned from it, if one is stored fact by fact.

    That is the first (see ``View.telling_first``), without controls, whose last layer lost a fact that the base's last layer knows and an
    inner layer still finds; if there is none, the first that lost it; if none did, the first of all.

    Returns:
        Model -> rows, see ``one_fact.fact_predictions``; the example's own model first.
    """
    tuned = _tuned_runs(view, example["run_id"])
    predictions = view.read(fact_predictions, example["fact_id"], (example["run_id"], *tuned.index))
    models = view.runs.set_index("run_id")["model"]
    rows = {str(models[run_id]): of_run for run_id, of_run in predictions.groupby("run_id")}
    base = str(models[example["run_id"]])
    order = view.telling_first([model for model in view.colours if model in rows and model != base])
    lost = [model for model in order if _at_end(rows[base]) == 1 < _at_end(rows[model])]
    inside = [model for model in lost if (rows[model].query("layer >= 1")["gold_rank"] == 1).any()]
    return {model: rows[model] for model in (base, *(inside or lost or order)[:1])}


def _tuned_runs(view: View, run_id: str) -> pd.DataFrame:
    """Runs of models that were fine-tuned from a run's, by the same head on the same facts, without controls; index run_id."""
    runs = view.runs.set_index("run_id")
    own = runs.loc[run_id]
    tuned = runs[(runs["base"] == own["model"]) & (runs["head"] == own["head"]) & (runs["probe_set"] == own["probe_set"])]
    return tuned[~tuned["model"].isin(view.controls)]


def _at_end(rows: pd.DataFrame) -> int:
    """The right word's rank at the last layer."""
    return int(rows.loc[rows["layer"].idxmax(), "gold_rank"])


def what(view: View, model: str) -> str:
    """Whether a model is fine-tuned."""
    return "after fine-tuning" if view.runs.loc[view.runs["model"] == model, "base"].iloc[0] else "before fine-tuning"


def beside(view: View, example: Mapping[str, Any], shown: Mapping[str, pd.DataFrame]) -> Markdown:
    """The right word's rank at the last layer before and after fine-tuning, in a sentence; empty without a fine-tuned model."""
    if len(shown) < 2:
        return Markdown("")
    (base, before), (tuned, after) = shown.items()
    return filled(
        "Last layer, rank of **{object}**: {before:,} in {base}, {after:,} in {tuned}.",
        object=example["object"],
        before=_at_end(before),
        after=_at_end(after),
        base=view.called(base),
        tuned=view.called(tuned),
    )
