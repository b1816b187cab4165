"""Finding a fact: search, filters, and a list to choose from."""

from typing import Any

import pandas as pd
import streamlit as st

from probing.figures.shown_runs import set_name
from probing.store.knowledge.fact_queries import MAX_ROWS, count_facts, random_fact, search_facts
from probing.store.run_queries import relations
from probing.ui.facts import pair_filter
from probing.ui.facts.running_example import ROCKY, rocky
from probing.ui.facts.selection import ORDERS, FactsSelection
from probing.ui.frame import count_messages, navigation, selection
from probing.ui.frame.page import View, run_of
from probing.ui.widgets import blocks
from probing.ui.widgets.markdown import Markdown, count, filled

ROWS = 50
_SHOWN = {
    "subject": "subject",
    "object": "answer",
    "label": "relation",
    "first_layer": "first known",
    "last_layer": "last known",
    "best_rank": "best rank",
    "last_rank": "last rank",
    "exposure": "exposure",
    "prompt": "prompt",
}
_HEADINGS = {
    "first known": st.column_config.NumberColumn("first", help="The first layer that knows it."),
    "last known": st.column_config.NumberColumn("last", help="The last layer that knows it."),
    "prompt": st.column_config.TextColumn(width="large"),
}
_ORDER_WORDS = {
    "layers known": "known at most layers first",
    "fact": "by name",
    "first layer": "known earliest first",
    "last layer": "known latest first",
    "best rank": "best rank first",
    "last rank": "best last rank first",
    "worst last rank": "worst last rank first",
}
_KNOWN = {"any": "known or not", "ever": "known at some layer", "never": "known at no layer"}


def filters(view: View) -> dict[str, Any]:
    """The active filters, as arguments of the store's queries."""
    chosen = selection.of(FactsSelection)
    return {
        "text": chosen.text,
        "relation": chosen.relation or None,
        "known_at": chosen.known_at,
        "first_known": chosen.first_known,
        "last_known": chosen.last_known,
        "never_known": {"any": None, "ever": False, "never": True}[chosen.known],
        "exposures": view.exposures,
        "answer_in_subject": view.in_subject,
        "layer_rank": (chosen.at_layer, chosen.at_rank) if chosen.at_layer is not None else None,
        **pair_filter.part_filter(view),
    }


def words(view: View) -> str:
    """The active filters in words, for stamps."""
    chosen = selection.of(FactsSelection)
    found = [f"{view.label(view.chosen.model)} {view.chosen.head}", set_name(view.chosen.probe_set)]
    found += [f"text {chosen.text!r}"] if chosen.text else []
    found += [f"relation {chosen.relation}"] if chosen.relation else []
    found += [_KNOWN[chosen.known]] if chosen.known != "any" else []
    for name, said in (("known_at", "known at"), ("first_known", "first known at"), ("last_known", "last known at")):
        if getattr(chosen, name) is not None:
            found.append(f"{said} layer {getattr(chosen, name)}")
    found += [f"rank ≤ {chosen.at_rank} at layer {chosen.at_layer}"] if chosen.at_layer is not None else []
    found += [told] if (told := pair_filter.part_words(view)) else []
    return ", ".join([*found, view.filter_words()])


def search(view: View) -> None:
    """Draws search box, order and filters."""
    first_page = {"list_page": 1, "fact": ""}
    page, last = view.page, int(run_of(view)["layers"]) - 1
    box, relation, order = st.columns([3, 2, 2])
    with box:
        selection.bound(
            st.text_input,
            "Search",
            "text",
            page,
            placeholder="subject, answer or words of the prompt",
            icon=":material/search:",
            resets=first_page,
        )
    with relation:
        _relation(view, first_page)
    with order:
        selection.bound(
            st.selectbox, "Order", "order", page, options=list(ORDERS), format_func=_ORDER_WORDS.__getitem__, resets={"list_page": 1}
        )
    chosen = selection.of(FactsSelection)
    on = sum(value not in (None, "any") for value in (chosen.known, chosen.known_at, chosen.first_known, chosen.last_known))
    with st.expander("Known at which layers?" + (filled(" ({on} on)", on=on) if on else ""), icon=":material/layers:"):
        for place, (field, label) in zip(
            st.columns(4),
            (("known", "Known (rank 1)"), ("known_at", "Known at"), ("first_known", "First known"), ("last_known", "Last known")),
            strict=True,
        ):
            with place:
                if field == "known":
                    selection.bound(st.selectbox, label, field, page, options=list(_KNOWN), format_func=_KNOWN.get, resets=first_page)
                else:
                    start = 0 if field == "known_at" else 1
                    layers = [None, *range(start, last + 1)]
                    selection.bound(st.selectbox, label, field, page, options=layers, format_func=_layer, resets=first_page)
    pair_filter.choose_part(view)
    if chosen.at_layer is not None:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(
                filled("Only facts with **rank ≤ {at_rank} at layer {at_layer}**.", at_rank=chosen.at_rank, at_layer=chosen.at_layer)
            )
            st.button("Show all", icon=":material/close:", on_click=selection.update, kwargs={"at_layer": None, **first_page})


def _layer(layer: int | None) -> str:
    return "any" if layer is None else "layer 0 (embeddings)" if layer == 0 else f"layer {layer}"


def _relation(view: View, first_page: dict) -> None:
    table = view.read(relations)
    table = table[table["probe_set"] == view.chosen.probe_set]
    labels = dict(zip(table["relation"], table["label"], strict=True))
    selection.bound(
        st.selectbox,
        "Relation",
        "relation",
        view.page,
        options=["", *labels],
        resets=first_page,
        format_func=lambda name: "all relations" if not name else labels[name] if labels[name] == name else f"{labels[name]} ({name})",
    )


def listing(view: View) -> str:
    """Draws the list of facts found; returns the id of the fact to show, ``""`` if none is found."""
    chosen, run = selection.of(FactsSelection), run_of(view)
    if count_messages.say(view, run):
        return chosen.fact
    wanted = filters(view)
    total = view.read(count_facts, run["run_id"], **wanted)
    if not total:
        st.info("No fact passes these filters.", icon=":material/filter_alt_off:")
        st.button("Clear all filters", on_click=selection.update, kwargs={"afresh": True, **selection.ALL_FACTS})
        return chosen.fact
    pages = -(-total // ROWS)
    page = min(max(chosen.list_page, 1), pages)
    compared = pair_filter.against(view)
    asked = wanted | ({} if compared is None else {"other": compared["run_id"]})
    facts = view.read(search_facts, run["run_id"], order=chosen.order, offset=(page - 1) * ROWS, limit=ROWS, **asked)
    ids = list(facts["fact_id"])
    _shortcuts(view, run["run_id"], wanted, total, page, pages)
    key = f"facts.list.{abs(hash((run['run_id'], page, chosen.order, *wanted.values())))}"
    shown, headings = _SHOWN, _HEADINGS
    if compared is not None:
        # In front of this model's layers and ranks.
        shown = {**{name: _SHOWN[name] for name in ("subject", "object", "label")}, "their_last_rank": "theirs", **_SHOWN}
        title = f"last rank in {view.label(chosen.versus)}"
        theirs = st.column_config.NumberColumn(title, help="Rank of the answer at the last layer of that model.")
        headings = _HEADINGS | {"theirs": theirs}
    table = facts[list(shown)].rename(columns=shown)
    blocks.choices(table, lambda row: selection.update(fact=ids[row]), key=key, headings=headings)
    with st.expander("Download", icon=":material/download:"):
        st.download_button(
            filled("CSV of all {n:,}", n=total),
            lambda: blocks.export.csv_bytes(
                _all(view, run["run_id"], chosen.order, total, asked), view.stamp(words(view), (run["run_id"],))
            ),
            "facts.csv",
            "text/csv",
            key="facts.csv",
            on_click="ignore",
        )
    # A fact whose answer is part of its subject is a poor example.
    apart = [fact for fact, inside in zip(ids, facts["answer_in_subject"], strict=True) if not inside]
    return chosen.fact or (apart or ids)[0]


def _all(view: View, run_id: str, order: str, total: int, wanted: dict[str, Any]) -> pd.DataFrame:
    """All facts that pass the filters."""
    starts = range(0, total, MAX_ROWS)
    return pd.concat([view.read(search_facts, run_id, order=order, offset=at, limit=MAX_ROWS, **wanted) for at in starts])


def _shortcuts(view: View, run_id: str, wanted: dict, total: int, page: int, pages: int) -> None:
    seed = st.session_state.get("facts.seed", 0)

    def pick_random() -> None:
        st.session_state["facts.seed"] = seed + 1
        selection.update(fact=view.read(random_fact, run_id, seed=seed, **wanted))

    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(filled("**{facts}**", facts=count(total, "fact")))
        st.button("Random", icon=":material/casino:", on_click=pick_random)
        fact = rocky(view)
        if fact is not None:
            st.button(
                "Rocky Balboa",
                icon=":material/sports_mma:",
                on_click=selection.update,
                kwargs={"afresh": True, **selection.ALL_FACTS, "probe_set": fact["probe_set"], "fact": fact["fact_id"]},
            )
        else:
            navigation.link("ask", "Rocky Balboa", icon=":material/sports_mma:", prompt=ROCKY, watch="philadelphia", mask=1)
        if pages > 1:
            st.button(
                "Back",
                key="facts.back",
                icon=":material/chevron_left:",
                disabled=page == 1,
                on_click=selection.update,
                kwargs={"list_page": page - 1, "fact": ""},
            )
            st.caption(filled("page {page:,} of {pages:,}", page=page, pages=pages), width="content")
            st.button(
                "More",
                key="facts.more",
                icon=":material/chevron_right:",
                disabled=page == pages,
                on_click=selection.update,
                kwargs={"list_page": page + 1, "fact": ""},
            )


def title_of(fact: pd.Series) -> Markdown:
    """The prompt as a heading."""
    return filled("## {prompt}", prompt=fact["prompt"])
