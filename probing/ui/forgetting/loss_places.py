"""Where facts were lost, and come back."""

import streamlit as st

from probing.reports.forgetting import places
from probing.store.forgetting.queries import BACK_COLUMNS
from probing.ui.forgetting.page_view import Shown
from probing.ui.frame import selection
from probing.ui.widgets import blocks


def draw(shown: Shown) -> None:
    """The relations, whose rows lead to their facts."""
    shown.view.contents.section("Where facts were lost, and come back")
    runs = shown.runs[shown.runs["model"] == shown.model]
    table = shown.report(places.relations, runs)
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
