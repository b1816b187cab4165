"""A tab that is drawn elsewhere."""

import streamlit as st

from probing.ui.frame.page import View


def draw(view: View, base: str, tuned: str) -> None:
    """The tab."""
    st.info("No results are shown here yet.")
