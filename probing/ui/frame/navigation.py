"""Links from page to page; every link carries the selection of the page it opens."""

from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import streamlit as st

from probing.core.registry import REPOSITORY
from probing.ui.frame import selection
from probing.ui.widgets.markdown import Markdown

#: Heading in the sidebar -> its pages: page file -> (name in links, title, icon). Missing files get no link.
GROUPS: dict[str, dict[str, tuple[str, str, str]]] = {
    "Try it": {
        "app.py": ("home", "Home", ":material/home:"),
        "pages/5_Live.py": ("live", "Live", ":material/edit_note:"),
    },
    "Facts": {
        "pages/1_Layer_curves.py": ("layer_curves", "Layer curves", ":material/show_chart:"),
        "pages/2_Relations.py": ("relations", "Relations", ":material/category:"),
        "pages/4_Facts.py": ("facts", "Facts", ":material/fact_check:"),
        "pages/3_Compare_models.py": ("compare", "Compare models", ":material/compare_arrows:"),
        "pages/7_Decoding_heads.py": ("heads", "Decoding heads", ":material/tune:"),
    },
    "Grammar": {
        "pages/8_Pipeline.py": ("pipeline", "Pipeline", ":material/account_tree:"),
        "pages/10_Edge_sentences.py": ("edge_sentences", "Edge sentences", ":material/segment:"),
    },
    "Sentences": {
        "pages/11_Sentence_probes.py": ("sentence_probes", "Sentence probes", ":material/short_text:"),
    },
    "Fine-tuning": {
        "pages/12_What_fine_tuning_changed.py": ("fine_tuning", "What fine-tuning changed", ":material/difference:"),
        "pages/13_Forgetting.py": ("forgetting", "Forgetting", ":material/history:"),
    },
    "Your model": {
        "pages/14_Your_model.py": ("own_model", "Your model", ":material/upload_file:"),
    },
    "Papers": {
        "pages/6_Reproduction.py": ("reproduction", "Reproduction", ":material/balance:"),
        "pages/9_Methods_and_data.py": ("methods", "Methods and data", ":material/menu_book:"),
    },
}
PAGES = {path: page for pages in GROUPS.values() for path, page in pages.items()}

#: Address of a page, "" of Home -> its file, in the order of the sidebar.
ADDRESSES = {"" if path == "app.py" else Path(path).stem.split("_", 1)[1]: path for path in PAGES}

_PENDING = "probing.pending"


def sidebar_links() -> None:
    """Draws links to all pages in their groups, each with the user's current selection."""
    # One container, so that the distances are those between its elements and not those between containers.
    with st.container(gap="xxsmall"):
        for heading, pages in GROUPS.items():
            there = {path: page for path, page in pages.items() if (REPOSITORY / path).is_file()}
            if there:
                st.header(heading, anchor=False)
            for path, (page, words, icon) in there.items():
                st.page_link(path, label=Markdown(words), icon=icon, query_params=selection.link_to(page) or None)


def link(page: str, label: str, *, icon: str | None = None, afresh: bool = False, **changes: Any) -> None:
    """Draws a link to *another* page with some fields changed; it can be copied and opened in a new tab.

    Args:
        page: a key of ``selection.PAGE_FIELDS``.
        label: Markdown.
        icon: the page's icon by default.
        afresh: whether the page opens without its filters; see ``selection.link_to``.
        changes: fields that differ from the current selection.
    """
    path, symbol, query = _target(page, changes, afresh)
    st.page_link(path, label=label, icon=icon or symbol, query_params=query or None)


def address(page: str, **changes: Any) -> str:
    """The address of a page with some fields changed, for links in texts, relative to another page's."""
    path, _, query = _target(page, changes, False)
    name = next(name for name, file in ADDRESSES.items() if file == path)
    return (name or ".") + ("?" if query else "") + urlencode(query, doseq=True)


def open_later(page: str, *, afresh: bool = False, **changes: Any) -> None:
    """Opens another page with some fields changed at the next run; for callbacks, in which Streamlit cannot change the page."""
    st.session_state[_PENDING] = (page, changes, afresh)


def follow() -> None:
    """Opens the page that ``open_later`` requested."""
    if pending := st.session_state.pop(_PENDING, None):
        path, _, query = _target(*pending)
        st.switch_page(path, query_params=query or None)


def _target(page: str, changes: dict[str, Any], afresh: bool) -> tuple[str, str, dict[str, str | list[str]]]:
    """Page file, icon and link of a page with some fields changed."""
    path, symbol = next((path, icon) for path, (name, _, icon) in PAGES.items() if name == page)
    return path, symbol, selection.link_to(page, afresh=afresh, **changes)
