"""The notice on the demonstration model: shown on the first page that a user opens, and available in the sidebar."""

import streamlit as st

from probing.ui.widgets import blocks

#: Session key: the first page of the session; "" once another page has been opened.
_SHOWN_ON = "probing.notice"


def at_first(page: str) -> None:
    """Shows the notice on the first page of a session, each time it is drawn, until another page is opened."""
    state = st.session_state
    if state.setdefault(_SHOWN_ON, page) != page:
        state[_SHOWN_ON] = ""
    if state[_SHOWN_ON]:
        st.markdown(
            ":small[**nesia-mini is a small demonstration model**: it shows how knowledge moves through layers, not what BERT knows. More "
            "in the sidebar.]"
        )


def at_hand() -> None:
    """Draws a button that opens the notice and the command that probes BERT."""
    with st.popover("Demonstration model", icon=":material/info:", type="tertiary"):
        st.markdown(
            "**nesia-mini is a small demonstration model**, trained in hours on a fully documented corpus. It shows how knowledge moves "
            "through layers; it does not know what BERT knows. To see BERT-base on these pages:"
        )
        st.code(blocks.BERT_COMMAND, language="shell", wrap_lines=True)
