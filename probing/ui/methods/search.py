"""The search of the Methods page: over definitions, baselines, differences from the papers, and where models, data and runs come from."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

import streamlit as st

from probing.core.glossary.terms import TERMS
from probing.core.metrics import METRICS
from probing.figures.shown_runs import set_name
from probing.store.run_queries import runs as all_runs
from probing.ui.frame import selection
from probing.ui.frame.page import View
from probing.ui.methods import definitions, yardsticks
from probing.ui.methods.selection import MethodsSelection
from probing.ui.widgets import blocks
from probing.ui.widgets.markdown import Markdown, count, escape, filled

#: Maximum number of entries that are shown.
MOST = 40
_TITLE = re.compile(r"\s*(?:[-#]+\s*)?\*\*(.+?)\.?\*\*", re.DOTALL)
_MARKUP = re.compile(r"[*\\`]")


@dataclass(frozen=True)
class Entry:
    """One entry.

    Attributes:
        kind: what it is.
        title: plain text.
        text: as Markdown.
    """

    kind: str
    title: str
    text: Markdown


def draw(view: View) -> bool:
    """Draws the field and, if something is typed, the entries that have all its words; returns whether something is."""
    selection.bound(
        st.text_input,
        "Search",
        "methods_search",
        view.page,
        placeholder="a term, a quantity, a baseline, a model, a data set or a run",
        icon=":material/search:",
    )
    query = selection.of(MethodsSelection).methods_search
    if not query.strip():
        return False
    hits = found(entries(view), query)
    st.markdown(filled("**{entries}** for “{query}”", entries=count(len(hits), "entry", "entries"), query=query))
    if not hits:
        st.info("An entry must have all words of the search.", icon=":material/search_off:")
    for entry in hits[:MOST]:
        with st.container(border=True):
            st.caption(escape(entry.kind))
            st.markdown(escape(entry.text))
    if len(hits) > MOST:
        st.caption(filled("Only the first {most} are shown.", most=MOST))
    return True


def found(entries: Iterable[Entry], query: str) -> list[Entry]:
    """The entries that have all words of a search, those with them in their titles first."""
    words = query.lower().split()
    hits = [one for one in entries if all(word in _plain(f"{one.title} {one.text} {one.kind}") for word in words)]
    return sorted(hits, key=lambda one: [one.title.lower() != query.strip().lower(), not all(word in one.title.lower() for word in words)])


def _plain(text: str) -> str:
    return _MARKUP.sub("", text).lower()


def entries(view: View) -> list[Entry]:
    """All entries of the page, in the order of its tabs."""
    return [
        *(Entry("term", one.name, definitions.term_text(one)) for one in TERMS),
        *(Entry("quantity", one.label, definitions.metric_text(one)) for one in METRICS.values()),
        *_paragraphs("method", definitions.HOW),
        *_paragraphs("baseline", yardsticks.YARDSTICKS),
        *_paragraphs("baseline", yardsticks.NULL),
        *_paragraphs("difference from the papers", definitions.DIFFERENCES),
        *(Entry("provenance", row["what"], _of_source(row)) for row in definitions.licences().to_dict("records")),
        *_of_runs(view),
    ]


def _paragraphs(kind: str, text: str) -> list[Entry]:
    """The paragraphs and points of a text that begin with their title in bold."""
    parts = (Markdown(part) for part in re.split(r"\n\n|\n(?=- )", text.strip()))
    return [Entry(kind, _plain(title[1]), part) for part in parts if (title := _TITLE.match(part))]


def _of_source(row: dict) -> Markdown:
    more = [filled("{what}: {value}", what=name, value=row[name]) for name in ("licence", "source", "revision", "paper") if row[name]]
    return filled("**{title}** · {more}", title=row["what"], more=Markdown(" · ".join(more)))


def _of_runs(view: View) -> list[Entry]:
    """The stored runs of facts, by their ids."""
    runs = view.read(all_runs).to_dict("records") if view.database else []
    words = "**run {run_id}** · {model}, {head} heads, {probe_set} · {n:,} facts probed · code {code}, {created}"
    return [
        Entry(
            "provenance",
            f"run {row['run_id']}",
            filled(
                words,
                run_id=row["run_id"],
                model=row["model"],
                head=row["head"],
                probe_set=set_name(row["probe_set"]),
                n=int(row["n_probed"]),
                code=row["code_version"] or blocks.EMPTY,
                created=str(row["created"]),
            ),
        )
        for row in runs
    ]
