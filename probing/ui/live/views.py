"""The views of the live page: fill a gap, all tokens, label spans of words, a whole sentence, or minimal pairs."""

import streamlit as st

from probing.ui.frame import selection
from probing.ui.frame.page import View
from probing.ui.live.selection import VIEWS, LiveSelection

WORDS = {"fact": "Fill a gap", "tokens": "All tokens", "spans": "Choose spans", "sentence": "Sentence", "pairs": "Pairs"}


def chosen(view: View) -> str:
    """Draws the choice; returns one of ``VIEWS``."""
    selection.bound(
        st.segmented_control,
        "View",
        "live_view",
        view.page,
        options=list(VIEWS),
        required=True,
        format_func=WORDS.__getitem__,
        label_visibility="collapsed",
    )
    return selection.of(LiveSelection).live_view
