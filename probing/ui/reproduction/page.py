"""A paper compared with our results: the choice of paper and subject, then its tables, figures and claims."""

from collections.abc import Mapping
from typing import Any

import streamlit as st

from probing.reports.reproduction.judge import Judged
from probing.reports.reproduction.paper import Reproduction
from probing.reports.reproduction.papers import PAPERS
from probing.store.database import Database
from probing.ui.frame import page, page_reads, selection
from probing.ui.frame.page import View
from probing.ui.reproduction import claims_table
from probing.ui.reproduction import selection as fields
from probing.ui.reproduction.edges.section import EDGE_PROBING
from probing.ui.reproduction.forgetting.section import FORGETTING
from probing.ui.reproduction.knowledge.section import BERTNESIA
from probing.ui.reproduction.page_view import Section, Shown
from probing.ui.reproduction.selection import ReproductionSelection
from probing.ui.reproduction.sentences.section import INTERPLAY
from probing.ui.widgets import blocks
from probing.ui.widgets.markdown import Markdown, escape, filled, joined

#: Paper by its name in links -> its part of the page.
SECTIONS = {section.paper.name: section for section in (BERTNESIA, EDGE_PROBING, INTERPLAY, FORGETTING)}


@st.cache_data(max_entries=12, show_spinner="Comparing our results with the paper …", hash_funcs=page_reads.BY_DATA)
def _compared(database: Database | None, paper: str, subject: tuple[str, ...]) -> Reproduction:
    return PAPERS[paper].compare(database, *subject)


@st.cache_data(max_entries=12, show_spinner="Judging the claims …", hash_funcs=page_reads.BY_DATA)
def _judged(database: Database | None, paper: str, subject: tuple[str, ...]) -> tuple[Judged, ...]:
    return PAPERS[paper].judge(database, _compared(database, paper, subject).ours)


def draw(view: View) -> None:
    """Everything that the page shows of the chosen paper; without results of ours only the published numbers, if they are shown alone."""
    papers = fields.PAPERS
    with st.container(horizontal=True, vertical_alignment="bottom"):
        paper = selection.bound(
            st.segmented_control,
            "Paper",
            "paper",
            view.page,
            options=list(papers),
            format_func=papers.__getitem__,
            required=True,
            wrap=True,
        )
        section = SECTIONS[paper]
        subject = _choose(view, section)
    shown = Shown(view, section, _compared(view.database, paper, subject))
    if shown.found.ours:
        section.below(shown, shown.found.ours)
    with selection.open_tab(section.fields[1], section.tabs, view.page) as name:
        if name == "claims":
            _introduce(shown)
            claims_table.draw(shown, _judged(view.database, paper, subject))
        elif name == "tables":
            for part in section.tables:
                part(shown)
        else:
            _figure(shown)


def _choose(view: View, section: Section) -> tuple[str, ...]:
    """The subject that is compared with the paper, and further choices; empty if nothing is stored."""
    there: Mapping[str, Any] = view.read(section.paper.subjects) if view.database is not None else {}
    name = section.fields[0]
    wanted = getattr(selection.of(ReproductionSelection), name)
    if wanted and wanted not in there:
        blocks.say_ignored([wanted])
    if not page.there_or_said(bool(there), *section.missing):
        return () if section.alone else st.stop()
    chosen = wanted if wanted in there else next(iter(there))
    with st.popover(escape(section.option(view, chosen, there[chosen])), icon=":material/tune:"):
        selection.bound(
            st.selectbox,
            Markdown(section.menu),
            name,
            view.page,
            value=chosen,
            options=list(there),
            format_func=lambda one: section.option(view, one, there[one]),
            width=420,
        )
        return (chosen, *section.further(view, there[chosen]))


def _introduce(shown: Shown) -> None:
    paper, ours = shown.numbers, shown.found.ours
    words = filled(
        "Published: {authors}, *{title}*, {venue}, <{url}>.",
        authors=paper.authors,
        title=paper.title,
        venue=paper.venue,
        url=Markdown(paper.url),
    )
    st.markdown(joined("", [words, shown.section.about(shown, ours)]) if ours else words)


def _figure(shown: Shown) -> None:
    """The choice of a figure and of a panel; draws ours, and describes the paper's."""
    paper, section = shown.numbers, shown.section
    *_, name, panel_name = section.fields
    whole = {one.number: one.title.startswith((f"Figure {one.number}", "Figures")) for one in paper.figures}
    titles = {one.number: one.title if whole[one.number] else f"Figure {one.number}: {one.title}" for one in paper.figures}
    with st.container(horizontal=True):
        selection.bound(
            st.selectbox,
            "Figure",
            name,
            shown.view.page,
            resets={panel_name: ""},
            options=list(titles),
            format_func=titles.__getitem__,
        )
        figure = paper.figure(getattr(selection.of(ReproductionSelection), name))
        panel = fields.choose_panel(section.panels(shown, figure), panel_name, shown.view.page, Markdown(section.panel))
    section.figure(shown, figure, panel)
    st.markdown(filled("**The paper's figure.** {shows}{values}", shows=figure.shows, values=section.values))
