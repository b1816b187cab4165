"""All models that were asked the same own facts, next to each other, with the facts that were left out."""

from pathlib import Path

import streamlit as st

from probing.core.errors import ProbingError
from probing.core.facts.custom import own_facts
from probing.core.own_model.background import OwnRun
from probing.reports.own_model.side_by_side import not_asked, side_by_side
from probing.ui.choices.own_model import OwnModelSelection
from probing.ui.frame import selection
from probing.ui.frame.page import View
from probing.ui.widgets import blocks
from probing.ui.widgets.markdown import count, filled

_PER_CENT = {
    "value": st.column_config.NumberColumn("P@k", format="percent", help="Share of your facts that the last layer knows."),
    "low": st.column_config.NumberColumn("from", format="percent", help="Lower end of the 95 % interval."),
    "high": st.column_config.NumberColumn("to", format="percent", help="Upper end of the 95 % interval."),
    "majority": st.column_config.NumberColumn(
        "majority answer", format="percent", help="Share of your facts whose answer is the most frequent one of their relation."
    ),
    "trex": st.column_config.NumberColumn(
        "T-REx", format="percent", help="The same share of the shipped facts of T-REx, if they were asked, too."
    ),
}


def draw(view: View, run: OwnRun) -> None:
    """Draws the table of all models on the run's facts, if there is one."""
    if view.database is None:
        return
    own, called = selection.of(OwnModelSelection), run.state.wish.called
    table = view.read(side_by_side, called, own.my_k)
    if table.empty:
        return
    view.contents.section("All models on these facts")
    blocks.table_with_download(
        table,
        shown=table.drop(columns=["run_id", "trex_low", "trex_high", "trex_n"]).assign(model=table["model"].map(view.label)),
        stamp=view.stamp(f"{called}, last layer, rank ≤ {own.my_k}", tuple(table["run_id"])),
        name="own-model-all",
        column_config={"n": "facts", "left_out": "left out", **_PER_CENT},
    )
    facts = Path(run.state.wish.facts)
    try:
        read = own_facts(facts.read_bytes(), facts.name, called)
    except (OSError, ProbingError):
        # The copy of the facts was deleted or replaced; the numbers stay.
        return
    left = not_asked(view.database, table, read)
    if len(left):
        with st.expander(filled("Left out: {rows}", rows=count(len(left), "row")), icon=":material/filter_alt_off:"):
            st.dataframe(left.head(blocks.MAX_ROWS), hide_index=True)
