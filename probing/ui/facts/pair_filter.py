"""Filter for the facts of a pair of models: which part of them is listed, as arguments of queries and in words."""

from collections.abc import Callable
from typing import Any

import pandas as pd
import streamlit as st

from probing.core.knowledge.transitions import FATES, outcome_words
from probing.figures.shown_runs import set_name
from probing.ui.facts.selection import PARTS, FactsSelection
from probing.ui.frame import count_messages, selection
from probing.ui.frame.page import View
from probing.ui.widgets.markdown import filled

#: Values of the fields when no part is chosen.
NO_PART: dict[str, Any] = {"versus": "", "part": "", "part_k": 1}
_WORDS = {
    "kept": "facts that {versus} and {model} both know",
    "gained": "facts that {model} knows and {versus} does not",
    "lost": "facts that {versus} knew and {model} lost",
    "never": "facts that neither {versus} nor {model} knows",
}
_FIRST_PAGE = {"list_page": 1, "fact": ""}


def opponents(view: View) -> pd.DataFrame:
    """Runs of other models with the same head on the same probe set, with predictions stored per fact."""
    runs = _others(view)
    return runs[~runs.apply(count_messages.counts_only, axis=1).astype(bool)] if len(runs) else runs


def _others(view: View) -> pd.DataFrame:
    runs, chosen = view.runs, view.chosen
    return runs[(runs["model"] != chosen.model) & (runs["head"] == chosen.head) & (runs["probe_set"] == chosen.probe_set)]


def against(view: View) -> pd.Series | None:
    """The run that the chosen part compares with; None if no part is chosen or there is no such run."""
    runs, own = opponents(view), selection.of(FactsSelection)
    runs = runs[runs["model"] == own.versus]
    return runs.iloc[0] if own.part and len(runs) else None


def part_filter(view: View) -> dict[str, Any]:
    """The chosen part, as arguments of the store's queries; empty if none can be listed."""
    run, own = against(view), selection.of(FactsSelection)
    return {} if run is None else {"versus": run["run_id"], "part": own.part, "part_k": own.part_k}


def part_words(view: View, named: Callable[[str], str] = str) -> str:
    """The chosen part in words; ``""`` if none is listed.

    Args:
        view: the page.
        named: gives the name of a model; by default its full name.
    """
    own = selection.of(FactsSelection)
    if against(view) is None:
        return ""
    told = _WORDS["lost" if own.part in FATES else own.part].format(versus=named(own.versus), model=named(view.chosen.model))
    return f"{told}{f': {outcome_words(own.part)}' if own.part in FATES else ''}, rank ≤ {own.part_k} at the last layer"


def choose_part(view: View) -> None:
    """Draws the choice of the model to compare with, the part and the rank; draws nothing if only one model is stored."""
    chosen, own, others = view.chosen, selection.of(FactsSelection), list(opponents(view)["model"])
    if others:
        with st.expander("Compare with another model" + (" (on)" if against(view) is not None else ""), icon=":material/compare_arrows:"):
            versus, part, k = st.columns([2, 2, 1])
            with versus:
                shown = own.versus if own.versus in others else ""
                selection.bound(
                    st.selectbox,
                    "Compared with",
                    "versus",
                    view.page,
                    value=shown,
                    options=["", *others],
                    resets=_FIRST_PAGE,
                    format_func=lambda name: view.label(name) if name else "no other model",
                )
            with part:
                selection.bound(
                    st.selectbox,
                    "Facts that were",
                    "part",
                    view.page,
                    options=list(PARTS),
                    resets=_FIRST_PAGE,
                    format_func=lambda name: f"lost: {outcome_words(name)}" if name in FATES else name or "any",
                    help="kept: known by both; gained: by the listed model only; lost: by the other only. Lost facts are still first "
                    "at an inner layer, as in the base; moved to an inner layer, at which the base does not have them first; suppressed "
                    "(still among the first 100 at the last layer), displaced (among the first 100 only at an inner layer) or not read at "
                    "any layer (among the first 100 at none).",
                )
            with k:
                selection.bound(
                    st.segmented_control,
                    "Known up to rank",
                    "part_k",
                    view.page,
                    options=list(selection.RANKS),
                    required=True,
                    resets=_FIRST_PAGE,
                )
    if not own.part:
        return
    if against(view) is not None:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(filled("Only **{part}**.", part=part_words(view, view.label)))
            st.button(
                "All facts", key="facts.all_parts", icon=":material/close:", on_click=selection.update, kwargs={**NO_PART, **_FIRST_PAGE}
            )
        return
    if not own.versus and others:
        st.info("Choose the model to compare with.", icon=":material/compare_arrows:")
        return
    compared = _others(view)
    if count_messages.say(view, *(run for _, run in compared[compared["model"] == own.versus].iterrows())):
        why = filled("only counts are stored for {model}", model=view.called(own.versus))
    elif own.versus == chosen.model:
        why = filled("{model} is compared with itself", model=view.called(chosen.model))
    else:
        asked = filled("{head} heads on {probe_set}", head=chosen.head, probe_set=set_name(chosen.probe_set))
        why = filled(
            "no run of {model} with {asked} is stored", model=view.called(own.versus) if own.versus else "another model", asked=asked
        )
    with st.container(horizontal=True, vertical_alignment="center"):
        st.info(
            filled("Facts that were {part} cannot be listed: {why}.", part=outcome_words(own.part), why=why), icon=":material/link_off:"
        )
        st.button("Clear", key="facts.all_parts", icon=":material/close:", on_click=selection.update, kwargs={**NO_PART, **_FIRST_PAGE})
