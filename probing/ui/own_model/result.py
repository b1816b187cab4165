"""The result of a run: plain words, curves, the facts one by one, links, and the report."""

from typing import Any

import streamlit as st

from probing.core.errors import ProbingError, StoreError
from probing.core.knowledge.transitions import outcome_words
from probing.core.model_folders import find_entry
from probing.core.own_model.wish import Wish
from probing.core.registry import name_in_files
from probing.figures.own_model import own_curves, report_page
from probing.reports.own_model.result import PARTS, OwnResult, result_of
from probing.ui.frame import navigation, selection
from probing.ui.frame.page import View
from probing.ui.own_model.selection import OwnModelSelection
from probing.ui.widgets import blocks
from probing.ui.widgets.figure_cache import drawing
from probing.ui.widgets.markdown import escape, filled

_TITLES = {"lost": "lost", "gained": "gained", "kept": "known to both", "never": "known to neither"}
_SHOWN = {
    "prompt": "fact",
    "object": "answer",
    "base_rank": "base: rank",
    "rank": "model: rank",
    "base_answer": "base: says",
    "answer": "model: says",
    "fate": "fate",
}


def draw(view: View, wish: Wish) -> None:
    """Draws the result of a wish, if it is stored."""
    if view.database is None:
        return
    own = selection.of(OwnModelSelection)
    try:
        model = wish.name or find_entry(wish.model, wish.base or None).name
        found = view.read(result_of, model, wish.called, own.my_k)
    except StoreError:
        return
    except ProbingError as error:
        blocks.problem(error)
        return
    view.contents.section("Result")
    selection.known_rank(view.page, "my_k", ranks=(1, 10))
    st.markdown(escape(" ".join(found.answer)))
    stamp = view.stamp(f"{found.title}, {found.head}, rank ≤ {found.k}", found.run_ids)
    blocks.figure(
        drawing(own_curves, found.layers, base=found.base, model=found.model, k=found.k, colours=view.colours),
        table=found.layers,
        stamp=stamp,
        name="own-model",
        caption="Every layer is read by the pre-trained head (logit lens). Bands are 95 % intervals.",
        alt=f"P@{found.k} by layer of {found.model}",
    )
    for sentence in found.details:
        st.markdown(escape(sentence))
    _facts(view, found)
    _links(view, found)
    st.download_button(
        "Report (HTML)",
        lambda: report_page(
            found.title,
            found.sentences,
            own_curves(found.layers, base=found.base, model=found.model, k=found.k),
            found.changed,
            found.origin,
        ).encode(),
        f"{name_in_files(found.model)}-{found.probe_set}.html",
        "text/html",
        key="own_model.report",
        on_click="ignore",
        icon=":material/description:",
    )


def _facts(view: View, found: OwnResult) -> None:
    if not found.base:
        return
    view.contents.section("Fact by fact")
    counts = found.changed["part"].value_counts()
    part = selection.bound(
        st.segmented_control,
        "Which facts",
        "my_part",
        view.page,
        options=list(PARTS),
        required=True,
        format_func=lambda one: f"{_TITLES[one]} ({int(counts.get(one, 0)):,})",
    )
    rows = found.changed[found.changed["part"] == part]
    if rows.empty:
        st.caption("There are none.")
        return
    blocks.table_with_download(
        rows,
        shown=rows[list(_SHOWN)].assign(fate=rows["fate"].map(outcome_words)).rename(columns=_SHOWN),
        stamp=view.stamp(f"{found.title}, {_TITLES[part]}, rank ≤ {found.k}", found.run_ids),
        name="own-model-facts",
    )


def _links(view: View, found: OwnResult) -> None:
    run: dict[str, Any] = {"head": found.head, "probe_set": found.probe_set}
    with st.container(horizontal=True):
        both = tuple(name for name in (found.base, found.model) if name)
        navigation.link("layers", "Layer curves", models=both, heads=(found.head,), probe_sets=(found.probe_set,))
        navigation.link("facts", "Facts", afresh=True, model=found.model, **run)
        if found.base:
            label = filled("{model} compared with {base}", model=view.label(found.model), base=view.label(found.base))
            navigation.link("compare", label, tuned=found.model, versus_model="", k=found.k, **run)
        if not found.back.empty:
            navigation.link("compare", "Ways back", probe_set=found.probe_set, tuned=found.model, k=found.k)
