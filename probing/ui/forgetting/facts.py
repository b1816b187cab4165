"""The lost facts of the chosen model: by relation, one by one, and the story of one of them."""

from collections.abc import Hashable, Mapping
from typing import Any

import pandas as pd
import streamlit as st

from probing.core.forgetting.ways import LOST_OUTCOMES, RELEARNED, STEPS
from probing.reports.forgetting import places
from probing.store import run_queries
from probing.store.forgetting.queries import BACK_COLUMNS
from probing.ui.choices.compare import CompareSelection
from probing.ui.forgetting.page_view import Shown, labels_of
from probing.ui.frame import navigation, selection
from probing.ui.widgets import blocks
from probing.ui.widgets.markdown import Markdown, filled, joined

_COLUMNS = ("relation", "subject", "object", "way", "layer", "layers_back", "after_15", "rank", "margin")


def by_relation(shown: Shown) -> None:
    """The relations, whose rows lead to their facts."""
    shown.view.contents.section("Where facts were lost, and come back")
    table = shown.report(places.relations, shown.of_model)
    key = f"forgetting.relations.{shown.run['run_id']}"

    def picked() -> None:
        if rows := st.session_state[key].selection.rows:
            selection.update(lost_relation=str(table["relation"].iloc[rows[0]]), lost_way="", lost_fact="")

    st.markdown("Choose a relation to list its facts.")
    top = table.assign(label=table["label"].fillna(table["relation"]))
    names = {column: way for way, column in BACK_COLUMNS.items()}
    blocks.table_with_download(
        table,
        shown=top,
        stamp=shown.stamp("lost facts by relation"),
        name="forgetting-relations",
        key=key,
        on_select=picked,
        selection_mode="single-row",
        height=min(38 + 35 * len(top), 320),
        column_order=["relation", "label", "known", "kept", "lost", *names],
        column_config={"relation": st.column_config.TextColumn(pinned=True), **names},
    )


def draw(shown: Shown) -> None:
    """The filters, the list and the chosen fact."""
    own = selection.of(CompareSelection)
    shown.view.contents.section("The lost facts")
    relations = sorted(shown.report(places.relations, shown.of_model).query("lost > 0")["relation"])
    labels = labels_of(shown.view.read(run_queries.relations), shown.run["probe_set"])
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        selection.bound(
            st.selectbox,
            "How they come back",
            "lost_way",
            shown.view.page,
            options=["", *LOST_OUTCOMES],
            resets={"lost_fact": ""},
            format_func=lambda way: f"{way} ({int(shown.parts.loc[way, 'n']):,})" if way else "all",
        )
        relation = own.lost_relation if own.lost_relation in relations else ""
        selection.bound(
            st.selectbox,
            "Relation",
            "lost_relation",
            shown.view.page,
            value=relation,
            options=["", *relations],
            resets={"lost_fact": ""},
            format_func=lambda name: labels.get(name, name) or "all",
        )
    wanted = ((own.lost_way,) if own.lost_way else None, (relation,) if relation else None)
    table = shown.report(places.facts, shown.run["run_id"], *wanted)
    if table.empty:
        st.info("No lost fact has these two.", icon=":material/filter_alt_off:")
        return
    key = f"forgetting.facts.{shown.run['run_id']}"

    def picked() -> None:
        if rows := st.session_state[key].selection.rows:
            selection.update(lost_fact=str(table["fact_id"].iloc[rows[0]]))

    blocks.table_with_download(
        table,
        shown=table[list(_COLUMNS)]
        .assign(relation=[labels.get(name, name) for name in table["relation"]])
        .rename(columns={"layers_back": "layers put back", "after_15": "seeds that relearn it"}),
        stamp=shown.stamp("lost facts"),
        name="forgetting-facts",
        key=key,
        on_select=picked,
        selection_mode="single-row",
        height=min(38 + 35 * len(table), 320),
    )
    chosen = table[table["fact_id"] == own.lost_fact]
    _story(shown, (chosen if len(chosen) else table).iloc[0].to_dict())


def _story(shown: Shown, fact: Mapping[Hashable, Any]) -> None:
    """One fact in words; its rank by layer is on the page Facts."""
    run = shown.run
    named = pd.notna(fact["subject"])
    subject, answer = (str(fact[name]) if named else "" for name in ("subject", "object"))
    st.markdown(
        filled(
            "**{subject} → {answer}**: {story}",
            subject=subject or fact["fact_id"],
            answer=answer or fact["relation"],
            story=_words(fact),
        )
    )
    if named and pd.notna(fact["prompt"]):
        st.caption(filled("{prompt}", prompt=fact["prompt"]))
    navigation.link(
        "facts", "This fact on the page Facts", afresh=True, model=shown.model, probe_set=run["probe_set"], fact=fact["fact_id"]
    )


def _words(fact: Mapping[Hashable, Any]) -> Markdown:
    """Every way that brings the fact back, from the cheapest."""
    ways = []
    if pd.notna(fact["layer"]):
        ways.append(filled("the head reads it at layer {layer}", layer=int(fact["layer"])))
    if fact["fitted"]:
        ways.append(Markdown("a fitted head reads it at the last layer"))
    if pd.notna(fact["layers_back"]):
        ways.append(filled("it is back with the last {n} of the base's layers", n=int(fact["layers_back"])))
    seeds = {steps: fact[f"after_{steps}"] for steps in STEPS}
    relearned = ", ".join(f"{back.count('1')} of {len(back)} seeds after {steps}" for steps, back in seeds.items())
    ways = ways or [Markdown("it comes back by no way without training")]
    return filled("{ways}; {way} in {seeds} steps.", ways=joined("; ", ways), way=RELEARNED, seeds=relearned)
