"""The paper on fine-tuning and sentence-level probing compared with our results: the choice of a base, and the page's three parts."""

import streamlit as st

from probing.reports.reproduction.sentences.families import families_here
from probing.reports.reproduction.sentences.laid import SentenceReproduction, lay_beside
from probing.store.database import Database
from probing.ui.frame import reads, selection
from probing.ui.frame.page import View
from probing.ui.reproduction.papers import tabs
from probing.ui.reproduction.selection import INTERPLAY_TABS, ReproductionSelection
from probing.ui.reproduction.sentences import claims, figures, tables
from probing.ui.reproduction.sentences.shown import Shown, published
from probing.ui.widgets import blocks
from probing.ui.widgets.markdown import Markdown, filled, joined

#: The command that makes the numbers to compare with the paper.
_MAKE = "python -m probing reproduce --paper interplay --family nesia-mini"


@st.cache_data(max_entries=8, show_spinner="Comparing probes with the paper …", hash_funcs=reads.BY_DATA)
def _laid(database: Database | None, base: str) -> SentenceReproduction:
    return lay_beside(database, base, published())


@st.cache_data(max_entries=8, show_spinner=False, hash_funcs=reads.BY_DATA)
def _bases(database: Database) -> list[str]:
    return [one.base for one in families_here(database, published())]


def draw(view: View) -> None:
    """The choice of a base, and tables, figures and claims; only the published numbers if nothing is stored."""
    shown = Shown(view, _laid(view.database, _choose(view)))
    _say_what_it_is(shown)
    first, second, third = tabs("interplay_tab", INTERPLAY_TABS)
    with first:
        tables.draw(shown)
    with second:
        figures.draw(shown)
    with third:
        claims.draw(shown)


def _choose(view: View) -> str:
    """Name of the base that is compared with the paper; empty if nothing is stored."""
    there = _bases(view.database) if view.database is not None else []
    own = selection.of(ReproductionSelection)
    if own.tuned_base and own.tuned_base not in there:
        st.info(filled("Ignored, not in these results: {base}", base=own.tuned_base), icon=":material/link_off:")
    if not there:
        blocks.missing("No sentence probes are stored yet, so only the published numbers are shown.", _MAKE)
        return ""
    chosen = own.tuned_base if own.tuned_base in there else there[0]
    selection.bound(
        st.selectbox, "Pre-trained encoder", "tuned_base", view.page, value=chosen, options=there, format_func=view.label, width=420
    )  # fmt: skip
    return chosen


def _say_what_it_is(shown: Shown) -> None:
    paper, family = published(), shown.laid.family
    words = filled(
        "Published: {authors}, *{title}*, {venue}, <{url}>.", authors=paper.authors, title=paper.title, venue=paper.venue,
        url=Markdown(paper.url),
    )  # fmt: skip
    if family:
        tuned = [shown.view.called(model) for model in family.members.values()]
        words += filled(
            " Ours: **{base}**, {layers} layers, probed with the protocol *{protocol}*", base=shown.view.called(family.base),
            layers=family.depth, protocol=family.protocol,
        )  # fmt: skip
        words += filled(", with {tuned}.", tuned=joined(", ", tuned)) if tuned else Markdown(", without fine-tuned models.")
        words += Markdown(
            " The sentences are not the paper's, except SentEval's own if they were fetched. The direction of a change and its layers can "
            "be compared."
        )
    st.markdown(words)
