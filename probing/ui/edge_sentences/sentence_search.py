"""Finding a sentence: filters on its targets, and a list to choose from."""

import streamlit as st

from probing.core.edges.target import OWN
from probing.store.edges.sentence_queries import count_sentences, sentences
from probing.ui.choices.grammar import KINDS, ORDERS
from probing.ui.edge_sentences.page_view import Shown
from probing.ui.edge_sentences.words import say_missing, with_words
from probing.ui.frame import selection
from probing.ui.widgets import blocks
from probing.ui.widgets.markdown import Markdown, count, filled

ROWS = 25
#: Characters of a sentence's hash that are shown.
HASH = 12
_KINDS = {"any": "any", "ambiguous": "ambiguous", "revised": "revised"}
_ORDERS = {"ambiguous": "most ambiguous targets first", "revised": "most revisions first", "sentence": "in the order of the data"}
assert tuple(_KINDS) == KINDS and tuple(_ORDERS) == ORDERS
_HEADINGS = {
    "sentence": st.column_config.TextColumn(width="large"),
    "targets": st.column_config.NumberColumn(help="Targets of the sentence that pass the filters."),
    "ambiguous": st.column_config.NumberColumn(
        help="Targets for which no label has a mean share above 0.7 over the layers (the paper's rule)."
    ),
    "revisions": st.column_config.NumberColumn(
        help="How often the most probable label changes from one layer to the next, summed over these targets."
    ),
}


def filters(shown: Shown) -> None:
    """Filters by task, label, kind of target and settled layer; the order; and two tasks out of order."""
    reset, page, own = {"trace_page": 1, "text_hash": ""}, shown.view.page, shown.own
    titles = shown.tasks
    first = st.columns(3)
    with first[0]:
        selection.bound(
            st.selectbox,
            "Task",
            "trace_task",
            page,
            value=shown.task,
            options=["", *titles],
            resets={**reset, "trace_label": ""},
            format_func=lambda task: titles.get(task, "all tasks"),
        )
    labels = shown.labels()
    with first[1]:
        selection.bound(
            st.selectbox,
            "Right label",
            "trace_label",
            page,
            value=own.trace_label if own.trace_label in labels else "",
            options=["", *labels],
            resets=reset,
            disabled=not labels,
            format_func=lambda label: label or "any",
            help="" if labels else "Choose a task first.",
        )
    last = int(shown.runs["layers"].max()) - 1
    with first[2]:
        selection.bound(
            st.selectbox,
            "Settled at layer",
            "settled",
            page,
            options=[None, *range(last + 1)],
            placeholder="any",
            resets=reset,
            format_func=lambda layer: "any" if layer is None else "0 (embeddings)" if layer == 0 else str(layer),
            help="The first layer from which the most probable label stays right up to the last.",
        )
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        selection.bound(
            st.segmented_control,
            "Targets",
            "trace_kind",
            page,
            options=list(KINDS),
            required=True,
            format_func=_KINDS.__getitem__,
            resets=reset,
            help="Ambiguous: for more than one target of the sentence, no label has a mean share above 0.7 over the layers "
            "(the paper's rule). Revised: the most probable label changes at some layer.",
        )
        selection.bound(st.selectbox, "Order", "trace_order", page, options=list(ORDERS), format_func=_ORDERS.__getitem__, resets=reset)
    if len(titles) > 1:
        _out_of_order(shown, reset)


def _out_of_order(shown: Shown, reset: dict) -> None:
    """Filters by two tasks: the one that is later on average settles first in the sentence."""
    on = shown.filters()["out_of_order"] is not None
    with st.expander("Sentences where a later task settles before an earlier one" + (" (on)" if on else ""), icon=":material/swap_vert:"):
        left, right = st.columns(2)
        with left:
            _one_task(shown, Markdown("A target of this task settles"), "later_first", reset)
        with right:
            _one_task(shown, Markdown("before a target of"), "earlier_last", reset)
        st.caption("Only targets that share a word and end right are compared; both tasks must have been probed on the same text.")


def _one_task(shown: Shown, label: Markdown, field: str, reset: dict) -> None:
    value = getattr(shown.own, field)
    selection.bound(
        st.selectbox,
        label,
        field,
        shown.view.page,
        value=value if value in shown.tasks else "",
        options=["", *shown.tasks],
        resets=reset,
        format_func=lambda task: shown.tasks.get(task, "any"),
    )


def listing(shown: Shown) -> str:
    """The list of sentences; returns the hash of the one to show, ``""`` if none is found."""
    own, wanted = shown.own, shown.filters()
    total = shown.view.read(count_sentences, shown.run_ids, shown.part, **wanted)
    if not total:
        st.info("No sentence passes these filters.", icon=":material/filter_alt_off:")
        st.button(
            "Clear all filters", on_click=selection.update, kwargs={"afresh": True, "edge_model": shown.model, "text_hash": own.text_hash}
        )
        return own.text_hash
    pages = -(-total // ROWS)
    page = min(max(own.trace_page, 1), pages)
    table = shown.view.read(sentences, shown.run_ids, shown.part, order=own.trace_order, offset=(page - 1) * ROWS, limit=ROWS, **wanted)
    table = with_words(shown.view, shown.part, table)
    keys = list(table["text_sha256"])
    _head(total, page, pages)
    if shown.part == OWN:
        st.caption(
            "These sentences were written for this page and labelled like the data sets. They show what probes do, but they are too few "
            "for scores."
        )
    key = f"edge_sentences.list.{abs(hash((shown.run_ids, shown.part, page, own.trace_order, *map(str, wanted.values()))))}"
    top = table.assign(sentence=[named(row) for row in table.to_dict("records")])[["sentence", "targets", "ambiguous", "revisions"]]
    blocks.choices(top, lambda row: selection.update(text_hash=keys[row]), key=key, headings=_HEADINGS)
    say_missing(shown.view, shown.part, table, Markdown("Sentences without words are shown by the sha256 of their text"))
    with st.expander("Download", icon=":material/download:"):
        st.download_button(
            "CSV of this page of the list",
            lambda: blocks.export.csv_bytes(table, shown.stamp("sentences")),
            "edge-sentences.csv",
            "text/csv",
            key="edge-sentences.csv",
            on_click="ignore",
        )
    return own.text_hash or keys[0]


def named(row: dict) -> str:
    """A sentence by its words, or by its hash if they are not available."""
    return str(row["text"]) if isinstance(row["text"], str) and row["text"] else f"text {row['text_sha256'][:HASH]}"


def _head(total: int, page: int, pages: int) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(filled("**{sentences}**", sentences=count(total, "sentence")))
        if pages > 1:
            st.button(
                "Back",
                key="edge_sentences.back",
                icon=":material/chevron_left:",
                disabled=page == 1,
                on_click=selection.update,
                kwargs={"trace_page": page - 1, "text_hash": ""},
            )
            st.button(
                "More",
                key="edge_sentences.more",
                icon=":material/chevron_right:",
                disabled=page == pages,
                on_click=selection.update,
                kwargs={"trace_page": page + 1, "text_hash": ""},
            )
            st.caption(filled("page {page:,} of {pages:,}", page=page, pages=pages), width="content")


def title_of(row: dict) -> Markdown:
    """The sentence as a heading."""
    return filled("## {sentence}", sentence=named(row))
