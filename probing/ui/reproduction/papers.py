"""Which paper is compared with our results, and which part of it is open."""

from collections.abc import Mapping
from typing import Any

import streamlit as st

from probing.ui.frame import selection
from probing.ui.frame.page import View
from probing.ui.reproduction.selection import PAPERS, ReproductionSelection


def choose_paper(view: View) -> str:
    """The choice of a paper; returns its name in links."""
    return selection.bound(
        st.segmented_control, "Paper", "paper", view.page, options=list(PAPERS), format_func=PAPERS.__getitem__, required=True
    )


def tabs(field: str, titles: Mapping[str, str]):
    """Tabs; the link stores which one is open.

    Args:
        field: of the page's selection.
        titles: name in the link -> title.
    """
    key = f"reproduction.{field}"
    st.session_state[key] = titles[getattr(selection.of(ReproductionSelection), field)]

    def store() -> None:
        change: dict[str, Any] = {field: next(name for name, title in titles.items() if title == st.session_state[key])}
        selection.update(**change)

    return st.tabs(list(titles.values()), key=key, on_change=store)
