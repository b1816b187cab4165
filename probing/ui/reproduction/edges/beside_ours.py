"""The paper on edge probing beside ours: which encoder, and the page's three parts."""

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

#: What makes the numbers that are laid beside the paper.
_TRAIN = "python -m probing edges train --model nesia-mini --tasks all"


@st.cache_data(max_entries=8, show_spinner="Drawing F1 again for its intervals …", hash_funcs=reads.BY_DATA)
def _laid(database: Database | None, encoder: str) -> EdgeReproduction:
    return lay_beside(database, encoder, published())


def draw(view: View) -> None:
    """The choice of an encoder, and tables, figures and claims; the published numbers alone where nothing is stored."""
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
    """Name of the encoder that is laid beside; empty where no probes are stored."""
    there = list(view.read(encoders_here)) if view.database is not None else []
    own = selection.of(ReproductionSelection)
    if own.probed_encoder and own.probed_encoder not in there:
        st.info(filled("Not in these results, so left aside: {encoder}", encoder=own.probed_encoder), icon=":material/link_off:")
    if not there:
        blocks.missing("No cumulative probes are stored yet, so the published numbers stand alone.", _TRAIN)
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
            " Ours: **{encoder}**, {layers} layers, on the data that can be had: F1s may not be laid beside the paper's where the data "
            "differ, and layers of encoders of other depth only as shares of the depth. What can be compared is the pattern.",
            encoder=shown.view.called(ours.name), layers=ours.layers,
        )  # fmt: skip
    st.markdown(words)
    if ours:
        navigation.link("pipeline", "Open with all controls on Pipeline", edge_models=(ours.name,))
