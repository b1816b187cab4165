"""Links from page to page; every link carries the selection of the page it opens."""

from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import streamlit as st

from probing.kernel.app import selection
from probing.kernel.app.texts import Markdown, filled
from probing.kernel.registry import REPOSITORY

#: Heading in the sidebar -> its pages: page file -> (name in links, title, icon). Missing files get no link.
GROUPS: dict[str, dict[str, tuple[str, str, str]]] = {
    "Explore": {
        "app.py": ("home", "Home", ":material/home:"),
        "pages/1_Ask.py": ("ask", "Ask", ":material/edit_note:"),
        "pages/2_Layers.py": ("layers", "Layers", ":material/layers:"),
        "pages/3_Compare_models.py": ("compare", "Compare models", ":material/compare_arrows:"),
        "pages/4_Grammar.py": ("grammar", "Grammar", ":material/account_tree:"),
        "pages/5_Facts.py": ("facts", "Facts", ":material/fact_check:"),
    },
    "Yours": {
        "pages/6_Your_model.py": ("own_model", "Your model", ":material/upload_file:"),
    },
    "Reference": {
        "pages/7_Papers.py": ("papers", "Papers", ":material/balance:"),
        "pages/8_Methods.py": ("methods", "Methods", ":material/menu_book:"),
    },
}
#: Page -> the question that the next page in the order of the sidebar answers.
NEXT = {
    "home": ("ask", "What does each layer say to your own sentence?"),
    "ask": ("layers", "At which layer does knowledge appear?"),
    "layers": ("compare", "What did fine-tuning forget?"),
    "compare": ("grammar", "Where is grammar?"),
    "grammar": ("facts", "One fact through all layers"),
    "facts": ("own_model", "What did your own model forget?"),
    "own_model": ("papers", "What of the papers holds here?"),
    "papers": ("methods", "What does each word mean?"),
    "methods": ("home", "Back to the first page"),
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
                st.caption(heading)
            for path, (page, words, icon) in there.items():
                st.page_link(path, label=Markdown(words), icon=icon, query_params=selection.link_to(page) or None)


def link(page: str, label: str, *, icon: str | None = None, afresh: bool = False, **changes: Any) -> None:
    """Draws a link to *another* page with some fields changed; it can be copied and opened in a new tab.

    ``icon`` is by default the page's; ``afresh`` opens the page without its filters, see ``selection.link_to``.
    """
    path, symbol, query = _target(page, changes, afresh)
    st.page_link(path, label=label, icon=icon or symbol, query_params=query or None)


def next_question(page: str) -> None:
    """Draws the link to the next page, as the last line of a page."""
    following, question = NEXT[page]
    with st.container(key="next"):
        link(following, filled("Next: {question}", question=question), icon=":material/arrow_forward:")


def address(page: str, **changes: Any) -> str:
    """The address of a page with some fields changed, for links in texts, relative to another page's."""
    path, _, query = _target(page, changes, False)
    name = next(name for name, file in ADDRESSES.items() if file == path)
    return (name or ".") + ("?" if query else "") + urlencode(query, doseq=True)


def open_later(page: str, *, afresh: bool = False, **changes: Any) -> None:
    """Opens another page with fields changed at the next run; in callbacks, Streamlit cannot change the page."""
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
