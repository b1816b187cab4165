"""The way from page to page; every link carries the view it leads to."""

from dataclasses import replace
from typing import Any

import streamlit as st

from probing.ui import selection
from probing.ui.results import ROOT

#: Page file -> (name in links, words, symbol). Files that are not there are not offered.
PAGES: dict[str, tuple[str, str, str]] = {
    "app.py": ("home", "Home", ":material/home:"),
    "pages/1_Layer_curves.py": ("layer_curves", "Layer curves", ":material/show_chart:"),
    "pages/4_Facts.py": ("facts", "Facts", ":material/fact_check:"),
    "pages/5_Live.py": ("live", "Live", ":material/edit_note:"),
    "pages/9_Methods_and_data.py": ("methods", "Methods and data", ":material/menu_book:"),
}


def sidebar_links() -> None:
    """Links to all pages, each in the visitor's present selection."""
    for path, (page, words, icon) in PAGES.items():
        if (ROOT / path).is_file():
            query = selection.to_query(selection.current(), page)
            st.page_link(path, label=words, icon=icon, query_params=query or None)


def link(page: str, label: str, *, icon: str | None = None, **changes: Any) -> None:
    """A link to *another* page with some fields changed; it can be opened in a new tab and copied.

    Args:
        page: a key of ``selection.PAGE_FIELDS``.
        label: Markdown.
        icon: a symbol; the page's own by default.
        changes: fields that differ from the present selection.
    """
    path, symbol = next((path, icon) for path, (name, _, icon) in PAGES.items() if name == page)
    query = selection.to_query(replace(selection.current(), **changes), page)
    st.page_link(path, label=label, icon=icon or symbol, query_params=query or None)
