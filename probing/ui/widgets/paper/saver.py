"""A button that saves a figure as an image which the reader's browser draws."""

from pathlib import Path

import streamlit as st

_HERE = Path(__file__)
_COMPONENT = st.components.v2.component(
    "bertnesia_saver",
    html='<button type="button"></button> <span role="status"></span>',
    css=_HERE.with_suffix(".css").read_text(encoding="utf-8"),
    js=_HERE.with_suffix(".js").read_text(encoding="utf-8"),
)


def button(label: str, *, within: str, key: str) -> None:
    """Draws the button.

    Args:
        label: its text.
        within: key of the container that has the figure and nothing else with a camera; letters, digits, ``-`` and ``_``.
        key: of the widget.
    """
    _COMPONENT(key=key, data={"label": label, "within": within})
