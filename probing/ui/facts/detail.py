"""One fact through all layers."""

import pandas as pd
import streamlit as st

from probing.figures.shown_runs import set_name
from probing.figures.tokens.rank_lines import run_rank_lines
from probing.figures.tokens.stored_fact import compared_runs, rank_table, ranks_by_layer, token_rows
from probing.figures.tokens.token_grid import token_grid
from probing.store.knowledge.fact_queries import neighbours
from probing.store.knowledge.one_fact import fact as fact_of
from probing.store.knowledge.one_fact import fact_predictions, fact_runs
from probing.ui.facts import by_model, fact_list, guesses
from probing.ui.facts.selection import FactsSelection
from probing.ui.frame import count_messages, navigation, selection
from probing.ui.frame.page import View, run_of
from probing.ui.widgets import blocks
from probing.ui.widgets.figure_cache import drawing
from probing.ui.widgets.glossary import answer
from probing.ui.widgets.markdown import count, escape, filled, joined
from probing.ui.widgets.paper.calls import plot
from probing.ui.widgets.task_marks import marks_once


def show(view: View, fact_id: str) -> None:
    """Draws a fact: heading, grids of tokens, its fate in fine-tuning, rank by layer."""
    if view.database is None or not fact_id:
        return
    facts = view.read(fact_of, fact_id)
    if facts.empty:
        st.info("The fact in this link is not in these results; choose another one from the list below.", icon=":material/link_off:")
        return
    fact = facts.iloc[0]
    runs = view.runs[view.runs["probe_set"] == fact["probe_set"]]
    rows = view.read(fact_predictions, fact_id, tuple(runs["run_id"]))
    # Models are compared through the same kind of head.
    alike = runs[(runs["head"] == view.chosen.head) & runs["run_id"].isin(rows["run_id"])]
    beside = by_model.beside(view, alike)
    run = run_of(view)
    run_rows = rows[rows["run_id"] == run["run_id"]]
    st.markdown(fact_list.title_of(fact))
    if len(run_rows):
        _beside_a_guess(view, fact, run_rows)
    if run_rows.empty and not count_messages.counts_only(run):
        st.info(
            filled("{model} with {head} heads was not probed for this fact.", model=view.called(view.chosen.model), head=view.chosen.head),
            icon=":material/info:",
        )
    elif len(run_rows) and (len(beside) == 1 or max(len(tokens) for tokens in run_rows["tokens"]) > 1):
        _grid(view, fact, run, run_rows)
    _leaf(view, fact_id, beside)
    _about(view, fact, fact_id)
    by_model.add_models(view, alike)
    if len(beside) > 1:
        by_model.grid(view, fact, alike, rows, beside)
    by_model.fates(view, alike, rows)
    if len(rows):
        _ranks(view, fact, runs, rows, beside)


def _about(view: View, fact: pd.Series, fact_id: str) -> None:
    about = [
        filled("answer: **{object}**", object=fact["object"]),
        escape(set_name(fact["probe_set"])),
        filled("relation: {label}", label=fact["label"]),
    ]
    if isinstance(fact["pred"], str) and fact["pred"]:
        about.append(escape(fact["pred"]))
    if fact["answer_in_subject"]:
        about.append(escape("the answer is part of the subject"))
    asked = view.read(fact_runs, fact_id)
    of_run = asked[asked["run_id"] == run_of(view)["run_id"]]
    if len(of_run) and of_run["exposure"].iloc[0] != "unknown":
        about.append(filled("training text: {exposure}", exposure=of_run["exposure"].iloc[0]))
    st.markdown(joined(" · ", about))


def _beside_a_guess(view: View, fact: pd.Series, rows: pd.DataFrame) -> None:
    """Draws the rank of the right word at the model's last layer, and the results of guessing."""
    guessed = guesses.guess(view, str(fact["fact_id"]), str(rows["run_id"].iloc[0]))
    words = guesses.in_words(fact.to_dict(), rows, guessed)
    if words:
        answer(
            filled(
                "At the last layer of {model} the right word, **{object}**, has rank {rank:,}. {words}",
                model=view.called(view.chosen.model),
                object=fact["object"],
                rank=int(rows["gold_rank"].iloc[-1]),
                words=words,
            )
        )


def _leaf(view: View, fact_id: str, beside: list[str]) -> None:
    run = run_of(view)
    before, after = view.read(neighbours, run["run_id"], fact_id, order=selection.of(FactsSelection).order, **fact_list.filters(view))
    with st.container(horizontal=True, vertical_alignment="center"):
        for label, icon, target in (("Previous", ":material/arrow_back:", before), ("Next", ":material/arrow_forward:", after)):
            st.button(escape(label), icon=icon, disabled=target is None, on_click=selection.update, kwargs={"fact": target or fact_id})
        fact = view.read(fact_of, fact_id).iloc[0]
        others = tuple(name for name in beside if name != view.chosen.model)
        navigation.link(
            "ask",
            "Ask live",
            prompt=fact["prompt"],
            watch=fact["object"],
            live_model=view.chosen.model,
            live_models=others,
            mask=1,
        )


def _grid(view: View, fact: pd.Series, run: pd.Series, rows: pd.DataFrame) -> None:
    tokens = token_rows(rows)
    stored = int(tokens["place"].max()) if len(tokens) else 0
    more = f" This run stores {count(stored, 'token')} per layer; “Ask live” shows more."
    more = more if stored < 5 else ""
    blocks.figure(
        drawing(token_grid, tokens, columns=min(stored, 5), ranks=ranks_by_layer(rows), ranked=fact["object"], dark=blocks.dark()),
        table=tokens.drop(columns="framed"),
        stamp=view.stamp(f"{view.label(view.chosen.model)} {view.chosen.head}, {fact['prompt']}", (run["run_id"],)),
        name="fact-tokens",
        call=plot("fact", fact["fact_id"], model=run["model"], head=run["head"]),
        caption=filled(
            "The predictions of each layer, best first, and the rank of the right answer, which is framed. A stronger tint means a higher "
            "probability.{more}",
            more=more,
        ),
        alt=f"Top tokens of every layer for: {fact['prompt']}",
    )


def _ranks(view: View, fact: pd.Series, runs: pd.DataFrame, rows: pd.DataFrame, beside: list[str]) -> None:
    chosen = compared_runs(runs, list(rows["run_id"]), view.chosen.head, (view.chosen.model, *beside, *view.colours))
    table = rank_table(chosen, rows)
    labels = {model: view.label(model) for model in chosen["model"]}
    blocks.figure(
        drawing(run_rank_lines, table, colours=view.colours, labels=labels, controls=view.controls),
        table=table,
        stamp=view.stamp(f"rank of {fact['object']}, {fact['prompt']}", tuple(chosen["run_id"])),
        name="fact-ranks",
        caption=filled(
            "Rank of “{object}” in each layer's ranking of the whole vocabulary; rank 1 is on top, and rings mark the layers with the best "
            "rank. {key}",
            object=fact["object"],
            key=marks_once(view, chosen["model"]),
        ),
        alt=f"Rank of {fact['object']} by layer",
    )
