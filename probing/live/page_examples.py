"""The example sentences of Home: stored facts, chosen by rule, and their description."""

import math
from collections.abc import Mapping
from itertools import groupby
from typing import Any

import pandas as pd

from probing.choices import HOME_EXAMPLES
from probing.facts.page_clearest import clearest
from probing.facts.store_facts import example_facts, fact_predictions, search_facts
from probing.facts.store_facts import fact as fact_of
from probing.kernel.app.frame import View, derived
from probing.kernel.app.texts import Markdown, filled, joined
from probing.kernel.fact import EVERYDAY
from probing.kernel.figures.looks import set_order
from probing.live.figures import ranks_by_layer, token_rows
from probing.live.page_token_grids import Grid


@derived
def base_runs(view: View) -> pd.DataFrame:
    """The runs to take examples from: of one model, preferably a base, with the first chosen head; T-REx first."""
    runs = view.runs[view.runs["model"].isin(view.chosen.models)]
    chosen = runs[runs["head"].isin(view.chosen.heads[:1])]
    runs = chosen if len(chosen) else runs
    bases = runs[runs["base"].fillna("") == ""]
    runs = bases if len(bases) else runs
    first = next(model for model in (*view.chosen.models, *runs["model"]) if model in set(runs["model"]))
    runs = runs[(runs["model"] == first) & (runs["head"] == runs.loc[runs["model"] == first, "head"].iloc[0])]
    return runs.sort_values("probe_set", key=lambda sets: sets.map(set_order), kind="stable")


@derived
def stored_examples(view: View) -> list[dict[str, Any]]:
    """Facts with their runs: up to six that the model knows, of different relations, and one that it does not; see
    ``example_facts``.

    ``known`` says which. Well-known facts come before others, and Rocky Balboa is among the known ones if he is known.
    """
    by_kind: dict[str, list[tuple[str, str, str]]] = {"known": [], "unknown": []}
    runs = base_runs(view)
    clear, most = clearest(view), len(HOME_EXAMPLES) - 1
    for run_id in runs.sort_values("probe_set", key=lambda sets: sets != EVERYDAY, kind="stable")["run_id"]:
        runs_of = _tuned_runs(view, run_id)
        telling = runs_of[runs_of["model"] == clear]
        tuned = tuple((telling if len(telling) else runs_of).index)
        for fact in view.read(example_facts, run_id, limit=most, tuned=tuned).itertuples():
            by_kind[fact.kind].append((fact.fact_id, run_id, fact.relation))
        if len(by_kind["known"]) >= most and by_kind["unknown"]:
            break
    known, balboa = by_kind["known"], rocky(view, runs)
    if balboa is not None and balboa["last_rank"] == 1:
        known = [fact for fact in known if fact[2] != balboa["relation"]]
        known.insert(2, (str(balboa["fact_id"]), str(balboa["run_id"]), ""))
    chosen = [(*fact, True) for fact in known[:most]] + [(*fact, False) for fact in by_kind["unknown"][:1]]
    return [
        {**view.read(fact_of, fact_id).iloc[0].to_dict(), "run_id": run_id, "known": is_known}
        for fact_id, run_id, _, is_known in chosen
    ]


@derived
def rocky(view: View, runs: pd.DataFrame) -> pd.Series | None:
    """The running example of the paper, where Rocky Balboa was born, with the answer Philadelphia, in the first of some
    runs that has it.
    """
    for run in runs.itertuples():
        facts = view.read(search_facts, run.run_id, text="Rocky Balboa Philadelphia", limit=5)
        if len(facts):
            return pd.concat([facts.iloc[0], pd.Series({"run_id": run.run_id})])
    return None


def layers_in_words(layers: list[int]) -> str:
    """Layers in words: "layer 4", "layers 2, 4 and 6 to 8"."""
    runs = [
        [layer for _, layer in group] for _, group in groupby(enumerate(sorted(layers)), lambda pair: pair[1] - pair[0])
    ]
    words = [part for run in runs for part in ([f"{run[0]} to {run[-1]}"] if len(run) > 2 else map(str, run))]
    listed = f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else words[0]
    return f"{'layer' if len(layers) == 1 else 'layers'} {listed}"


def at_layers(layers: list[int]) -> str:
    """ "at layers 2 and 3", "at no layer"."""
    return f"at {layers_in_words(layers)}" if layers else "at no layer"


def sentence(
    view: View, answer: str, firsts: Mapping[str, list[int]], wrong: tuple[str, int] | None = None
) -> Markdown:
    """At which layers each of one or two models, the base first, gives a word first.

    ``wrong``, if the word is right and the base does not say it at the end: what it says, and the right word's rank.
    """
    if wrong:
        base, layers = next(iter(firsts.items()))
        inside = filled(", and comes first {at}", at=at_layers(layers)) if layers else Markdown("")
        text = "{model} says **{said}**. **{right}**, the answer asked for, has rank {rank:,}{inside}."
        return filled(text, model=view.name(base), said=wrong[0], right=answer, rank=wrong[1], inside=inside)
    words = (filled("**{answer}**", answer=answer), "it")
    parts = [
        filled("{model} says {word} {at}", model=view.name(model), word=word, at=at_layers(layers))
        for (model, layers), word in zip(firsts.items(), words, strict=False)
    ]
    return joined("; ", parts) + Markdown(".")


def first_layers(rows: pd.DataFrame) -> list[int]:
    """The layers after the embeddings at which a fact's right word comes first; of one run's ``layer, gold_rank``."""
    return [int(layer) for layer in rows.loc[(rows["layer"] >= 1) & (rows["gold_rank"] == 1), "layer"]]


def in_models(view: View, example: Mapping[str, Any]) -> dict[str, pd.DataFrame]:
    """The example's predictions by layer in its model, and in one that was fine-tuned from it, if one is stored fact by
    fact.

    That is the one with the clearest finding, if it was asked this fact, else the first in the order of menus; no
    control. The example's own model comes first.
    """
    tuned = _tuned_runs(view, example["run_id"])
    predictions = view.read(fact_predictions, example["fact_id"], (example["run_id"], *tuned.index))
    models = view.runs.set_index("run_id")["model"]
    rows = {str(models[run_id]): of_run for run_id, of_run in predictions.groupby("run_id")}
    base = str(models[example["run_id"]])
    telling = clearest(view)
    order = sorted(
        (model for model in view.colours if model in rows and model != base), key=lambda model: model != telling
    )
    return {model: rows[model] for model in (base, *order[:1])}


def _tuned_runs(view: View, run_id: str) -> pd.DataFrame:
    """Runs, by id, of models fine-tuned from a run's, by the same head on the same facts, without controls."""
    runs = view.runs.set_index("run_id")
    own = runs.loc[run_id]
    tuned = runs[
        (runs["base"] == own["model"]) & (runs["head"] == own["head"]) & (runs["probe_set"] == own["probe_set"])
    ]
    return tuned[~tuned["model"].isin(view.controls)]


def what(view: View, model: str) -> str:
    """Whether a model is fine-tuned."""
    return "after fine-tuning" if view.runs.loc[view.runs["model"] == model, "base"].iloc[0] else "before fine-tuning"


def grid(view: View, model: str, rows: pd.DataFrame) -> Grid:
    """The grid of a fact's stored predictions by one model's run, of ``facts.store_facts.fact_predictions``."""
    right = {int(layer): math.exp(value) for layer, value in zip(rows["layer"], rows["gold_logp"], strict=True)}
    ranks = ranks_by_layer(rows)
    return Grid(view.label(model), view.colours_of([model])[model], token_rows(rows), ranks, right, what(view, model))
