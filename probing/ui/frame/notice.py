"""What the shipped models are: said on the first page that a visitor opens, and kept at hand in the sidebar."""

import streamlit as st

from probing.ui.widgets import blocks

#: The page on which it is shown until another page is opened; "" from then on.
_SHOWN_ON = "probing.notice"


def at_first(page: str) -> None:
    """Shows the notice on the first page of a visit, however often that is drawn."""
    state = st.session_state
    if state.setdefault(_SHOWN_ON, page) != page:
        state[_SHOWN_ON] = ""
    if state[_SHOWN_ON]:
        st.markdown(
            ":small[**nesia-mini is a small demonstration model**: it shows how knowledge moves through layers, not what BERT knows. More "
            "in the sidebar.]"
        )


def at_hand() -> None:
    """The same behind a button, with the command that probes BERT."""
    with st.popover("Demonstration model", icon=":material/info:", type="tertiary"):
        st.markdown(
            "**nesia-mini is a small demonstration model**, trained in hours on a fully documented corpus. It shows how knowledge moves "
            "through layers; it does not know what BERT knows. To see BERT-base on these pages:"
        )
        st.code(blocks.BERT_COMMAND, language="shell", wrap_lines=True)
