"""The paper on edge probing compared with our results: the choice of an encoder, and the page's three parts."""

import streamlit as st

from probing.reports.reproduction.edges.laid import EdgeReproduction, encoders_here, lay_beside
from probing.store.database import Database
from probing.ui.frame import navigation, reads, selection
from probing.ui.frame.page import View
from probing.ui.reproduction.edges import claims, figures, tables
from probing.ui.reproduction.edges.shown import Shown, published
from probing.ui.reproduction.papers import tabs
from probing.ui.reproduction.selection import EDGE_TABS, ReproductionSelection
from probing.ui.widgets import blocks
from probing.ui.widgets.markdown import Markdown, filled

#: The command that makes the numbers to compare with the paper.
_TRAIN = "python -m probing edges train --model nesia-mini --tasks all"


@st.cache_data(max_entries=8, show_spinner="Bootstrapping the intervals of F1 …", hash_funcs=reads.BY_DATA)
def _laid(database: Database | None, encoder: str) -> EdgeReproduction:
    return lay_beside(database, encoder, published())


def draw(view: View) -> None:
    """The choice of an encoder, and tables, figures and claims; only the published numbers if nothing is stored."""
    shown = Shown(view, _laid(view.database, _choose(view)))
    _say_what_it_is(shown)
    first, second, third = tabs("pipeline_tab", EDGE_TABS)
    with first:
        tables.draw(shown)
    with second:
        figures.draw(shown)
    with third:
        claims.draw(shown)


def _choose(view: View) -> str:
    """Name of the encoder that is compared with the paper; empty if no probes are stored."""
    there = list(view.read(encoders_here)) if view.database is not None else []
    own = selection.of(ReproductionSelection)
    if own.probed_encoder and own.probed_encoder not in there:
        st.info(filled("Ignored, not in these results: {encoder}", encoder=own.probed_encoder), icon=":material/link_off:")
    if not there:
        blocks.missing("No cumulative probes are stored yet, so only the published numbers are shown.", _TRAIN)
        return ""
    chosen = own.probed_encoder if own.probed_encoder in there else there[0]
    selection.bound(
        st.selectbox, "Encoder", "probed_encoder", view.page, value=chosen, options=there, format_func=view.label, width=420
    )  # fmt: skip
    return chosen


def _say_what_it_is(shown: Shown) -> None:
    paper, ours = published(), shown.laid.ours
    words = filled(
        "Published: {authors}, *{title}*, {venue}, <{url}>.", authors=paper.authors, title=paper.title, venue=paper.venue,
        url=Markdown(paper.url),
    )  # fmt: skip
    if ours:
        words += filled(
            " Ours: **{encoder}**, {layers} layers, on the data that are available. If the data differ, F1s are not comparable with the "
            "paper's; layers of encoders of different depth are comparable only as shares of the depth. The pattern can be compared.",
            encoder=shown.view.called(ours.name), layers=ours.layers,
        )  # fmt: skip
    st.markdown(words)
    if ours:
        navigation.link("pipeline", "Open with all controls on Pipeline", edge_models=(ours.name,))
