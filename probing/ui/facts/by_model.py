"""One fact, model by model: the best token of every layer side by side, and the fact's fate in fine-tuning."""

import math

import pandas as pd
import streamlit as st

from probing.core.knowledge.transitions import fate_of, first_known_by_both, outcome_words, part_of
from probing.figures.tokens.token_grid import token_grid
from probing.ui.facts.selection import FactsSelection
from probing.ui.frame import selection
from probing.ui.frame.page import View
from probing.ui.widgets import blocks
from probing.ui.widgets.figure_cache import drawing
from probing.ui.widgets.markdown import Markdown, filled, joined, listing
from probing.ui.widgets.task_marks import evidence, marks_once

#: More columns than this are too narrow on a telephone.
MAX_MODELS = 5


def base_of(runs: pd.DataFrame, model: str) -> str:
    """Name of the model's base if that is also stored, else ``""``."""
    named = runs[runs["model"] == model]["base"]
    base = str(named.iloc[0] or "") if len(named) else ""
    return base if base != model and base in set(runs["model"]) else ""


def beside(view: View, runs: pd.DataFrame) -> list[str]:
    """Models shown side by side: the chosen one, its base, and those that the user added.

    Args:
        view: the page.
        runs: the runs of the fact's probe set with the chosen head.
    """
    there = set(runs["model"])
    wanted = (view.chosen.model, base_of(runs, view.chosen.model), *selection.of(FactsSelection).fact_models)
    return [name for name in dict.fromkeys(wanted) if name in there][:MAX_MODELS]


def add_models(view: View, runs: pd.DataFrame) -> None:
    """Draws a menu of further models to compare with the chosen one."""
    first = [name for name in (view.chosen.model, base_of(runs, view.chosen.model)) if name]
    options = [name for name in view.colours if name in set(runs["model"]) and name not in first]
    if options:
        selection.bound(
            st.multiselect,
            filled("Compare with {names}", names=" and ".join(map(view.label, first))),
            "fact_models",
            view.page,
            options=options,
            format_func=view.label,
            max_selections=MAX_MODELS - len(first),
            placeholder="other models",
        )
    if beyond := [name for name in selection.of(FactsSelection).fact_models if name in options][MAX_MODELS - len(first) :]:
        words = "At most {most} models fit side by side. Ignored: {names}"
        st.info(filled(words, most=MAX_MODELS, names=listing([view.label(name) for name in beyond])), icon=":material/link_off:")


def grid(view: View, fact: pd.Series, runs: pd.DataFrame, rows: pd.DataFrame, models: list[str]) -> None:
    """Draws the best token of every layer, one column per model; every run stores at least one token per layer."""
    of_model = {run.run_id: run.model for run in runs.itertuples() if run.model in models}
    shown_rows = rows[rows["run_id"].isin(of_model)]
    table = pd.DataFrame(
        [
            (of_model[row.run_id], int(row.layer), row.tokens[0], math.exp(row.top_logp[0]), int(row.gold_rank))
            for row in shown_rows.itertuples()
            if row.tokens
        ],
        columns=["model", "layer", "token", "probability", "rank of the answer"],
    )
    tokens = table.assign(place=[models.index(model) + 1 for model in table["model"]], framed=table["rank of the answer"] == 1)
    labels = [view.label(model) for model in models]
    blocks.figure(
        drawing(token_grid, tokens, names=labels, dark=blocks.dark()),
        table=table,
        name="fact-models",
        stamp=view.stamp(f"{', '.join(labels)}, {view.chosen.head} heads, {fact['prompt']}", tuple(of_model)),
        caption=filled(
            "The best token of every layer, model by model. The right answer is framed; a stronger tint means a higher probability. {key}",
            key=marks_once(view, models),
        ),
        alt=f"Best token of every layer of {', '.join(labels)} for: {fact['prompt']}",
    )


def fates(view: View, runs: pd.DataFrame, rows: pd.DataFrame) -> None:
    """Draws the fact's fate in every model that was fine-tuned from the same base, in words.

    Args:
        view: the page.
        runs: runs of the fact's probe set with one kind of head.
        rows: the fact's predictions.
    """
    base = base_of(runs, view.chosen.model) or view.chosen.model
    ranks = {
        run.model: [int(rank) for rank in rows[rows["run_id"] == run.run_id].sort_values("layer")["gold_rank"]]
        for run in runs.itertuples()
        if run.model == base or base_of(runs, run.model) == base
    }
    before = ranks.pop(base, [])
    after = {model: found for model, found in ranks.items() if len(found) > 2}
    if len(before) < 2 or not after:
        return
    k = selection.of(FactsSelection).part_k
    known = "first" if before[-1] == 1 else f"rank {before[-1]:,}"
    st.markdown(
        filled("**After fine-tuning.** {base}: {known} at the last layer", base=view.called(base), known=known)
        + (filled(" (known: rank ≤ {k}).", k=k) if k > 1 else ".")
    )
    ordered = sorted(after, key=lambda model: (model != view.chosen.model, list(view.colours).index(model) if model in view.colours else 0))
    told = (_told((view.called(model), view.called(base)), before, after[model], k) for model in ordered)
    st.markdown(joined("\n", (filled("- {told}", told=one) for one in told)), help=evidence(view, ordered))


def _told(names: tuple[Markdown, Markdown], before: list[int], after: list[int], k: int) -> Markdown:
    """The fate of a fact in a model in words; ``names`` are those of the model and of its base."""
    model, base = names
    part, last = part_of(before[-1], after[-1], k), after[-1]
    name = filled("**{model}**", model=model)
    if part == "kept":
        return filled("{name}: kept.", name=name) if last == 1 else filled("{name}: kept, rank {last:,}.", name=name, last=last)
    if part == "gained":
        now = "first" if last == 1 else f"rank {last:,}"
        return filled("{name}: gained, now {now}.", name=name, now=now)
    if part == "never":
        return filled("{name}: known to neither, rank {last:,}.", name=name, last=last)
    fate = fate_of(before, after)
    inner = after[1:-1]
    best = 1 + inner.index(min(inner))
    both = first_known_by_both(before, after)
    where = ", where" if both == best else f"; at layer {both}"
    too = filled("{where} {base} also has it first", where=where, base=base) if both else ""
    words = {
        "still_inside": filled("first at layer {best}{too}", best=best, too=too),
        "moved": f"first at layer {best}",
        "suppressed": "still among the first 100",
        "displaced": f"among the first 100 at an inner layer only (rank {min(inner):,} at layer {best})",
        "not_read": f"nowhere among the first 100 (best: rank {min(inner):,} at layer {best})",
    }
    return filled(
        "{name}: lost and **{fate}**, rank {last:,} at the last layer; {words}.",
        name=name,
        fate=outcome_words(fate),
        last=last,
        words=words[fate],
    )
